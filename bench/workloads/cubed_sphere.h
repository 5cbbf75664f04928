#pragma once

// The decomposition of a spectral-element atmosphere, generated.
//
// The sphere is a cube of 6 faces of ne × ne elements; an element has np × np
// Gauss-Lobatto-Legendre nodes, np = 4, and shares those on its border with its neighbours: 54 ne²
// + 2 distinct columns.
//   Numbering   elements go face by face, row by row; a column belongs to the first element that
//               touches it, and columns are numbered in that order. So the columns of one element
//               are consecutive.
//   Dynamics    (map D1) elements are ordered along a Hilbert curve on each face and dealt to ranks
//               in blocks. A rank's columns form runs of about nine.
//   Physics     (maps D2, D3) columns are dealt round-robin to chunks of at most 16, four or more
//               chunks a rank, so that day and night are spread evenly; a chunk goes to a rank that
//               holds many of its columns in the dynamics and has room. A rank's columns are
//               scattered, nearly all single elements; with levels, the same in every level.

#include <cstdint>
#include <vector>

#include "workloads/decomposition.h"

namespace forebay::bench {

/// Which rank owns each column, in both decompositions.
struct CubedSphere {
  std::int64_t columns = 0;
  std::vector<std::int32_t> dynamics_owner;
  std::vector<std::int32_t> physics_owner;
};

/// Builds the columns of a sphere of ne × ne elements a face for `map_ranks` ranks. Every rank
/// computes the whole, in time linear in the columns. Throws std::invalid_argument if ne or
/// map_ranks is not positive.
CubedSphere make_cubed_sphere(int ne, int map_ranks);

/// The columns of each map rank, so that looking at one takes no walk over the sphere.
class OwnedColumns {
 public:
  OwnedColumns(const std::vector<std::int32_t>& owner, int map_ranks);

  /// Those of the map ranks of `share`, in every of `levels` levels; a piece is one column, or a
  /// run of them if `merge_runs`. Dimensions: (levels, columns), or (columns) if levels is 0.
  Decomposition of(MapShare share, std::int64_t levels, bool merge_runs) const;

 private:
  std::vector<std::int64_t> columns_;  // in order, map rank after map rank
  std::vector<std::size_t> begin_;     // of each map rank, and the end
};

}  // namespace forebay::bench
