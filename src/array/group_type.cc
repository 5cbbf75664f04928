#include "array/group_type.h"

#include <algorithm>
#include <array>

namespace forebay {
namespace {

struct Row {
  GroupType type;
  const char* name;
  const char* also;  // A's
  int bytes;
};

// In the order of the enumeration.
constexpr std::array<Row, 14> rows = {{{GroupType::int8, "int8", "byte", 1},
                                       {GroupType::int16, "int16", "short", 2},
                                       {GroupType::int32, "int32", "integer", 4},
                                       {GroupType::int64, "int64", "long", 8},
                                       {GroupType::uint8, "uint8", "unsigned byte", 1},
                                       {GroupType::uint16, "uint16", "unsigned short", 2},
                                       {GroupType::uint32, "uint32", "unsigned integer", 4},
                                       {GroupType::uint64, "uint64", "unsigned long", 8},
                                       {GroupType::float32, "float", "real", 4},
                                       {GroupType::float64, "double", "float64", 8},
                                       {GroupType::complex64, "complex", "complex64", 8},
                                       {GroupType::complex128, "double complex", "complex128", 16},
                                       {GroupType::text, "char", "text", 1},
                                       {GroupType::string, "string", "string", 0}}};

const Row& row_of(GroupType type) { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::optional<GroupType> group_type(std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& r) { return name == r.name || name == r.also; });
  return found == rows.end() ? std::nullopt : std::optional(found->type);
}

const char* name_of(GroupType type) { return row_of(type).name; }

const char* group_type_names() {
  return "int8 (byte), int16 (short), int32 (integer), int64 (long), uint8, uint16, uint32, uint64 "
         "(unsigned byte, unsigned short, unsigned integer, unsigned long), float (real), double, "
         "complex, double complex, char, string";
}

Count size_of(GroupType type) { return row_of(type).bytes; }

bool is_integer(GroupType type) { return type <= GroupType::uint64; }

}  // namespace forebay
