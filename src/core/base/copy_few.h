// Copies a number of bytes that is usually small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/types.h"

namespace forebay {

/// Does what memcpy does. For one or two elements, a call to memcpy takes longer than the copying.
inline void copy_few(std::byte* to, const std::byte* from, Count bytes) {
  const auto n = static_cast<std::size_t>(bytes);
  const auto ends_of = [&](auto part) {  // the first and the last part may overlap
    auto last = part;
    std::memcpy(&part, from, sizeof part);
    std::memcpy(&last, from + n - sizeof part, sizeof part);
    std::memcpy(to, &part, sizeof part);
    std::memcpy(to + n - sizeof part, &last, sizeof part);
  };
  if (n > 16 || n < 4) {
    std::memcpy(to, from, n);
  } else if (n >= 8) {
    ends_of(std::uint64_t{});
  } else {
    ends_of(std::uint32_t{});
  }
}

}  // namespace forebay
