#include "groups/records/group_types.h"

#include <charconv>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/words.h"

namespace forebay {
namespace {

template <typename T>
T number_of(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);  // checked when defined
  return value;
}

}  // namespace

bp::Type bp_type(GroupType type) {
  if (type == GroupType::complex64) return bp::Type::complex64;
  if (type == GroupType::complex128) return bp::Type::complex128;
  return type == GroupType::string ? bp::Type::string : bp::from_engine(to_engine(type));
}

GroupType group_type(bp::Type type) {
  for (int t = 0; t <= static_cast<int>(GroupType::string); ++t)
    if (bp_type(static_cast<GroupType>(t)) == type) return static_cast<GroupType>(t);
  throw Error(Errc::enotsupport, "long double has no type here", "read it with adios2");
}

bp::Attribute to_bp_attribute(const GroupAttribute& from) {
  bp::Attribute to{from.name, bp_type(from.type), {}, {}};
  if (from.type == GroupType::string) {
    to.texts.push_back(from.value);
    return to;
  }
  const auto append = [&](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.values.insert(to.values.end(), bytes.begin(), bytes.end());
  };
  for (const std::string_view text : items_of(from.value, ',')) {
    if (from.type == GroupType::float32) append(number_of<float>(text));
    if (from.type == GroupType::float64) append(number_of<double>(text));
    with_integer(from.type, [&](auto kind) { append(number_of<decltype(kind)>(text)); });
  }
  return to;
}

}  // namespace forebay
