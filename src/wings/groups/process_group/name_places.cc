#include "groups/process_group/name_places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"

namespace forebay::process_group {

std::size_t place_of(const NamePlaces& places, std::string_view name, const std::string& path) {
  const std::string given(name);
  for (const std::string& one : {given, given.starts_with('/') ? given.substr(1) : "/" + given})
    if (const auto found = places.find(one); found != places.end()) return found->second;
  std::vector<std::pair<std::size_t, std::string_view>> in_order;
  for (const auto& [known, place] : places) in_order.emplace_back(place, known);
  std::ranges::sort(in_order);
  std::vector<std::string_view> names;
  names.reserve(in_order.size());
  for (const auto& one : in_order) names.push_back(one.second);
  throw Error(Errc::enotvar, path + ": there is no variable \"" + given + "\"",
              did_you_mean(name, names, "forebay ls shows what there is"));
}

}  // namespace forebay::process_group
