#include "simulation/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_set>

#include "base/byte_file.h"
#include "base/error.h"
#include "comm/mailbox.h"
#include "method/method_values.h"
#include "simulation/node_walk.h"
#include "transport/aggregation_rules.h"
#include "transport/direct_io.h"
#include "transport/slots.h"
#include "transport/window_visits.h"

namespace forebay::simulation {

namespace {

// Limits for an operation: memory is a few words for each window, and a bit for each stripe. The
// limit for the ranks of a node is in bytes.
constexpr Count most_windows = Count{1} << 25, most_stripes = Count{1} << 28;
constexpr Count most_of_a_node = Count{2} << 30;
constexpr Count most_wished = UINT32_MAX;  // bytes, for one window
constexpr std::size_t bytes_of_a_cursor = sizeof(RequestRange) + sizeof(RequestCursor);

Count list_bytes(std::span<const Request> requests) {
  std::unordered_set<const RunList*> lists;
  Count bytes = static_cast<Count>(requests.size() * sizeof(Request));
  for (const Request& r : requests) {
    const auto* runs = std::get_if<Runs>(&r.selection);
    if (runs && lists.insert(runs->list.get()).second)
      bytes += static_cast<Count>(runs->list->runs.size() * sizeof(Run) +
                                  runs->list->memory.size() * sizeof(Offset));
  }
  return bytes;
}

/// What all nodes touch in a window.
struct Touched {
  std::uint32_t bytes = 0;  ///< an upper limit, since nodes may read the same bytes
  std::uint32_t first = UINT32_MAX, last = 0;
  std::uint32_t wished = 0;  ///< bytes of the request messages
};

class Simulation {
 public:
  Simulation(const Workload& workload, const Machine& machine, const Rates& rates)
      : workload_(workload), machine_(machine), rates_(rates), options_(machine.transport) {
    facts_.nodes.resize(static_cast<std::size_t>(machine.nodes()));
    if (machine.write && machine.transport.striping_unit > 0) facts_.hand_overs = 0;
  }

  PlanFacts run() {
    for (Count op = 0; op < workload_.operations(); ++op) {
      const OperationTotal total = look_at_all(op);
      if (total.bytes == 0) continue;
      ++facts_.operations;
      facts_.bytes += total.bytes;
      facts_.pieces += total.pieces;
      now_.assign(facts_.nodes.size(), {});
      options_.bulk = machine_.transport.bulk || is_slow(latency());
      facts_.bulk += options_.bulk ? 1 : 0;
      if (carried_out_directly(total, counts(), options_, machine_.write)) {
        ++facts_.direct;
        directly(op, total);
      } else {
        aggregated(op, total);
      }
      take_over();
    }
    note_memory();
    return std::move(facts_);
  }

 private:
  NodeCounts counts() const { return {machine_.ranks, machine_.nodes(), true}; }
  Rank begin_of(int node) const { return node * machine_.ranks_per_node; }
  Rank end_of(int node) const {
    return static_cast<Rank>(std::min<Count>(
        Count{node} * machine_.ranks_per_node + machine_.ranks_per_node, machine_.ranks));
  }
  NodeFacts& now(int node) { return now_[static_cast<std::size_t>(node)]; }
  NodeWalk walk(Count op, int node) const {
    return {workload_, op, begin_of(node), end_of(node), machine_.write};
  }

  // The latency that ranks know from reading the header (File::settle_latency()), assuming they can
  // separate it from the transfer time.
  std::int64_t latency() const { return std::llround(std::min(rates_.call_latency * 1e9, 1e18)); }

  Count direct_call() const {
    return forebay::direct_call(is_slow(latency()), options_.buffer_limit);
  }

  // The values that ranks compute by reductions.
  OperationTotal look_at_all(Count op) {
    OperationTotal total;
    busiest_ = {};
    Count of_node = 0;  // bytes that the walk of the current node holds
    std::vector<Request> requests;
    for (Rank r = 0; r < machine_.ranks; ++r) {
      requests.clear();
      workload_.add_requests(op, r, requests);
      const auto mine = CanonicalStream(requests, workload_.schema(), machine_.write).summary();
      total.add(mine);
      facts_.requests += static_cast<Count>(requests.size());
      busiest_.rank_pieces = std::max(busiest_.rank_pieces, mine.pieces);
      busiest_.rank_calls = std::max(
          {busiest_.rank_calls, mine.pieces, (mine.bytes + direct_call() - 1) / direct_call()});
      const Count held = list_bytes(requests);
      facts_.memory.requests = std::max(facts_.memory.requests, held);
      if (r % machine_.ranks_per_node == 0) of_node = 0;
      of_node += held + static_cast<Count>(requests.size() * bytes_of_a_cursor);
      if (of_node > most_of_a_node)
        throw Error(Errc::einval,
                    fmt::format("the requests of a node in one operation take more than {}",
                                friendly_size(most_of_a_node)),
                    "give more ranks, fewer of them on a node, or less to write and read at once");
    }
    return total;
  }

