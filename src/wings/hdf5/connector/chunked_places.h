// Where the elements of a dataset without filters lie in its file, and what requests select there.
//
// A dataset is cut by a regular grid of chunks, as HDF5 cuts it: all chunks have the same size in
// the file, also those that reach beyond the dataset. A contiguous dataset is one chunk of the
// dataset's extents. Dimension 0 may grow: that adds chunks, and moves none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "array/request.h"
#include "base/extent.h"
#include "base/types.h"
#include "layout/ordered_stream.h"

namespace forebay::vol {

struct PlacedVariable {
  std::vector<Count> extents;
  std::vector<Count> chunk;  ///< its shape in the file
  Count element_size = 1;
  std::vector<Offset> places;  ///< first byte of each chunk, in row-major order of the grid

  /// Returns how many chunks there are along a dimension.
  Count grid_length(std::size_t d) const { return (extents[d] + chunk[d] - 1) / chunk[d]; }
};

/// What a request selects in one chunk.
struct PlacedPiece {
  std::uint32_t request;
  Count chunk;
  StreamSummary summary;
};

/// Yields the bytes of the file that a request selects in one chunk, in file order.
class PlacedCursor {
 public:
  /// `positions` has the place in memory of each run of the request's list. All arguments outlive
  /// the cursor.
  PlacedCursor(const PlacedVariable& var, const Request& request, const PlacedPiece& piece,
               std::span<const Offset> positions);
  StreamSummary summary() const { return summary_; }
  std::size_t next(std::span<Extent> out);

  /// Of a subarray: returns what the request selects in a chunk, without walking through it.
  static StreamSummary summary_of_box(const PlacedVariable& var, const Subarray& box, Count chunk);

 private:
  struct Loop {
    Count count, file, memory;  // steps in bytes
    Count index = 0;
  };
  PlacedCursor(const PlacedVariable& var, const Subarray& box, Count chunk);

  void set_up_box(const PlacedVariable& var, const Subarray& box, Count chunk);
  void set_up_rows(const PlacedVariable& var, Count chunk);
  std::size_t next_of_box(std::span<Extent> out);
  std::size_t next_of_runs(std::span<Extent> out);
  bool step();

  StreamSummary summary_;
  std::byte* memory_ = nullptr;
  std::vector<Loop> loops_;  // outermost first; over pieces of a box, or over rows of the chunk
  Offset file_ = 0;          // of the next piece, or of the present row
  Offset position_ = 0;      // the same in memory, or in the variable's bytes
  Count length_ = 0;         // of each piece, or row
  bool at_end_ = false;
  // Runs.
  const RunList* list_ = nullptr;
  Offset base_ = 0;
  std::span<const Offset> positions_;
  std::size_t run_ = 0;
};

/// The bytes that all requests of an operation write. If they overlap, the later request wins.
class PlacedStream final : public OrderedStream<PlacedCursor> {
 public:
  /// Returns the variable of a request.
  using Variables = std::function<const PlacedVariable&(VarId)>;
  /// The requests outlive the stream and its clones. O(chunks) for each subarray, O(runs) for each
  /// list of runs.
  PlacedStream(std::span<const Request> requests, const Variables& variables);
  std::unique_ptr<ExtentStream> clone() const override;

 private:
  struct Pieces;
  explicit PlacedStream(std::shared_ptr<const Pieces> pieces);
  PlacedCursor cursor(std::uint32_t piece) const override;

  std::shared_ptr<const Pieces> pieces_;
};

}  // namespace forebay::vol
