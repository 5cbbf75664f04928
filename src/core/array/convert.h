// Conversion of element values between a file and a program's memory.
//
// n values of one type become values of another, on the way from memory to a file's big-endian form
// ("writing") or back ("reading"). A value that the result's type cannot hold is out of range. The
// call converts all others, puts a fill value in its place and returns true. The caller reports
// NC_ERANGE after it has transferred everything, for variables and attributes alike.
//
// What is out of range follows the netCDF classic model and PnetCDF 1.12.3 built with its
// fill-on-ERANGE option:
//
//   from      to              out of range
//   integer   integer         values outside the result's limits
//   integer   floating        none; the value is rounded to nearest
//   floating  integer         x < least or x > greatest as real numbers, so 127.5 for byte and -0.5
//                             for every unsigned type, infinities too. A value in range is cut
//                             toward zero. Reading into a 64-bit type, the one value just past the
//                             greatest that floating types have (2^63, 2^64) gives the greatest;
//                             writing, it is out of range (PnetCDF leaves that undefined).
//   double    float           |x| > the greatest finite float, infinities too; otherwise rounded
//   float     double          reading: none. Writing: infinities
//   any type  the same type   none: bytes are only swapped, infinities and NaN payloads pass
//
// A NaN is never out of range. In a floating type it stays NaN. As an integer it becomes the least
// value of int and int64, 2^63 in uint64, and 0 in the narrower types and uint.
//
// Fill values. Writing to a variable uses its fill value (its _FillValue attribute, or the default
// of its type). Writing an attribute uses the default of its type. Reading uses the default of the
// memory type, whatever the variable's own is. A variable read into C's long gets the default of
// int instead, which such a caller passes as fill_native.
//
// Cost: blocks of 64 values are tested first. Vector code converts a block if all its values are in
// range. A block with a value out of range (or a NaN bound for an integer) goes value by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/type.h"

namespace forebay {

// Returns whether values of external type ext and memory type mem convert into each other: chr with
// chr only, and any number with any number. If not, the caller reports NC_ECHAR.
constexpr bool convertible(Type ext, Type mem) {
  return is_valid(ext) && is_valid(mem) && (ext == Type::chr) == (mem == Type::chr);
}

// Returns the external type to convert with, instead of a variable's or attribute's own: uint8 for
// byte accessed as unsigned char in a CDF-1 or CDF-2 file (raw bytes, never out of range), else
// ext. Callers apply this once per request and pass the result to the functions below.
constexpr Type external_for(Type ext, Type mem, int version) {
  return ext == Type::byte && mem == Type::uint8 && !has_all_types(version) ? Type::uint8 : ext;
}

// Returns whether to_external and from_external only swap bytes (copy_swapped with width
// size_of(ext)) because the types are the same. Such a conversion is never out of range.
constexpr bool is_plain_copy(Type ext, Type mem) { return ext == mem; }

// Converts n native values of type mem at src to n external values of type ext at dst. `fill`, of
// type ext in native order, replaces each value that ext cannot hold; null means netCDF's default
// fill value of ext. Returns true if there was any (NC_ERANGE); all others are converted all the
// same. Requires convertible(ext, mem). dst does not overlap src unless they are the same place and
// is_plain_copy. No alignment is required.
bool to_external(Type ext, std::byte* dst, Type mem, const void* src, std::int64_t n,
                 const std::byte* fill);

// Converts n external values of type ext at src to n native values of type mem at dst.
// `fill_native`, of type mem, replaces each value that mem cannot hold; null means netCDF's default
// fill value of mem. Otherwise as to_external.
bool from_external(Type ext, const std::byte* src, Type mem, void* dst, std::int64_t n,
                   const void* fill_native);

}  // namespace forebay
