// The stand-in for builds without MPI: one process, every collective a no-op.
#include "comm/comm.h"

namespace forebay {

struct Comm::Handle {};

Comm::Comm() = default;
Comm::Comm(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}
void Comm::barrier() const {}
void Comm::broadcast(void*, std::size_t, Rank) const {}
void Comm::all_reduce(std::span<std::int64_t>, Reduce) const {}
std::int64_t Comm::all_reduce(std::int64_t value, Reduce) const { return value; }
void Comm::all_reduce_or(std::span<std::uint64_t>) const {}
void Comm::reduce_seconds(std::span<double>, std::span<double>, std::span<double>) const {}
void Comm::all_reduce_stats(std::span<std::int64_t>, std::span<std::int64_t>,
                            std::span<std::int64_t>) const {}
std::vector<std::int64_t> Comm::all_gather(std::int64_t value) const { return {value}; }
std::vector<std::byte> Comm::all_gather_bytes(std::span<const std::byte> mine,
                                              std::vector<std::int64_t>& sizes) const {
  sizes.assign(1, static_cast<std::int64_t>(mine.size()));
  return {mine.begin(), mine.end()};
}
std::vector<std::byte> Comm::all_gather_known(std::span<const std::byte> mine,
                                              std::span<const std::int64_t>) const {
  return {mine.begin(), mine.end()};
}
Comm Comm::split_node(int) const { return *this; }

}  // namespace forebay
