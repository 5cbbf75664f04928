// Comm: the ranks that work together. They are those of a duplicated MPI communicator, the threads
// of a process (comm/thread_ranks.h, for tests), or one process alone. Ranks communicate only here
// and in transport. All member functions are collective over the communicator unless said
// otherwise.
//
// Each collective function begins with, or is, the same small reduction, meet(). So a rank that
// fails anywhere reports its error in the next reduction of the others, whatever that is for
// (comm/agree.h), and all ranks throw there: a collective call throws Error if another rank has
// failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/errc.h"
#include "base/types.h"

namespace forebay {

enum class Reduce { min, max, sum, bit_or };

template <typename T>
T reduced(T a, T b, Reduce op) {
  if (op == Reduce::min) return b < a ? b : a;
  if (op == Reduce::max) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    if (op == Reduce::bit_or) return a | b;
  }
  return a + b;
}

/// Turns a node's sums into its contribution to the sums over nodes. Never fails.
using NodeSums = std::function<void(std::span<std::int64_t>)>;

class Comm {
 public:
  Comm() = default;  ///< this process alone
  /// The backend carries the messages; comm/mpi.h makes a Comm from an MPI_Comm.
  class Backend;
  explicit Comm(std::shared_ptr<Backend> backend);

  int rank() const { return rank_; }  ///< local
  int size() const { return size_; }  ///< local
  bool is_root() const { return rank_ == 0; }

  void barrier() const;
  void broadcast(void* data, std::size_t bytes, Rank root = 0) const;
  /// Broadcasts as many elements as `root` has, by one call if they are few, else by two.
  void broadcast(std::string& text, Rank root = 0) const { broadcast_sized(text, root); }
  template <typename T>
  void broadcast(std::vector<T>& values, Rank root = 0) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_sized(values, root);
  }
  /// Reduces element-wise over ranks; every rank gets the result.
  void all_reduce(std::span<std::int64_t> values, Reduce op) const;
  std::int64_t all_reduce(std::int64_t value, Reduce op) const;
  /// Reduces the first `maxima` of at most 22 values by max, the others by sum, in one step.
  void max_and_sum(std::span<std::int64_t> values, std::size_t maxima) const;
  /// Element-wise: `values` become the sums over the lower ranks; `totals`, as many, the sums over
  /// all ranks. `mine` is as in meet().
  void exclusive_scan(std::span<std::int64_t> values, std::span<std::int64_t> totals,
                      Errc mine = Errc::ok) const;
  void reduce_seconds(std::span<double> min, std::span<double> max, std::span<double> sum) const;
  /// Reduces int64 counters by min, max and sum; every rank gets the results.
  void all_reduce_stats(std::span<std::int64_t> min, std::span<std::int64_t> max,
                        std::span<std::int64_t> sum) const;

  // A gather succeeds on all ranks or on none: if one rank has no memory for it, all throw.

  /// Gathers one value of every rank, in rank order.
  std::vector<std::int64_t> all_gather(std::int64_t value) const;
  /// Gathers the bytes of every rank in rank order; `sizes` gets the number from each. Every rank
  /// holds all bytes, so it serves what all need to know, not data.
  std::vector<std::byte> all_gather_bytes(std::span<const std::byte> mine,
                                          std::vector<std::int64_t>& sizes) const;
  /// Does the same for at most `most` bytes in all. Else returns nothing, but sets `sizes`.
  std::optional<std::vector<std::byte>> all_gather_up_to(std::int64_t most,
                                                         std::span<const std::byte> mine,
                                                         std::vector<std::int64_t>& sizes) const;
  /// Does the same if every rank already knows how many bytes come from each.
  std::vector<std::byte> all_gather_known(std::span<const std::byte> mine,
                                          std::span<const std::int64_t> sizes) const;

  /// Returns the ranks that share memory with this one. `ranks_per_node` > 0 pretends that nodes
  /// have that many. comm/topology.h calls this once.
  Comm split_node(int ranks_per_node) const;
  /// Returns the ranks that lead; on the others, this process alone.
  Comm split_leaders(bool leads) const;

  /// Reports this rank's error, if any, to the others. Throws if any rank has one. Else reduces
  /// `values`, which must fit into one reduction (comm/backend.h).
  void meet(Errc mine = Errc::ok) const;
  void meet(std::span<std::int64_t> values, Reduce op, Errc mine, std::size_t maxima = 0) const;
  /// Does Topology::sum_by_nodes. The backend's place must be the topology's.
  void meet_by_nodes(std::span<std::int64_t> values, std::span<std::int64_t> of_node,
                     const NodeSums& told, Errc mine) const;
  /// Local. Returns whether the last reduction reported an error, which all ranks throw or threw.
  bool meeting_failed() const;
  void forget_failed_meeting() const;  ///< local: no rank rethrows its error
  /// Local. Sets a hook that runs before each later reduction, in place of the one before it; an
  /// empty hook is none. It does what the others expect to be done after the reduction. The rank
  /// reports in the reduction what the hook throws, unless it has an error already, and all throw
  /// there. A rank alone has no reductions.
  void before_meetings(std::function<void()> hook) const;

  /// Local. Ends all processes of the job. For errors after which no rank can go on.
  [[noreturn]] void end_job() const;

  Backend* backend() const { return backend_.get(); }  ///< null for a process alone

 private:
  template <typename F>
  void meet_in(Errc mine, std::span<std::int64_t> values, std::int64_t kind, F&& meet) const;
  /// `room` returns memory for the bytes that `root` has in `mine`.
  void broadcast_bytes(std::span<const std::byte> mine,
                       const std::function<std::byte*(std::size_t)>& room, Rank root) const;
  template <typename List>
  void broadcast_sized(List& list, Rank root) const {
    broadcast_bytes(
        std::as_bytes(std::span(list)),
        [&](std::size_t bytes) {
          list.resize(bytes / sizeof list[0]);
          return reinterpret_cast<std::byte*>(list.data());
        },
        root);
  }

  std::shared_ptr<Backend> backend_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace forebay
