// What the figures of `forebay plot` have in common: colours, margins, ticks, axes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/canvas.h"
#include "tools/field.h"

namespace forebay::tools {

constexpr Colour paper = {255, 255, 255}, ink = {34, 38, 44}, faint = {110, 116, 124};
constexpr Colour no_data = {205, 207, 210}, line = {120, 124, 130};
constexpr double title_size = 2.3, label_size = 1.6;
constexpr int left_margin = 84, right_margin = 36, top_margin = 88, bottom_margin = 116;
constexpr int picture_width = 1080;  ///< of the data, without margins

struct Tick {
  double place;  ///< 0 to 1 along the axis
  std::string label;
};

struct Range {
  double low, high;

  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// The two axes around a picture; y counts from the top.
struct Axes {
  std::vector<Tick> x, y;
  std::string x_name, y_name;
};

/// A round step that gives about `wanted` ticks over a range; the same for degrees.
double round_step(double range, int wanted);
double degree_step(double range, int wanted);

std::string latitude_label(double value);
std::string longitude_label(double value);
std::string number_label(double value, double step);

/// Ticks at round coordinates, or indices where there are none.
std::vector<Tick> ticks_of(const Axis& axis, int wanted);

/// Cut, with "..." at its end, so that it is at most `width` pixels wide.
std::string shortened(std::string text, double size, int width);

/// Title and remarks above a picture.
void draw_heading(Canvas& canvas, const std::string& title, const std::string& remarks);
/// The frame, ticks and labels of a picture of `height` pixels whose upper edge is at `top`.
void draw_axes(Canvas& canvas, const Axes& axes, int height, int top = top_margin);
/// A bar of colours from `x` to `x` + `width` with labelled values below it.
void draw_scale(Canvas& canvas, int x, int y, int width, const Range& range);

/// A figure of a field: its values as colours, axes, a scale.
Canvas draw_field(const Field& field, const std::string& file_name, const Range& range);

/// The chunks of a variable as two maps: how many bytes each takes in the file, and which rank
/// encoded it, where the report named by `report` (FOREBAY_REPORT=json:PATH; its last entry that
/// tells of the variable) says so, else its place in the file. Of HDF5 files sizes and places: who
/// wrote them is not known. `summary`: one line for the terminal. Errc::einval for a variable
/// without chunks.
Canvas draw_chunks(const Source& source, const std::string& variable, const std::string& report,
                   std::string& summary);

/// Where the time went: a timeline of each rank, from a report in JSON (FOREBAY_REPORT=json:PATH),
/// or bars where it has none; of several in one file the `entry`-th, from 0, or -1 for the last.
/// Errc::enotnc for what is no such report.
Canvas draw_report(const std::string& path, int entry, std::string& summary);

/// The reports in a file, one JSON object a line. Errc::enotnc for a line that is none.
std::vector<nlohmann::json> read_reports(const std::string& path);

/// A colour for the i-th of few things that have no order: ranks, steps.
Colour colour_of_kind(std::size_t i);

}  // namespace forebay::tools
