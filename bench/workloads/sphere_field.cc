#include "workloads/sphere_field.h"

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace forebay::bench {
namespace {

constexpr int kFaces = 6;
constexpr int kNodes = 4;
constexpr double kDegrees = 180 / std::numbers::pi;

using Vector = std::array<double, 3>;

// The point of a face at angles (alpha, beta) from its middle, each in [-pi/4, pi/4].
Vector point_on_cube(int face, double alpha, double beta) {
  const double x = std::tan(alpha);
  const double y = std::tan(beta);
  switch (face) {
    case 0:
      return {1, x, y};
    case 1:
      return {-x, 1, y};
    case 2:
      return {-1, -x, y};
    case 3:
      return {x, -1, y};
    case 4:
      return {y, x, -1};
    default:
      return {-y, x, 1};
  }
}

// Nodes that elements share are the same point but for rounding: a name that does not see it.
std::string name_of(const Vector& p) {
  const double length = std::hypot(p[0], p[1], p[2]);
  std::string name;
  for (double x : p) name += std::to_string(std::llround(x / length * 1e7)) + ",";
  return name;
}

std::int64_t elements_along_edge(std::int64_t columns) {
  const auto ne =
      static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(columns - 2) / 54)));
  if (ne < 1 || 54 * ne * ne + 2 != columns) {
    throw std::invalid_argument(std::to_string(columns) +
                                " columns are not those of a cubed sphere, 54 ne^2 + 2");
  }
  return ne;
}

}  // namespace

SphereField::SphereField(std::int64_t columns) {
  const std::int64_t ne = elements_along_edge(columns);
  const double step = std::numbers::pi / 2 / static_cast<double>(ne);
  const double inner = 1 / std::sqrt(5.0);
  const std::array<double, kNodes> nodes{-1, -inner, inner, 1};
  const auto angle = [&](std::int64_t element, double node) {
    return -std::numbers::pi / 4 + step * (static_cast<double>(element) + (node + 1) / 2);
  };
  std::unordered_set<std::string> seen;
  for (int face = 0; face < kFaces; ++face) {
    for (std::int64_t row = 0; row < ne; ++row) {
      for (std::int64_t col = 0; col < ne; ++col) {
        for (double b : nodes) {
          for (double a : nodes) {
            const Vector p = point_on_cube(face, angle(col, a), angle(row, b));
            if (!seen.insert(name_of(p)).second) continue;
            const double east = std::atan2(p[1], p[0]) * kDegrees;
            lat_.push_back(std::atan2(p[2], std::hypot(p[0], p[1])) * kDegrees);
            lon_.push_back(east < 0 ? east + 360 : east);
          }
        }
      }
    }
  }
}

double SphereField::value(std::uint32_t seed, std::int64_t element, std::int64_t levels) const {
  const std::int64_t column = element % columns();
  const std::int64_t level = element / columns();
  const double phi = lat(column) / kDegrees;
  const double lambda = lon(column) / kDegrees;
  const double height =
      levels > 1 ? 1 - static_cast<double>(level) / static_cast<double>(levels - 1) : 0;
  const double phase = 2 * std::numbers::pi * (seed % 1000) / 1000.0;
  const double cosine = std::cos(phi);
  const double waves = 9 * std::pow(cosine, 3) * std::sin(4 * lambda + 3 * phi + phase) +
                       4 * std::sin(2 * phi) * std::cos(2 * lambda - phase);
  return 248 + 54 * cosine * cosine - 70 * height + waves;
}

}  // namespace forebay::bench
