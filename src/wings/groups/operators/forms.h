// What encoding and decoding of adios2's operators share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "groups/format/bp.h"

namespace forebay::operators {

inline constexpr std::uint8_t header_version = 1;
enum class Number : std::uint8_t { blosc = 0, bzip2 = 1, zfp = 7 };

/// Returns the extents that zfp is told, slowest first, by those in the header. Extents of 1 are
/// left out, and the first ones merged until there are `most`: adios2 has four
/// since 2.11, if it was built so, and three before. zfp's fastest dimension is then the
/// first one, whatever the order in memory. A complex number is two of the last one. Empty: there
/// is a single value, which adios2 does not decode.
std::vector<std::size_t> zfp_shape(bp::Type type, std::vector<std::size_t> extents,
                                   std::size_t most);
inline constexpr std::size_t most_zfp_dimensions = 4, least_zfp_dimensions = 3;

/// Returns the number that a text begins with, whatever the locale. Nothing: it begins with none.
std::optional<double> number_in(std::string_view text);

}  // namespace forebay::operators