  void directly(Count op, const OperationTotal& total) {
    const Count stripe = options_.striping_unit;
    std::vector<bool> had;  // stripes in which an earlier node has pieces
    WindowGrid stripes;
    if (facts_.hand_overs) {
      stripes = WindowGrid::over(total.first, total.last, stripe, 1);
      check_count(stripes, most_stripes, "stripes");
      had.resize(static_cast<std::size_t>(stripes.count));
    }
    for (int node = 0; node < machine_.nodes(); ++node) {
      NodeFacts& n = now(node);
      if (!facts_.hand_overs) {
        n.stored = bytes_of(op, node);
        continue;
      }
      NodeWalk ranks = walk(op, node);
      n.stored = ranks.bytes();
      ranks.for_each_window(stripes, cover_, [&](Count s, std::span<const WindowRun>) {
        const auto i = static_cast<std::size_t>(s - stripes.first);
        if (had[i]) ++*facts_.hand_overs;
        had[i] = true;
      });
    }
    busiest_.node_calls = busiest_.rank_calls * machine_.ranks_per_node;
    busiest_.calls_at_once = machine_.ranks_per_node;
    facts_.memory.direct = direct_memory(machine_.write, direct_call());
  }

  Count bytes_of(Count op, int node) const {
    Count bytes = 0;
    std::vector<Request> requests;
    for (Rank r = begin_of(node); r < end_of(node); ++r) {
      requests.clear();
      workload_.add_requests(op, r, requests);
      bytes += CanonicalStream(requests, workload_.schema(), machine_.write).summary().bytes;
    }
    return bytes;
  }

  static void check_count(const WindowGrid& grid, Count most, const char* what) {
    if (grid.count <= most) return;
    throw Error(Errc::einval, fmt::format("an operation covers {} {}", grid.count, what),
                fmt::format("at most {} can be looked at: make them larger", most));
  }

  void aggregated(Count op, const OperationTotal& total) {
    facts_.window = window_size_for(total, counts(), options_, facts_.window);
    const WindowGrid grid = window_grid_for(total, counts(), options_, facts_.window);
    check_count(grid, most_windows, "windows");
    touched_.assign(static_cast<std::size_t>(grid.count), {});
    const auto nodes = facts_.nodes.size();
    std::vector<int> last_sender(nodes, -1), in_degree(nodes, 0);
    for (int node = 0; node < machine_.nodes(); ++node) {
      NodeWalk ranks = walk(op, node);
      now(node).copied += ranks.bytes();
      int out_degree = 0;
      ranks.for_each_window(grid, cover_, [&](Count window, std::span<const WindowRun> runs) {
        Count bytes = 0;
        for (const WindowRun& r : runs) bytes += r.to - r.from;
        Touched& touched = touched_[static_cast<std::size_t>(window - grid.first)];
        touched.bytes = static_cast<std::uint32_t>(std::min(touched.bytes + bytes, grid.size));
        touched.first = std::min(touched.first, runs.front().from);
        touched.last = std::max(touched.last, runs.back().to);
        const int home = grid.home_of(window);
        if (home == node) return;
        const Count told = message_bytes(coding_of(runs), 0);
        send(node, home, told + (machine_.write ? bytes : 0));
        if (!machine_.write) {
          send(home, node, message_bytes({}, bytes));
          touched.wished = static_cast<std::uint32_t>(std::min(touched.wished + told, most_wished));
        }
        if (std::exchange(last_sender[static_cast<std::size_t>(home)], node) == node) return;
        ++out_degree;
        ++in_degree[static_cast<std::size_t>(home)];
      });
      facts_.out_degree = std::max(facts_.out_degree, out_degree);
    }
    facts_.in_degree =
        std::max(facts_.in_degree, *std::max_element(in_degree.begin(), in_degree.end()));
    count_windows(grid);
    // In bulk mode, threads write in the background, whatever slots there are.
    const int slots = least_rings(counts()).home;
    busiest_.calls_at_once =
        options_.bulk && machine_.write ? slots : std::min(machine_.ranks_per_node, slots);
  }

  void send(int from, int to, Count bytes) {
    ++now(from).messages_out;
    ++now(to).messages_in;
    now(from).bytes_out += bytes;
    now(to).bytes_in += bytes;
  }

