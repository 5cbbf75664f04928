// Comm: the ranks that work together: those of a duplicated MPI communicator, the threads of a
// process (comm/thread_ranks.h, for tests), or one process alone. The one place, with transport,
// where ranks talk to each other. All member functions are collective over the communicator unless
// said otherwise.
//
// Every one of them begins with a meeting, or is one: a small reduction, the same for all of them.
// So a rank that fails, wherever it is, can tell the others at the meeting that they come to next,
// whatever it is for (comm/agree.h), and all ranks throw there: a collective call throws Error when
// another rank has failed.
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

/// Makes of sums over a node's ranks what the node brings to the others. Nothing in it fails.
using NodeSums = std::function<void(std::span<std::int64_t>)>;

class Comm {
 public:
  Comm() = default;  ///< this process alone
  /// What carries the messages; see comm/mpi.h for making a Comm from an MPI_Comm.
  class Backend;
  explicit Comm(std::shared_ptr<Backend> backend);

  int rank() const { return rank_; }  ///< local
  int size() const { return size_; }  ///< local
  bool is_root() const { return rank_ == 0; }

  void barrier() const;
  void broadcast(void* data, std::size_t bytes, Rank root = 0) const;
  /// The same for as many as `root` has; one call if they are few, else two.
  void broadcast(std::string& text, Rank root = 0) const { broadcast_sized(text, root); }
  template <typename T>
  void broadcast(std::vector<T>& values, Rank root = 0) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_sized(values, root);
  }
  /// Element-wise over ranks; every rank gets the result.
  void all_reduce(std::span<std::int64_t> values, Reduce op) const;
  std::int64_t all_reduce(std::int64_t value, Reduce op) const;
  /// The first `maxima` of at most 22 values by max, the others by sum: in one meeting.
  void max_and_sum(std::span<std::int64_t> values, std::size_t maxima) const;
  /// Element-wise: `values` become the sums over the ranks below this one, `totals`, as many, those
  /// over all ranks. `mine`: as meet() has it.
  void exclusive_scan(std::span<std::int64_t> values, std::span<std::int64_t> totals,
                      Errc mine = Errc::ok) const;
  void reduce_seconds(std::span<double> min, std::span<double> max, std::span<double> sum) const;
  /// min, max and sum of int64 counters at once, on every rank.
  void all_reduce_stats(std::span<std::int64_t> min, std::span<std::int64_t> max,
                        std::span<std::int64_t> sum) const;

  // A gathering succeeds on all ranks or on none: where one has no memory for it, all throw.

  /// One value of every rank, in rank order.
  std::vector<std::int64_t> all_gather(std::int64_t value) const;
  /// The bytes of every rank, one after another in rank order; `sizes` gets how many came from
  /// each. Every rank holds all of them: for what all need to know, not for data.
  std::vector<std::byte> all_gather_bytes(std::span<const std::byte> mine,
                                          std::vector<std::int64_t>& sizes) const;
  /// The same, if that is not more than `most` bytes; else nothing, and `sizes` tells what it is.
  std::optional<std::vector<std::byte>> all_gather_up_to(std::int64_t most,
                                                         std::span<const std::byte> mine,
                                                         std::vector<std::int64_t>& sizes) const;
  /// The same when every rank knows already how many bytes come from each.
  std::vector<std::byte> all_gather_known(std::span<const std::byte> mine,
                                          std::span<const std::int64_t> sizes) const;

  /// The ranks that share memory with this one; `ranks_per_node` > 0 pretends that nodes have that
  /// many. See comm/topology.h, which does this once.
  Comm split_node(int ranks_per_node) const;
  /// The ranks that lead. For the others: this process alone.
  Comm split_leaders(bool leads) const;

  /// Brings this rank's error, if it has one, to the others. Throws if any rank has one. Else
  /// `values`, as few as a meeting carries (comm/backend.h), are reduced on the way.
  void meet(Errc mine = Errc::ok) const;
  void meet(std::span<std::int64_t> values, Reduce op, Errc mine, std::size_t maxima = 0) const;
  /// Topology::sum_by_nodes, where the backend's place is the topology's.
  void meet_by_nodes(std::span<std::int64_t> values, std::span<std::int64_t> of_node,
                     const NodeSums& told, Errc mine) const;
  /// Local. The last meeting told of an error: all ranks throw it, or have just thrown it.
  bool meeting_failed() const;
  void forget_failed_meeting() const;  ///< local: no rank throws its error on
  /// Local. `hook` is called before each meeting from here on, in place of the one before it: for
  /// what the others are to find done behind it. What it throws this rank brings to the meeting,
  /// unless it comes with an error already: all throw there. Where a rank is alone there are no
  /// meetings. Empty: none.
  void before_meetings(std::function<void()> hook) const;

  /// Local. Ends all processes of the job: for what no rank can go on after.
  [[noreturn]] void end_job() const;

  Backend* backend() const { return backend_.get(); }  ///< null for a process alone

 private:
  template <typename F>
  void meet_in(Errc mine, std::span<std::int64_t> values, std::int64_t kind, F&& meet) const;
  /// `room` makes so many bytes of what `root` has as `mine`.
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
