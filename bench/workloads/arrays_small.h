#pragma once

// Many variables of few elements, each moved by a call of its own: what a library pays for a
// variable, and for making a call's data visible (docs/chunked.md, "Many small writes").

#include "workloads/array.h"

namespace forebay::bench {

struct SmallOptions {
  int variables = 1000;
  MPI_Offset elements = 1;  ///< of a variable
};

/// One-dimensional variables of floats, each cut into equal parts, of which some are empty where
/// there are fewer elements than ranks.
class SmallPattern final : public ArrayPattern {
 public:
  SmallPattern(const SmallOptions& options, int ranks);

  std::string name() const override { return "small"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return variables_; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  SmallOptions options_;
  int ranks_;
  std::vector<ArrayVariable> variables_;
};

}  // namespace forebay::bench
