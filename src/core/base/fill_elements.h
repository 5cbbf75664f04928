// Memory that has one value throughout.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace forebay {

inline bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes.front() == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Sets every element of `out` to `element`, which has no bytes for zeros.
inline void fill_elements(std::span<std::byte> out, std::span<const std::byte> element) {
  if (out.empty()) return;
  if (is_zero(element)) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  for (std::size_t at = 0; at < out.size(); at += element.size())
    std::memcpy(&out[at], element.data(), element.size());
}

}  // namespace forebay
