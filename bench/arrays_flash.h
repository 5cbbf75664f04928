#pragma once

// D5 §5.5.2: the blocks of an adaptive mesh, 16³ cells each, stacked along the first dimension of
// nine variables. Consecutive blocks belong to one rank; a chunk holds about the blocks of a rank.

#include <memory>

#include "array.h"
#include "real_field.h"

namespace forebay::bench {

struct FlashOptions {
  std::int64_t bytes = 64 << 20;          ///< of all variables
  std::int64_t chunk_bytes = 0;           ///< 0: the blocks of a rank
  std::shared_ptr<const RealField> real;  ///< its values in place of made-up ones
};

/// Values are float. Made-up ones are smooth within a block, over lengths that differ from block to
/// block as the levels of refinement do, with 12 bits of mantissa: deflate makes about 2.5 of it,
/// as of the data in D5.
class FlashPattern final : public ArrayPattern {
 public:
  FlashPattern(const FlashOptions& options, int ranks);

  std::string name() const override { return "flash"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return variables_; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  FlashOptions options_;
  int ranks_;
  MPI_Offset blocks_ = 1;
  std::vector<ArrayVariable> variables_;
};

}  // namespace forebay::bench
