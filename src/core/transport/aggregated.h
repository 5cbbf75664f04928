// The transport `aggregated`: two-phase I/O of our own. See slots.h for the part within a node,
// window_walk.h for the part between nodes, and plan/windows.h for file domains.
//
// One collective operation carries all extents of all requests of all variables. Memory of a rank:
// its share of the slots, plus at most `buffer_limit` of messages.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/mailbox.h"
#include "comm/topology.h"
#include "plan/windows.h"
#include "transport/aggregation_rules.h"
#include "transport/path_tuner.h"
#include "transport/read_ahead.h"
#include "transport/slots.h"
#include "transport/stream_between.h"
#include "transport/transport.h"
#include "transport/window_visits.h"

namespace forebay {

class AggregatedTransport : public Transport {
 public:
  AggregatedTransport(const Comm& comm, std::shared_ptr<ByteFile> file,
                      const TransportOptions& options, Report& report);

  void write_all(ExtentStream& extents) override;
  void read_all(ExtentStream& extents) override;
  std::optional<Foreseen> foresee(const StreamSummary& mine) const override;
  void carry_out_foreseen(ExtentStream& extents, bool writing, const Foreseen& agreed,
                          std::optional<Error> failed) override;
  void write(ExtentStream& extents) override;
  void read(ExtentStream& extents) override;
  void expect_more(bool more) override;
  void use_stripes(Count unit) override { options_.striping_unit = unit; }
  void expect_sharing(Sharing sharing) override { options_.sharing = sharing; }
  bool answers_slowly() const override;
  bool overlapped() const override { return overlapped_; }
  bool sees_overlaps() const override { return options_.bulk; }
  bool ready_beside_mpi() override {
    file_->ensure_open();
    return true;
  }
  void write_beside(ExtentStream& extents, Report& report) override;
  std::string reasons() const override;

 private:
  static_assert(std::max(least_rings({.nodes = 1}).all(),
                         least_rings({.nodes = 2}).home + most_away) <= Slots::most);
  static_assert(2 * most_away <= Mailbox::letters);  // see window_walk.h

  void agree_and_carry_out(ExtentStream& extents, bool writing);
  void begin();
  void carry_out(ExtentStream& extents, bool writing, const Foreseen& agreed);
  bool reads_ahead() const;
  void read_now(ExtentStream& extents);
  void give_what_is_held(ExtentStream& extents);
  void set_up(const OperationTotal& total);
  void use_nodes(int ranks_per_node);
  bool one_node() const { return topology_->nodes() == 1; }
  NodeCounts node_counts() const;

  void find_ways();
  void finish_before_direct();
  void directly(ExtentStream& extents, bool writing);
  /// Each rank, or each node, does [from, to) of an operation for itself, without messages. Returns
  /// true if some of this rank's pieces were left out because the deadline had come.
  bool apart(const OperationTotal& total, ExtentStream& extents, Offset from, Offset to,
             bool writing, StreamBetween::Clock::time_point deadline);
  void by_the_tuned_path(const OperationTotal& total, ExtentStream& extents, bool writing);
  /// Does [from, to) of an operation. Returns false if all must be done again, through windows.
  bool try_one_way(PathTuner& way, const OperationTotal& total, ExtentStream& extents, Offset from,
                   Offset to, bool writing);
  /// Does [from, to) of an operation.
  void through_windows(const OperationTotal& total, ExtentStream& extents, Offset from, Offset to,
                       bool writing);
  /// How each node writes for itself.
  struct Alone {
    StreamBetween::Clock::time_point deadline;
    std::optional<StreamBetween>& pieces;  // those that there is time for, if there is a deadline
  };
  /// `alone` may be null. Nothing fails on one rank before its first reduction.
  void walk_windows(const OperationTotal& total, ExtentStream& extents, Offset from, Offset to,
                    bool writing, const Alone* alone = nullptr);
  void finish_write(const Slots::Use& use, bool by_nodes);
  void fetch(const Slots::Use& use);
  template <typename F>
  void call(bool behind, F&& f);
  void take_over_behind(bool all);
  void finish_behind();

  const Comm& comm_;
  std::shared_ptr<ByteFile> file_;
  bool batches_;              // bulk, however fast the file answers
  TransportOptions options_;  // bulk: of the current operation
  Report& report_;
  ReadAhead ahead_;

  const Topology* topology_ = nullptr;  // set when it is needed
  Count window_ = 0;
  std::optional<Slots> slots_;
  std::optional<Mailbox> mailbox_;  // set if there are several nodes
  std::vector<Visit> visits_;       // of the current operation; memory for a few exists
  int callers_ = 0;                 // at a time, of this node; 0: any number
  bool shares_ = true;              // false once a node's ranks could not share memory
  std::optional<Error> failure_;    // of the current operation, on this rank
  /// Windows that threads write while this rank goes on (bulk).
  struct Behind {
    Report report;
    std::future<std::optional<Error>> done;
  };
  std::list<Behind> behind_;
  bool more_ = false;           // see expect_more
  bool may_be_behind_ = false;  // writes may be under way; the same on all ranks
  bool overlapped_ = false;     // in the last operation
  std::int64_t latency_ = std::numeric_limits<std::int64_t>::max();  // see File; least of all ranks
  bool caches_weak_ = false;                                         // on any rank
  std::shared_ptr<PathTunerCache::OfBoth> ways_;  // set when it is needed; equal on all ranks
  /// Set if the current operation goes one way and is measured.
  struct Measured {
    PathTuner* way = nullptr;  // null: it is not measured
    bool directly = false;
    std::chrono::steady_clock::time_point begin;
  } measured_;
  std::int64_t direct_operations_ = 0, aggregated_operations_ = 0;
  std::int64_t operations_ahead_ = 0;  // by reading ahead
};

}  // namespace forebay
