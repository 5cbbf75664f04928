#include "tools/canvas.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>

#include "base/error.h"
#include "tools/font.h"

namespace forebay::tools {
namespace {

// -- text: dots are doubled three times with rounded diagonals, then averaged down to the size
// wanted

constexpr int refinement = 8;

struct Bitmap {
  int width, height;
  std::vector<bool> dots;

  std::size_t position(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  }
  bool at(int x, int y) const {
    return x >= 0 && y >= 0 && x < width && y < height && dots[position(x, y)];
  }
};

// Twice the size: a quarter dot takes the colour of its two outer neighbours where these agree and
// the opposite ones differ from them, which turns staircases into slopes.
Bitmap doubled(const Bitmap& in) {
  Bitmap out{2 * in.width, 2 * in.height, std::vector<bool>(4 * in.dots.size())};
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const bool up = in.at(x, y - 1), down = in.at(x, y + 1);
      const bool left = in.at(x - 1, y), right = in.at(x + 1, y);
      const bool sloped = up != down && left != right;
      const auto put = [&](int dx, int dy, bool vertical, bool horizontal) {
        const bool dot = sloped && vertical == horizontal ? vertical : in.at(x, y);
        out.dots[out.position(2 * x + dx, 2 * y + dy)] = dot;
      };
      put(0, 0, up, left);
      put(1, 0, up, right);
      put(0, 1, down, left);
      put(1, 1, down, right);
    }
  }
  return out;
}

struct Columns {
  int first = 0, last = 2;  // the blank is three dots wide
};

Columns columns_of(const Glyph& glyph) {
  unsigned any = 0;
  for (const std::uint8_t row : glyph.rows) any |= row;
  if (any == 0) return {};
  Columns columns{0, glyph_columns - 1};
  while (!(any >> (glyph_columns - 1 - columns.first) & 1U)) ++columns.first;
  while (!(any >> (glyph_columns - 1 - columns.last) & 1U)) --columns.last;
  return columns;
}

Bitmap refined(const Glyph& glyph) {
  Bitmap bitmap{glyph_columns, glyph_rows, {}};
  for (const std::uint8_t row : glyph.rows) {
    for (int x = 0; x < glyph_columns; ++x) bitmap.dots.push_back(row >> (4 - x) & 1U);
  }
  for (int scale = 1; scale < refinement; scale *= 2) bitmap = doubled(bitmap);
  return bitmap;
}

// The share of a pixel that the glyph covers, from 4 × 4 samples.
double coverage(const Bitmap& bitmap, double left, double top, double pixel) {
  int hits = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const double x = left + pixel * (i + 0.5) / 4, y = top + pixel * (j + 0.5) / 4;
      hits += bitmap.at(static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)));
    }
  }
  return hits / 16.0;
}

// -- colours --------------------------------------------------------------------------------------

// Oklab (a space in which distance is difference to the eye) to linear red, green, blue.
std::array<double, 3> linear_rgb(double lightness, double a, double b) {
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool shows(const std::array<double, 3>& rgb) {
  return std::all_of(rgb.begin(), rgb.end(), [](double v) { return v >= -1e-6 && v <= 1 + 1e-6; });
}

std::uint8_t encoded(double linear) {
  linear = std::clamp(linear, 0.0, 1.0);
  const double v = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * v));
}

struct Stop {
  double hue, chroma;  // degrees; how colourful
};

