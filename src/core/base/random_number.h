// Unique random numbers.
#pragma once

#include <cstdint>
#include <random>

namespace forebay {

/// Returns a random number from the system. Files and sessions are recognised by such numbers.
inline std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace forebay
