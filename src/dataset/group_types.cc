#include "dataset/group_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "method/method_values.h"

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

template <typename T>
T number_of(std::string_view text) {
  T value{};
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);  // was looked at when defined
  return value;
}

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

bp::Attribute bp_attribute(const GroupAttribute& from) {
  bp::Attribute to{from.name, bp_type(from.type), {}, {}};
  if (from.type == GroupType::string) {
    to.texts.push_back(from.value);
    return to;
  }
  const auto append = [&](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.values.insert(to.values.end(), bytes.begin(), bytes.end());
  };
  const std::string_view list = from.value;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view text = list.substr(at, end - at);
    if (from.type == GroupType::float32) append(number_of<float>(text));
    if (from.type == GroupType::float64) append(number_of<double>(text));
    with_integer(from.type, [&](auto kind) { append(number_of<decltype(kind)>(text)); });
    at = end + 1;
  }
  return to;
}

}  // namespace forebay
