#include "dataset/group_types.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace forebay {
namespace {

constexpr std::array<std::pair<GroupType, bp::Type>, 14> pairs{{
    {GroupType::int8, bp::Type::int8},
    {GroupType::int16, bp::Type::int16},
    {GroupType::int32, bp::Type::int32},
    {GroupType::int64, bp::Type::int64},
    {GroupType::uint8, bp::Type::uint8},
    {GroupType::uint16, bp::Type::uint16},
    {GroupType::uint32, bp::Type::uint32},
    {GroupType::uint64, bp::Type::uint64},
    {GroupType::float32, bp::Type::float32},
    {GroupType::float64, bp::Type::float64},
    {GroupType::complex64, bp::Type::complex64},
    {GroupType::complex128, bp::Type::complex128},
    {GroupType::text, bp::Type::chr},
    {GroupType::string, bp::Type::string},
}};

}  // namespace

bp::Type bp_type(GroupType type) {
  for (const auto& [group, stored] : pairs)
    if (group == type) return stored;
  throw Error(Errc::einternal, "a type of groups that BP does not have");
}

GroupType group_type(bp::Type type) {
  for (const auto& [group, stored] : pairs)
    if (stored == type) return group;
  throw Error(Errc::enotsupport, "long double has no type here", "read it with adios2");
}

}  // namespace forebay
