// The figure of a slice of a variable.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "tools/plot_parts.h"
#include "tools/sphere_index.h"

namespace forebay::tools {
namespace {

struct Picture {
  int height = 540;
  std::function<double(int, int)> value;  // of a pixel; NaN: no data
  Axes axes;
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
  picture.axes.x = ticks_of(grid.x, 12);
  picture.axes.x_name = grid.x.longitude ? "" : grid.x.name;
  if (grid.y.length > 1) {
    picture.axes.y = ticks_of(grid.y, 7);
    for (Tick& tick : picture.axes.y) {
      if (grid.bottom_up) tick.place = 1 - tick.place;
    }
    picture.axes.y_name = grid.y.latitude ? "" : grid.y.name;
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
  picture.axes.x = frame_ticks(frame.west, frame.east, false);
  picture.axes.y = frame_ticks(frame.south, frame.north, true);
  return picture;
}

// -- the figure -----------------------------------------------------------------------------------

void draw_colour_bar(Canvas& canvas, int y, const Field& field, const Range& range, bool holes) {
  constexpr int width = 620, height = 16;
  const int x = left_margin + (picture_width - width) / 2;
  if (std::isnan(field.min)) {
    canvas.text_centred(left_margin + picture_width / 2, y, "no data: nothing but fill values", ink,
                        label_size);
    return;
  }
  draw_scale(canvas, x, y, width, range);
  canvas.text_right(x - 14, y + 3, fmt::format("min {:.5g}", field.min), ink, label_size);
  canvas.text(x + width + 14, y + 3, fmt::format("max {:.5g}", field.max), ink, label_size);
  if (holes) {
    canvas.fill(left_margin, y + height + 10, 14, 11, no_data);
    canvas.frame(left_margin, y + height + 10, 14, 11, line);
    canvas.text(left_margin + 22, y + height + 10, "no data", faint, label_size);
  }
}

}  // namespace

Canvas draw_field(const Field& field, const std::string& file_name, const Range& range) {
  const Picture picture = field.points ? picture_of(*field.points) : picture_of(field.grid);
  Canvas canvas(left_margin + picture_width + right_margin,
                top_margin + picture.height + bottom_margin, paper);
  std::string remarks = file_name;
  for (const std::string& remark : field.remarks) remarks += "  |  " + remark;
  draw_heading(canvas, field.title, remarks);
  bool holes = false;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture_width; ++x) {
      const double value = picture.value(x, y);
      const bool hole = std::isnan(value);
      holes = holes || hole;
      canvas.set(left_margin + x, top_margin + y, hole ? no_data : colour_of(range.share(value)));
    }
  }
  draw_axes(canvas, picture.axes, picture.height);
  draw_colour_bar(canvas, top_margin + picture.height + 56, field, range, holes);
  return canvas;
}

}  // namespace forebay::tools
