// What the encodings in data files of decomposed variables share.
#pragma once

#include <cstdint>
#include <string>

#include "base/number_bytes.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

using data_files::parsing;

inline std::uint32_t number32(logged::Parser& in, const char* what) {
  const std::uint64_t n = in.number();
  if (n > INT32_MAX) logged::damaged(std::string(what) + " is too large");
  return static_cast<std::uint32_t>(n);
}

/// Returns `a` plus a difference that was read. Throws if the sum is below 0 or above `most`.
inline std::int64_t moved(std::int64_t a, std::uint64_t difference, std::int64_t most,
                          const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, unzigzag(difference), &sum) || sum < 0 || sum > most)
    logged::damaged(std::string(what) + " is out of range");
  return sum;
}

}  // namespace forebay::decomposed
