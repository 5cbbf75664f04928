#include "tools/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "method/method_values.h"
#include "tools/coordinates.h"

namespace forebay::tools {
namespace {

constexpr Count max_points = 16 << 20;
constexpr Count block_elements = 1 << 20;
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

class FieldReader {
 public:
  FieldReader(const Source& file, const FieldOptions& options)
      : file_(file), schema_(file.schema()), options_(options), id_(find(options.variable)) {
    if (!is_numeric(variable().type)) {
      throw Error(Errc::echar, file.path() + ": variable " + variable().name + " is text",
                  "plot takes numbers");
    }
    shape_ = full_ = file.shape(id_);
    apply_slice();
    chosen_.assign(shape_.size(), 0);
    if (std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) {
      throw Error(Errc::einvalcoords,
                  file.path() + ": variable " + variable().name + " has no data",
                  "a dimension has length 0, or no record was written");
    }
  }

  Field read() {
    Field field;
    field.title = name_with_units(id_);
    if (!find_points() || !read_points(field)) read_grid(field);
    const auto [low, high] = range_of(field.points ? field.points->value : field.grid.cells);
    field.min = low;
    field.max = high;
    return field;
  }

 private:
  const Variable& variable() const { return schema_.vars[static_cast<std::size_t>(id_)]; }
  const Dimension& dim(int d) const {
    return schema_.dims[static_cast<std::size_t>(variable().dimids[static_cast<std::size_t>(d)])];
  }
  int ndims() const { return variable().ndims(); }

  // From here on indices are those of the slice.
  void apply_slice() {
    std::vector<std::string> names;
    names.reserve(at(ndims()));
    for (int d = 0; d < ndims(); ++d) names.push_back(dim(d).name);
    try {
      slices_ = parse_slice(options_.slice, names, full_);
    } catch (const Error& error) {
      throw Error(error.code(), file_.path() + ": " + variable().name + ": " + error.message(),
                  error.advice());
    }
    for (std::size_t d = 0; d < slices_.size(); ++d) shape_[d] = slices_[d].count;
  }

  // Which part of a dimension of any variable is shown.
  DimSlice slice_of(VarId id, std::size_t d) const {
    if (id == id_) return slices_[d];
    const DimId wanted = schema_.vars[static_cast<std::size_t>(id)].dimids[d];
    const auto& ours = variable().dimids;
    const auto found = std::find(ours.begin(), ours.end(), wanted);
    if (found != ours.end()) return slices_[static_cast<std::size_t>(found - ours.begin())];
    return {0, file_.length(wanted), 1, false};
  }

  std::vector<double> read_doubles(VarId id, Subarray part) const {
    if (part.stride.empty()) part.stride.assign(part.start.size(), 1);
    for (std::size_t d = 0; d < part.start.size(); ++d) {
      const DimSlice slice = slice_of(id, d);
      part.start[d] = slice.start + part.start[d] * slice.step;
      part.stride[d] *= slice.step;
    }
    return doubles_of(file_, id, part);
  }

  // Values of a coordinate in degrees.
  std::vector<double> read_degrees(VarId id, const Subarray& part) const {
    std::vector<double> values = read_doubles(id, part);
    make_degrees(schema_, id, values);
    return values;
  }

  VarId find(const std::string& name) const {
    if (const auto id = schema_.find_var(name)) return *id;
    std::vector<std::string_view> names;
    for (const Variable& var : schema_.vars) names.emplace_back(var.name);
    const auto meant = nearest_word(name, names);
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 12); ++i) {
      some += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    throw Error(Errc::enotvar, file_.path() + ": there is no variable \"" + name + "\"",
                meant ? "did you mean \"" + *meant + "\"?"
                      : "it has: " + some + (names.size() > 12 ? ", …" : ""));
  }

  std::string name_with_units(VarId id) const {
    std::string name = schema_.vars[static_cast<std::size_t>(id)].name;
    const auto long_name = text_attribute(schema_, id, "long_name");
    if (long_name && !long_name->empty() && *long_name != name) name += ": " + *long_name;
    const auto units = text_attribute(schema_, id, "units");
    if (units && !units->empty()) name += " [" + *units + "]";
    return name;
  }

  // -- points: some of the variable's dimensions are those of a pair of latitudes and longitudes --

  // Positions of a coordinate's dimensions in the variable, if it has all of them side by side.
  std::optional<int> position_of(const Variable& coordinate) const {
    const auto& ours = variable().dimids;
    const auto found =
        std::search(ours.begin(), ours.end(), coordinate.dimids.begin(), coordinate.dimids.end());
    if (coordinate.dimids.empty() || found == ours.end()) return std::nullopt;
    return static_cast<int>(found - ours.begin());
  }

