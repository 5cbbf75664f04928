// Comm::Backend carries the messages of a Comm with several ranks: by MPI, or between threads of
// one process. Its functions mean what those of Comm mean. `Comm` itself serves a single rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "comm/mailbox.h"

namespace forebay {

class MeetingPlace;
class Topology;

/// What every rank contributes to a reduction and gets from it: whether a rank has failed, else a
/// few reduced values. It has one size, so that a failed rank need not know what the others reduce.
struct Meeting {
  static constexpr std::size_t room = 22;
  std::int64_t code = 0;  ///< the worst error of any rank; 0: none
  std::int64_t kind = 0;  ///< what is reduced; the same on all ranks that have not failed
  std::int64_t values[room] = {};

  /// A flag in `kind`: this rank is in its last call, such as a close. If others are not, there can
  /// be no later reduction of all ranks.
  static constexpr std::int64_t last = std::int64_t{1} << 40;

  /// The first `maxima` of `values` are reduced by max, the others by `op`.
  static constexpr std::int64_t kind_of(Reduce op, std::size_t values, std::size_t maxima = 0) {
    return static_cast<std::int64_t>((values * (room + 1) + maxima) * 4) +
           static_cast<std::int64_t>(op);
  }
  void add(const Meeting& other);
};

/// The topologies of a communicator, or of several with the same ranks.
using Topologies = std::vector<std::shared_ptr<const Topology>>;

class Comm::Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Returns after all ranks have called it. The result is the same on all ranks.
  virtual void meet(Meeting& meeting) = 0;
  virtual void broadcast(void* data, std::size_t bytes, Rank root) = 0;
  virtual void all_reduce(std::span<std::int64_t> values, Reduce op) = 0;
  virtual void all_reduce(std::span<double> values, Reduce op) = 0;
  /// Computes sums over the lower ranks; the first rank gets zeros.
  virtual void exclusive_scan(std::span<std::int64_t> values) = 0;
  virtual void all_gather(std::int64_t value, std::span<std::int64_t> all) = 0;
  /// `all` has room for the sum of `sizes`.
  virtual void all_gather(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                          std::span<std::byte> all) = 0;
  virtual std::shared_ptr<Backend> split_node(int ranks_per_node) = 0;
  /// Returns a communicator of the ranks that lead; null on the others.
  virtual std::shared_ptr<Backend> split_leaders(bool leads) = 0;
  /// See sparse_exchange.
  virtual void exchange(std::span<const Message> outgoing, const Receive& receive) = 0;
  /// Local, for comm/mailbox.h. post() begins to send to another rank. look_after() finds out which
  /// messages are complete, has_mail() whether one can be fetched. fetch() begins to receive it.
  virtual void post(Letter& letter) = 0;
  virtual bool look_after(std::span<Letter> letters, std::span<Arrival> arrivals) = 0;
  virtual bool has_mail() = 0;
  virtual bool fetch(int tag, Arrival& arrival) = 0;
  /// Local, for ranks that may have no more calls in common. Tells the others that this rank has
  /// come. The returned function says, without waiting, whether all have come.
  virtual std::function<bool()> come() {
    return [] { return false; };
  }
  /// Local. Ends the processes of all ranks.
  virtual void end_job() {}
  /// Collective. Returns zero-filled memory of the process if all ranks live in it; null if they
  /// are processes of their own.
  virtual std::shared_ptr<std::byte> memory_of_process(std::size_t /*bytes*/) { return nullptr; }

  /// Whether the last reduction reported an error, which all ranks throw; whether any did.
  bool meeting_failed = false, has_failed = false;
  bool in_last_call = false;  ///< a LastCall exists (comm/last_call.h)
  bool is_over = false;       ///< some ranks were in a last call, others not: no more reductions

  std::optional<Error> to_tell;  ///< in the next reduction (comm/agree.h)
  Rank outer_rank = -1;          ///< in the communicator that this one was split from; -1: none

  std::function<void()> before_meeting;  ///< Comm::before_meetings
  std::int64_t meetings = 0;             ///< how many have begun

  MeetingPlace* place = nullptr;  ///< does reductions in place of meet(); belongs to a topology
  Topologies topologies;          ///< used by this communicator (comm/topology.h)
  /// All topologies made for the communicators that share this list.
  std::shared_ptr<Topologies> kept_topologies = std::make_shared<Topologies>();
};

}  // namespace forebay
