#pragma once

#include <cstdint>

namespace forebay::bench {

/// Element `element` of an array whose two fastest dimensions are (rows, columns): a few waves
/// along each, whose place and height follow from `seed`, with 17 bits of mantissa. Of E3SM's F
/// case with such values deflate makes 2.2 (Hou 2023 found 2.27), of its G case 3.6.
float smooth_value(std::uint32_t seed, std::int64_t element, std::int64_t rows,
                   std::int64_t columns);

}  // namespace forebay::bench
