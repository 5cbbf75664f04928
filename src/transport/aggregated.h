// aggregated: two-phase I/O of our own (see slots.h for what happens within a node, window_walk.h
// for what goes between nodes, plan/windows.h for file domains).
//
// One collective operation carries all extents of all requests of all variables. Memory a rank: its
// share of the slots, plus at most `buffer_limit` of messages.
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
#include "transport/quicker_way.h"
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
  /// [from, to) of an operation by each rank, or each node, for itself, without messages. True:
  /// some of this rank's pieces were left out, as the deadline had come.
  bool apart(const OperationTotal& total, ExtentStream& extents, Offset from, Offset to,
             bool writing, StreamBetween::Clock::time_point deadline);
  void by_the_quicker_way(const OperationTotal& total, ExtentStream& extents, bool writing);
  /// [from, to) of an operation. False: all of it has to be done again, through windows.
  bool try_one_way(QuickerWay& way, const OperationTotal& total, ExtentStream& extents, Offset from,
                   Offset to, bool writing);
  /// [from, to) of an operation.
  void through_windows(const OperationTotal& total, ExtentStream& extents, Offset from, Offset to,
                       bool writing);
  /// A write by each node for itself.
  struct Alone {
    StreamBetween::Clock::time_point deadline;
    std::optional<StreamBetween>& pieces;  // what of them there is time for, where there is one
  };
  /// `alone`: or null. Nothing fails on one rank before its first meeting.
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
  bool batches_;              // bulk, however the file answers
  TransportOptions options_;  // bulk: of the operation at hand
  Report& report_;
  ReadAhead ahead_;

  const Topology* topology_ = nullptr;  // once it is needed
  Count window_ = 0;
  std::optional<Slots> slots_;
  std::optional<Mailbox> mailbox_;  // where there are several nodes
  std::vector<Visit> visits_;       // of the operation at hand; there is room for a few
  int callers_ = 0;                 // of this node at a time; 0: any number
  bool shares_ = true;              // until ranks of a node could not share memory
  std::optional<Error> failure_;    // of the operation at hand, on this rank
  /// Windows that threads write while this rank goes on (bulk).
  struct Behind {
    Report report;
    std::future<std::optional<Error>> done;
  };
  std::list<Behind> behind_;
  bool more_ = false;           // see expect_more
  bool may_be_behind_ = false;  // something of writes meanwhile; the same on all ranks
  bool overlapped_ = false;     // in the last operation
  std::int64_t latency_ = std::numeric_limits<std::int64_t>::max();  // see File; of all ranks
  bool caches_weak_ = false;                                         // on any rank
  std::shared_ptr<KnownWays::OfBoth> ways_;  // once it is needed; equal on all ranks
  /// The operation at hand goes one way, and is measured.
  struct Measured {
    QuickerWay* way = nullptr;  // null: it is not
    bool directly = false;
    std::chrono::steady_clock::time_point begin;
  } measured_;
  std::int64_t direct_operations_ = 0, aggregated_operations_ = 0;
  std::int64_t operations_ahead_ = 0;  // by what ranks had read ahead, or did
};

}  // namespace forebay
