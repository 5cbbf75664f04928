// A file for tests of deferred writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>

#include "base/memory_file_testing.h"

namespace forebay {

/// A file whose writes wait while it is shut.
class Gated : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  using MemoryFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    ++began;
    while (shut) std::this_thread::sleep_for(std::chrono::microseconds(100));
    most_pieces = std::max<std::size_t>(most_pieces, pieces.size());
    MemoryFile::write_at(offset, pieces);
  }
  std::atomic<bool> shut = false;
  std::atomic<int> began = 0;
  std::atomic<std::size_t> most_pieces = 0;
};

}  // namespace forebay
