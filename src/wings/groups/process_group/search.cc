#include "groups/process_group/search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/words.h"
#include "groups/operators/operators.h"
#include "groups/process_group/range.h"

namespace forebay::process_group {

namespace {

using Is = Search::Is;

[[noreturn]] void no_condition(std::string_view text, const std::string& why) {
  throw Error(Errc::einval, "\"" + std::string(text) + "\" is no condition: " + why,
              "write \"T > 300\", or \"T >= 1 and T < 5\"");
}

Search::Bound parse_bound(std::string_view text, std::string& variable) {
  constexpr std::pair<std::string_view, Is> signs[] = {
      {"<=", Is::at_most}, {">=", Is::at_least}, {"==", Is::equal}, {"!=", Is::not_equal},
      {"<", Is::below},    {">", Is::above},     {"=", Is::equal}};
  const auto at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) no_condition(text, "it compares nothing");
  const auto* const sign = std::ranges::find_if(
      signs, [&](const auto& one) { return text.substr(at).starts_with(one.first); });
  if (sign == std::end(signs)) no_condition(text, "! stands before = only");
  variable = trimmed(text.substr(0, at));
  if (variable.empty()) no_condition(text, "a variable comes first");
  const std::string_view number = trimmed(text.substr(at + sign->first.size()));
  Search::Bound bound{sign->second, 0};
  const char* const last = number.data() + number.size();
  const auto [end, failed] = std::from_chars(number.data(), last, bound.than);
  if (failed != std::errc() || end != last || !std::isfinite(bound.than))
    no_condition(text, "a number comes last");
  // Each number is rounded once. A number beyond a type's range stays beyond it.
  if (std::from_chars(number.data(), last, bound.as_double).ec != std::errc())
    bound.as_double = static_cast<double>(bound.than);
  if (std::from_chars(number.data(), last, bound.as_float).ec != std::errc())
    bound.as_float = static_cast<float>(bound.than);
  return bound;
}

bool is_so(const Search::Bound& bound, long double value) {
  switch (bound.is) {
    case Is::below:
      return value < bound.than;
    case Is::at_most:
      return value <= bound.than;
    case Is::above:
      return value > bound.than;
    case Is::at_least:
      return value >= bound.than;
    case Is::equal:
      return value == bound.than;
    case Is::not_equal:
      break;
  }
  return value != bound.than;
}

bool all_so(const Search& what, long double value) {
  return std::isfinite(value) &&
         std::ranges::all_of(what.bounds, [&](const auto& bound) { return is_so(bound, value); });
}

// Returns whether a value between `least` and `greatest` may meet the bound.
bool may_be_so(const Search::Bound& bound, long double least, long double greatest) {
  switch (bound.is) {
    case Is::below:
    case Is::at_most:
      return is_so(bound, least);
    case Is::above:
    case Is::at_least:
      return is_so(bound, greatest);
    case Is::equal:
      return least <= bound.than && bound.than <= greatest;
    case Is::not_equal:
      break;
  }
  return least != bound.than || greatest != bound.than;
}

Count matches_in(const Search& what, bp::Type type, std::span<const std::byte> values) {
  Count matches = 0;
  bp::with_number(type, [&](auto element) {
    for (std::size_t at = 0; at < values.size(); at += sizeof element) {
      std::memcpy(&element, values.data() + at, sizeof element);
      matches += all_so(what, static_cast<long double>(element));
    }
  });
  return matches;
}

void take_range(FoundBlock& found, bp::Type type, const bp::Block& block) {
  found.least = bp::number_of<long double>(type, block.min);
  found.greatest = bp::number_of<long double>(type, block.max);
  found.known = block.has_value ||
                (block.has_range && !std::isnan(found.least) && !std::isnan(found.greatest));
}

}  // namespace

Search parse_search(std::string_view text) {
  Search search;
  constexpr std::string_view also = " and ";
  for (std::string_view rest = text; !rest.empty() || search.bounds.empty();) {
    const auto end = rest.find(also);
    std::string variable;
    search.bounds.push_back(parse_bound(rest.substr(0, end), variable));
    if (search.variable.empty()) search.variable = variable;
    if (search.variable != variable) no_condition(text, "it is about two variables");
    if (end == std::string_view::npos) break;
    rest = rest.substr(end + also.size());
    if (trimmed(rest).empty()) no_condition(text, "something comes after \"and\"");
  }
  return search;
}

Searched search(const BpReader& file, const Search& asked, bool values,
                const std::function<void(const FoundBlock&)>& f) {
  Search what = asked;
  const std::size_t v = file.find(what.variable);
  const StoredVariable& variable = file.variables()[v];
  const bp::Type type = variable.variable.type;
  if (!is_ordered(type))
    throw Error(Errc::echar, file.path() + ": variable " + what.variable + " has no order",
                "search a variable of numbers");
  // Compares with the bound in the variable's type, as programs do: 0.1 has its value in that type.
  for (Search::Bound& bound : what.bounds) {
    if (type == bp::Type::float64) bound.than = bound.as_double;
    if (type == bp::Type::float32) bound.than = bound.as_float;
  }
  Searched searched;
  for (const std::uint32_t step : variable.steps.numbers()) {
    ++searched.steps;
    FoundBlock found;
    found.step = step;
    found.block = -1;
    file.each_block(v, step, [&](bp::Block& block) {
      ++searched.blocks;
      ++found.block;
      if (block.bytes == 0) return;
      take_range(found, type, block);
      found.matches.reset();
      if (found.known) {
        if (found.least > found.greatest) return;  // no value counts
        if (found.least == found.greatest && !std::isfinite(found.least)) return;
        for (const Search::Bound& bound : what.bounds)
          if (!may_be_so(bound, found.least, found.greatest)) return;
      }
      // The least and greatest value are elements.
      found.certain = found.known && (all_so(what, found.least) || all_so(what, found.greatest));
      if (block.has_value && !found.certain) return;
      if (values && operators::why_unreadable(block).empty()) {
        found.matches = 0;
        file.each_part(v, block, [&](std::span<const std::byte> part) {
          *found.matches += matches_in(what, type, part);
        });
        found.certain = *found.matches > 0;
        if (!found.certain) return;
      }
      found.start = std::move(block.at.start);
      found.count = std::move(block.at.count);
      f(found);
    });
  }
  return searched;
}

void each_block(const BpReader& file, std::size_t v,
                const std::function<void(const FoundBlock&)>& f) {
  const StoredVariable& variable = file.variables().at(v);
  const bp::Type type = variable.variable.type;
  for (const std::uint32_t step : variable.steps.numbers()) {
    FoundBlock found;
    found.step = step;
    file.each_block(v, step, [&](bp::Block& block) {
      found.known = false;
      if (is_ordered(type)) take_range(found, type, block);
      found.known = found.known && found.least <= found.greatest;
      found.start = std::move(block.at.start);
      found.count = std::move(block.at.count);
      f(found);
      ++found.block;
    });
  }
}

}  // namespace forebay::process_group
