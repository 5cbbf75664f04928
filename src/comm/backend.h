// What a Comm of several ranks stands on: MPI, or threads of one process. The functions mean what
// those of Comm mean; `Comm` itself answers where there is one rank only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "comm/exchange.h"
#include "comm/mailbox.h"

namespace forebay {

class MeetingPlace;
class Topology;

/// What every rank brings to a meeting and takes from it: whether a rank has failed, else a few
/// values, reduced. Of one size, so that a rank which has failed need not know what the others are
/// about to reduce.
struct Meeting {
  static constexpr std::size_t room = 22;
  std::int64_t code = 0;  ///< the worst error of any rank; 0: none
  std::int64_t kind = 0;  ///< what is reduced; the same on all ranks that have not failed
  std::int64_t values[room] = {};

  /// Of `values` the first `maxima` are reduced by max, the others by `op`.
  static constexpr std::int64_t kind_of(Reduce op, std::size_t values, std::size_t maxima = 0) {
    return static_cast<std::int64_t>((values * (room + 1) + maxima) * 4) +
           static_cast<std::int64_t>(op);
  }
  void add(const Meeting& other);
};

/// What has been found out about a communicator, or about several of the same ranks.
using Topologies = std::vector<std::shared_ptr<const Topology>>;

class Comm::Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Nobody returns before all have come. What comes back is the same on all ranks.
  virtual void meet(Meeting& meeting) = 0;
  virtual void broadcast(void* data, std::size_t bytes, Rank root) = 0;
  virtual void all_reduce(std::span<std::int64_t> values, Reduce op) = 0;
  virtual void all_reduce(std::span<double> values, Reduce op) = 0;
  /// Sums over the ranks below; zeros on the first.
  virtual void exclusive_scan(std::span<std::int64_t> values) = 0;
  virtual void all_gather(std::int64_t value, std::span<std::int64_t> all) = 0;
  /// `all` has room for the sum of `sizes`.
  virtual void all_gather(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                          std::span<std::byte> all) = 0;
  virtual std::shared_ptr<Backend> split_node(int ranks_per_node) = 0;
  /// Of those that lead; null for the others.
  virtual std::shared_ptr<Backend> split_leaders(bool leads) = 0;
  /// See sparse_exchange.
  virtual void exchange(std::span<const Message> outgoing, const Receive& receive) = 0;
  /// Local. See comm/mailbox.h: begins to send, to another rank; looks which messages went and came
  /// whole; whether any is to be fetched; begins to receive one, if it is there.
  virtual void post(Letter& letter) = 0;
  virtual bool look_after(std::span<Letter> letters, std::span<Arrival> arrivals) = 0;
  virtual bool has_mail() = 0;
  virtual bool fetch(int tag, Arrival& arrival) = 0;
  /// Local. Ends the processes of the other ranks, and this one.
  virtual void end_job() {}
  /// Collective. Zero-filled memory of the process that all ranks live in, or null where they are
  /// processes of their own.
  virtual std::shared_ptr<std::byte> memory_of_process(std::size_t /*bytes*/) { return nullptr; }

  /// The last meeting told of an error, which all ranks throw; any meeting did.
  bool meeting_failed = false, has_failed = false;

  std::function<void()> before_meeting;  ///< Comm::before_meetings
  std::int64_t meetings = 0;             ///< so many began

  MeetingPlace* place = nullptr;  ///< for meetings, in place of meet(); that of a topology
  Topologies topologies;          ///< that this communicator uses (comm/topology.h)
  /// All that were made for it and those that share this list: of one, if nobody else uses it.
  std::shared_ptr<Topologies> kept_topologies = std::make_shared<Topologies>();
};

}  // namespace forebay
