#pragma once

// Hou 2023, §6.5: the checkpoint of the combustion code S3D. Space is cut into blocks, one a rank;
// every variable covers all of it, so that a rank's part of a variable is as many rows as its block
// has.

#include <array>

#include "workloads/array.h"

namespace forebay::bench {

struct S3dOptions {
  MPI_Offset edge = 50;  ///< points of a block along each of the three dimensions of space
};

/// Four variables of doubles: the mass fractions of 11 species and 3 components of velocity, with
/// the component as slowest dimension, and pressure and temperature. Ranks form a grid as near to a
/// cube as their number allows, x fastest. Values have no meaning.
class S3dPattern final : public ArrayPattern {
 public:
  S3dPattern(const S3dOptions& options, int ranks);

  std::string name() const override { return "s3d"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return variables_; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  S3dOptions options_;
  std::array<MPI_Offset, 3> grid_{1, 1, 1};  // ranks along z, y, x
  std::vector<ArrayVariable> variables_;
};

}  // namespace forebay::bench
