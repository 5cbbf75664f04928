// The range of the values that all ranks write to a variable in one operation, for codecs with a
// relative error bound.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "array/missing.h"
#include "array/request.h"
#include "array/type.h"
#include "base/types.h"
#include "codec/values.h"
#include "comm/comm.h"

namespace forebay::chunked {

/// Local. The range of a chunk's values, in external form; nothing if it has no valid value.
std::optional<double> range_of_values(Type type, std::span<const std::byte> raw,
                                      const MissingRule* missing);

class ValueRanges {
 public:
  /// Local. Adds the valid values of a write to a variable of a floating-point type.
  void add(const Request& write, Type type, const MissingRule* missing);
  /// Collective. Combines the ranges of all ranks for these variables, which are equal on all
  /// ranks.
  void share(const Comm& comm, std::span<const VarId> vars);
  /// Largest minus smallest value, without outliers; 0 if there is none. Nothing for variables that
  /// were neither added nor shared.
  std::optional<double> of(VarId var) const;
  void clear() { known_.clear(); }

 private:
  std::map<VarId, Extremes> known_;
};

}  // namespace forebay::chunked
