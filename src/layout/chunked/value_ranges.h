// The range of values that all ranks write to a variable in one operation, for codecs whose error
// bound is a part of it.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "array/request.h"
#include "array/type.h"
#include "base/types.h"
#include "codec/values.h"
#include "comm/comm.h"

namespace forebay::chunked {

/// Local. The range of a chunk's values, in external form; nothing where it has none.
std::optional<double> range_of_values(Type type, std::span<const std::byte> raw,
                                      std::span<const std::byte> fill);

class ValueRanges {
 public:
  /// Local. Takes what a write has for a variable of a floating-point type into account, but for
  /// what is not finite, and `fill`, an element in external form.
  void add(const Request& write, Type type, std::span<const std::byte> fill);
  /// Collective. What all ranks have of these variables, which are the same on all of them.
  void share(const Comm& comm, std::span<const VarId> vars);
  /// Largest less smallest value, 0 where there is none; nothing for variables that were neither
  /// added nor shared.
  std::optional<double> of(VarId var) const;
  void clear() { known_.clear(); }

 private:
  std::map<VarId, Extremes> known_;
};

}  // namespace forebay::chunked
