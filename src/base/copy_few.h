// Copying bytes that are few, as a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/types.h"

namespace forebay {

/// As memcpy; for an element or two a call takes longer than their bytes.
inline void copy_few(std::byte* to, const std::byte* from, Count bytes) {
  const auto n = static_cast<std::size_t>(bytes);
  const auto ends_of = [&](auto part) {  // which may overlap
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
