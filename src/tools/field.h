// Takes from a file what a picture shows: a slice of a variable as a grid of cells, or as points on
// the sphere.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/source.h"

namespace forebay::tools {

/// The part of one dimension that a picture shows: element i is start + i · step of the variable.
struct DimSlice {
  Count start = 0, count = 0, step = 1;
  bool fixed = false;  ///< one index was given: the dimension is not drawn
};

/// Reads a slice as NumPy writes it, one part a dimension from the first on ("3, :, 10:50:2", "..."
/// for as many as needed), or by names ("time=3, lat=10:50"; the others are whole). Negative
/// numbers count from the end. `names` and `lengths` are the variable's. Errc::einvalcoords, with
/// what would be accepted, for an index outside, an empty part, too many parts, a step that is not
/// positive.
std::vector<DimSlice> parse_slice(const std::string& text, const std::vector<std::string>& names,
                                  const std::vector<Count>& lengths);

struct FieldOptions {
  std::string variable;
  std::string slice;                   ///< as parse_slice has it; empty: all
  std::optional<Count> level, record;  ///< counted from 0, or from -1 backwards; first if not given
  std::string latitude,
      longitude;  ///< names of coordinate variables; both empty: found by their units or names
  int max_width = 1080, max_height = 720;  ///< cells of the grid; more elements are averaged
};

/// One direction of a grid.
struct Axis {
  std::string name;            ///< with units
  Count length = 0;            ///< elements of the variable
  std::vector<double> values;  ///< coordinates of the elements, monotonic; empty: their indices
  bool latitude = false, longitude = false;
  double first = 0, step = 1;  ///< index in the variable of the first element, and to the next
};

/// Cells, the first row on top. NaN stands for cells without data.
struct Grid {
  Axis x, y;
  bool bottom_up = false;  ///< element 0 of y is in the last row
  int width = 0, height = 0;
  std::vector<double> cells;

  double at(int column, int row) const {
    return cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                 static_cast<std::size_t>(column)];
  }
};

/// Points on the sphere, in degrees; value NaN: no data.
struct Points {
  std::vector<double> latitude, longitude, value;
};

struct Field {
  std::string title;                 ///< the variable's long name, and units
  std::vector<std::string> remarks;  ///< the indices chosen, how the picture is to be read
  std::optional<Points> points;      ///< what is plotted, if set; otherwise `grid`
  Grid grid;
  double min = 0, max = 0;  ///< of the values shown; both NaN if there are none
};

/// Throws Errc::enotvar (with the names that there are), Errc::echar for text, Errc::einvalcoords
/// for a level, record or slice that is not there, and what reading throws. Memory: three numbers a
/// point (at most 16 million points: of more, every k-th), or the grid and 8 MiB.
Field read_field(const Source& file, const FieldOptions& options);

}  // namespace forebay::tools