  bool accept_points(VarId latitude, VarId longitude) {
    const Variable& lat = schema_.vars[static_cast<std::size_t>(latitude)];
    const Variable& lon = schema_.vars[static_cast<std::size_t>(longitude)];
    const auto position = position_of(lat);
    if (lat.dimids != lon.dimids || !position || latitude == id_ || longitude == id_) return false;
    latitude_ = latitude;
    longitude_ = longitude;
    first_point_dim_ = *position;
    point_dims_ = lat.ndims();
    return true;
  }

  bool find_points() {
    if (!options_.latitude.empty()) {
      const VarId latitude = find(options_.latitude), longitude = find(options_.longitude);
      if (accept_points(latitude, longitude)) return true;
      // Coordinates of two different dimensions span a grid, which needs no points.
      if (position_of(schema_.vars[static_cast<std::size_t>(latitude)]) &&
          position_of(schema_.vars[static_cast<std::size_t>(longitude)])) {
        return false;
      }
      throw Error(Errc::einval,
                  file_.path() + ": " + options_.latitude + " and " + options_.longitude +
                      " are no coordinates of " + variable().name,
                  "their dimensions must be among the variable's");
    }
    if (has_grid_coordinates()) return false;
    const auto n = static_cast<VarId>(schema_.vars.size());
    for (VarId latitude = 0; latitude < n; ++latitude) {
      if (!says_latitude(schema_, latitude)) continue;
      for (VarId longitude = 0; longitude < n; ++longitude) {
        if (says_longitude(schema_, longitude) && accept_points(latitude, longitude)) return true;
      }
    }
    return false;
  }

  // One dimension of latitudes and another of longitudes: a grid, whatever 2-D coordinates there
  // are besides.
  bool has_grid_coordinates() const {
    bool latitude = false, longitude = false;
    for (int d = 0; d < ndims(); ++d) {
      const auto id = coordinate_of(d);
      if (id && says_latitude(schema_, *id)) latitude = true;
      if (id && says_longitude(schema_, *id)) longitude = true;
    }
    return latitude && longitude;
  }

  bool read_points(Field& field) {
    Count points = 1;
    for (int d = 0; d < point_dims_; ++d) points *= shape_[at(first_point_dim_ + d)];
    Subarray coordinates;
    const Count step = point_dims_ == 1 ? 1 + (points - 1) / max_points : 1;
    for (int d = 0; d < point_dims_; ++d) {
      coordinates.start.push_back(0);
      coordinates.count.push_back(1 + (shape_[at(first_point_dim_ + d)] - 1) / step);
      coordinates.stride.push_back(step);
    }
    if (coordinates.elements() > max_points) return false;
    Points read;
    read.latitude = read_degrees(latitude_, coordinates);
    read.longitude = read_degrees(longitude_, coordinates);
    if (const auto fault = fault_of(read.latitude, read.longitude)) {
      field.remarks.push_back(fmt::format("{} and {} {}: shown in file order", name(latitude_),
                                          name(longitude_), *fault));
      return false;
    }
    std::vector<bool> shown(at(ndims()), false);
    for (int d = 0; d < point_dims_; ++d) shown[at(first_point_dim_ + d)] = true;
    choose_indices(shown, field);
    Subarray part{chosen_, std::vector<Count>(shape_.size(), 1),
                  std::vector<Count>(shape_.size(), 1)};
    for (int d = 0; d < point_dims_; ++d) {
      part.count[at(first_point_dim_ + d)] = coordinates.count[at(d)];
      part.stride[at(first_point_dim_ + d)] = step;
    }
    read.value = read_doubles(id_, part);
    Decoder(schema_, id_).decode(read.value);
    if (step > 1) field.remarks.push_back(fmt::format("every {}th of {} points", step, points));
    field.points = std::move(read);
    return true;
  }

  // -- which indices of the dimensions that are not shown -----------------------------------------

  static std::size_t at(int d) { return static_cast<std::size_t>(d); }
  const std::string& name(VarId id) const { return schema_.vars[at(id)].name; }

  bool is_record_like(int d) const {
    return dim(d).is_record() || one_of(lower_case(dim(d).name), {"time", "record", "t"});
  }

