// Encodes the slabs of variables with a codec and writes them. In each round, the ranks of a group
// gather the parts of the round (part_plan.h), in shared memory if all are on one node, else by
// messages. Each rank puts its own parts into the order of the array (part_order.h) and encodes
// them. The ranks exchange the results' sizes, the leader allocates space, and all write.
//
// The patterns of all ranks determine that order. Ranks send each other new patterns. A rank that
// does not know a pattern leaves its parts in the order of ranks, and says so with each part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "decomposed/blob_stream.h"
#include "decomposed/data_file.h"
#include "decomposed/part_order.h"
#include "decomposed/part_plan.h"
#include "decomposed/settle.h"
#include "decomposed/slab_coding.h"
#include "layout/chunked/coder.h"
#include "layout/lossy_report.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {

class SlabEncoder {
 public:
  /// All references must outlive it. `io` is the group's data file. `shares`, the same on all
  /// ranks, says that they can share memory. `order_memory` is in bytes, for patterns and again for
  /// orders. The leader notes in `lossy` the result of all parts.
  SlabEncoder(const Comm& group, ExtentIo& io, PartLimits limits, bool shares, int threads,
              Count order_memory, Report& report, LossyReport& lossy)
      : group_(group),
        io_(io),
        limits_(limits),
        shares_(shares),
        tasks_(threads),
        pattern_room_(order_memory),
        orders_(order_memory, most_runs(order_memory)),
        report_(report),
        lossy_(lossy) {}

  /// How a variable's parts are encoded, and which values its attributes call missing.
  struct Encoding {
    const SlabCoding* coding;
    std::shared_ptr<const MissingRule> missing;
  };
  using CodingOf = std::function<Encoding(VarId)>;
  /// Collective over the group, inside `together`. `blobs` are this rank's; FreshSlab::mine points
  /// to them. The leader's `file` receives the entries; it is null on other ranks. Works in rounds,
  /// with the memory that the limits allow.
  void encode(std::span<const FreshSlab> slabs, std::span<const Blob> blobs, const CodingOf& coding,
              DataFileWriter* file);

 private:
  struct Work;
  static std::size_t most_runs(Count memory) {
    return std::min(PartOrder::most_runs, static_cast<std::size_t>(memory / 64));
  }
  std::vector<std::byte> new_patterns(const Work& work);
  void share_patterns(std::span<const std::byte> mine);
  std::shared_ptr<const PartOrder> order_of(const Work& work, const PlannedPart& part);
  void make_room(const PartPlan& plan);
  void prepare(Work& work, std::span<const PlannedPart> round);
  void bring_together(Work& work, std::span<const PlannedPart> round);
  void receive(Work& work, Rank from, std::span<const std::byte> bytes);
  void encode_own(Work& work);
  void place_and_write(Work& work, std::span<const PlannedPart> round, DataFileWriter* file);

  const Comm& group_;
  ExtentIo& io_;
  PartLimits limits_;
  bool shares_;
  NodeMemory memory_;  // a round's parts; all ranks have it, or none
  chunked::TaskTeam tasks_;
  chunked::Arena arena_;
  logged::PatternPacker packer_;
  std::map<Key, std::vector<std::byte>> patterns_;  // of all ranks, packed
  std::set<Key> told_;                              // this rank's, sent or without room
  const Count pattern_room_;                        // for all ranks
  Count share_taken_ = 0;                           // by the patterns that were sent
  PartOrders orders_;
  Report& report_;
  LossyReport& lossy_;
};

}  // namespace forebay::decomposed
