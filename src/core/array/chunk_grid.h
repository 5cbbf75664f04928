// The geometry of chunks: how a regular grid cuts a variable, and how a chunk cuts a request (Hou
// 2023, §5.2.2, §5.2.6).
//
// Chunks are numbered in row-major order of the grid. Along the record dimension the grid has no
// end. A chunk at the end of a fixed dimension is cut off there; one along the record dimension is
// not. Within a chunk, elements are row-major.
//
// "Linear" means the byte position of an element in the variable's row-major order. In record
// variables, records count without padding between them. Run lists of requests to chunked variables
// count linear bytes (array/selection.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// A contiguous piece of a request within one chunk. All in bytes.
struct ChunkPiece {
  Count position;  ///< in the chunk
  Count memory;    ///< in the request's packed elements
  Count length;
};

class ChunkGrid {
 public:
  /// `shape`: elements of a chunk per dimension, checked (plan/chunk_shape.h). A chunk that is
  /// longer than the dimension is cut to its length.
  ChunkGrid(const Variable& var, std::span<const Count> shape);

  int ndims() const { return static_cast<int>(length_.size()); }
  Count width() const { return width_; }  ///< bytes of an element
  const std::vector<Count>& shape() const { return shape_; }
  const std::vector<Count>& lengths() const { return length_; }
  Count chunks_per_row() const { return per_row_; }  ///< chunks with one coordinate along dim 0
  Count grid_length(int d) const { return grid_[static_cast<std::size_t>(d)]; }  ///< chunks along d
  /// Returns the number of chunks of a fixed variable, or of `records` records.
  Count chunks(Count records) const;

  struct Box {
    std::vector<Count> first, extent;  ///< in elements
  };
  Box box(Count id) const;
  std::vector<Count> coordinates(Count id) const;  ///< in the grid
  Count bytes(Count id) const;
  /// Returns the chunk that holds the element at a linear byte. `segment_end` is the end of the
  /// contiguous linear range around it that lies in that chunk.
  Count chunk_at(Offset linear, Offset& segment_end) const;

  /// A chunk as ranges of linear bytes: segments of `bytes` each, in increasing order, which follow
  /// each other in the chunk.
  struct Segments {
    std::vector<Offset> begins;
    Count bytes = 0;
  };
  Segments segments(Count id) const;

 private:
  bool record_ = false;
  Count width_ = 1;
  std::vector<Count> length_, shape_, grid_;  // a record variable does not use grid_[0]
  std::vector<Count> step_;                   // linear bytes between neighbours of a dimension
  Count per_row_ = 1;
  int split_ = 0;  // the last dimension that is cut; all faster ones are whole
};

/// Returns the shape of a chunk that is a hierarchy of levels (Pipeline::parts) at a level: every
/// axis halved `level` times, rounded up; none is 0.
std::vector<Count> level_shape(std::span<const Count> shape, int level);
/// Returns whether a variable in such chunks, which have a shape, has fewer elements along a
/// dimension at coarser levels.
bool is_cut(const Variable& var, std::size_t dim);
/// Returns the variable at a coarser level. Every dimension along which its chunks are longer than
/// one element is halved `level` times, rounded up; so are its chunks. The variable must have
/// chunks with a shape.
Variable at_level(const Variable& var, int level);

/// The bytes of a chunk that a selection touches. touched_chunks() returns each chunk once, by
/// increasing id. It costs time linear in chunks for subarrays, in runs for run lists. Bytes that
/// an overlapping run list (of a read) selects twice count twice.
struct ChunkTouch {
  Count chunk;
  Count bytes;
  bool operator==(const ChunkTouch&) const = default;
};
std::vector<ChunkTouch> touched_chunks(const ChunkGrid& grid, const Request& request);

/// Returns the buffer position of every run of a list without `memory`, for random access.
std::vector<Offset> run_positions(const RunList& list);

/// Enumerates the pieces of one request within one chunk: for subarrays in increasing memory
/// position, for run lists in increasing position in the chunk.
class ChunkPieces {
 public:
  /// `positions`: run_positions() of the request's run list if that has no `memory`; not owned.
  ChunkPieces(const ChunkGrid& grid, const Request& request, Count chunk,
              std::span<const Offset> positions);

  template <typename F>
  void for_each(F&& f) const {
    if (list_ != nullptr) {
      for_each_of_runs(f);
    } else {
      for_each_of_box(f);
    }
  }

  /// Returns the only piece, if a subarray's elements in this chunk are contiguous both in the
  /// chunk and in memory.
  std::optional<ChunkPiece> only_piece() const {
    if (list_ != nullptr || !loops_.empty() || piece_.length == 0) return std::nullopt;
    return piece_;
  }

 private:
  struct Loop {
    Count count, position, memory;  // steps in bytes
  };

  void set_up_box(const Subarray& sub, const ChunkGrid& grid, Count chunk);

  template <typename F>
  void for_each_of_box(F& f) const {
    if (piece_.length == 0) return;
    if (loops_.empty()) return f(piece_);
    std::vector<Count> index(loops_.size(), 0);
    ChunkPiece piece = piece_;
    const Loop& inner = loops_.back();
    for (;;) {
      ChunkPiece at = piece;
      for (Count i = 0; i < inner.count; ++i) {
        f(static_cast<const ChunkPiece&>(at));
        at.position += inner.position;
        at.memory += inner.memory;
      }
      std::size_t d = loops_.size() - 1;
      for (;;) {
        if (d == 0) return;
        const Loop& outer = loops_[--d];
        piece.position += outer.position;
        piece.memory += outer.memory;
        if (++index[d] < outer.count) break;
        piece.position -= outer.count * outer.position;
        piece.memory -= outer.count * outer.memory;
        index[d] = 0;
      }
    }
  }

  template <typename F>
  void for_each_of_runs(F& f) const {
    const Run* const first = list_->runs.data();
    const Run* const last = first + list_->runs.size();
    const Run* run = first;
    Count position = 0;
    for (const Offset segment : segments_.begins) {
      const Offset begin = segment - base_, end = begin + segments_.bytes;
      run = list_->overlapping ? first : first_reaching(run, last, begin);
      for (; run != last && run->offset < end; ++run) {
        const Offset from = std::max(run->offset, begin);
        const Offset to = std::min(run->offset + run->length, end);
        if (from >= to) continue;
        f(ChunkPiece{position + from - begin,
                     places_[static_cast<std::size_t>(run - first)] + from - run->offset,
                     to - from});
      }
      // The last run may reach into the next segment.
      if (run != first) --run;
      position += segments_.bytes;
    }
  }

  /// Returns the first run from `run` on that ends after `begin`. Runs do not overlap.
  static const Run* first_reaching(const Run* run, const Run* last, Offset begin);

  // Subarrays.
  ChunkPiece piece_{0, 0, 0};
  std::vector<Loop> loops_;
  // Run lists.
  const RunList* list_ = nullptr;
  Offset base_ = 0;
  std::span<const Offset> places_;
  ChunkGrid::Segments segments_;
};

}  // namespace forebay