  void choose(int d, std::optional<Count> wanted, const char* option, Field& field) {
    const Count length = shape_[at(d)];
    Count index = wanted.value_or(0);
    if (index < 0) index += length;
    if (index < 0 || index >= length) {
      throw Error(Errc::einvalcoords,
                  fmt::format("{}: {} {} is not there", file_.path(), option, *wanted),
                  fmt::format("{} has {}: accepted are 0 to {}, or -1 for the last", dim(d).name,
                              length, length - 1));
    }
    chosen_[at(d)] = index;
    if (full_[at(d)] == 1) return;
    const DimSlice& slice = slices_[at(d)];
    std::string remark =
        fmt::format("{} {} of {}", dim(d).name, slice.start + index * slice.step, full_[at(d)]);
    if (const auto values = coordinate_values(d); !values.empty()) {
      const auto units = text_attribute(schema_, *coordinate_of(d), "units").value_or("");
      remark += fmt::format(" ({:.5g}{}{})", values[at(static_cast<int>(index))],
                            units.empty() ? "" : " ", units);
    }
    field.remarks.push_back(std::move(remark));
  }

  void choose_indices(const std::vector<bool>& shown, Field& field) {
    bool have_record = false, have_level = false;
    for (int d = 0; d < ndims(); ++d) {
      if (shown[at(d)]) continue;
      if (is_record_like(d) && !have_record) {
        choose(d, options_.record, "record", field);
        have_record = true;
      }
    }
    for (int d = ndims() - 1; d >= 0; --d) {
      if (shown[at(d)] || (is_record_like(d) && have_record && dim(d).is_record())) continue;
      if (have_record && is_record_like(d)) continue;
      choose(d, have_level ? std::nullopt : options_.level, "level", field);
      have_level = true;
    }
    if (options_.record && !have_record) refuse_option("--record", "record", shown);
    if (options_.level && !have_level) refuse_option("--level", "level", shown);
  }

  void refuse_option(const char* option, const char* what, const std::vector<bool>& shown) const {
    std::string picture;
    for (int d = 0; d < ndims(); ++d) {
      if (shown[at(d)]) picture += (picture.empty() ? "" : " × ") + dim(d).name;
    }
    throw Error(Errc::einvalcoords,
                fmt::format("{}: {} has no {} dimension to choose from", file_.path(),
                            variable().name, what),
                fmt::format("leave out {}; the picture shows {}", option, picture));
  }

  // -- grids --------------------------------------------------------------------------------------

  // The variable that holds the coordinates of a dimension.
  std::optional<VarId> coordinate_of(int d) const {
    const DimId wanted = variable().dimids[at(d)];
    const auto fits = [&](VarId id) {
      const Variable& var = schema_.vars[at(id)];
      return var.ndims() == 1 && var.dimids[0] == wanted && is_numeric(var.type) && id != id_;
    };
    for (const std::string& given : {options_.latitude, options_.longitude}) {
      if (given.empty()) continue;
      if (const auto id = schema_.find_var(given); id && fits(*id)) return id;
    }
    const auto same_name = schema_.find_var(dim(d).name);
    return same_name && fits(*same_name) ? same_name : std::nullopt;
  }

  // Empty unless they are all there and rise or fall all the way.
  std::vector<double> coordinate_values(int d) const {
    const auto id = coordinate_of(d);
    const Count length = shape_[at(d)];
    if (!id || length > block_elements) return {};
    std::vector<double> values;
    try {
      values = read_doubles(*id, {{0}, {length}, {}});
    } catch (const Error&) {
      return {};  // the picture does without
    }
    Decoder(schema_, *id).decode(values);
    const auto unordered = [&](auto wrong) {
      return std::adjacent_find(values.begin(), values.end(), wrong) != values.end();
    };
    if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
      return {};
    if (unordered(std::greater_equal<>()) && unordered(std::less_equal<>())) return {};
    return values;
  }

  Axis axis_of(int d) const {
    Axis axis{dim(d).name, shape_[at(d)], coordinate_values(d), false, false};
    axis.first = static_cast<double>(slices_[at(d)].start);
    axis.step = static_cast<double>(slices_[at(d)].step);
    if (const auto id = coordinate_of(d)) {
      axis.latitude = says_latitude(schema_, *id);
      axis.longitude = says_longitude(schema_, *id);
      const auto units = text_attribute(schema_, *id, "units");
      if (!axis.values.empty() && units && !units->empty()) axis.name += " [" + *units + "]";
    }
    return axis;
  }

  bool points_down(int d) const {
    const auto id = coordinate_of(d);
    if (id) {
      const std::string positive =
          lower_case(text_attribute(schema_, *id, "positive").value_or(""));
      if (positive == "down" || positive == "up") return positive == "down";
    }
    const std::string name = lower_case(dim(d).name);
    return name.find("lev") != std::string::npos || name.find("depth") != std::string::npos;
  }

