// How exact each variable of a checkpoint must be, so that a gradient stays within its error.
//
// The problem: variable v has n_v elements, each off by at most b_v, which changes the gradient by
// c_v b_v. A lossy codec stores n_v log2(1 / b_v) bits that depend on b_v. The smallest result, min
// Σ -n_v log2 b_v with Σ c_v b_v <= t, has the bounds b_v = t n_v / (c_v Σ n): the share of each
// variable in the error is its share of the elements. A bound is limited to the variable's maximum,
// and the others share the rest.
//
// A probe measures c_v: a short window of the run in which only v is lossy, at two bounds.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

struct LossyVariable {
  Count elements = 0;
  /// Error of the gradient per unit of the bound (c_v). Nothing: not linear, so v is kept exactly.
  std::optional<double> sensitivity;
  double most = std::numeric_limits<double>::infinity();  ///< the largest bound that makes sense
};

/// The bound of each variable; 0 for an exact one. A variable that does not affect the gradient
/// (sensitivity 0) gets its maximum. Errc::einval if a number is negative or NaN, or if the error
/// of the gradient is not finite and positive.
std::vector<double> error_bounds(std::span<const LossyVariable> variables, double target);

struct ErrorProbe {
  double bound = 0;  ///< of one variable, all others exact
  double error = 0;  ///< of the gradient with that bound
};

/// The larger error per unit of the bound; nothing if the two differ by more than a factor of two,
/// since then the bound alone does not determine the error. Errc::einval as above.
std::optional<double> sensitivity_of(const ErrorProbe& one, const ErrorProbe& other);

}  // namespace forebay
