#include "transport/window_visits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay {

namespace {

using Words = std::vector<std::uint64_t>;

// Collective over the node: the words of all its ranks, one rank's after another's.
std::optional<Error> gather(const Comm& node, const TouchedWindows* touched,
                            const std::optional<Error>& failed, Words& all) {
  return attempt_together(node, [&] {
    if (failed) throw Error(*failed).as_own_matter(false);
    const auto mine = std::as_bytes(touched->words());
    all.resize(touched->words().size() * static_cast<std::size_t>(node.size()));
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(node.size()),
                                          static_cast<std::int64_t>(mine.size()));
    const auto bytes = node.all_gather_known(mine, sizes);
    std::memcpy(all.data(), bytes.data(), bytes.size());
  });
}

// Collective: how many nodes have pieces in each window of the part that is not at home there; told
// by the leaders, each for its node. Two windows are in a number: there are fewer nodes than half
// of one can count.
void count_nodes(const Comm& comm, const Topology& topology, std::span<const Visit> local,
                 std::vector<std::int64_t>& counts) {
  counts.assign((local.size() + 1) / 2, 0);
  if (topology.leader() == comm.rank()) {
    for (std::size_t i = 0; i < local.size(); ++i)
      if (local[i].ranks > 0 && !local[i].home) counts[i / 2] += std::int64_t{1} << i % 2 * 32;
  }
  comm.all_reduce(counts, Reduce::sum);
}

}  // namespace

void visit_all(const WindowGrid& part, int ranks, std::vector<Visit>& visits) {
  visits.resize(static_cast<std::size_t>(part.count));
  for (std::size_t i = 0; i < visits.size(); ++i)
    visits[i] = {part.first + static_cast<Count>(i), static_cast<Count>(i), ranks, 0, true, true};
}

std::optional<Error> plan_visits(const Comm& comm, const Topology& topology, const WindowGrid& part,
                                 const TouchedWindows* touched, std::optional<Error> failed,
                                 std::vector<Visit>& visits) {
  Words all;
  keep_first(failed, gather(topology.node(), touched, failed, all));
  std::vector<std::int64_t> counts;
  const auto look = [&] {
    if (failed) throw Error(*failed).as_own_matter(false);
    visits.assign(static_cast<std::size_t>(part.count), {});
    const std::size_t words = touched->words().size();
    for (Count i = 0; i < part.count; ++i) {
      Visit& v = visits[static_cast<std::size_t>(i)];
      v.window = part.first + i;
      v.mine = TouchedWindows::is_marked(touched->words(), i);
      v.home = part.home_of(v.window) == topology.my_node();
      for (std::size_t from = 0; from < all.size(); from += words)
        v.ranks += TouchedWindows::is_marked(std::span(all).subspan(from, words), i) ? 1 : 0;
    }
    if (topology.nodes() > 1) count_nodes(comm, topology, visits, counts);
  };
  keep_first(failed, topology.nodes() > 1 ? up_to_meeting(comm, look) : attempt_to(look));
  if (failed) return failed;
  for (std::size_t i = 0; i < counts.size() * 2 && i < visits.size(); ++i)
    if (visits[i].home)
      visits[i].nodes = static_cast<int>(counts[i / 2] >> i % 2 * 32 & 0x7fffffff);
  std::erase_if(visits, [](const Visit& v) { return v.ranks == 0 && v.nodes == 0; });
  std::array<Count, 2> turns{};
  for (Visit& v : visits) v.turn = turns[v.home ? 0 : 1]++;
  return failed;
}

}  // namespace forebay
