// The stored form of patterns: printed, and compressed if that makes them smaller (Hou 2023,
// §6.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "codec/pipeline.h"

namespace forebay::logged {

/// Packs and unpacks printed bytes. Keeps the compressor's memory. Not thread-safe.
class BytePacker {
 public:
  BytePacker();
  std::vector<std::byte> pack(std::span<const std::byte> printed);
  /// The same, for a later unpack() with this `most`: Errc::evarsize if there are more bytes.
  std::vector<std::byte> pack(std::span<const std::byte> printed, std::uint64_t most);
  /// Errc::ebadlog if pack() does not make such bytes, or the result would exceed `most` bytes.
  std::vector<std::byte> unpack(std::span<const std::byte> packed, std::uint64_t most);

 private:
  Pipeline pipeline_;
  CodecWorkspace workspace_;
};

/// Packs and unpacks patterns. Keeps the compressor's memory. Not thread-safe.
class PatternPacker {
 public:
  std::vector<std::byte> pack(const Pattern& pattern);
  /// Errc::ebadlog if pack() does not make such bytes.
  Pattern unpack(std::span<const std::byte> packed);

 private:
  BytePacker packer_;
};

}  // namespace forebay::logged
