// Encoded chunks on their way to the ranks that write their data files (H §IV-C.2). A writer gets
// what goes to its file in windows of a bounded size, in the order of the file, so that it writes
// long runs.
//
// All ranks know the places of all parts. So nobody is told what comes, and how many windows there
// are: a message is the bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/types.h"
#include "comm/comm.h"

namespace forebay::chunked {

/// A part of a chunk that has a place.
struct PlacedPart {
  std::uint32_t file = 0;  ///< from 0 on
  Rank owner = 0;          ///< who encoded it
  Offset offset = 0;       ///< in its file; a multiple of FileSpace::unit
  Count bytes = 0;
  const std::byte* memory = nullptr;  ///< where this rank owns it
};

class GatheredWrites {
 public:
  /// Local. The parts of all ranks, equal on all of them but for `memory`; `writers`: the rank of
  /// each file, each rank once at most. A window has no more than `most_bytes`, or one part.
  /// Memory: two windows of this rank's file, and as much as `parts`.
  GatheredWrites(const Comm& comm, std::span<const Rank> writers, std::vector<PlacedPart> parts,
                 Count most_bytes);

  /// How many windows the largest file has; the same on all ranks.
  std::uint32_t windows() const { return windows_; }
  /// Collective. Brings the parts of every file's window `number` to its writer. What fails on a
  /// rank is thrown there alone, behind the exchange; a rank that has nothing to send for want of
  /// memory leaves its writer with an error, too. The window before keeps what it has.
  void gather(std::uint32_t number);
  /// Local, behind it. The runs of the window in this rank's file, until the next but one.
  std::vector<Extent> runs(std::uint32_t number);
  Count sent() const { return sent_; }  ///< bytes to other ranks, so far

 private:
  struct Part : PlacedPart {
    std::uint32_t window = 0;
    Count at = 0;  // in the window's buffer
  };
  std::span<const Part> parts_of(std::uint32_t window) const;
  Count lay_out(std::span<Part> of_a_file, Count most_bytes);

  const Comm& comm_;
  std::span<const Rank> writers_;
  std::vector<Part> parts_;           // by file and offset
  std::span<const Part> mine_;        // of the file that this rank writes
  std::vector<std::size_t> to_send_;  // this rank's, for others to write, by window
  std::array<std::vector<std::byte>, 2> buffers_;
  std::uint32_t windows_ = 0;
  Count sent_ = 0;
};

}  // namespace forebay::chunked