  // The two dimensions that are shown: the last two that are longer than 1, or what there is.
  std::pair<int, int> shown_dims() const {
    std::vector<int> longer, shorter;
    for (int d = ndims() - 1; d >= 0; --d) {
      if (slices_[at(d)].fixed) continue;
      (shape_[at(d)] > 1 ? longer : shorter).push_back(d);
    }
    longer.insert(longer.end(), shorter.begin(), shorter.end());
    const int x = longer.empty() ? -1 : longer[0], y = longer.size() < 2 ? -1 : longer[1];
    if (y >= 0 && y > x) return {y, x};
    return {x, y};
  }

  void read_grid(Field& field) {
    auto [x, y] = shown_dims();
    Grid& grid = field.grid;
    if (x < 0)
      throw Error(Errc::einval, file_.path() + ": " + variable().name + " is one number",
                  ndims() > 0 ? "leave a dimension of --slice open, with :"
                              : "plot takes variables with dimensions");
    if (y >= 0 && shape_[at(y)] > 4 * shape_[at(x)]) std::swap(x, y);  // lie down what is tall
    std::vector<bool> shown(at(ndims()), false);
    shown[at(x)] = true;
    if (y >= 0) shown[at(y)] = true;
    choose_indices(shown, field);
    grid.x = axis_of(x);
    if (y >= 0) {
      grid.y = axis_of(y);
      const bool falls = grid.y.values.size() > 1 && grid.y.values[0] > grid.y.values[1];
      grid.bottom_up = !falls && !points_down(y);
      if (falls && points_down(y)) grid.bottom_up = true;
    } else {
      grid.y.length = 1;
    }
    grid.width = static_cast<int>(std::min<Count>(grid.x.length, options_.max_width));
    grid.height = static_cast<int>(std::min<Count>(grid.y.length, options_.max_height));
    average(grid, x, y);
  }

  // Adds elements to their cells, block by block.
  void average(Grid& grid, int x, int y) const {
    const std::size_t cells =
        static_cast<std::size_t>(grid.width) * static_cast<std::size_t>(grid.height);
    std::vector<double> sums(cells, 0);
    std::vector<int> counts(cells, 0);
    const Decoder decoder(schema_, id_);
    const Count columns = std::min(grid.x.length, block_elements);
    const Count rows = std::max<Count>(1, std::min(grid.y.length, block_elements / columns));
    for (Count row = 0; row < grid.y.length; row += rows) {
      for (Count column = 0; column < grid.x.length; column += columns) {
        Subarray part{chosen_, std::vector<Count>(shape_.size(), 1), {}};
        part.start[at(x)] = column;
        part.count[at(x)] = std::min(columns, grid.x.length - column);
        if (y >= 0) part.start[at(y)] = row;
        if (y >= 0) part.count[at(y)] = std::min(rows, grid.y.length - row);
        std::vector<double> values = read_doubles(id_, part);
        decoder.decode(values);
        const Count nx = part.count[at(x)], ny = y >= 0 ? part.count[at(y)] : 1;
        for (Count i = 0; i < nx * ny; ++i) {
          const double value = values[static_cast<std::size_t>(i)];
          if (std::isnan(value)) continue;
          const Count j = x > y ? i / nx : i % ny, k = x > y ? i % nx : i / ny;
          const Count r = (row + j) * grid.height / grid.y.length;
          const Count c = (column + k) * grid.width / grid.x.length;
          const Count shown_row = grid.bottom_up ? grid.height - 1 - r : r;
          const auto cell = static_cast<std::size_t>(shown_row * grid.width + c);
          sums[cell] += value;
          ++counts[cell];
        }
      }
    }
    grid.cells.assign(cells, nothing);
    for (std::size_t i = 0; i < cells; ++i) {
      if (counts[i] > 0) grid.cells[i] = sums[i] / counts[i];
    }
  }

  const Source& file_;
  const Schema& schema_;
  const FieldOptions& options_;
  VarId id_;
  std::vector<Count> full_, shape_, chosen_;  // lengths; lengths and indices within the slice
  std::vector<DimSlice> slices_;
  VarId latitude_ = -1, longitude_ = -1;
  int first_point_dim_ = 0, point_dims_ = 0;
};

}  // namespace

Field read_field(const Source& file, const FieldOptions& options) {
  return FieldReader(file, options).read();
}

}  // namespace forebay::tools
