#include "hdf5/log/tails.h"

#include <algorithm>

#include "base/error.h"
#include "hdf5/log/file_tails.h"
#include "hdf5/log/memory_tails.h"

namespace forebay::logged {

std::unique_ptr<Tails> Tails::make(const Comm& comm, const Topology& topology,
                                   const std::string& folder, OpenFile open) {
  comm.meet();  // all ranks are here: those of a node wait for each other now
  if (auto tails = topology.nodes() > 1 ? nullptr : MemoryTails::make(comm, open)) return tails;
  return FileTails::make(comm, topology, folder, std::move(open));
}

std::uint32_t Tails::next_turn() {
  look();
  std::uint64_t last = turn_;
  for (const Shown& one : shown_)
    if (one.generation == generation_) last = std::max(last, one.turn);
  if (last >= UINT32_MAX)
    throw Error(Errc::erange, "too many independent writes without a flush", "call H5Fflush");
  return static_cast<std::uint32_t>(last) + 1;
}

void Tails::show(std::uint32_t turn, Count saved) {
  // A rank that has not reached a collective write yet must not reuse a turn.
  turn_ = std::max(turn_, turn);
  show({generation_, static_cast<std::uint64_t>(stream_bytes()), turn_}, saved);
}

void Tails::restart() {
  ++generation_;
  turn_ = 0;
  clear();
}

Count Tails::bytes(int rank) const {
  const Shown& theirs = shown_[static_cast<std::size_t>(rank)];
  return theirs.generation == generation_ ? static_cast<Count>(theirs.bytes) : 0;
}

void Tails::gone(int rank) {
  throw Error(Errc::eread, "what rank " + std::to_string(rank) + " wrote cannot be read",
              "its process has ended");
}

}  // namespace forebay::logged
