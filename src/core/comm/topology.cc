#include "comm/topology.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"

namespace forebay {

Topology::Topology(const Comm& comm, int ranks_per_node)
    : ranks_per_node_(ranks_per_node), node_(comm.split_node(ranks_per_node)), peers_(node_) {
  std::int64_t leader = comm.rank();  // the node's first rank is its lowest
  node_.broadcast(&leader, sizeof leader);
  const auto leaders = comm.all_gather(leader);
  begin_.push_back(0);
  node_of_.resize(leaders.size());
  for (std::size_t rank = 0; rank < leaders.size(); ++rank) {
    const auto first = static_cast<std::size_t>(leaders[rank]);  // precedes the node's others
    if (first == rank) {
      node_of_[rank] = nodes();
      begin_.push_back(0);
    }
    node_of_[rank] = node_of_[first];
    ++begin_[static_cast<std::size_t>(node_of_[rank]) + 1];
  }
  my_node_ = node_of(comm.rank());
  largest_ = static_cast<int>(*std::max_element(begin_.begin(), begin_.end()));
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  ranks_.resize(leaders.size());
  std::iota(ranks_.begin(), ranks_.end(), 0);
  std::stable_sort(ranks_.begin(), ranks_.end(),
                   [&](Rank a, Rank b) { return node_of(a) < node_of(b); });
  if (nodes() < comm.size()) make_places(comm);
}

void Topology::make_places(const Comm& comm) {
  peers_between_.emplace(peers_);
  comm.meet();  // all are here: those of a node wait for each other from now on
  const std::size_t bytes = MeetingPlace::bytes_for(node_.size());
  meetings_ = NodeMemory::create(node_, 2 * bytes + MeetingPlace::bytes_for(node_.size(), false));
  if (meetings_ && node_.size() > 1) {
    of_node_.emplace(meetings_.data() + bytes, node_, peers_, nullptr, true);
    node_.backend()->place = &*of_node_;
  }
  if (comm.all_reduce(meetings_ ? 1 : 0, Reduce::min) == 0) return;
  if (nodes() > 1) leaders_ = comm.split_leaders(node_.is_root());
  of_all_.emplace(meetings_.data(), node_, peers_, leaders_.backend(), nodes() == 1);
  if (nodes() == 1)
    between_files_.emplace(meetings_.data() + 2 * bytes, node_, *peers_between_, nullptr, true,
                           false);
}

void Topology::serve(const Comm& comm) const {
  if (of_all_ && comm.backend()->place == nullptr) comm.backend()->place = &*of_all_;
}

void Topology::sum_by_nodes(const Comm& comm, std::span<std::int64_t> values,
                            std::span<std::int64_t> of_node, const NodeSums& told,
                            Errc mine) const {
  if (of_all_ && comm.backend()->place == &*of_all_)
    return comm.meet_by_nodes(values, of_node, told, mine);
  const auto& words = comm.backend()->to_tell;
  if (words && node_.size() > 1) tell_at_meeting(node_, *words);  // a rank alone does not reduce
  const auto failed = attempt_to([&] { node_.meet(values, Reduce::sum, mine); });
  if (failed) tell_at_meeting(comm, *failed);
  const Errc code = failed ? failed->code() : mine;
  std::copy(values.begin(), values.end(), of_node.begin());
  if (code == Errc::ok && node_.is_root()) told(values);
  if (!node_.is_root()) std::fill(values.begin(), values.end(), 0);
  comm.meet(values, Reduce::sum, code);
}

namespace {

// The bytes that all topologies of this process keep.
std::atomic<std::size_t> spare_bytes = 0;

}  // namespace

Topology::~Topology() { drop_spare(); }

void Topology::drop_spare() const {
  spare_bytes -= spare_.size();
  spare_ = {};
}

// Some ranks may have dropped their spare memory, so the ranks must agree on it. Too little memory
// is freed before more is allocated: there may be no room for both.
NodeMemory Topology::take_memory(std::size_t bytes, bool has_use) const {
  if (node_.size() == 1) return has_use ? NodeMemory::create(node_, bytes) : NodeMemory();
  if (spare_.size() < bytes) drop_spare();
  std::array<std::int64_t, 3> numbers{spare_.number, -spare_.number, has_use};
  node_.all_reduce(numbers, Reduce::min);
  if (numbers[2] == 0) return {};
  if (numbers[0] > 0 && numbers[0] == -numbers[1]) {
    spare_bytes -= spare_.size();
    return std::exchange(spare_, {});
  }
  drop_spare();
  NodeMemory memory = NodeMemory::create(node_, bytes);
  memory.number = ++memories_;
  return memory;
}

// A single rank's memory is not kept: new memory is as quick. And a rank alone has one topology for
// all its files and threads.
void Topology::give_back(NodeMemory&& memory) const {
  const NodeMemory mine = std::exchange(memory, {});
  if (node_.size() == 1 || mine.size() <= spare_.size()) return;
  drop_spare();
  if ((spare_bytes += mine.size()) <= most_kept) {
    spare_ = mine;
  } else {
    spare_bytes -= mine.size();
  }
}

namespace {

std::mutex growing;  // guards the kept lists while they grow

}  // namespace

MeetingPlace* Topology::between_files(const Topologies& kept) {
  const std::lock_guard<std::mutex> lock(growing);
  for (const auto& topology : kept)
    if (topology->between_files_) return &*topology->between_files_;
  return nullptr;
}

bool Topology::is_known(const Comm& comm, int ranks_per_node) {
  if (comm.size() == 1) return true;
  const auto& mine = comm.backend()->topologies;
  return std::any_of(mine.begin(), mine.end(), [&](const auto& topology) {
    return topology->ranks_per_node_ == ranks_per_node;
  });
}

// All ranks have the same lists: an item is added after a reduction, where nothing fails. But each
// rank releases the topology of a file at its own time (Python collects files that were not
// closed). So all say in that reduction which topologies are free.
const Topology& Topology::of(const Comm& comm, int ranks_per_node) {
  if (comm.size() == 1) {
    static const Topology& alone = *new Topology(Comm(), 0);  // files may outlive statics
    return alone;
  }
  auto& mine = comm.backend()->topologies;
  for (const auto& topology : mine)
    if (topology->ranks_per_node_ == ranks_per_node) return *topology;
  mine.reserve(mine.size() + 1);
  auto& kept = *comm.backend()->kept_topologies;
  constexpr std::size_t most = 62;  // bits of a number with a sign
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < std::min(kept.size(), most); ++i) {
    if (kept[i]->ranks_per_node_ == ranks_per_node && kept[i].use_count() == 1)
      free |= std::uint64_t{1} << i;
  }
  free = ~static_cast<std::uint64_t>(
      comm.all_reduce(static_cast<std::int64_t>(~free), Reduce::bit_or));
  if (free != 0) {
    mine.push_back(kept[static_cast<std::size_t>(std::countr_zero(free))]);
    mine.back()->serve(comm);
    return *mine.back();
  }
  const std::shared_ptr<const Topology> made(new Topology(comm, ranks_per_node));
  {
    const std::lock_guard<std::mutex> lock(growing);
    kept.reserve(kept.size() + 1);
  }
  comm.meet();  // all have it
  {
    const std::lock_guard<std::mutex> lock(growing);
    if (kept.size() < most) kept.push_back(made);
  }
  mine.push_back(made);
  made->serve(comm);
  return *made;
}

}  // namespace forebay
