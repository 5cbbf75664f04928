// How attributes of CF and netCDF mark values of a variable as missing: `_FillValue`,
// `missing_value`, `valid_range`, `valid_min` and `valid_max`, as numbers of the variable's own
// type (packed ones, if it is packed). A value that is not finite is missing in any case.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "array/schema.h"

namespace forebay {

struct MissingRule {
  std::vector<double> values;  ///< missing values; only finite ones
  /// Values outside these bounds are missing, too.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// An attribute of a double variable is of type float. Values are then compared as floats.
  bool as_float = false;

  bool operator==(const MissingRule&) const = default;
};

/// Returns the rule of a variable's attributes as they are now, with its default fill value if it
/// has none of its own. Attributes may be of any numeric type; text is ignored, as by
/// netCDF4-python and xarray. Null for variables that are not of a floating-point type.
std::shared_ptr<const MissingRule> missing_rule(const Variable& var);

}  // namespace forebay
