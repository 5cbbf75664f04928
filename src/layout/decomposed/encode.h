// Slabs of variables with a codec, on their way to the file: the ranks of a group bring the parts
// of a round together (part_plan.h), in memory that they share if all are on one node, else by
// messages; each puts its own into the order of the array (part_order.h), encodes them, all tell
// each other what came of it, the leader allocates, and all write.
//
// Which order that is the patterns of all ranks tell: these tell each other those that are new. Who
// does not know one leaves parts with it as they are, and says so with each part.
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
#include "layout/chunked/coder.h"
#include "layout/decomposed/blob_stream.h"
#include "layout/decomposed/data_file.h"
#include "layout/decomposed/part_order.h"
#include "layout/decomposed/part_plan.h"
#include "layout/decomposed/settle.h"
#include "layout/decomposed/slab_coding.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {

class SlabEncoder {
 public:
  /// What is referred to outlives it. `io`: of the group's data file. `shares`, the same on all
  /// ranks: they can have memory in common. `order_memory`: bytes of patterns, and again of orders.
  SlabEncoder(const Comm& group, ExtentIo& io, PartLimits limits, bool shares, int threads,
              Count order_memory, Report& report)
      : group_(group),
        io_(io),
        limits_(limits),
        shares_(shares),
        tasks_(threads),
        pattern_room_(order_memory),
        orders_(order_memory, most_runs(order_memory)),
        report_(report) {}

  using CodingOf = std::function<const SlabCoding&(VarId)>;
  /// Collective over the group; to be called within `together`. `blobs` are this rank's, by what
  /// FreshSlab::mine tells. The leader has `file`, the others null: it gets the entries. Goes in
  /// rounds; holds what the limits say.
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
  NodeMemory memory_;  // of a round's parts; all ranks have it, or none
  chunked::TaskTeam tasks_;
  chunked::Arena arena_;
  logged::PatternPacker packer_;
  std::map<Key, std::vector<std::byte>> patterns_;  // of all ranks, packed
  std::set<Key> told_;                              // of this rank's, and those without room
  const Count pattern_room_;                        // of all ranks
  Count share_taken_ = 0;                           // by those of `told_`
  PartOrders orders_;
  Report& report_;
};

}  // namespace forebay::decomposed
