// What the encodings of the data files of decomposed variables have in common.
#pragma once

#include <cstdint>
#include <string>

#include "format/decomposed.h"
#include "format/log_bytes.h"

namespace forebay::decomposed {

/// Parsing of what the log's parser takes apart; its errors are those of a netCDF file here.
template <typename F>
auto parsing(const char* what, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.code() != Errc::ebadlog) throw;
    const std::string& text = error.message();
    const std::size_t colon = text.find(": ");
    damaged(std::string(what) + ": " + text.substr(colon == std::string::npos ? 0 : colon + 2));
  }
}

inline std::uint32_t number32(logged::Parser& in, const char* what) {
  const std::uint64_t n = in.number();
  if (n > INT32_MAX) logged::damaged(std::string(what) + " is too large");
  return static_cast<std::uint32_t>(n);
}

/// `a` and a difference that was read, or an error for what is below 0 or above `most`.
inline std::int64_t moved(std::int64_t a, std::uint64_t difference, std::int64_t most,
                          const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, unzigzag(difference), &sum) || sum < 0 || sum > most)
    logged::damaged(std::string(what) + " is out of range");
  return sum;
}

}  // namespace forebay::decomposed
