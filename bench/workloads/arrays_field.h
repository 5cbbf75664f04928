#pragma once

// A field that somebody computed, as raw numbers in a file, repeated to a cube; each rank has a
// slab of it. For codecs with a bound: what is read may differ by it.

#include <array>
#include <string>

#include "workloads/array.h"

namespace forebay::bench {

struct FieldOptions {
  std::string file;                        ///< numbers in the machine's order, row-major
  bool is_float = false;                   ///< else double
  std::array<MPI_Offset, 3> shape{};       ///< of the field, slowest first
  MPI_Offset edge = 256, chunk_edge = 64;  ///< of the cube
  double bound = 0;                        ///< largest difference of what is read
};

class FieldPattern final : public ArrayPattern {
 public:
  /// Reads the file. Throws std::runtime_error if it is not of that shape.
  FieldPattern(const FieldOptions& options, int ranks);

  std::string name() const override { return "field"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return {&variable_, 1}; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;
  double bound() const override { return options_.bound; }

 private:
  FieldOptions options_;
  int ranks_;
  ArrayVariable variable_;
  std::vector<std::byte> values_;
};

}  // namespace forebay::bench
