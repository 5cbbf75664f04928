// Slices of variables as people write them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "method/method_values.h"
#include "tools/field.h"

namespace forebay::tools {
namespace {

[[noreturn]] void refuse(const std::string& part, const std::string& why) {
  throw Error(Errc::einvalcoords, fmt::format("--slice: \"{}\": {}", part, why),
              "for example --slice \"0, 10:50, ::2\" or --slice \"time=-1, lat=10:50\"");
}

Count number_of(std::string_view text, const std::string& part) {
  text = trimmed(text);
  Count value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end)
    refuse(part, fmt::format("\"{}\" is no whole number", text));
  return value;
}

// "3", ":", "10:50", "::2" of a dimension.
DimSlice parse_part(const std::string& part, const std::string& name, Count length) {
  const auto colon = part.find(':');
  if (colon == std::string::npos) {
    const Count given = number_of(part, part);
    const Count index = given < 0 ? given + length : given;
    if (index < 0 || index >= length)
      refuse(part, fmt::format("{} has the indices 0 to {}, or -1 for the last", name, length - 1));
    return {index, 1, 1, true};
  }
  const auto second = part.find(':', colon + 1);
  const auto field = [&](std::size_t from, std::size_t to) {
    return std::string(trimmed(std::string_view(part).substr(from, to - from)));
  };
  const std::string first = field(0, colon);
  const std::string last = field(colon + 1, std::min(second, part.size()));
  const std::string step = second == std::string::npos ? "" : field(second + 1, part.size());
  const auto place = [&](const std::string& text, Count otherwise) {
    if (text.empty()) return otherwise;
    const Count value = number_of(text, part);
    return std::clamp<Count>(value < 0 ? value + length : value, 0, length);
  };
  DimSlice slice;
  slice.start = place(first, 0);
  const Count end = place(last, length);
  slice.step = step.empty() ? 1 : number_of(step, part);
  if (slice.step < 1) refuse(part, "steps must be positive");
  if (end <= slice.start)
    refuse(part, fmt::format("selects nothing: {} has {} elements", name, length));
  slice.count = (end - slice.start + slice.step - 1) / slice.step;
  return slice;
}

std::vector<std::string> parts_of(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  std::vector<std::string> parts;
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::vector<DimSlice> parse_slice(const std::string& text, const std::vector<std::string>& names,
                                  const std::vector<Count>& lengths) {
  std::vector<DimSlice> slices;
  slices.reserve(lengths.size());
  for (const Count length : lengths) slices.push_back({0, length, 1, false});
  const std::vector<std::string> parts = parts_of(text);
  const auto is_rest = [](const std::string& part) { return part == "..."; };
  const auto rests = std::count_if(parts.begin(), parts.end(), is_rest);
  if (rests > 1) refuse("...", "only one is possible");
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    if (is_rest(part)) {
      const std::size_t given = parts.size() - 1;
      at += lengths.size() - std::min(given, lengths.size());
      continue;
    }
    if (equals != std::string::npos) {
      const std::string name(trimmed(std::string_view(part).substr(0, equals)));
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        refuse(part, fmt::format("the dimensions are {}", fmt::join(names, ", ")));
      at = static_cast<std::size_t>(found - names.begin());
    }
    if (at >= lengths.size())
      refuse(part,
             fmt::format("there are {} dimensions: {}", names.size(), fmt::join(names, ", ")));
    const std::string range(
        trimmed(std::string_view(part).substr(equals == std::string::npos ? 0 : equals + 1)));
    slices[at] = parse_part(range, names[at], lengths[at]);
    ++at;
  }
  return slices;
}

}  // namespace forebay::tools
