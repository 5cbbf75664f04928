// How exact each variable of a checkpoint must be, so that a gradient is within its error.
//
// The problem: variable v has n_v elements, each off by b_v at most, and a gradient off by
// c_v b_v for it. Of what a lossy codec stores, n_v log2(1 / b_v) bits depend on b_v. The bounds
// that store least, min Σ -n_v log2 b_v with Σ c_v b_v <= t, are b_v = t n_v / (c_v Σ n): each
// variable has a share of the error that is its share of the elements. A bound that would be larger
// than the variable's most is that, and the others share what is left.
//
// c_v comes from a probe: a short window of the run with v alone lossy, at two bounds.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

struct LossyVariable {
  Count elements = 0;
  /// Error of the gradient for a unit of the bound (c_v); none: not linear, it is kept exactly.
  std::optional<double> sensitivity;
  double most = std::numeric_limits<double>::infinity();  ///< bound that makes sense at most
};

/// The bound of each variable; 0: to be kept exactly. What does not matter to the gradient
/// (sensitivity 0) has its most. Errc::einval for numbers that are negative, NaN, or an error of
/// the gradient that is not a finite positive number.
std::vector<double> error_bounds(std::span<const LossyVariable> variables, double target);

struct ErrorProbe {
  double bound = 0;  ///< of one variable, all others exact
  double error = 0;  ///< of the gradient, then
};

/// The larger error for a unit of the bound; none where the two differ by more than a factor of
/// two: then it is not the bound alone that decides. Errc::einval as above.
std::optional<double> sensitivity_of(const ErrorProbe& one, const ErrorProbe& other);

}  // namespace forebay
