#pragma once

// Values that can be looked at: coordinates of the columns of a spectral-element atmosphere, and a
// smooth made-up field on them.
//
// The sphere is the cubed sphere of ne × ne elements a face with 4 × 4 Gauss-Lobatto-Legendre nodes
// an element, equiangular; a column belongs to the first element that touches it. Elements go face
// by face (four around the equator eastwards, then the south, then the north), row by row, and so
// do the columns. The recorded maps of the F case have this numbering: every border between the
// columns of two ranks falls between two elements.

#include <cstdint>
#include <vector>

namespace forebay::bench {

class SphereField {
 public:
  /// For 54 ne² + 2 columns. Throws std::invalid_argument for any other number. Time and memory are
  /// linear in the columns.
  explicit SphereField(std::int64_t columns);

  std::int64_t columns() const { return static_cast<std::int64_t>(lat_.size()); }
  /// Degrees north, degrees east in [0, 360).
  double lat(std::int64_t column) const { return lat_[static_cast<std::size_t>(column)]; }
  double lon(std::int64_t column) const { return lon_[static_cast<std::size_t>(column)]; }

  /// Value of element `element` of an array of shape (levels, columns), in kelvin: warm at the
  /// equator and near the ground (the last level), with waves along each parallel whose place
  /// follows from `seed`.
  double value(std::uint32_t seed, std::int64_t element, std::int64_t levels) const;

 private:
  std::vector<double> lat_, lon_;
};

}  // namespace forebay::bench
