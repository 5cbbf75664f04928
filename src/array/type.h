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

// True for the eleven types that a file may hold; false for none and for any other value.
constexpr bool is_valid(Type type) { return type >= Type::byte && type <= Type::uint64; }

// Bytes of one element, in the file and in memory alike; 0 for an invalid type.
constexpr int size_of(Type type) {
  switch (type) {
    case Type::byte:
    case Type::chr:
    case Type::uint8:
      return 1;
    case Type::int16:
    case Type::uint16:
      return 2;
    case Type::int32:
    case Type::uint32:
    case Type::float32:
      return 4;
    case Type::int64:
    case Type::uint64:
    case Type::float64:
      return 8;
    case Type::none:
      break;
  }
  return 0;
}

// True for every valid type but chr.
constexpr bool is_numeric(Type type) { return is_valid(type) && type != Type::chr; }

constexpr bool is_floating(Type type) { return type == Type::float32 || type == Type::float64; }

constexpr bool is_integer(Type type) { return is_numeric(type) && !is_floating(type); }

// True for the numbers that can be negative, floating types among them.
constexpr bool is_signed(Type type) {
  return type == Type::byte || type == Type::int16 || type == Type::int32 || type == Type::int64 ||
         is_floating(type);
}

// True if a file of this version of the classic format (1, 2 or 5) may hold the type.
constexpr bool valid_in_version(Type type, int cdf_version) {
  return is_valid(type) && (cdf_version == 5 || type <= Type::float64);
}

// The type's name in CDL: byte char short int float double ubyte ushort uint int64 uint64;
// "none" for an invalid type. The string is static.
const char* name_of(Type type);

// netCDF's default fill value (NC_FILL_*) of a valid type, in native byte order, in the first
// size_of(type) bytes of out; the rest of out is zero. An invalid type gives eight zero bytes.
void default_fill(Type type, std::byte out[8]);

// The Type whose memory form is the C++ type T (char is text, signed char is byte).
template <typename T>
constexpr Type type_of() = delete;
template <>
constexpr Type type_of<signed char>() {
  return Type::byte;
}
template <>
constexpr Type type_of<char>() {
  return Type::chr;
}
template <>
constexpr Type type_of<unsigned char>() {
  return Type::uint8;
}
template <>
constexpr Type type_of<short>() {
  return Type::int16;
}
template <>
constexpr Type type_of<unsigned short>() {
  return Type::uint16;
}
template <>
constexpr Type type_of<int>() {
  return Type::int32;
}
template <>
constexpr Type type_of<unsigned int>() {
  return Type::uint32;
}
template <>
constexpr Type type_of<long>() {
  return sizeof(long) == 8 ? Type::int64 : Type::int32;
}
template <>
constexpr Type type_of<unsigned long>() {
  return sizeof(long) == 8 ? Type::uint64 : Type::uint32;
}
template <>
constexpr Type type_of<long long>() {
  return Type::int64;
}
template <>
constexpr Type type_of<unsigned long long>() {
  return Type::uint64;
}
template <>
constexpr Type type_of<float>() {
  return Type::float32;
}
template <>
constexpr Type type_of<double>() {
  return Type::float64;
}

}  // namespace forebay
