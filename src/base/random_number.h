// Numbers that nobody has had.
#pragma once

#include <cstdint>
#include <random>

namespace forebay {

/// From the system, another one each time: by what files and sessions know what belongs to them.
inline std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace forebay
