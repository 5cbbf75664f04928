#include "transport/window_visits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/exchange.h"

namespace forebay {

namespace {

static_assert(WindowGrid::most_together <= 1 << 16);  // a window's number in its part is short

using Words = std::vector<std::uint64_t>;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

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

// Collective: how many other nodes have pieces in each window of the part that is at home here,
// by the leaders, each for its node.
std::optional<Error> count_nodes(const Comm& comm, const Topology& topology, const WindowGrid& part,
                                 std::span<const Visit> local, std::vector<std::uint32_t>& counts) {
  const bool leads = topology.leader() == comm.rank();
  std::vector<Message> messages;
  auto failed = attempt_to([&] {
    counts.assign(static_cast<std::size_t>(part.count), 0);
    if (!leads) return;
    std::map<int, std::vector<std::byte>> by_home;
    for (const Visit& v : local)
      append(by_home[part.home_of(v.window)], static_cast<std::uint16_t>(v.window - part.first));
    by_home.erase(topology.my_node());
    for (auto& [home, windows] : by_home)
      messages.push_back({topology.ranks_of(home).front(), std::move(windows)});
  });
  const auto lost = attempt_to([&] {
    sparse_exchange(comm, messages, [&](Rank, std::span<const std::byte> windows) {
      for (std::size_t i = 0; i < windows.size(); i += sizeof(std::uint16_t)) {
        std::uint16_t window;
        std::memcpy(&window, &windows[i], sizeof window);
        ++counts.at(window);
      }
    });
  });
  return failed ? failed : lost;
}

}  // namespace

void visit_all(const WindowGrid& part, int ranks, std::vector<Visit>& visits) {
  visits.resize(static_cast<std::size_t>(part.count));
  for (std::size_t i = 0; i < visits.size(); ++i)
    visits[i] = {part.first + static_cast<Count>(i), ranks, 0, true};
}

std::optional<Error> plan_visits(const Comm& comm, const Topology& topology, const WindowGrid& part,
                                 const TouchedWindows* touched, std::optional<Error> failed,
                                 std::vector<Visit>& visits) {
  visits.clear();
  const Comm& node = topology.node();
  const auto size = static_cast<std::size_t>(part.count);
  Words all;
  keep_first(failed, gather(node, touched, failed, all));
  keep_first(failed, attempt_to([&] {
               if (failed) return;
               const std::size_t words = touched->words().size();
               for (Count i = 0; i < part.count; ++i) {
                 Visit v{part.first + i, 0, 0, TouchedWindows::is_marked(touched->words(), i)};
                 for (std::size_t from = 0; from < all.size(); from += words)
                   v.ranks +=
                       TouchedWindows::is_marked(std::span(all).subspan(from, words), i) ? 1 : 0;
                 if (v.ranks > 0) visits.push_back(v);
               }
             }));
  if (topology.nodes() > 1) {
    std::vector<std::uint32_t> counts;
    keep_first(failed, count_nodes(comm, topology, part, visits, counts));
    keep_first(failed, attempt_together(node, [&] {
                 counts.resize(size);
                 node.broadcast(counts.data(), size * sizeof counts[0]);
               }));
    keep_first(failed, attempt_to([&] {
                 if (failed) return;
                 std::vector<Visit> merged;
                 auto next = visits.begin();
                 for (Count i = 0; i < part.count; ++i) {
                   Visit v{part.first + i, 0, 0, false};
                   if (next != visits.end() && next->window == v.window) v = *next++;
                   v.nodes = static_cast<int>(counts[static_cast<std::size_t>(i)]);
                   if (v.ranks > 0 || v.nodes > 0) merged.push_back(v);
                 }
                 visits = std::move(merged);
               }));
  }
  return failed;
}

}  // namespace forebay
