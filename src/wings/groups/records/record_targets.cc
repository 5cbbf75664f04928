#include "groups/records/record_targets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "array/names.h"
#include "base/error.h"
#include "groups/records/group_types.h"

namespace forebay {
namespace {

namespace terms = group_terms;

RecordTarget target_of(const GroupVariable& variable, bool column_major, bool steps_have_files) {
  RecordTarget target;
  target.type = bp_type(variable.type);
  target.name = terms::name_of(variable.name);
  target.dimensions = variable.dimensions.size();
  target.once = variable.once && !steps_have_files;
  const bool alone = variable.global.empty() && !variable.dimensions.empty();
  if (variable.joined) {
    const auto d = static_cast<std::size_t>(*variable.joined);
    target.follow = column_major ? target.dimensions - 1 - d : d;
  } else if (alone) {
    target.follow = 0;
  }
  if (target.name != variable.name)
    target.attributes.push_back(text_attribute(terms::as_it_is, variable.name));
  return target;
}

void add_attribute(RecordTargets& to, const GroupDefinition& group,
                   const GroupAttribute& attribute) {
  const auto [owner, rest] = terms::owner_of(
      attribute.name, [&](const std::string& name) { return group.find(name) != nullptr; });
  auto made = terms::attribute(checked_name(terms::name_of(rest)), to_bp_attribute(attribute));
  if (!made)
    throw Error(Errc::enotsupport, "attribute " + attribute.name + " has no type of netCDF",
                "give it a real type, or choose layout=process-group");
  const GroupVariable* variable = group.find(owner);
  auto& list =
      variable
          ? to.variables[static_cast<std::size_t>(variable - group.variables.data())].attributes
          : to.attributes;
  for (const Attribute& other : list)
    if (other.name == made->name)
      throw Error(Errc::enameinuse, "two attributes would be called " + made->name,
                  "rename " + attribute.name);
  list.push_back(std::move(*made));
}

void check_names(const std::vector<RecordTarget>& variables) {
  std::set<std::string> names;
  const auto take = [&](const std::string& name) {
    if (!names.insert(checked_name(name)).second)
      throw Error(Errc::enameinuse, "two variables would be called " + name, "rename one of them");
  };
  for (const RecordTarget& target : variables) {
    take(target.name);
    if (target.follow) take(target.counts_name());
  }
}

}  // namespace

RecordTargets record_targets(const GroupDefinition& group, bool steps_have_files) {
  RecordTargets made;
  for (const GroupVariable& variable : group.variables)
    made.variables.push_back(target_of(variable, group.column_major, steps_have_files));
  for (const GroupAttribute& attribute : group.attributes) add_attribute(made, group, attribute);
  check_names(made.variables);
  return made;
}

int RecordTargets::version() const {
  const auto is_new = [](Type type) { return !valid_in_version(type, 2); };
  const auto any = [&](const std::vector<Attribute>& list) {
    return std::ranges::any_of(list, [&](auto& a) { return is_new(a.type); });
  };
  for (const RecordTarget& target : variables) {
    const Type element = target.element();
    if (target.follow || is_new(element) || any(target.attributes)) return 5;
  }
  return any(attributes) ? 5 : 2;
}

}  // namespace forebay
