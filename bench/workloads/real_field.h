#pragma once

// A field that was observed, as data for made-up shapes: a variable of a netCDF file, repeated as
// often as needed.

#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace forebay::bench {

/// Horizontal planes (times, levels) of float values; missing values are left as they are.
class RealField {
 public:
  /// Collective. Reads the variable of "FILE:VARIABLE", of two dimensions or more, on rank 0, and
  /// gives it to all. Throws std::runtime_error if it cannot be had, or holds more than 2^28
  /// values.
  static std::shared_ptr<const RealField> load(const std::string& file_and_variable,
                                               const Team& team);

  RealField(std::string name, std::int64_t planes, std::int64_t rows, std::int64_t columns,
            std::vector<float> values);

  const std::string& name() const { return name_; }  ///< "FILE:VARIABLE" without the folder
  std::int64_t planes() const { return planes_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  /// Element (y, x) of an endless plane: tiles of rows × columns, neighbours from different planes,
  /// so that a codec finds no tile twice where there are planes enough.
  float tiled(std::int64_t y, std::int64_t x) const {
    const std::int64_t tile = (y / rows_) * 7 + x / columns_;
    return at(tile % planes_, y % rows_, x % columns_);
  }
  /// Indices are taken modulo the lengths.
  float wrapped(std::int64_t plane, std::int64_t y, std::int64_t x) const {
    return at(plane % planes_, y % rows_, x % columns_);
  }

 private:
  float at(std::int64_t plane, std::int64_t y, std::int64_t x) const {
    return values_[static_cast<std::size_t>((plane * rows_ + y) * columns_ + x)];
  }

  std::string name_;
  std::int64_t planes_, rows_, columns_;
  std::vector<float> values_;
};

}  // namespace forebay::bench
