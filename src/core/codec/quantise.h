// Quantising: floating-point values are rounded to a number of significant digits or bits. The
// bits that are given up become all zeros or all ones, so that a compressor after it does better.
//
// These are the three algorithms of netCDF-C (4.9 or later), and their results are bit for bit its
// own, of version 4.10. Values stay what they were in three cases, where netCDF-C's result would
// be another value altogether:
//
// - A value that is missing by whatever attribute. (netCDF-C knows _FillValue, zeros and NaNs.)
// - A value that would become a missing one, or infinite.
// - A value of which more bits are wanted than the type has. (netCDF-C shifts by a negative number:
//   floats of 7 digits. Version 4.10.1 refuses them.)
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "codec/missing_values.h"

namespace forebay {

enum class Quantiser {
  bitgroom,    ///< clears and sets the bits in turn, so that means stay; by position in the array
  granularbr,  ///< rounds each value to as few bits as it needs for its decimal digits
  bitround,    ///< rounds to a number of bits
};

struct Quantisation {
  Quantiser how;
  int number;  ///< digits to keep; for bitround explicit bits of the significand

  /// Returns whether the type has so many digits or bits. Only float32 and float64 do.
  bool applies_to(Type type) const;
  /// The names of the attributes, of type int, that tell `number`: netCDF-C's and CF's.
  const char* netcdf_attribute() const;
  const char* cf_attribute() const;
};

/// Returns what the first stage of a pipeline, in its canonical text, does to values; nothing if it
/// does not quantise.
std::optional<Quantisation> quantisation_of(std::string_view pipeline);

/// Quantises an array in place. netCDF-C's fill value is the only one of `is_missing.values` there.
/// Quantising again changes nothing, except for granularbr where a value was rounded up to a power
/// of ten, or beyond it: it may then be rounded once more, with the digits of its new size.
template <typename T>
void quantise(const Quantisation& by, std::span<T> values, const MissingTest<T>& is_missing);

}  // namespace forebay
