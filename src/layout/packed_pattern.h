// Patterns as layouts store them: printed, then compressed where that makes them smaller
// (D6 §6.2.3).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "codec/pipeline.h"

namespace forebay::logged {

/// Packs and unpacks; keeps the compressor's memory from pattern to pattern. Not thread-safe.
class PatternPacker {
 public:
  PatternPacker();
  std::vector<std::byte> pack(const Pattern& pattern);
  /// Errc::ebadlog for what pack() does not make.
  Pattern unpack(std::span<const std::byte> packed);

 private:
  Pipeline pipeline_;
  CodecWorkspace workspace_;
};

}  // namespace forebay::logged
