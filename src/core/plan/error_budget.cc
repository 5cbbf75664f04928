#include "plan/error_budget.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace forebay {

namespace {

constexpr double most_apart = 2;

Error senseless(const char* what) {
  return {Errc::einval, std::string("an error budget: ") + what};
}

void check(std::span<const LossyVariable> variables, double target) {
  if (!(target > 0) || std::isinf(target))
    throw senseless("the error of the gradient must be a finite number greater than 0");
  for (const LossyVariable& v : variables) {
    if (v.elements < 0) throw senseless("a negative number of elements");
    if (v.sensitivity && !(*v.sensitivity >= 0 && std::isfinite(*v.sensitivity)))
      throw senseless("a sensitivity that is negative or no number");
    if (!(v.most >= 0)) throw senseless("a largest bound that is negative or no number");
  }
}

bool shares(const LossyVariable& v) {
  return v.sensitivity && *v.sensitivity > 0 && v.elements > 0;
}

double slope_of(const ErrorProbe& probe) {
  if (!(probe.bound > 0 && std::isfinite(probe.bound)) ||
      !(probe.error >= 0 && std::isfinite(probe.error)))
    throw senseless("a probe with a bound or an error that is no finite number");
  return probe.error / probe.bound;
}

}  // namespace

std::vector<double> error_bounds(std::span<const LossyVariable> variables, double target) {
  check(variables, target);
  std::vector<double> bounds(variables.size(), 0);
  std::vector<bool> settled(variables.size());
  double elements = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const LossyVariable& v = variables[i];
    settled[i] = !shares(v);
    if (v.sensitivity && !shares(v)) bounds[i] = v.most;
    if (!settled[i]) elements += static_cast<double>(v.elements);
  }
  // A variable at its maximum leaves the others more, so it stays at its maximum.
  for (bool changed = true; changed;) {
    changed = false;
    double left = target, sharing = elements;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (settled[i]) continue;
      const LossyVariable& v = variables[i];
      const auto n = static_cast<double>(v.elements);
      const double share = target * (n / elements);
      bounds[i] = share / *v.sensitivity;
      if (bounds[i] < v.most) continue;
      bounds[i] = v.most;
      settled[i] = changed = true;
      left -= std::min(*v.sensitivity * v.most, share);  // both may be infinite
      sharing -= n;
    }
    target = std::max(left, 0.0);
    elements = sharing;
  }
  return bounds;
}

std::optional<double> sensitivity_of(const ErrorProbe& one, const ErrorProbe& other) {
  const double low = std::min(slope_of(one), slope_of(other));
  const double high = std::max(slope_of(one), slope_of(other));
  if (high > most_apart * low) return std::nullopt;
  return high;
}

}  // namespace forebay
