// A small drawing surface: pixels, boxes, lines, text in a built-in font, written as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::tools {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;

  bool operator==(const Colour&) const = default;
};

/// Pixels counted from the upper left corner. What lies outside is cut off.
class Canvas {
 public:
  Canvas(int width, int height, Colour background);

  int width() const { return width_; }
  int height() const { return height_; }
  Colour pixel(int x, int y) const;

  void set(int x, int y, Colour colour);
  void fill(int x, int y, int width, int height, Colour colour);
  /// The outline of a box, one pixel wide, just outside of it.
  void frame(int x, int y, int width, int height, Colour colour);

  /// Writes text whose capitals are 7·size pixels high, with its upper left corner at (x, y);
  /// smoothed, proportional. Characters that the font does not have appear as '?'.
  void text(int x, int y, std::string_view words, Colour colour, double size);
  /// The same, ending at x or centred on it.
  void text_right(int x, int y, std::string_view words, Colour colour, double size);
  void text_centred(int x, int y, std::string_view words, Colour colour, double size);
  /// Pixels from the left to the right end of a text.
  static int text_width(std::string_view words, double size);

  /// Throws Errc::ecantwrite (or the system's code) with the path.
  void write_png(const std::string& path) const;

 private:
  void blend(int x, int y, Colour colour, double share);

  int width_, height_;
  std::vector<Colour> pixels_;
};

/// A colour for t from 0 to 1: dark violet, blue, green, yellow. Lightness grows evenly, so that
/// equal steps of t look equal, also in grey and to people who see fewer colours. Values outside
/// are clamped.
Colour colour_of(double t);

}  // namespace forebay::tools
