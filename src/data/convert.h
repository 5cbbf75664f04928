// Conversion of element values between a file and a program's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/type.h"

namespace forebay {

// True if values of external type ext and memory type mem convert into each other: chr with chr
// only, and any number with any number. Where this is false the caller reports NC_ECHAR.
constexpr bool convertible(Type ext, Type mem) {
  return is_valid(ext) && is_valid(mem) && (ext == Type::chr) == (mem == Type::chr);
}

// The external type to convert with, in place of a variable's or attribute's own: uint8 for byte
// accessed as unsigned char in a CDF-1 or CDF-2 file (raw bytes, never out of range), ext
// otherwise. Callers apply this once per request and pass the result to the functions below.
constexpr Type external_for(Type ext, Type mem, int cdf_version) {
  return ext == Type::byte && mem == Type::uint8 && cdf_version < 5 ? Type::uint8 : ext;
}

// True if to_external and from_external only swap bytes (copy_swapped with width size_of(ext)):
// the types are the same. Such a conversion is never out of range.
constexpr bool is_plain_copy(Type ext, Type mem) { return ext == mem; }

// Turns n native values of type mem at src into n external values of type ext at dst.
// `fill` is the value, of type ext in native order, that stands for each value that ext cannot
// hold; null means netCDF's default fill value of ext. Returns true if there was any (NC_ERANGE);
// all others are converted all the same. Requires convertible(ext, mem); dst does not overlap src
// unless they are the same place and is_plain_copy. No alignment is required.
bool to_external(Type ext, std::byte* dst, Type mem, const void* src, std::int64_t n,
                 const std::byte* fill);

// Turns n external values of type ext at src into n native values of type mem at dst.
// `fill_native` is the value of type mem that stands for each value that mem cannot hold; null
// means netCDF's default fill value of mem. Otherwise as to_external.
bool from_external(Type ext, const std::byte* src, Type mem, void* dst, std::int64_t n,
                   const void* fill_native);

}  // namespace forebay
