// Slabs of variables with a codec, on their way to the file: the ranks of a group bring the parts
// of a round together (part_plan.h), in memory that they share if all are on one node, else by
// messages; each encodes its own, all tell each other what came of it, the leader allocates, and
// all write.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "layout/chunked/coder.h"
#include "layout/decomposed/blob_stream.h"
#include "layout/decomposed/data_file.h"
#include "layout/decomposed/part_plan.h"
#include "layout/decomposed/settle.h"
#include "layout/decomposed/slab_coding.h"

namespace forebay::decomposed {

class SlabEncoder {
 public:
  /// What is referred to outlives it. `io`: of the group's data file. `shares`, the same on all
  /// ranks: they can have memory in common.
  SlabEncoder(const Comm& group, ExtentIo& io, PartLimits limits, bool shares, int threads,
              Report& report)
      : group_(group),
        io_(io),
        limits_(limits),
        shares_(shares),
        tasks_(threads),
        report_(report) {}

  using CodingOf = std::function<const SlabCoding&(VarId)>;
  /// Collective over the group; to be called within `together`. `blobs` are this rank's, by what
  /// FreshSlab::mine tells. The leader has `file`, the others null: it gets the entries. Goes in
  /// rounds; holds what the limits say.
  void encode(std::span<const FreshSlab> slabs, std::span<const Blob> blobs, const CodingOf& coding,
              DataFileWriter* file);

 private:
  struct Work;
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
  Report& report_;
};

}  // namespace forebay::decomposed
