#pragma once

// What is read of a file that was written: by each rank what it wrote, as a restart does; whole
// variables in slabs, as an analysis does; or hyperslabs at random places.

#include <cstdint>
#include <random>
#include <span>

#include "workloads/array.h"

namespace forebay::bench {

enum class ReadBack {
  Own,       ///< each rank reads what it wrote
  Whole,     ///< every variable whole, cut into as many slabs as there are ranks
  Hyperslab  ///< a few boxes at random places, each cut into as many slabs as there are ranks
};

struct ReadOptions {
  ReadBack mode = ReadBack::Own;
  int hyperslabs = 1;      ///< for ReadBack::Hyperslab
  std::uint64_t seed = 1;  ///< of their places, the same on all ranks
};

/// The part of `box` that `rank` reads: `box` cut as evenly as possible along its first dimension
/// that has an element for each rank, or else along its longest. The parts of all ranks cover the
/// box once; some are empty if it is small.
Box part_of(const Box& box, int rank, int ranks);

/// All of a variable.
Box whole_of(std::span<const MPI_Offset> shape);

/// A box at a random place, half as long as `shape` in each dimension (but at least 1).
Box random_box(std::span<const MPI_Offset> shape, std::mt19937_64& random);

}  // namespace forebay::bench