  // Windows are written in file order.
  void count_windows(const WindowGrid& grid) {
    const Count stripe = facts_.hand_overs ? options_.striping_unit : 1;
    Count stripe_before = -1;  // the last touched stripe, and the node that writes there
    int home_before = -1;
    for (Count i = 0; i < grid.count; ++i) {
      const Touched& touched = touched_[static_cast<std::size_t>(i)];
      if (touched.bytes == 0) continue;
      const Count window = grid.first + i;
      const int home = grid.home_of(window);
      ++now(home).windows;
      now(home).stored += touched.bytes;
      most_wished_ = std::max<Count>(most_wished_, touched.wished);
      const bool one_stripe = (grid.begin_of(window) + touched.first) / stripe == stripe_before;
      if (facts_.hand_overs && one_stripe && home != home_before) ++*facts_.hand_overs;
      stripe_before = (grid.begin_of(window) + touched.last - 1) / stripe;
      home_before = home;
    }
  }

  void take_over() {
    Busiest& b = busiest_;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      NodeFacts& n = now_[i];
      NodeFacts& all = facts_.nodes[i];
      n.copied += n.bytes_out + n.bytes_in;
      b.node_bytes = std::max({b.node_bytes, n.bytes_out, n.bytes_in});
      b.node_messages = std::max(b.node_messages, n.messages_out + n.messages_in);
      b.node_copied = std::max(b.node_copied, n.copied);
      b.node_stored = std::max(b.node_stored, n.stored);
      b.node_calls = std::max(b.node_calls, n.windows);
      b.bytes += n.stored;
      facts_.messages += n.messages_out;
      facts_.message_bytes += n.bytes_out;
      facts_.windows += n.windows;
      all.messages_out += n.messages_out;
      all.messages_in += n.messages_in;
      all.bytes_out += n.bytes_out;
      all.bytes_in += n.bytes_in;
      all.windows += n.windows;
      all.stored += n.stored;
      all.copied += n.copied;
    }
    facts_.predicted.add(b, rates_);
  }

  // slots.h, Mailbox and plan_visits() explain these sizes.
  void note_memory() {
    if (facts_.window == 0) return;
    const int last = machine_.nodes() - 1;
    const Count of_last = end_of(last) - begin_of(last);  // no node has fewer ranks
    facts_.memory.slots =
        Slots::bytes_of(facts_.window, ring_sizes(counts(), options_, facts_.window).all()) /
            of_last +
        facts_.window / 8;  // and the marks of one rank
    facts_.memory.visits = static_cast<Count>(WindowGrid::most_together * sizeof(Visit)) +
                           machine_.ranks_per_node * (WindowGrid::most_together / 8);
    if (last == 0) return;
    const Count largest = largest_message(facts_.window);
    facts_.memory.mailbox = mailbox_limit(machine_.transport) + largest +
                            static_cast<Count>(Mailbox::arrivals) * largest;
    // Requests are accepted up to the limit: all of one window, and always those of the first.
    if (most_wished_ > 0)
      facts_.memory.wishes = mailbox_limit(machine_.transport) + 2 * most_wished_;
  }

  const Workload& workload_;
  const Machine& machine_;
  const Rates& rates_;
  TransportOptions options_;  // bulk: of the current operation
  PlanFacts facts_;
  std::vector<NodeFacts> now_;    // of the current operation
  std::vector<Touched> touched_;  // each window of it
  Count most_wished_ = 0;         // of a window
  Busiest busiest_;
  RunCover cover_;
};

}  // namespace

void check(const Machine& m) {
  const auto refuse = [](const char* what, const std::string& advice) {
    throw Error(Errc::einval, what, advice);
  };
  if (m.ranks < 1) refuse("there is no rank", "give at least one");
  if (m.ranks > Machine::most_ranks)
    refuse("there are too many ranks", fmt::format("give at most {}", Machine::most_ranks));
  if (m.ranks_per_node < 1 || m.ranks_per_node > Machine::most_per_node)
    refuse("a node cannot have so many ranks",
           fmt::format("give 1 to {} ranks a node", Machine::most_per_node));
  if (m.nodes() > Machine::most_nodes)
    refuse("there are too many nodes",
           fmt::format("give at most {}: more ranks a node", Machine::most_nodes));
  const TransportOptions& t = m.transport;
  if (t.kind != "auto" && t.kind != "aggregated")
    refuse("transport is not one that is simulated", "use auto or aggregated");
  if (t.window_size < 0 || t.striping_unit < 0 || t.aggregators < 0)
    refuse("a size is negative", "windows, stripes and aggregators are counted from 0");
  if (t.striping_unit > Machine::most_of_a_stripe)
    refuse("a stripe is too large", "give at most 1 GiB");
  if (t.striping_unit % 4096 != 0) refuse("a stripe is a multiple of 4096 bytes", "");
  if (t.buffer_limit < 4096) refuse("buffer_limit is too small", "give at least 4096 bytes");
}

PlanFacts simulate(const Workload& workload, const Machine& machine, const Rates& rates) {
  check(machine);
  check(rates);
  return Simulation(workload, machine, rates).run();
}

}  // namespace forebay::simulation
