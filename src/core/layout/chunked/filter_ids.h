// HDF5's filters: the numbers of those that the ranks know.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::chunked {

inline constexpr std::uint32_t deflate_filter = 1, shuffle_filter = 2, fletcher_filter = 3,
                               bitshuffle_filter = 32008, zfp_filter = 32013, zstd_filter = 32015;

/// A filter of HDF5, with its parameters as a file has them.
struct Filter {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> values;

  bool operator==(const Filter&) const = default;
};

}  // namespace forebay::chunked
