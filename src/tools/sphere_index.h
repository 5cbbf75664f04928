// Finds the nearest of many points on the sphere.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace forebay::tools {

/// A k-d tree over unit vectors. 16 bytes a point; built in O(n log n); a search takes O(log n).
class SphereIndex {
 public:
  /// Points by latitude and longitude in degrees, equally many. Points that are not finite are left
  /// out.
  SphereIndex(std::span<const double> latitudes, std::span<const double> longitudes);

  struct Nearest {
    std::size_t point = 0;  ///< position in the spans given
    double distance = 0;    ///< of unit vectors (the chord)
  };
  /// The nearest point other than `except`. Not for an empty index.
  Nearest nearest(double latitude, double longitude, std::size_t except = npos) const;
  bool empty() const { return nodes_.empty(); }

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

 private:
  using Vector = std::array<float, 3>;
  struct Node {
    Vector at;
    unsigned point;
  };
  void arrange(std::size_t begin, std::size_t end, int axis);
  void search(std::size_t begin, std::size_t end, int axis, const Vector& wanted,
              std::size_t except, float& best, std::size_t& found) const;

  std::vector<Node> nodes_;  // the middle of a range splits it
};

}  // namespace forebay::tools
