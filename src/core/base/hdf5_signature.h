// The bytes at the beginning of HDF5's superblock, and those that stand in their place until a log
// file is closed and becomes an ordinary file (docs/formats.md).
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "base/types.h"

namespace forebay {

inline constexpr std::string_view hdf5_signature{"\x89HDF\r\n\x1a\n", 8};
inline constexpr std::string_view masked_signature{
    "\x89"
    "FBC\r\n\x1a\n",
    8};

/// Replaces `from` by `to` at position `place` of a file, if `bytes`, which begin at `begin`, have
/// `from` there. Returns whether they had it.
inline bool replace_signature(std::span<std::byte> bytes, Offset begin, Offset place,
                              std::string_view from, std::string_view to) {
  if (place < begin || place + std::ssize(from) > begin + std::ssize(bytes)) return false;
  std::byte* const at = bytes.data() + (place - begin);
  if (std::memcmp(at, from.data(), from.size()) != 0) return false;
  std::memcpy(at, to.data(), to.size());
  return true;
}

}  // namespace forebay
