// The element types of a dataset, as they stand in a file and as they stand in a program's memory.
//
// One enumeration serves both. In a file a type means its big-endian form (netCDF's "external"
// representation); in memory it means the machine's form of the same width. The twelve memory kinds
// of netCDF's C interface map onto it by representation:
//
//     text -> chr      schar -> byte     uchar, ubyte -> uint8
//     short -> int16   ushort -> uint16  int -> int32   uint -> uint32
//     float -> float32 double -> float64 longlong -> int64  ulonglong -> uint64
//     long -> int64 where long has 8 bytes, otherwise int32
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace forebay {

// The values are those of netCDF's nc_type, so that they can be written to a header as they are.
enum class Type : std::int32_t {
  none = 0,
  byte = 1,  // signed, 8 bits
  chr = 2,   // text; converts to no number
  int16 = 3,
  int32 = 4,
  float32 = 5,
  float64 = 6,
  uint8 = 7,  // this and all that follow exist in CDF-5 files only
  uint16 = 8,
  uint32 = 9,
  int64 = 10,
  uint64 = 11
};

// Returns true for the eleven types that a file may hold; false for none and any other value.
constexpr bool is_valid(Type type) { return type >= Type::byte && type <= Type::uint64; }

// Calls f(T{}) with the C++ type T of a numeric type, and returns whether it did.
template <typename F>
constexpr bool with_number(Type type, F&& f) {
  switch (type) {
    case Type::byte:
      return f(std::int8_t{}), true;
    case Type::int16:
      return f(std::int16_t{}), true;
    case Type::int32:
      return f(std::int32_t{}), true;
    case Type::float32:
      return f(float{}), true;
    case Type::float64:
      return f(double{}), true;
    case Type::uint8:
      return f(std::uint8_t{}), true;
    case Type::uint16:
      return f(std::uint16_t{}), true;
    case Type::uint32:
      return f(std::uint32_t{}), true;
    case Type::int64:
      return f(std::int64_t{}), true;
    case Type::uint64:
      return f(std::uint64_t{}), true;
    case Type::chr:
    case Type::none:
      break;
  }
  return false;
}

// Returns the bytes of one element, in the file and in memory alike; 0 for an invalid type.
constexpr int size_of(Type type) {
  int bytes = type == Type::chr ? 1 : 0;
  with_number(type, [&](auto zero) { bytes = static_cast<int>(sizeof zero); });
  return bytes;
}

// Returns true for every valid type except chr.
constexpr bool is_numeric(Type type) { return is_valid(type) && type != Type::chr; }

constexpr bool is_floating(Type type) { return type == Type::float32 || type == Type::float64; }

constexpr bool is_integer(Type type) { return is_numeric(type) && !is_floating(type); }

// Returns true for the numbers that can be negative, including floating types.
constexpr bool is_signed(Type type) {
  return type == Type::byte || type == Type::int16 || type == Type::int32 || type == Type::int64 ||
         is_floating(type);
}

// Returns whether files of a version (Schema::version) may hold all types, not only the first six.
constexpr bool has_all_types(int version) { return version == 5 || version == 3; }
// Returns whether files of a version are netCDF-4.
constexpr bool is_netcdf4(int version) { return version == 3 || version == 4; }
// Returns whether a file of this version may hold the type.
constexpr bool valid_in_version(Type type, int version) {
  return is_valid(type) && (has_all_types(version) || type <= Type::float64);
}
/// Throws Errc::ebadtype or estrictcdf2 if it may not.
void check_type(Type type, int version);

// Returns the type's name in CDL: byte char short int float double ubyte ushort uint int64 uint64;
// "none" for an invalid type. The string is static.
const char* name_of(Type type);

// Writes netCDF's default fill value (NC_FILL_*) of a valid type, in native order, to the first
// size_of(type) bytes of out; the rest is zero. An invalid type gives eight zero bytes.
void default_fill(Type type, std::byte out[8]);

// Returns the Type whose memory form is the arithmetic type T (char is text, signed char is byte).
template <typename T>
constexpr Type type_of() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);
  if (std::is_same_v<T, char>) return Type::chr;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Type::float32 : Type::float64;
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? Type::byte : Type::uint8;
    case 2:
      return is_signed ? Type::int16 : Type::uint16;
    case 4:
      return is_signed ? Type::int32 : Type::uint32;
    default:
      return is_signed ? Type::int64 : Type::uint64;
  }
}

}  // namespace forebay
