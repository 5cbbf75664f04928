// CopyRoom is an arena for copies that are all freed together, for example at the end of a step. It
// keeps about as much memory for the next step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/raw_bytes.h"

namespace forebay {

class CopyRoom {
 public:
  /// Returns room for `bytes` bytes. The room stays free until take() is called.
  std::byte* find(std::size_t bytes) {
    while (chunk_ < chunks_.size() && chunks_[chunk_].size() - used_ < bytes) {
      ++chunk_;
      used_ = 0;
    }
    // A new chunk doubles the memory, so that many small copies need few chunks.
    if (chunk_ == chunks_.size())
      chunks_.emplace_back(std::max(bytes, std::clamp(memory(), least_chunk, largest_chunk)));
    return chunks_[chunk_].data() + used_;
  }
  /// Reserves what find() returned last until clear().
  void take(std::size_t bytes) {
    used_ += bytes;
    taken_ += bytes;
  }
  void clear() {
    chunk_ = used_ = 0;
    // Small copies take the smaller chunks first.
    std::sort(chunks_.begin(), chunks_.end(),
              [](const RawBytes& a, const RawBytes& b) { return a.size() > b.size(); });
    std::size_t kept = 0;
    std::erase_if(chunks_, [&](const RawBytes& chunk) {
      const bool fits = kept + chunk.size() <= taken_ + taken_ / 4 + least_chunk;
      if (fits) kept += chunk.size();
      return !fits;
    });
    std::reverse(chunks_.begin(), chunks_.end());
    taken_ = 0;
  }
  std::size_t taken() const { return taken_; }  ///< bytes in use
  std::size_t memory() const {
    std::size_t bytes = 0;
    for (const RawBytes& chunk : chunks_) bytes += chunk.size();
    return bytes;
  }

 private:
  // A copy larger than this gets a chunk of its own size.
  static constexpr std::size_t least_chunk = 1 << 20, largest_chunk = 8 << 20;

  std::vector<RawBytes> chunks_;
  std::size_t chunk_ = 0, used_ = 0, taken_ = 0;
};

}  // namespace forebay
