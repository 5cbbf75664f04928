#include "groups/records/group_terms.h"

#include <algorithm>

#include "base/byteorder.h"
#include "groups/format/bp_read.h"

namespace forebay::group_terms {

std::string name_of(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

// The attribute does not count if the variable was renamed.
std::string name_as_it_is(const Variable& variable) {
  if (const auto at = variable.attributes.find(as_it_is)) {
    const Attribute& told = variable.attributes[*at];
    if (told.type == Type::chr && name_of(std::string(text_of(told))) == variable.name)
      return std::string(text_of(told));
  }
  return variable.name;
}

std::string counts_of(const std::string& variable) { return variable + "_count"; }
std::string counts_title(const std::string& variable, std::size_t dimension) {
  return "elements of each rank along dimension " + std::to_string(dimension) + " of " + variable;
}

std::pair<std::string, std::string> owner_of(
    const std::string& attribute, const std::function<bool(const std::string&)>& is_variable) {
  for (std::size_t slash = attribute.rfind('/'); slash != std::string::npos;
       slash = slash == 0 ? std::string::npos : attribute.rfind('/', slash - 1)) {
    std::string owner = attribute.substr(0, slash);
    if (is_variable(owner)) return {std::move(owner), attribute.substr(slash + 1)};
  }
  return {{}, attribute};
}

std::string dimension(Count length) { return "dim_" + std::to_string(length); }
std::string text_dimension(Count length) { return "string_" + std::to_string(length); }

Type element_of(bp::Type type) {
  if (type == bp::Type::complex64) return Type::float32;
  return type == bp::Type::complex128 ? Type::float64 : to_engine(type);
}

std::array<std::byte, 16> fill_of(bp::Type type) {
  std::array<std::byte, 16> fill{};
  if (const Type element = element_of(type); element != Type::none) {
    default_fill(element, fill.data());
    std::copy_n(fill.begin(), size_of(element), fill.begin() + size_of(element));
  }
  return fill;
}

Attribute number_attribute(std::string name, const std::vector<std::int64_t>& numbers) {
  Attribute made{std::move(name), Type::int64, std::ssize(numbers), {}};
  made.value.resize(numbers.size() * sizeof(std::int64_t));
  for (std::size_t n = 0; n < numbers.size(); ++n)
    store_be(made.value.data() + n * sizeof(std::int64_t), numbers[n]);
  return made;
}

std::optional<Attribute> attribute(std::string name, const bp::Attribute& from) {
  if (from.type == bp::Type::string) return text_attribute(std::move(name), from.texts.at(0));
  Attribute made{std::move(name), to_engine(from.type), 0, from.values};
  if (made.type == Type::none) return std::nullopt;
  made.count = static_cast<Count>(made.value.size()) / size_of(made.type);
  if (!native_is_big_endian) bp::swap_values(from.type, made.value);
  return made;
}

}  // namespace forebay::group_terms
