#pragma once

// The blocks of an adaptive mesh, 16³ cells each, stacked along the first dimension of each
// variable. Consecutive blocks belong to one rank; a chunk holds about the blocks of a rank.

#include <memory>

#include "workloads/array.h"
#include "workloads/real_field.h"

namespace forebay::bench {

/// What a file holds.
enum class FlashFile {
  Mesh,        ///< Hou 2023, §5.5.2: nine float variables
  Checkpoint,  ///< of the FLASH I/O benchmark (Hou 2023, §3.3.1): 24 double variables
  Plot         ///< of the same: four of them as float
};

struct FlashOptions {
  FlashFile file = FlashFile::Mesh;
  std::int64_t bytes = 64 << 20;  ///< of all variables
  /// If not 0, in place of `bytes`: ranks have so many blocks, one more and two more in turn.
  std::int64_t blocks_of_rank = 0;
  std::int64_t chunk_bytes = 0;           ///< 0: the blocks of a rank
  std::shared_ptr<const RealField> real;  ///< its values in place of made-up ones
};

/// Made-up values are smooth within a block, over lengths that differ from block to
/// block as the levels of refinement do, with 12 bits of mantissa: deflate makes about 2.5 of it,
/// as of the data in D5.
class FlashPattern final : public ArrayPattern {
 public:
  FlashPattern(const FlashOptions& options, int ranks);

  std::string name() const override;
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return variables_; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  MPI_Offset first_block(int rank) const;
  template <typename T>
  void fill_as(std::size_t variable, const Box& box, T* out) const;

  FlashOptions options_;
  int ranks_;
  MPI_Offset blocks_ = 1;
  std::vector<ArrayVariable> variables_;
};

}  // namespace forebay::bench
