// Bounding boxes of data files (Fan et al. 2021, §III-B): for each data file, the least box around
// the chunks of a variable in it, in coordinates of the grid of chunks. They are a part of the
// directory of the chunk index. So a reader of a region knows the files that it may need without
// the index's pages, which hold the places of chunks.
//
// Chunks that are written anew may leave a file, and its box then is larger than it need be. It is
// never smaller: each entry is checked for that before its chunk is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::chunked {

/// Chunks of a grid, from `first` to `last` along each dimension, both included.
struct ChunkBox {
  std::vector<Count> first, last;

  bool meets(const ChunkBox& other) const;
  void widen(std::span<const Count> at);
  bool operator==(const ChunkBox&) const = default;
};

/// The boxes of one variable, by the data file's number as in entries (from 1).
class FileBoxes {
 public:
  FileBoxes() = default;
  /// `lengths` of the variable's dimensions (0: records), `shape` of its chunks, and the number of
  /// parts of a chunk, if this build knows its codec. Without a shape there are no boxes.
  FileBoxes(std::span<const Count> lengths, std::span<const Count> shape, std::optional<int> parts);

  bool has_grid() const { return !grid_.empty(); }
  /// Returns whether it is known which chunk an entry belongs to.
  bool knows_entries() const { return parts_ > 0; }
  /// An entry of the variable's pages names this data file. If its chunk is not known, the box gets
  /// as large as it can be. Does nothing without a grid, or for a chunk that is not in it.
  void add(Count entry, std::uint32_t file);
  /// Takes the boxes of `other` in, which has the same grid.
  void widen(const FileBoxes& other);
  /// Returns whether the box of a file contains the chunk of an entry.
  bool contains(Count entry, std::uint32_t file) const;
  /// Returns whether a box is one that the grid can have.
  bool is_possible(const ChunkBox& box) const;
  /// Returns the numbers of the files whose boxes meet a box.
  std::vector<std::uint32_t> meeting(const ChunkBox& box) const;
  void clear() { boxes_.clear(); }

  std::map<std::uint32_t, ChunkBox>& boxes() { return boxes_; }
  const std::map<std::uint32_t, ChunkBox>& boxes() const { return boxes_; }

 private:
  std::vector<Count> coordinates(Count entry) const;
  void widen(std::uint32_t file, const ChunkBox& box);

  std::vector<Count> grid_;  // chunks along each dimension; 0: without end
  Count parts_ = 1;          // 0: not known
  std::map<std::uint32_t, ChunkBox> boxes_;
};

}  // namespace forebay::chunked
