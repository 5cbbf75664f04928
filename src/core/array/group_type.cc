#include "array/group_type.h"

#include <algorithm>
#include <array>

namespace forebay {
namespace {

struct Row {
  GroupType type;
  const char* name;
  const char* also;  // another name
  int bytes;
  Type engine;
};

// The rows are in the order of the enumeration.
constexpr std::array<Row, 14> rows = {
    {{GroupType::int8, "int8", "byte", 1, Type::byte},
     {GroupType::int16, "int16", "short", 2, Type::int16},
     {GroupType::int32, "int32", "integer", 4, Type::int32},
     {GroupType::int64, "int64", "long", 8, Type::int64},
     {GroupType::uint8, "uint8", "unsigned byte", 1, Type::uint8},
     {GroupType::uint16, "uint16", "unsigned short", 2, Type::uint16},
     {GroupType::uint32, "uint32", "unsigned integer", 4, Type::uint32},
     {GroupType::uint64, "uint64", "unsigned long", 8, Type::uint64},
     {GroupType::float32, "float", "real", 4, Type::float32},
     {GroupType::float64, "double", "float64", 8, Type::float64},
     {GroupType::complex64, "complex", "complex64", 8, Type::none},
     {GroupType::complex128, "double complex", "complex128", 16, Type::none},
     {GroupType::text, "char", "text", 1, Type::chr},
     {GroupType::string, "string", "string", 0, Type::none}}};

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

Type to_engine(GroupType type) { return row_of(type).engine; }

bool is_integer(GroupType type) { return type <= GroupType::uint64; }

}  // namespace forebay
