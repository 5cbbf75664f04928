#include "array/out_of_range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "array/convert.h"
#include "base/byteorder.h"

namespace forebay {
namespace {

Count first_out_of_range(const Conversion& c) {
  constexpr Count block = 512;
  std::array<std::byte, block * 8> unused;
  const Count width = size_of(c.writes ? c.memory : c.external);
  const auto any = [&](Count from, Count n) {
    const std::byte* values = c.values + from * width;
    return c.writes ? to_external(c.external, unused.data(), c.memory, values, n, nullptr)
                    : from_external(c.external, values, c.memory, unused.data(), n, nullptr);
  };
  Count at = 0;
  while (at < c.n && !any(at, std::min(block, c.n - at))) at += block;
  while (at + 1 < c.n && !any(at, 1)) ++at;
  return at;
}

template <typename T>
std::string in_digits(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string in_digits(const Conversion& c, Count i) {
  const Type type = c.writes ? c.memory : c.external;
  const auto width = static_cast<std::size_t>(size_of(type));
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), c.values + i * static_cast<Count>(width), width);
  if (!c.writes) std::reverse(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(width));
  switch (type) {
    case Type::byte:
      return in_digits<std::int8_t>(bytes.data());
    case Type::uint8:
      return in_digits<std::uint8_t>(bytes.data());
    case Type::int16:
      return in_digits<std::int16_t>(bytes.data());
    case Type::uint16:
      return in_digits<std::uint16_t>(bytes.data());
    case Type::int32:
      return in_digits<std::int32_t>(bytes.data());
    case Type::uint32:
      return in_digits<std::uint32_t>(bytes.data());
    case Type::int64:
      return in_digits<std::int64_t>(bytes.data());
    case Type::uint64:
      return in_digits<std::uint64_t>(bytes.data());
    case Type::float32:
      return in_digits<float>(bytes.data());
    default:
      return in_digits<double>(bytes.data());
  }
}

/// Returns the index of the i-th element of a selection, for each dimension.
std::vector<Count> index_of(const Subarray& box, Count i) {
  std::vector<Count> index = box.start;
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] += i % box.count[d] * (box.stride.empty() ? 1 : box.stride[d]);
    i /= box.count[d];
  }
  return index;
}

std::vector<Count> index_of(const Runs& runs, const Variable& var, Count i) {
  const Count width = size_of(var.type), place = i * width;
  Count element = 0, before = 0;
  for (std::size_t r = 0; r < runs.list->runs.size(); ++r) {
    const Run& run = runs.list->runs[r];
    const Count at = runs.list->memory.empty() ? before : runs.list->memory[r];
    if (at <= place && place < at + run.length)
      element = (runs.base + run.offset + place - at) / width;
    before += run.length;
  }
  std::vector<Count> index(var.dimids.size());
  for (std::size_t d = index.size(); d-- > 0;) {
    const Count length = d == 0 ? element + 1 : var.shape[d];
    index[d] = element % length;
    element /= length;
  }
  return index;
}

Error told(const Conversion& c, Count i, const std::string& where) {
  const Type to = c.writes ? c.external : c.memory;
  return Error(Errc::erange,
               where + ": " + in_digits(c, i) + " does not fit type " + name_of(to) +
                   ", which it is converted to",
               "it was replaced by the fill value; values that fit are right");
}

}  // namespace

Error out_of_range(const Conversion& conversion, const Variable& var, const Request& request) {
  const Count i = first_out_of_range(conversion);
  const auto* box = std::get_if<Subarray>(&request.selection);
  const auto index = box ? index_of(*box, i) : index_of(std::get<Runs>(request.selection), var, i);
  std::string at;
  for (const Count one : index) at += (at.empty() ? " at (" : ", ") + std::to_string(one);
  return told(conversion, i, "variable " + var.name + at + (at.empty() ? "" : ")"));
}

Error out_of_range(const Conversion& conversion, const Attribute& attribute) {
  const Count i = first_out_of_range(conversion);
  const std::string of_several = conversion.n == 1 ? "" : ", value " + std::to_string(i);
  return told(conversion, i, "attribute " + attribute.name + of_several);
}

}  // namespace forebay
