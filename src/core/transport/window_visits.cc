#include "transport/window_visits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"

namespace forebay {

namespace {

using Words = std::vector<std::uint64_t>;

// Collective over the node. Gathers the words of all its ranks, in rank order.
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

// Several counters in each 64-bit word, for sums that a few bits hold.
class Counters {
 public:
  Counters(std::span<std::int64_t> words, int bits) : words_(words), bits_(bits) {}
  static constexpr Count words_for(Count counters, int bits) { return (counters * bits + 63) / 64; }
  std::uint64_t operator[](Count i) const {
    const auto word = static_cast<std::uint64_t>(words_[at(i)]);
    return word >> shift(i) & ((std::uint64_t{1} << bits_) - 1);
  }
  void add_one(Count i) {
    words_[at(i)] += static_cast<std::int64_t>(std::uint64_t{1} << shift(i));
  }
  /// Makes each counter one if it is not zero and not `except`, else zero.
  template <typename F>
  void keep_ones(Count counters, F&& except) {
    for (Count i = 0; i < counters; ++i) {
      const std::uint64_t one = (*this)[i] > 0 && !except(i) ? 1 : 0;
      words_[at(i)] -= static_cast<std::int64_t>(((*this)[i] - one) << shift(i));
    }
  }

 private:
  std::size_t at(Count i) const { return static_cast<std::size_t>(i * bits_ / 64); }
  int shift(Count i) const { return static_cast<int>(i * bits_ % 64); }

  std::span<std::int64_t> words_;
  int bits_;
};

bool is_of_node(const Comm& comm, const Topology& topology) {
  return comm.size() == topology.node().size();
}

constexpr int few_bits = 16;  // of a signed number: there are fewer ranks than 15 bits count
constexpr Count few_windows = Count{Meeting::room} * 64 / few_bits;

// Collective, one reduction. Counts the ranks of this node with pieces in each window, and for home
// windows, the other nodes.
void count_few(const Comm& comm, const Topology& topology, const std::optional<Error>& failed,
               std::vector<Visit>& visits) {
  std::array<std::int64_t, Meeting::room> words{}, of_node{};
  const auto windows = static_cast<Count>(visits.size());
  const Counters all(words, few_bits), mine(of_node, few_bits);
  for (Count i = 0; !failed && i < windows; ++i)
    if (visits[static_cast<std::size_t>(i)].mine) Counters(words, few_bits).add_one(i);
  const auto used = static_cast<std::size_t>(Counters::words_for(windows, few_bits));
  meet_with(comm, failed, [&](Errc code) {
    if (is_of_node(comm, topology)) {
      comm.meet(std::span(words).first(used), Reduce::sum, code);
      std::swap(words, of_node);  // no other nodes come
    } else {
      topology.sum_by_nodes(
          comm, std::span(words).first(used), std::span(of_node).first(used),
          [&](std::span<std::int64_t> sums) {
            Counters(sums, few_bits).keep_ones(windows, [&](Count i) {
              return visits[static_cast<std::size_t>(i)].home;
            });
          },
          code);
    }
  });
  for (Count i = 0; i < windows; ++i) {
    Visit& v = visits[static_cast<std::size_t>(i)];
    v.ranks = static_cast<int>(mine[i]);
    if (v.home) v.nodes = static_cast<int>(all[i]);
  }
}

// Does the same for any number of windows, with more reductions, and messages.
void count_many(const Comm& comm, const Topology& topology, const TouchedWindows* touched,
                std::optional<Error> failed, std::vector<Visit>& visits) {
  Words all;
  std::vector<std::int64_t> sums;
  const auto windows = static_cast<Count>(visits.size());
  constexpr int bits = 32;  // these count more nodes than there are
  if (!failed) {
    failed = attempt_to(
        [&] { sums.resize(static_cast<std::size_t>(Counters::words_for(windows, bits))); });
  }
  keep_first(failed, gather(topology.node(), touched, failed, all));
  Counters nodes(sums, bits);
  if (!failed) {
    const std::size_t words = touched->words().size();
    for (Count i = 0; i < windows; ++i) {
      Visit& v = visits[static_cast<std::size_t>(i)];
      for (std::size_t from = 0; from < all.size(); from += words)
        v.ranks += TouchedWindows::is_marked(std::span(all).subspan(from, words), i) ? 1 : 0;
      if (topology.leader() == comm.rank() && v.ranks > 0 && !v.home) nodes.add_one(i);
    }
  }
  if (!is_of_node(comm, topology)) {  // else all know of a failure
    const auto others = attempt_to(
        [&] { failed ? comm.meet(failed->code()) : comm.all_reduce(sums, Reduce::sum); });
    keep_first(failed, others);
  }
  if (failed) throw Error(*failed).as_own_matter(false);
  for (Count i = 0; i < windows; ++i) {
    Visit& v = visits[static_cast<std::size_t>(i)];
    if (v.home) v.nodes = static_cast<int>(nodes[i]);
  }
}

}  // namespace

void visit_all(const WindowGrid& part, int ranks, std::vector<Visit>& visits) {
  visits.resize(static_cast<std::size_t>(part.count));
  for (std::size_t i = 0; i < visits.size(); ++i)
    visits[i] = {part.first + static_cast<Count>(i), static_cast<Count>(i), ranks, 0, true, true};
}

void plan_visits(const Comm& comm, const Topology& topology, const WindowGrid& part,
                 const TouchedWindows* touched, std::optional<Error> failed,
                 std::vector<Visit>& visits) {
  if (!failed) {
    failed = attempt_to([&] {
      visits.assign(static_cast<std::size_t>(part.count), {});
      for (Count i = 0; i < part.count; ++i) {
        Visit& v = visits[static_cast<std::size_t>(i)];
        v.window = part.first + i;
        v.mine = TouchedWindows::is_marked(touched->words(), i);
        v.home = part.home_of(v.window) == topology.my_node();
      }
    });
  }
  if (failed) visits.clear();  // of another part, maybe too many for a reduction
  const bool few = part.count <= few_windows && comm.size() < 1 << (few_bits - 1);
  few ? count_few(comm, topology, failed, visits)
      : count_many(comm, topology, touched, failed, visits);
  std::erase_if(visits, [](const Visit& v) { return v.ranks == 0 && v.nodes == 0; });
  std::array<Count, 2> turns{};
  for (Visit& v : visits) v.turn = turns[v.home ? 0 : 1]++;
}

}  // namespace forebay
