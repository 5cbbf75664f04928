#include "workloads/cubed_sphere.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace forebay::bench {
namespace {

constexpr int kNodes = 4;            // np: nodes along an element's edge
constexpr int kColumnsInChunk = 16;  // upper limit
constexpr int kChunksPerRank = 4;    // lower limit

// Position of (x, y) along the Hilbert curve that fills a square of side `side`, a power of two.
std::int64_t hilbert_index(std::int64_t side, std::int64_t x, std::int64_t y) {
  std::int64_t index = 0;
  for (std::int64_t s = side / 2; s > 0; s /= 2) {
    const std::int64_t rx = (x & s) != 0;
    const std::int64_t ry = (y & s) != 0;
    index += s * s * ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) {
        x = side - 1 - x;
        y = side - 1 - y;
      }
      std::swap(x, y);
    }
  }
  return index;
}

// Nodes of all faces stand on the surface of an integer cube of side n = 3 ne, which makes the
// nodes that faces share the same point. Faces: four around the equator, south, north.
std::int64_t surface_point(int face, std::int64_t i, std::int64_t j, std::int64_t n) {
  const std::array<std::array<std::int64_t, 3>, 6> points{
      {{n, i, j}, {n - i, n, j}, {0, n - i, j}, {i, 0, j}, {j, i, 0}, {n - j, i, n}}};
  const auto& p = points[static_cast<std::size_t>(face)];
  return (p[0] * (n + 1) + p[1]) * (n + 1) + p[2];
}

// The rank of each element (face, row, column), elements dealt in blocks along the curve.
std::vector<std::int32_t> deal_elements(int ne, int map_ranks) {
  std::int64_t side = 1;
  while (side < ne) side *= 2;
  const std::size_t per_face = static_cast<std::size_t>(ne) * static_cast<std::size_t>(ne);
  std::vector<std::int64_t> along(per_face);
  for (std::size_t e = 0; e < per_face; ++e) {
    along[e] =
        hilbert_index(side, static_cast<std::int64_t>(e) % ne, static_cast<std::int64_t>(e) / ne);
  }
  std::vector<std::size_t> order(per_face);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return along[a] < along[b]; });

  const std::size_t total = 6 * per_face;
  std::vector<std::int32_t> owner(total);
  for (std::size_t k = 0; k < total; ++k) {
    const std::size_t element = k / per_face * per_face + order[k % per_face];
    owner[element] = static_cast<std::int32_t>(k * static_cast<std::size_t>(map_ranks) / total);
  }
  return owner;
}

std::vector<std::int32_t> number_columns(int ne, const std::vector<std::int32_t>& element_owner) {
  const std::int64_t n = std::int64_t{kNodes - 1} * ne;
  std::vector<std::int32_t> owner;
  std::unordered_set<std::int64_t> seen;
  seen.reserve(static_cast<std::size_t>(54) * element_owner.size() / 6);
  std::size_t element = 0;
  for (int face = 0; face < 6; ++face) {
    for (int row = 0; row < ne; ++row) {
      for (int col = 0; col < ne; ++col, ++element) {
        for (int b = 0; b < kNodes; ++b) {
          for (int a = 0; a < kNodes; ++a) {
            const auto point = surface_point(face, std::int64_t{kNodes - 1} * col + a,
                                             std::int64_t{kNodes - 1} * row + b, n);
            if (seen.insert(point).second) owner.push_back(element_owner[element]);
          }
        }
      }
    }
  }
  return owner;
}

// Round-robin chunks, each given to the rank with room that holds most of its columns.
std::vector<std::int32_t> balance_physics(const std::vector<std::int32_t>& dynamics,
                                          int map_ranks) {
  const auto columns = static_cast<std::int64_t>(dynamics.size());
  const std::int64_t wanted = (columns + kColumnsInChunk - 1) / kColumnsInChunk;
  const std::int64_t per_rank =
      std::max<std::int64_t>(kChunksPerRank, (wanted + map_ranks - 1) / map_ranks);
  const std::int64_t chunks = per_rank * map_ranks;

  std::vector<std::int64_t> room(static_cast<std::size_t>(map_ranks), per_rank);
  std::vector<std::int32_t> chunk_owner(static_cast<std::size_t>(chunks));
  for (std::int64_t chunk = 0; chunk < std::min(chunks, columns); ++chunk) {  // others are empty
    std::vector<std::int32_t> held;
    for (std::int64_t c = chunk; c < columns; c += chunks) {
      held.push_back(dynamics[static_cast<std::size_t>(c)]);
    }
    std::sort(held.begin(), held.end());
    std::int32_t best = -1;
    std::ptrdiff_t best_count = 0;
    std::int64_t best_room = 0;
    for (auto it = held.begin(); it != held.end();) {
      const auto end = std::upper_bound(it, held.end(), *it);
      const std::int64_t space = room[static_cast<std::size_t>(*it)];
      const auto better = std::pair(end - it, space) > std::pair(best_count, best_room);
      if (space > 0 && better) {
        best = *it;
        best_count = end - it;
        best_room = space;
      }
      it = end;
    }
    if (best < 0) {
      best = static_cast<std::int32_t>(std::max_element(room.begin(), room.end()) - room.begin());
    }
    --room[static_cast<std::size_t>(best)];
    chunk_owner[static_cast<std::size_t>(chunk)] = best;
  }
  std::vector<std::int32_t> owner(dynamics.size());
  for (std::int64_t c = 0; c < columns; ++c) {
    owner[static_cast<std::size_t>(c)] = chunk_owner[static_cast<std::size_t>(c % chunks)];
  }
  return owner;
}

}  // namespace

CubedSphere make_cubed_sphere(int ne, int map_ranks) {
  if (ne < 1 || map_ranks < 1) throw std::invalid_argument("ne and map ranks must be positive");
  CubedSphere sphere;
  sphere.dynamics_owner = number_columns(ne, deal_elements(ne, map_ranks));
  sphere.physics_owner = balance_physics(sphere.dynamics_owner, map_ranks);
  sphere.columns = static_cast<std::int64_t>(sphere.dynamics_owner.size());
  return sphere;
}

OwnedColumns::OwnedColumns(const std::vector<std::int32_t>& owner, int map_ranks)
    : columns_(owner.size()), begin_(static_cast<std::size_t>(map_ranks) + 1) {
  for (std::int32_t rank : owner) ++begin_[static_cast<std::size_t>(rank) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t c = 0; c < owner.size(); ++c)
    columns_[next[static_cast<std::size_t>(owner[c])]++] = static_cast<std::int64_t>(c);
}

Decomposition OwnedColumns::of(MapShare share, std::int64_t levels, bool merge_runs) const {
  const auto at = [&](int rank) {
    return columns_.begin() + static_cast<std::ptrdiff_t>(begin_[static_cast<std::size_t>(rank)]);
  };
  std::vector<std::int64_t> mine(at(share.first), at(share.last));
  std::sort(mine.begin(), mine.end());
  const auto columns = static_cast<std::int64_t>(columns_.size());
  Decomposition part;
  for (std::int64_t level = 0; level < std::max<std::int64_t>(levels, 1); ++level) {
    std::int64_t before = -2;
    for (const std::int64_t c : mine) {
      if (merge_runs && c == before + 1) {
        ++part.runs.back().length;
      } else {
        part.runs.push_back({level * columns + c, 1, false});
      }
      before = c;
    }
  }
  if (levels > 0) part.dims.push_back(levels);
  part.dims.push_back(columns);
  return part;
}

}  // namespace forebay::bench
