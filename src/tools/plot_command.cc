// forebay plot: a picture of a slice of a variable.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "tools/canvas.h"
#include "tools/commands.h"
#include "tools/field.h"
#include "tools/sphere_index.h"
#include "tools/text_table.h"

namespace forebay::tools {
namespace {

constexpr Colour paper = {255, 255, 255}, ink = {34, 38, 44}, faint = {110, 116, 124};
constexpr Colour no_data = {205, 207, 210}, line = {120, 124, 130};
constexpr double title_size = 2.3, label_size = 1.6;
constexpr int left_margin = 84, right_margin = 36, top_margin = 88, bottom_margin = 116;
constexpr int picture_width = 1080;

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

struct Tick {
  double place;  // 0 to 1 along the axis
  std::string label;
};

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

std::vector<Tick> ticks_of(const Axis& axis, int wanted) {
  std::vector<Tick> ticks;
  if (axis.values.size() < 2) {
    const double n = static_cast<double>(axis.length);
    const double step = std::max(1.0, round_step(std::max(1.0, n), wanted));
    for (double i = 0; i < n; i += step) ticks.push_back({(i + 0.5) / n, number_label(i, step)});
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

struct Picture {
  int height = 540;
  std::function<double(int, int)> value;  // of a pixel; NaN: no data
  std::vector<Tick> x, y;                 // y from the top
  std::string x_name, y_name;
};

// -- grids ----------------------------------------------------------------------------------------

int grid_height(const Grid& grid) {
  if (grid.y.length == 1) return 120;
  double ratio = static_cast<double>(grid.y.length) / static_cast<double>(grid.x.length);
  const auto extent = [](const Axis& axis) {
    return axis.values.size() < 2 ? 0.0 : std::abs(axis.values.back() - axis.values.front());
  };
  if (grid.x.longitude && grid.y.latitude && extent(grid.x) > 0 && extent(grid.y) > 0) {
    ratio = extent(grid.y) / extent(grid.x);
  }
  return std::clamp(static_cast<int>(picture_width * ratio), 320, 720);
}

Picture picture_of(const Grid& grid) {
  Picture picture;
  picture.height = grid_height(grid);
  picture.value = [&grid, height = picture.height](int x, int y) {
    return grid.at(x * grid.width / picture_width, y * grid.height / height);
  };
  picture.x = ticks_of(grid.x, 12);
  picture.x_name = grid.x.longitude ? "" : grid.x.name;
  if (grid.y.length > 1) {
    picture.y = ticks_of(grid.y, 7);
    for (Tick& tick : picture.y) {
      if (grid.bottom_up) tick.place = 1 - tick.place;
    }
    picture.y_name = grid.y.latitude ? "" : grid.y.name;
  }
  return picture;
}

// -- points on the sphere -------------------------------------------------------------------------

struct Frame {
  double west = 0, east = 360, south = -90, north = 90;
};

// The whole globe, unless all points lie in a smaller part of it.
Frame frame_of(const Points& points) {
  double west = 1e9, east = -1e9, south = 1e9, north = -1e9;
  for (std::size_t i = 0; i < points.value.size(); ++i) {
    if (std::isnan(points.latitude[i]) || std::isnan(points.longitude[i])) continue;
    west = std::min(west, points.longitude[i]);
    east = std::max(east, points.longitude[i]);
    south = std::min(south, points.latitude[i]);
    north = std::max(north, points.latitude[i]);
  }
  Frame frame;
  if (west < 0) frame = {-180, 180, -90, 90};
  if (east - west < 240) {
    const double margin = 0.02 * (east - west);
    frame.west = west - margin;
    frame.east = east + margin;
  }
  if (north - south < 120) {
    const double margin = 0.02 * (north - south);
    frame.south = std::max(-90.0, south - margin);
    frame.north = std::min(90.0, north + margin);
  }
  return frame;
}

std::vector<Tick> frame_ticks(double from, double to, bool latitude) {
  const double range = to - from;
  const double step = range >= 20 ? degree_step(range, latitude ? 7 : 13) : round_step(range, 6);
  std::vector<Tick> ticks;
  for (double v = std::ceil(from / step) * step; v <= to + 1e-9; v += step) {
    const double place = (v - from) / range;
    ticks.push_back(latitude ? Tick{1 - place, latitude_label(v)}
                             : Tick{place, longitude_label(v)});
  }
  return ticks;
}

// Every pixel takes the value of the nearest point, unless that is far for the spacing of points
// around it: there the data has a hole.
Picture picture_of(const Points& points) {
  constexpr double far = 2.5;
  const Frame frame = frame_of(points);
  const double ratio = (frame.north - frame.south) / (frame.east - frame.west);
  Picture picture;
  picture.height = std::clamp(static_cast<int>(picture_width * ratio), 320, 720);
  auto index = std::make_shared<SphereIndex>(points.latitude, points.longitude);
  auto spacing = std::make_shared<std::map<std::size_t, double>>();
  picture.value = [=, &points, height = picture.height](int x, int y) {
    const double longitude = std::lerp(frame.west, frame.east, (x + 0.5) / picture_width);
    const double latitude = std::lerp(frame.north, frame.south, (y + 0.5) / height);
    const auto [point, distance] = index->nearest(latitude, longitude);
    auto known = spacing->find(point);
    if (known == spacing->end()) {
      const double apart =
          index->nearest(points.latitude[point], points.longitude[point], point).distance;
      known = spacing->emplace(point, apart).first;
    }
    return distance > far * known->second ? std::nan("") : points.value[point];
  };
  picture.x = frame_ticks(frame.west, frame.east, false);
  picture.y = frame_ticks(frame.south, frame.north, true);
  return picture;
}

// -- the figure -----------------------------------------------------------------------------------

struct Range {
  double low, high;

  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

std::string shortened(std::string text, double size, int width) {
  text = printable(text);
  while (Canvas::text_width(text, size) > width && text.size() > 4) {
    text.resize(text.size() - 4);
    text += "...";
  }
  return text;
}

void draw_axes(Canvas& canvas, const Picture& picture) {
  const int bottom = top_margin + picture.height;
  const int label_height = static_cast<int>(7 * label_size);
  canvas.frame(left_margin, top_margin, picture_width, picture.height, line);
  for (const Tick& tick : picture.x) {
    const int x = left_margin + static_cast<int>(std::lround(tick.place * (picture_width - 1)));
    canvas.fill(x, bottom + 1, 1, 5, line);
    canvas.text_centred(x, bottom + 10, tick.label, ink, label_size);
  }
  for (const Tick& tick : picture.y) {
    const int y = top_margin + static_cast<int>(std::lround(tick.place * (picture.height - 1)));
    canvas.fill(left_margin - 6, y, 5, 1, line);
    canvas.text_right(left_margin - 10, y - label_height / 2, tick.label, ink, label_size);
  }
  canvas.text_right(left_margin + picture_width, bottom + 28,
                    shortened(picture.x_name, label_size, 400), faint, label_size);
  canvas.text(left_margin, top_margin - 18, shortened(picture.y_name, label_size, 400), faint,
              label_size);
}

void draw_colour_bar(Canvas& canvas, int y, const Field& field, const Range& range, bool holes) {
  constexpr int width = 620, height = 16;
  const int x = left_margin + (picture_width - width) / 2;
  if (std::isnan(field.min)) {
    canvas.text_centred(left_margin + picture_width / 2, y, "no data: nothing but fill values", ink,
                        label_size);
    return;
  }
  for (int i = 0; i < width; ++i) canvas.fill(x + i, y, 1, height, colour_of(i / (width - 1.0)));
  canvas.frame(x, y, width, height, line);
  if (range.high > range.low) {
    const double step = round_step(range.high - range.low, 6);
    for (double v = std::ceil(range.low / step - 1e-9) * step; v <= range.high + step * 1e-9;
         v += step) {
      const int at = x + static_cast<int>(std::lround(range.share(v) * (width - 1)));
      canvas.fill(at, y + height + 1, 1, 5, line);
      canvas.text_centred(at, y + height + 10, number_label(v, step), ink, label_size);
    }
  } else {
    canvas.text_centred(x + width / 2, y + height + 10, fmt::format("{:.6g}", range.low), ink,
                        label_size);
  }
  canvas.text_right(x - 14, y + 3, fmt::format("min {:.5g}", field.min), ink, label_size);
  canvas.text(x + width + 14, y + 3, fmt::format("max {:.5g}", field.max), ink, label_size);
  if (holes) {
    canvas.fill(left_margin, y + height + 10, 14, 11, no_data);
    canvas.frame(left_margin, y + height + 10, 14, 11, line);
    canvas.text(left_margin + 22, y + height + 10, "no data", faint, label_size);
  }
}

Canvas draw(const Field& field, const std::string& file_name, const Range& range) {
  const Picture picture = field.points ? picture_of(*field.points) : picture_of(field.grid);
  Canvas canvas(left_margin + picture_width + right_margin,
                top_margin + picture.height + bottom_margin, paper);
  canvas.text(left_margin, 20, shortened(field.title, title_size, picture_width), ink, title_size);
  std::string remarks = file_name;
  for (const std::string& remark : field.remarks) remarks += "  |  " + remark;
  canvas.text(left_margin, 46, shortened(remarks, label_size, picture_width), faint, label_size);
  bool holes = false;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture_width; ++x) {
      const double value = picture.value(x, y);
      const bool hole = std::isnan(value);
      holes = holes || hole;
      canvas.set(left_margin + x, top_margin + y, hole ? no_data : colour_of(range.share(value)));
    }
  }
  draw_axes(canvas, picture);
  draw_colour_bar(canvas, top_margin + picture.height + 56, field, range, holes);
  return canvas;
}

struct Options {
  FieldOptions field;
  std::string path, output;
  std::vector<std::string> coordinates;
  std::vector<double> range;
  Count level = 0, record = 0;
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void run(Options& options) {
  if (!options.coordinates.empty()) {
    options.field.latitude = options.coordinates[0];
    options.field.longitude = options.coordinates[1];
  }
  const SerialReader file(options.path);
  const Field field = read_field(file, options.field);
  Range range{field.min, field.max};
  if (!options.range.empty()) range = {options.range[0], options.range[1]};
  const Canvas canvas = draw(field, base_name(options.path), range);
  canvas.write_png(options.output);
  fmt::print("{}: {}", options.output, printable(field.title));
  if (std::isnan(field.min)) {
    fmt::print(", no data");
  } else {
    fmt::print(", {:.6g} to {:.6g}", field.min, field.max);
  }
  for (const std::string& remark : field.remarks) fmt::print(", {}", printable(remark));
  fmt::print("\n");
}

}  // namespace

void add_plot_command(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plot", "Draw a slice of a variable as a PNG picture");
  command->add_option("FILE", options->path, "a CDF-1, CDF-2 or CDF-5 file")->required();
  command->add_option("VAR", options->field.variable, "a variable of numbers")->required();
  command->add_option("-o,--output", options->output, "the picture")->required();
  CLI::Option* level = command->add_option(
      "-l,--level", options->level, "index along the level dimension, from 0; -1 is the last");
  CLI::Option* record =
      command->add_option("-r,--record", options->record, "record, from 0; -1 is the last");
  command
      ->add_option("-c,--coords", options->coordinates,
                   "LAT,LON: variables with the coordinates (default: found by units or name)")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--range", options->range, "LOW,HIGH: values at the ends of the colours")
      ->delimiter(',')
      ->expected(2);
  command->callback([options, level, record, &status] {
    if (level->count() > 0) options->field.level = options->level;
    if (record->count() > 0) options->field.record = options->record;
    run(*options);
    status = exit_done;
  });
}

}  // namespace forebay::tools
