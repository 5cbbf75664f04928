// Patterns as layouts store them: printed, then compressed where that makes them smaller
// (D6 §6.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "codec/pipeline.h"

namespace forebay::logged {

/// Packs and unpacks what was printed; keeps the compressor's memory. Not thread-safe.
class BytePacker {
 public:
  BytePacker();
  std::vector<std::byte> pack(std::span<const std::byte> printed);
  /// Errc::ebadlog for what pack() does not make, or would be more than `most` bytes.
  std::vector<std::byte> unpack(std::span<const std::byte> packed, std::uint64_t most);

 private:
  Pipeline pipeline_;
  CodecWorkspace workspace_;
};

/// Packs and unpacks; keeps the compressor's memory from pattern to pattern. Not thread-safe.
class PatternPacker {
 public:
  std::vector<std::byte> pack(const Pattern& pattern);
  /// Errc::ebadlog for what pack() does not make.
  Pattern unpack(std::span<const std::byte> packed);

 private:
  BytePacker packer_;
};

}  // namespace forebay::logged