Colour computed_colour(double t) {
  // Evenly spaced stops; lightness is a straight line beside them.
  constexpr std::array<Stop, 6> stops = {
      {{312, 0.12}, {278, 0.12}, {236, 0.09}, {186, 0.1}, {142, 0.15}, {104, 0.19}}};
  const double lightness = 0.27 + 0.65 * t;
  const double place = t * (stops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double part = place - static_cast<double>(i);
  const double hue = std::lerp(stops[i].hue, stops[i + 1].hue, part) * std::numbers::pi / 180;
  double chroma = std::lerp(stops[i].chroma, stops[i + 1].chroma, part);
  auto rgb = linear_rgb(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
  while (!shows(rgb) && chroma > 0) {  // less colourful until a screen can show it
    chroma -= 0.002;
    rgb = linear_rgb(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
  }
  return {encoded(rgb[0]), encoded(rgb[1]), encoded(rgb[2])};
}

}  // namespace

Colour colour_of(double t) {
  constexpr int steps = 512;
  static const std::vector<Colour> table = [] {
    std::vector<Colour> colours;
    colours.reserve(steps);
    for (int i = 0; i < steps; ++i) colours.push_back(computed_colour(i / (steps - 1.0)));
    return colours;
  }();
  return table[static_cast<std::size_t>(std::lround(std::clamp(t, 0.0, 1.0) * (steps - 1)))];
}

Canvas::Canvas(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

Colour Canvas::pixel(int x, int y) const {
  return pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                 static_cast<std::size_t>(x)];
}

void Canvas::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
          static_cast<std::size_t>(x)] = colour;
}

void Canvas::blend(int x, int y, Colour colour, double share) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_ || share <= 0) return;
  const Colour under = pixel(x, y);
  const auto mix = [&](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
  };
  set(x, y,
      {mix(under.red, colour.red), mix(under.green, colour.green), mix(under.blue, colour.blue)});
}

void Canvas::fill(int x, int y, int width, int height, Colour colour) {
  for (int j = std::max(y, 0); j < std::min(y + height, height_); ++j) {
    for (int i = std::max(x, 0); i < std::min(x + width, width_); ++i) set(i, j, colour);
  }
}

void Canvas::frame(int x, int y, int width, int height, Colour colour) {
  fill(x - 1, y - 1, width + 2, 1, colour);
  fill(x - 1, y + height, width + 2, 1, colour);
  fill(x - 1, y, 1, height, colour);
  fill(x + width, y, 1, height, colour);
}

void Canvas::text(int x, int y, std::string_view words, Colour colour, double size) {
  const double pixel = refinement / size;  // of a bitmap's dots
  double left = x;
  while (!words.empty()) {
    const Glyph& glyph = next_glyph(words);
    const Columns columns = columns_of(glyph);
    const Bitmap bitmap = refined(glyph);
    const double top = y + glyph.lowered * size;
    const double origin = left - columns.first * size;
    for (int j = y; j <= y + static_cast<int>((glyph_rows + 2) * size) + 1; ++j) {
      for (int i = static_cast<int>(origin); i <= origin + glyph_columns * size + 1; ++i) {
        blend(i, j, colour, coverage(bitmap, (i - origin) * pixel, (j - top) * pixel, pixel));
      }
    }
    left += (columns.last - columns.first + 2) * size;
  }
}

int Canvas::text_width(std::string_view words, double size) {
  double width = 0;
  while (!words.empty()) {
    const Columns columns = columns_of(next_glyph(words));
    width += (columns.last - columns.first + 2) * size;
  }
  return static_cast<int>(std::ceil(std::max(0.0, width - size)));
}

void Canvas::text_right(int x, int y, std::string_view words, Colour colour, double size) {
  text(x - text_width(words, size), y, words, colour, size);
}

void Canvas::text_centred(int x, int y, std::string_view words, Colour colour, double size) {
  text(x - text_width(words, size) / 2, y, words, colour, size);
}

void Canvas::write_png(const std::string& path) const {
  static_assert(sizeof(Colour) == 3);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw system_error(errno, Errc::ecantwrite, "create", path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(file, std::fclose);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_stdio(&image, file, 0, pixels_.data(), 0, nullptr) == 0 ||
      std::fflush(file) != 0) {
    throw Error(Errc::ecantwrite, path + ": the image cannot be written: " + image.message);
  }
}

}  // namespace forebay::tools
