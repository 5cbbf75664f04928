#include "tools/sphere_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace forebay::tools {
namespace {

std::array<float, 3> unit_vector(double latitude, double longitude) {
  const double phi = latitude * std::numbers::pi / 180, lambda = longitude * std::numbers::pi / 180;
  return {static_cast<float>(std::cos(phi) * std::cos(lambda)),
          static_cast<float>(std::cos(phi) * std::sin(lambda)), static_cast<float>(std::sin(phi))};
}

}  // namespace

SphereIndex::SphereIndex(std::span<const double> latitudes, std::span<const double> longitudes) {
  nodes_.reserve(latitudes.size());
  for (std::size_t i = 0; i < latitudes.size(); ++i) {
    if (!std::isfinite(latitudes[i]) || !std::isfinite(longitudes[i])) continue;
    nodes_.push_back({unit_vector(latitudes[i], longitudes[i]), static_cast<unsigned>(i)});
  }
  arrange(0, nodes_.size(), 0);
}

void SphereIndex::arrange(std::size_t begin, std::size_t end, int axis) {
  if (end - begin < 2) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const auto a = static_cast<std::size_t>(axis);
  const auto at = [&](std::size_t i) { return nodes_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end),
                   [&](const Node& x, const Node& y) { return x.at[a] < y.at[a]; });
  arrange(begin, middle, (axis + 1) % 3);
  arrange(middle + 1, end, (axis + 1) % 3);
}

void SphereIndex::search(std::size_t begin, std::size_t end, int axis, const Vector& wanted,
                         std::size_t except, float& best, std::size_t& found) const {
  if (begin >= end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const Node& node = nodes_[middle];
  float distance = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    distance += (node.at[i] - wanted[i]) * (node.at[i] - wanted[i]);
  }
  if (distance < best && node.point != except) {
    best = distance;
    found = node.point;
  }
  const auto a = static_cast<std::size_t>(axis);
  const float beyond = wanted[a] - node.at[a];
  const int next = (axis + 1) % 3;
  const auto lower = [&] { search(begin, middle, next, wanted, except, best, found); };
  const auto upper = [&] { search(middle + 1, end, next, wanted, except, best, found); };
  beyond < 0 ? lower() : upper();
  if (beyond * beyond < best) beyond < 0 ? upper() : lower();
}

SphereIndex::Nearest SphereIndex::nearest(double latitude, double longitude,
                                          std::size_t except) const {
  float best = std::numeric_limits<float>::max();
  std::size_t found = 0;
  search(0, nodes_.size(), 0, unit_vector(latitude, longitude), except, best, found);
  return {found, std::sqrt(static_cast<double>(best))};
}

}  // namespace forebay::tools
