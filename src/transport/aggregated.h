// aggregated: two-phase I/O of our own (see slots.h for what happens within a node, plan/windows.h
// for file domains).
//
// One collective operation carries all extents of all requests of all variables. Windows are
// visited in file order; pieces for a window that this node aggregates go into its slot directly,
// pieces for other nodes' windows travel in one message per window and rank. Memory a rank: its
// share of the slots, plus at most `buffer_limit` of messages, since a round has only as many
// windows as that allows.
#pragma once

#include <future>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "plan/windows.h"
#include "transport/extent_reader.h"
#include "transport/slots.h"
#include "transport/transport.h"

namespace forebay {

class AggregatedTransport : public Transport {
 public:
  AggregatedTransport(const Comm& comm, std::shared_ptr<File> file, const TransportOptions& options,
                      Report& report);

  void write_all(ExtentStream& extents) override;
  void read_all(ExtentStream& extents) override;
  void write(ExtentStream& extents) override;
  void read(ExtentStream& extents) override;
  void expect_more(bool more) override;
  bool ready_beside_mpi() override {
    file_->ensure_open();
    return true;
  }
  void write_beside(ExtentStream& extents, Report& report) override;
  std::string reasons() const override;

 private:
  /// What all ranks together ask for; equal on every rank.
  struct Total {
    Offset first = 0, last = 0;
    Count bytes = 0, pieces = 0;
  };
  struct Held {  // a remote rank's wishes for a window that this rank is the delegate of
    Rank from;
    std::vector<std::byte> pieces;
  };

  void carry_out(ExtentStream& extents, bool writing);
  Total total_of(const StreamSummary& mine);
  bool directly(const Total& total, bool write);
  void set_up(const Total& total);
  void find_nodes(int ranks_per_node);
  Count window_for(const Total& total) const;
  std::vector<Count> touched_windows(const WindowGrid& grid, const Total& total,
                                     ExtentStream& extents);
  bool is_local(const WindowGrid& grid, Count window) const {
    return grid.home_of(window) == node_index_;
  }
  Rank delegate(const WindowGrid& grid, Count window) const;
  std::span<const Count> take_round(const WindowGrid& grid, std::span<const Count>& windows) const;
  WindowGrid grid_over(const Total& total) const;

  void write_within_node(const WindowGrid& grid, std::span<const Count> windows,
                         ExtentStream& extents);
  void write_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                        ExtentStream& extents);
  void read_within_node(const WindowGrid& grid, std::span<const Count> windows,
                        ExtentStream& extents);
  void read_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                       ExtentStream& extents);
  void read_round(const WindowGrid& grid, std::span<const Count> round, ExtentReader& marks,
                  ExtentReader& copies);
  void place_all(const Slots::Use& use, ExtentReader& reader, Offset limit);
  void finish_write(const Slots::Use& use);
  void write_behind(const Slots::Use& use, Count bridge);
  void finish_behind();
  void finish_marking(const Slots::Use& use);
  template <typename F>
  void guarded(F&& f);

  const Comm& comm_;
  std::shared_ptr<File> file_;
  TransportOptions options_;
  Report& report_;

  std::optional<Comm> node_;
  Count window_ = 0;
  std::unique_ptr<Slots> slots_;
  bool shares_ = true;  // until ranks of a node could not share memory
  int node_index_ = 0;
  std::vector<std::vector<Rank>> nodes_;  // ranks of each node
  std::optional<Error> failure_;          // of the operation at hand, on this rank
  /// Windows that threads write while this rank goes on (bulk).
  struct Behind {
    Report report;
    std::future<std::optional<Error>> done;
  };
  std::list<Behind> behind_;
  bool more_ = false;  // see expect_more
  std::int64_t direct_operations_ = 0, aggregated_operations_ = 0;
};

}  // namespace forebay
