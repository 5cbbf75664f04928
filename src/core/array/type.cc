#include "array/type.h"

#include <cstring>
#include <string>

#include "base/error.h"

namespace forebay {
namespace {

constexpr const char* names[] = {"none",   "byte",  "char",   "short", "int",   "float",
                                 "double", "ubyte", "ushort", "uint",  "int64", "uint64"};

template <typename T>
void put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

}  // namespace

const char* name_of(Type type) { return names[is_valid(type) ? static_cast<int>(type) : 0]; }

void check_type(Type type, int cdf_version) {
  if (!is_valid(type))
    throw Error(Errc::ebadtype, "type " + std::to_string(static_cast<int>(type)) + " is unknown");
  if (!valid_in_version(type, cdf_version))
    throw Error(Errc::estrictcdf2, std::string("type ") + name_of(type) + " needs CDF-5",
                "create the file with NC_64BIT_DATA");
}

void default_fill(Type type, std::byte out[8]) {
  std::memset(out, 0, 8);
  switch (type) {
    case Type::byte:
      return put<std::int8_t>(out, -127);
    case Type::int16:
      return put<std::int16_t>(out, -32767);
    case Type::int32:
      return put<std::int32_t>(out, -2147483647);
    case Type::float32:
      return put<float>(out, 0x1.ep+122F);
    case Type::float64:
      return put<double>(out, 0x1.ep+122);
    case Type::uint8:
      return put<std::uint8_t>(out, 255);
    case Type::uint16:
      return put<std::uint16_t>(out, 65535);
    case Type::uint32:
      return put<std::uint32_t>(out, 4294967295U);
    case Type::int64:
      return put<std::int64_t>(out, -9223372036854775806);
    case Type::uint64:
      return put<std::uint64_t>(out, 18446744073709551614U);
    case Type::chr:
    case Type::none:
      break;
  }
}

}  // namespace forebay
