#include "tools/plot_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text_table.h"

namespace forebay::tools {
namespace {

// Where a coordinate lies among rising or falling values, as a share of the axis; elements are
// cells of equal width.
double place_of(const std::vector<double>& values, double wanted) {
  const bool rising = values.front() < values.back();
  const auto before = [&](double a, double b) { return rising ? a < b : a > b; };
  const auto after = std::lower_bound(values.begin(), values.end(), wanted, before);
  const auto n = static_cast<double>(values.size());
  const auto clamped = std::clamp(after, values.begin() + 1, values.end() - 1);
  const auto i = static_cast<double>(clamped - values.begin());
  const double part = (wanted - clamped[-1]) / (clamped[0] - clamped[-1]);
  return (i - 1 + part + 0.5) / n;
}

}  // namespace

// A round step that gives about `wanted` ticks over a range.
double round_step(double range, int wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

// Degrees divide into other round steps than numbers do.
double degree_step(double range, int wanted) {
  for (const double step : {5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0}) {
    if (range / step <= wanted) return step;
  }
  return 90;
}

std::string latitude_label(double value) {
  if (value == 0) return "0°";
  return fmt::format("{:g}°{}", std::abs(value), value > 0 ? "N" : "S");
}

std::string longitude_label(double value) {
  const double turned = value > 180 ? value - 360 : value;
  if (turned == 0 || std::abs(turned) == 180) return fmt::format("{:g}°", std::abs(turned));
  return fmt::format("{:g}°{}", std::abs(turned), turned > 0 ? "E" : "W");
}

std::string number_label(double value, double step) {
  if (value == 0 || std::abs(value) < step * 1e-9) return "0";
  return fmt::format("{:.6g}", value);
}

std::vector<Tick> ticks_of(const Axis& axis, int wanted) {
  std::vector<Tick> ticks;
  if (axis.values.size() < 2) {
    const double n = static_cast<double>(axis.length);
    const double range = std::max(1.0, n * axis.step);
    const double step = std::max(1.0, round_step(range, wanted));
    for (double v = std::ceil(axis.first / step) * step; v < axis.first + range; v += step)
      ticks.push_back({((v - axis.first) / axis.step + 0.5) / n, number_label(v, step)});
    return ticks;
  }
  const double low = std::min(axis.values.front(), axis.values.back());
  const double high = std::max(axis.values.front(), axis.values.back());
  const bool degrees = axis.latitude || axis.longitude;
  const double step = degrees && high - low >= 20 ? degree_step(high - low, wanted)
                                                  : round_step(high - low, wanted);
  // Half a cell beyond the outer elements belongs to the picture.
  for (double v = std::ceil(low / step - 0.5) * step; v <= high + step; v += step) {
    const double place = place_of(axis.values, v);
    if (place < -1e-9 || place > 1 + 1e-9) continue;
    ticks.push_back({place, axis.latitude    ? latitude_label(v)
                            : axis.longitude ? longitude_label(v)
                                             : number_label(v, step)});
  }
  return ticks;
}

std::string shortened(std::string text, double size, int width) {
  text = printable(text);
  while (Canvas::text_width(text, size) > width && text.size() > 4) {
    text.resize(text.size() - 4);
    text += "...";
  }
  return text;
}

void draw_axes(Canvas& canvas, const Axes& axes, int height, int top) {
  const int bottom = top + height;
  const int label_height = static_cast<int>(7 * label_size);
  canvas.frame(left_margin, top, picture_width, height, line);
  for (const Tick& tick : axes.x) {
    const int x = left_margin + static_cast<int>(std::lround(tick.place * (picture_width - 1)));
    canvas.fill(x, bottom + 1, 1, 5, line);
    canvas.text_centred(x, bottom + 10, tick.label, ink, label_size);
  }
  for (const Tick& tick : axes.y) {
    const int y = top + static_cast<int>(std::lround(tick.place * (height - 1)));
    canvas.fill(left_margin - 6, y, 5, 1, line);
    canvas.text_right(left_margin - 10, y - label_height / 2, tick.label, ink, label_size);
  }
  canvas.text_right(left_margin + picture_width, bottom + 28,
                    shortened(axes.x_name, label_size, 400), faint, label_size);
  canvas.text(left_margin, top - 18, shortened(axes.y_name, label_size, picture_width), faint,
              label_size);
}

void draw_scale(Canvas& canvas, int x, int y, int width, const Range& range) {
  constexpr int height = 16;
  for (int i = 0; i < width; ++i) canvas.fill(x + i, y, 1, height, colour_of(i / (width - 1.0)));
  canvas.frame(x, y, width, height, line);
  if (range.high <= range.low) {
    canvas.text_centred(x + width / 2, y + height + 10, fmt::format("{:.6g}", range.low), ink,
                        label_size);
    return;
  }
  const double step = round_step(range.high - range.low, width / 100);
  for (double v = std::ceil(range.low / step - 1e-9) * step; v <= range.high + step * 1e-9;
       v += step) {
    const int at = x + static_cast<int>(std::lround(range.share(v) * (width - 1)));
    canvas.fill(at, y + height + 1, 1, 5, line);
    canvas.text_centred(at, y + height + 10, number_label(v, step), ink, label_size);
  }
}

void draw_heading(Canvas& canvas, const std::string& title, const std::string& remarks) {
  canvas.text(left_margin, 20, shortened(title, title_size, picture_width), ink, title_size);
  canvas.text(left_margin, 46, shortened(remarks, label_size, picture_width), faint, label_size);
}

// As many as there are steps in a report. Lightness alternates, so that neighbours in a legend
// differ in grey too.
Colour colour_of_kind(std::size_t i) {
  static constexpr Colour kinds[] = {
      {31, 119, 180}, {255, 166, 64},  {44, 130, 60},   {230, 120, 130}, {110, 70, 160},
      {190, 190, 60}, {140, 70, 45},   {120, 200, 225}, {200, 40, 40},   {150, 210, 130},
      {70, 80, 95},   {240, 170, 215}, {0, 95, 105},    {205, 175, 140}, {60, 60, 170}};
  return kinds[i % std::size(kinds)];
}

}  // namespace forebay::tools
