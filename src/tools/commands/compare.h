// Compares two files by content, not by bytes: dimensions, attributes, values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/source.h"

namespace forebay::tools {

struct CompareOptions {
  double rtol = 0, atol = 0;           ///< a and b are equal if |a - b| <= atol + rtol · |b|
  bool nan_differs = false;            ///< else NaN equals NaN
  std::vector<std::string> variables;  ///< only these; empty: all
  bool header = true, data = true;     ///< what is compared
  std::size_t examples = 5;            ///< differences to keep for each variable
  /// Called with the bytes compared so far and their total; may be empty.
  std::function<void(Count done, Count all)> progress;
};

/// One element that differs.
struct Difference {
  Count element = 0;  ///< in row-major order
  std::vector<Count> index;
  std::string a, b;  ///< as dump prints them
};

struct VariableDifference {
  std::string name;
  Count elements = 0;             ///< elements compared
  Count differences = 0;          ///< elements that differ
  double largest = 0;             ///< |a - b| of numbers; infinite if one of them is not finite
  double largest_relative = 0;    ///< |a - b| / |b|
  std::vector<Difference> first;  ///< in row-major order
  std::string not_compared;       ///< why values were not compared; empty if they were
  std::vector<Count> shape_a, shape_b;  ///< set if they differ
  std::vector<Count> common;            ///< then the shape of the compared part
};

struct Comparison {
  std::vector<std::string> header;            ///< one sentence each
  std::vector<VariableDifference> variables;  ///< those that differ
  Count variables_compared = 0, elements_compared = 0;

  bool same() const { return header.empty() && variables.empty(); }
};

/// Variables with as many dimensions but other lengths are compared where both have elements.
/// Memory: two blocks of 8 MiB, or a chunk of each file. Errc::enotvar for a variable that neither
/// file has. Throws what reading throws.
Comparison compare(const Source& a, const Source& b, const CompareOptions& options);

}  // namespace forebay::tools
