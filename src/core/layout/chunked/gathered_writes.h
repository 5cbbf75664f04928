// Sends encoded chunks to the ranks that write their data files (Fan et al. 2021, §IV-C.2). A
// writer receives the data of its file in windows of a bounded size, in the order of the file, so
// that it writes long runs.
//
// All ranks know the places of all parts, and so the number of windows and the content of all
// messages. A message has no header.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/types.h"
#include "comm/comm.h"

namespace forebay::chunked {

/// A part of a chunk with its place.
struct PlacedPart {
  std::uint32_t file = 0;  ///< from 0
  Rank owner = 0;          ///< the rank that encoded it
  Offset offset = 0;       ///< in its file; a multiple of FileSpace::unit
  Count bytes = 0;
  const std::byte* memory = nullptr;  ///< set if this rank owns it
};

class GatheredWrites {
 public:
  /// Local. The parts of all ranks, equal on all of them except `memory`. `writers` has the rank of
  /// each file, without duplicates. A window has at most `most_bytes` bytes, or one part. Memory:
  /// two windows of this rank's file, and as much as `parts` takes.
  GatheredWrites(const Comm& comm, std::span<const Rank> writers, std::vector<PlacedPart> parts,
                 Count most_bytes);

  /// The number of windows of the largest file; equal on all ranks.
  std::uint32_t windows() const { return windows_; }
  /// Collective. Sends the parts of each file's window `number` to its writer. An error of a rank
  /// is thrown only there, after the exchange. If a rank lacks memory to send its parts, the writer
  /// gets an error, too. The data of the previous window stays valid.
  void gather(std::uint32_t number);
  /// Local, after gather(). The runs of the window in this rank's file; valid until the next window
  /// but one.
  std::vector<Extent> runs(std::uint32_t number);
  Count sent() const { return sent_; }  ///< bytes sent to other ranks so far

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
  std::vector<std::size_t> to_send_;  // this rank's parts that others write, by window
  std::array<std::vector<std::byte>, 2> buffers_;
  std::uint32_t windows_ = 0;
  Count sent_ = 0;
};

}  // namespace forebay::chunked
