// aggregated: two-phase I/O of our own (see slots.h for what happens within a node, plan/windows.h
// for file domains).
//
// One collective operation carries all extents of all requests of all variables. Windows are
// visited in file order; pieces for a window that this node aggregates go into its slot directly,
// pieces for other nodes' windows travel in one message per window and rank. Memory a rank: its
// share of the slots, plus at most `buffer_limit` of messages, since a round has only as many
// windows as that allows.
#pragma once

#include <algorithm>
#include <array>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "comm/topology.h"
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

  static constexpr int slot_count = 8;

  /// The windows of a round that this node has, which are never more than its slots. No memory is
  /// asked for: whoever has acquired a slot must also be able to give it back.
  class LocalUses {
   public:
    const Slots::Use& add(Count window, const Slots::Use& use) {
      items_[size_] = {window, use};
      return items_[size_++].second;
    }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.begin() + static_cast<std::ptrdiff_t>(size_); }
    const Slots::Use& at(Count window) const {
      return std::find_if(begin(), end(), [&](const Item& i) { return i.first == window; })->second;
    }

   private:
    using Item = std::pair<Count, Slots::Use>;
    std::array<Item, slot_count> items_;
    std::size_t size_ = 0;
  };
  /// Two walks over the extents of a read; none where there is no memory for them.
  struct Walks {
    std::unique_ptr<ExtentStream> ahead;
    std::optional<ExtentReader> marks, copies;
  };

  void carry_out(ExtentStream& extents, bool writing);
  Total total_of(const ExtentStream& extents);
  bool directly(const Total& total, bool write);
  void set_up(const Total& total);
  void use_nodes(int ranks_per_node);
  bool one_node() const { return topology_->nodes() == 1; }
  Count window_for(const Total& total) const;
  std::span<const Count> touched_windows(const WindowGrid& grid, const Total& total,
                                         ExtentStream& extents);
  bool is_local(const WindowGrid& grid, Count window) const {
    return grid.home_of(window) == topology_->my_node();
  }
  Rank delegate(const WindowGrid& grid, Count window) const;
  std::span<const Count> take_round(const WindowGrid& grid, std::span<const Count>& windows);
  WindowGrid grid_over(const Total& total) const;

  void write_within_node(const WindowGrid& grid, std::span<const Count> windows,
                         ExtentStream& extents);
  void write_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                        ExtentStream& extents);
  void read_within_node(const WindowGrid& grid, std::span<const Count> windows,
                        ExtentStream& extents);
  void read_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                       ExtentStream& extents);
  void read_round(const WindowGrid& grid, std::span<const Count> round, Walks& walks);
  Walks walks_of(ExtentStream& extents);
  void ship(std::span<const Message> outgoing, const LocalUses& uses);
  std::map<Count, std::vector<std::byte>> answer(std::span<const Held> held, const LocalUses& uses);
  void place_all(const Slots::Use& use, std::optional<ExtentReader>& reader, Offset limit);
  void finish_write(const Slots::Use& use);
  void write_behind(const Slots::Use& use, Count bridge);
  void finish_behind();
  void finish_marking(const Slots::Use& use);
  template <typename F>
  bool guarded(F&& f);
  template <typename F>
  void walk(std::optional<ExtentReader>& reader, Offset limit, F&& f);

  const Comm& comm_;
  std::shared_ptr<File> file_;
  TransportOptions options_;
  Report& report_;

  const Topology* topology_ = nullptr;  // once it is needed
  Count window_ = 0;
  std::optional<Slots> slots_;
  std::vector<Count> windows_;    // of the operation at hand
  std::vector<int> of_home_;      // windows of a round that each node has
  bool shares_ = true;            // until ranks of a node could not share memory
  std::optional<Error> failure_;  // of the operation at hand, on this rank
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
