#pragma once

// Hou 2023, §5.5.1: one square 2-D variable, a grid of ranks, one block a rank. The data of one
// chunk, of which a share is random bits and the rest zeros, is repeated, so that all chunks cost
// the same. How the two are mixed within the chunk the paper does not say: here the random elements
// come first, or are scattered, which costs a codec more.

#include <memory>

#include "workloads/array.h"
#include "workloads/real_field.h"

namespace forebay::bench {

struct CheckerboardOptions {
  /// How chunks lie on the blocks.
  enum class Grid {
    Aligned,  ///< a whole number of chunks along each edge of a block: no chunk is shared
    Shared,   ///< half a chunk more: chunks at an edge between blocks are shared by two or four
    D5        ///< twice the block in each dimension, as in the paper: four ranks a chunk
  };
  std::int64_t bytes = 64 << 20;       ///< of the variable
  std::int64_t chunk_bytes = 1 << 20;  ///< about; not for Grid::D5
  int random_percent = 50;             ///< of each chunk; the rest is zero
  bool scattered = false;              ///< random elements: anywhere, or at the chunk's begin
  Grid grid = Grid::Shared;
  std::shared_ptr<const RealField> real;  ///< its values in place of random ones
};

class CheckerboardPattern final : public ArrayPattern {
 public:
  /// Sizes are rounded so that all ranks have blocks of one shape.
  CheckerboardPattern(const CheckerboardOptions& options, int ranks);

  std::string name() const override { return "checkerboard2d"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return {&variable_, 1}; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  CheckerboardOptions options_;
  int grid_columns_ = 1;
  MPI_Offset block_[2] = {1, 1};
  ArrayVariable variable_;
  std::vector<std::uint32_t> chunk_data_;  // without a real field
};

}  // namespace forebay::bench
