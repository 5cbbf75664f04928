// The built-in font: printable ASCII and the degree sign in a grid of 5 × 7 dots.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace forebay::tools {

struct Glyph {
  std::array<std::uint8_t, 7>
      rows;  ///< from top to bottom; the lowest five bits of each, the leftmost dot highest
  std::uint8_t lowered;  ///< dots by which it hangs below its usual place
};

constexpr int glyph_columns = 5, glyph_rows = 7;

/// The glyph of the first character (UTF-8) of `text`, which becomes shorter by that character. Not
/// for an empty text.
const Glyph& next_glyph(std::string_view& text);

}  // namespace forebay::tools
