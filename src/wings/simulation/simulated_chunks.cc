#include "simulation/simulated_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/chunk_grid.h"
#include "base/error.h"
#include "codec/pipeline.h"
#include "plan/chunk_owners.h"

namespace forebay::simulation {

namespace {

constexpr std::size_t most_accesses = std::size_t{1} << 24;  // and chunks

struct ChunkedVariable {
  ChunkGrid grid;
  Count first;  // the number of its first chunk among all
};

std::vector<ChunkedVariable> chunked_variables(const Schema& schema, bool write,
                                               std::vector<ChunkWork>& chunks) {
  std::vector<ChunkedVariable> variables;
  for (const Variable& var : schema.vars) {
    if (!var.chunking) throw Error(Errc::einval, var.name + " is not chunked", "");
    const Pipeline pipeline = Pipeline::parse(var.chunking->codec).for_type(var.type);
    const double work = write ? pipeline.encode_work() : pipeline.decode_work();
    ChunkedVariable v{ChunkGrid(var, var.chunking->shape), static_cast<Count>(chunks.size())};
    const Count n = v.grid.chunks(schema.numrecs);
    if (n > static_cast<Count>(most_accesses - chunks.size()))
      throw Error(Errc::einval, fmt::format("{} has {} chunks", var.name, n), "make them larger");
    for (Count id = 0; id < n; ++id) {
      const Count bytes = v.grid.bytes(id);
      chunks.push_back({bytes, static_cast<double>(bytes) * work});
    }
    variables.push_back(std::move(v));
  }
  return variables;
}

using Pair = std::pair<Rank, Rank>;  // from, to

}  // namespace

ChunkPlanFacts simulate_chunks(const Workload& workload, const Machine& machine,
                               const Rates& rates) {
  check(machine);
  check(rates);
  ChunkPlanFacts facts;
  std::vector<ChunkWork> chunks;
  const auto variables = chunked_variables(workload.schema(), machine.write, chunks);
  std::vector<ChunkAccess> accesses;
  std::vector<Request> requests;
  for (Rank r = 0; r < machine.ranks; ++r) {
    requests.clear();
    for (Count op = 0; op < workload.operations(); ++op) workload.add_requests(op, r, requests);
    facts.requests += static_cast<Count>(requests.size());
    for (const Request& request : requests) {
      const ChunkedVariable& v = variables[static_cast<std::size_t>(request.var)];
      for (const ChunkTouch& t : touched_chunks(v.grid, request)) {
        accesses.push_back({static_cast<std::uint32_t>(v.first + t.chunk), r, t.bytes});
        facts.bytes += t.bytes;
      }
    }
    if (accesses.size() > most_accesses)
      throw Error(Errc::einval, "ranks touch too many chunks", "make chunks larger");
  }
  const auto key = [](const ChunkAccess& a) { return std::pair(a.chunk, a.rank); };
  std::sort(accesses.begin(), accesses.end(),
            [&](const ChunkAccess& a, const ChunkAccess& b) { return key(a) < key(b); });
  std::size_t kept = 0;  // repeated accesses of a rank to a chunk are merged
  for (const ChunkAccess& a : accesses) {
    if (kept > 0 && key(accesses[kept - 1]) == key(a)) {
      accesses[kept - 1].bytes += a.bytes;
    } else {
      accesses[kept++] = a;
    }
  }
  accesses.resize(kept);

  const auto owners = assign_owners(chunks, accesses, machine.ranks);
  const OwnerFacts judged = judge_owners(chunks, accesses, owners, machine.ranks);
  facts.chunks = static_cast<Count>(chunks.size());
  facts.accesses = static_cast<Count>(accesses.size());
  facts.bytes_moved = judged.bytes_moved;
  facts.busiest = judged.busiest;
  facts.mean = judged.mean;

  const auto node_of = [&](Rank r) { return r / machine.ranks_per_node; };
  const auto nodes = static_cast<std::size_t>(machine.nodes());
  const auto ranks = static_cast<std::size_t>(machine.ranks);
  std::vector<Count> owned(ranks), out(nodes), in(nodes), copied(nodes);
  facts.owned_by_node.resize(nodes);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    owned[static_cast<std::size_t>(owners[k])] += chunks[k].bytes;
    facts.owned_by_node[static_cast<std::size_t>(node_of(owners[k]))] += chunks[k].bytes;
  }
  std::vector<Pair> pairs;
  std::uint32_t shared = UINT32_MAX;  // the last chunk counted as shared
  for (const ChunkAccess& a : accesses) {
    const Rank owner = owners[a.chunk];
    copied[static_cast<std::size_t>(node_of(owner))] += a.bytes;
    if (owner == a.rank) continue;
    if (std::exchange(shared, a.chunk) != a.chunk) ++facts.shared;
    if (node_of(owner) == node_of(a.rank)) continue;
    const auto [from, to] =
        pairs.emplace_back(machine.write ? Pair{a.rank, owner} : Pair{owner, a.rank});
    facts.message_bytes += a.bytes;
    out[static_cast<std::size_t>(node_of(from))] += a.bytes;
    in[static_cast<std::size_t>(node_of(to))] += a.bytes;
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  // A read needs a request and an answer.
  facts.messages = static_cast<Count>(pairs.size()) * (machine.write ? 1 : 2);
  std::vector<int> receivers(ranks), senders(ranks);
  for (const auto& [from, to] : pairs) {
    ++receivers[static_cast<std::size_t>(from)];
    ++senders[static_cast<std::size_t>(to)];
  }
  const auto largest = [](const auto& values) {
    return *std::max_element(values.begin(), values.end());
  };
  facts.out_degree = largest(receivers);
  facts.in_degree = largest(senders);
  facts.most_owned = largest(owned);
  facts.owners = static_cast<Count>(
      std::count_if(owned.begin(), owned.end(), [](Count bytes) { return bytes > 0; }));
  Busiest busiest;
  busiest.node_bytes = std::max(largest(out), largest(in));
  busiest.node_messages =
      Count{std::max(facts.out_degree, facts.in_degree)} * machine.ranks_per_node;
  busiest.node_copied = largest(copied);
  busiest.node_stored = largest(facts.owned_by_node);
  busiest.node_calls = machine.ranks_per_node;
  busiest.calls_at_once = machine.ranks_per_node;
  for (const ChunkWork& c : chunks) busiest.bytes += c.bytes;
  facts.predicted.add(busiest, rates);
  facts.predicted.coding = facts.busiest / rates.deflate;
  facts.predicted.total = std::max(facts.predicted.total, facts.predicted.coding);
  return facts;
}

}  // namespace forebay::simulation
