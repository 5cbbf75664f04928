#include "method/groups.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/quoted.h"
#include "base/words.h"
#include "method/method_values.h"

namespace forebay {
namespace {

// Limits that hold for files of all formats.
constexpr std::size_t most_name_bytes = 65535;
constexpr std::size_t most_dimensions = 32;

[[noreturn]] void refuse(const std::string& message, const std::string& advice) {
  throw Error(Errc::einval, message, advice);
}

void check_name(const std::string& name, const std::string& what) {
  if (name.empty()) refuse(what + " has no name", "give it one");
  if (name.size() > most_name_bytes) refuse(what + " has a name of over 65535 bytes", "shorten it");
}

GroupType type_of(const std::string& name, const std::string& of) {
  const auto type = group_type(lower_case(trimmed(name)));
  if (!type) {
    refuse(of + ": there is no type " + quoted(name),
           std::string("accepted: ") + group_type_names());
  }
  return *type;
}

std::vector<Expression> dimensions_of(const std::string& text, const std::string& of) {
  std::vector<Expression> list;
  try {
    list = parse_expressions(text);
  } catch (const Error& error) {
    throw error.at(of);
  }
  if (list.size() > most_dimensions)
    refuse(of + " has over " + std::to_string(most_dimensions) + " dimensions",
           "let one dimension stand for several");
  return list;
}

void place_in_global(GroupVariable& variable, const GroupVariableText& text,
                     const std::string& me) {
  variable.global = dimensions_of(text.global, me);
  variable.offsets = dimensions_of(text.offsets, me);
  if (variable.global.size() == variable.dimensions.size() &&
      variable.offsets.size() == variable.dimensions.size() && !variable.dimensions.empty())
    return;
  const auto number = [](const std::vector<Expression>& list) {
    return std::to_string(list.size());
  };
  refuse(me + " has " + number(variable.dimensions) + " dimensions in an array of " +
             number(variable.global) + " with " + number(variable.offsets) + " offsets",
         "give as many of each, and at least one");
}

void place_joined(GroupVariable& variable, const GroupVariableText& text, const std::string& me) {
  if (!text.global.empty() || !text.offsets.empty())
    refuse(me + " is joined, and part of a global array", "it can be one of them");
  const auto dimension = parse_count(text.joined);
  if (!dimension || *dimension >= std::ssize(variable.dimensions))
    refuse(me + ": joined=" + quoted(text.joined) + " is none of its dimensions",
           "accepted: a dimension's number, from 0 on");
  variable.joined = static_cast<int>(*dimension);
}

template <typename T>
bool is_number(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size();
}

Histogram parse_histogram(std::span<const std::string_view> words, std::size_t first,
                          const std::string& me) {
  const auto number = [&](std::size_t n, auto& value) {
    if (first + n >= words.size()) return false;
    std::string_view text = words[first + n];
    if (n == 0) text.remove_prefix(std::string_view("histogram:").size());
    text = trimmed(text);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size();
  };
  Histogram histogram;
  if (!number(0, histogram.least) || !number(1, histogram.greatest) || !number(2, histogram.bins) ||
      !std::isfinite(histogram.least) || !std::isfinite(histogram.greatest) ||
      !std::isfinite(histogram.greatest - histogram.least) ||
      histogram.least >= histogram.greatest || histogram.bins < 1 ||
      histogram.bins > Histogram::most_bins ||
      (histogram.greatest - histogram.least) / histogram.bins == 0)
    refuse(me + ": its histogram has no least and greatest value and number of bins",
           "accepted: histogram:0,1000,50 and its like, with up to 2^20 bins");
  return histogram;
}

// Ranges are always stored, so `minmax` sets nothing.
void take_characteristics(GroupVariable& variable, const std::string& list, const std::string& me) {
  if (list.empty()) return;
  const std::vector<std::string_view> words = items_of(list, ',');
  const bool has_numbers = variable.type < GroupType::complex64;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::string word(words[w]);
    if (word == "minmax") continue;
    const bool is_histogram = word.starts_with("histogram:");
    if (word != "mean" && !is_histogram)
      refuse(me + ": characteristics=" + quoted(list) + ": " + quoted(word) + " is none",
             "accepted: minmax, which every variable has, mean, histogram:LEAST,GREATEST,BINS");
    if (!has_numbers || variable.dimensions.empty())
      refuse(me + " is no array of real numbers, and has no " + (is_histogram ? "histogram" : word),
             "leave its characteristics out");
    if (!is_histogram) {
      variable.moments = true;
      continue;
    }
    variable.histogram = parse_histogram(words, w, me);
    w += 2;
  }
}

std::string in_digits(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The variable that holds a histogram in the file: a local array of counts (below, of each bin,
/// above), so that all programs can read it.
GroupVariable histogram_of(const GroupDefinition& group, const GroupVariable& of) {
  GroupVariable variable;
  variable.name = of.name + ".histogram";
  check_name(variable.name, "the histogram of " + of.name);
  if (group.find(variable.name) != nullptr)
    refuse("group " + group.name + " has a variable " + variable.name + " already",
           "give it another name, or " + of.name + " no histogram");
  variable.type = GroupType::int64;
  variable.dimensions = parse_expressions(std::to_string(of.histogram->bins + 2));
  variable.once = of.once;
  variable.is_histogram = true;
  return variable;
}

void append(GroupDefinition& group, GroupVariable&& variable) {
  group.places.emplace(variable.name, group.variables.size());
  group.variables.push_back(std::move(variable));
}

bool is_of(GroupType type, std::string_view text) {
  switch (type) {
    case GroupType::int8:
      return is_number<std::int8_t>(text);
    case GroupType::int16:
      return is_number<std::int16_t>(text);
    case GroupType::int32:
      return is_number<std::int32_t>(text);
    case GroupType::int64:
      return is_number<std::int64_t>(text);
    case GroupType::uint8:
      return is_number<std::uint8_t>(text);
    case GroupType::uint16:
      return is_number<std::uint16_t>(text);
    case GroupType::uint32:
      return is_number<std::uint32_t>(text);
    case GroupType::uint64:
      return is_number<std::uint64_t>(text);
    case GroupType::float32:
      return is_number<float>(text);
    case GroupType::float64:
      return is_number<double>(text);
    default:
      return false;
  }
}

}  // namespace

const GroupVariable* GroupDefinition::find(const std::string& variable) const {
  const auto found = places.find(variable);
  return found == places.end() ? nullptr : &variables[found->second];
}

GroupDefinition define_group(const std::string& name, const std::string& language) {
  check_name(name, "a group");
  GroupDefinition group;
  group.name = name;
  const std::string word = lower_case(language);
  if (!word.empty() && word != "c" && word != "fortran")
    refuse("group " + name + ": language=" + quoted(language), "accepted: C, Fortran");
  group.column_major = word == "fortran";
  return group;
}

void define_variable(GroupDefinition& group, const GroupVariableText& text) {
  check_name(text.name, "a variable of group " + group.name);
  const std::string me = "variable " + text.name;
  if (group.find(text.name) != nullptr)
    refuse("group " + group.name + " has two variables " + text.name, "give them different names");
  GroupVariable variable;
  variable.name = text.name;
  variable.type = type_of(text.type, me);
  variable.dimensions = dimensions_of(text.dimensions, me);
  if (variable.type == GroupType::string && !variable.dimensions.empty())
    refuse(me + " is an array of strings", "give strings no dimensions, or take type char");
  if (!text.global.empty() || !text.offsets.empty()) place_in_global(variable, text, me);
  if (!text.joined.empty()) place_joined(variable, text, me);
  if (!text.steps.empty() && text.steps != "once" && text.steps != "every")
    refuse(me + ": steps=" + quoted(text.steps), "accepted: every, once");
  variable.once = text.steps == "once";
  take_characteristics(variable, text.characteristics, me);
  variable.gwrite = text.gwrite;
  if (!variable.histogram) return append(group, std::move(variable));
  // The counts follow the variable; either both are defined or none.
  GroupVariable counts = histogram_of(group, variable);
  const auto& [least, greatest, bins] = *variable.histogram;
  define_attribute(group, counts.name + "/bounds", in_digits(least) + "," + in_digits(greatest),
                   "double");
  append(group, std::move(variable));
  append(group, std::move(counts));
}

void define_attribute(GroupDefinition& group, const std::string& name, const std::string& value,
                      const std::string& type) {
  check_name(name, "an attribute of group " + group.name);
  const std::string me = "attribute " + name;
  for (const GroupAttribute& other : group.attributes)
    if (other.name == name)
      refuse("group " + group.name + " has two attributes " + name, "give them different names");
  const GroupAttribute attribute{name, type.empty() ? GroupType::string : type_of(type, me), value};
  if (attribute.type != GroupType::string) {
    for (const std::string_view number : items_of(attribute.value, ','))
      if (!is_of(attribute.type, number))
        refuse(me + ": " + quoted(number) + " is no " + name_of(attribute.type),
               "accepted: numbers of its type with commas between them; text has type string");
  }
  group.attributes.push_back(attribute);
}

void check_group(const GroupDefinition& group) {
  for (const GroupVariable& variable : group.variables) {
    for (const auto* list : {&variable.dimensions, &variable.global, &variable.offsets}) {
      for (const Expression& expression : *list) {
        for (const std::string& name : expression.names()) {
          const GroupVariable* known = group.find(name);
          if (known != nullptr && is_integer(known->type) && known->dimensions.empty()) continue;
          refuse("variable " + variable.name + ": " + quoted(expression.text()) + " names " + name +
                     (known ? ", which is no integer scalar"
                            : ", which group " + group.name + " does not have"),
                 "declare it in the group, without dimensions, with a type as int64");
        }
      }
    }
  }
}

}  // namespace forebay
