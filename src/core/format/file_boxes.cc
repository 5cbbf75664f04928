#include "format/file_boxes.h"

#include <algorithm>

namespace forebay::chunked {

bool ChunkBox::meets(const ChunkBox& other) const {
  for (std::size_t d = 0; d < first.size(); ++d)
    if (first[d] > other.last[d] || last[d] < other.first[d]) return false;
  return true;
}

void ChunkBox::widen(std::span<const Count> at) {
  for (std::size_t d = 0; d < first.size(); ++d) {
    first[d] = std::min(first[d], at[d]);
    last[d] = std::max(last[d], at[d]);
  }
}

FileBoxes::FileBoxes(std::span<const Count> lengths, std::span<const Count> shape,
                     std::optional<int> parts)
    : parts_(parts ? std::max(*parts, 1) : 0) {
  if (lengths.size() != shape.size()) return;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    if (shape[d] <= 0 || lengths[d] < 0) {
      grid_.clear();
      return;
    }
    grid_.push_back(lengths[d] == 0 ? 0 : (lengths[d] - 1) / shape[d] + 1);
  }
}

// Chunks are numbered in row-major order, and the first dimension may have no end.
std::vector<Count> FileBoxes::coordinates(Count entry) const {
  std::vector<Count> at(grid_.size());
  Count left = entry / std::max<Count>(parts_, 1);
  for (std::size_t d = grid_.size(); d-- > 1;) {
    const Count n = std::max<Count>(grid_[d], 1);
    at[d] = left % n;
    left /= n;
  }
  at[0] = left;
  return at;
}

void FileBoxes::add(Count entry, std::uint32_t file) {
  if (!has_grid()) return;
  const auto at = coordinates(entry);
  ChunkBox box{at, at};
  for (std::size_t d = 0; d < grid_.size() && !knows_entries(); ++d) {
    box.first[d] = 0;
    if (grid_[d] > 0) box.last[d] = grid_[d] - 1;  // of records: no fewer than are there
  }
  if (is_possible(box)) widen(file, box);
}

void FileBoxes::widen(const FileBoxes& other) {
  for (const auto& [file, box] : other.boxes_) widen(file, box);
}

void FileBoxes::widen(std::uint32_t file, const ChunkBox& box) {
  const auto [place, is_new] = boxes_.emplace(file, box);
  if (is_new) return;
  place->second.widen(box.first);
  place->second.widen(box.last);
}

bool FileBoxes::contains(Count entry, std::uint32_t file) const {
  const auto place = boxes_.find(file);
  if (place == boxes_.end() || !has_grid()) return false;
  if (!knows_entries()) return true;
  const auto at = coordinates(entry);
  return place->second.meets({at, at});
}

bool FileBoxes::is_possible(const ChunkBox& box) const {
  if (!has_grid() || box.first.size() != grid_.size() || box.last.size() != grid_.size())
    return false;
  for (std::size_t d = 0; d < grid_.size(); ++d) {
    if (box.first[d] < 0 || box.first[d] > box.last[d]) return false;
    if (grid_[d] > 0 && box.last[d] >= grid_[d]) return false;
  }
  return true;
}

std::vector<std::uint32_t> FileBoxes::meeting(const ChunkBox& box) const {
  std::vector<std::uint32_t> files;
  for (const auto& [file, its] : boxes_)
    if (its.meets(box)) files.push_back(file);
  return files;
}

}  // namespace forebay::chunked
