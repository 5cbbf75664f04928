#include "method/part.h"

#include <algorithm>
#include <array>

namespace forebay {
namespace {

constexpr std::size_t kinds = 4;

std::array<std::vector<const Part*>, kinds>& added() {
  static auto& parts = *new std::array<std::vector<const Part*>, kinds>;
  return parts;
}

}  // namespace

const std::vector<const Part*>& parts(PartKind kind) {
  // Never destroyed, since files may be closed at exit.
  static const auto& parts = *[] {
    auto& all = *new auto(added());
    for (std::size_t k = 0; k < kinds; ++k) {
      const auto ours = built_in_parts(static_cast<PartKind>(k));
      all[k].insert(all[k].begin(), ours.begin(), ours.end());
      std::stable_sort(all[k].begin(), all[k].end(),
                       [](const Part* a, const Part* b) { return a->order < b->order; });
    }
    return &all;
  }();
  return parts[static_cast<std::size_t>(kind)];
}

std::string part_names(PartKind kind, std::string_view between) {
  std::string names;
  for (const Part* part : parts(kind)) {
    if (!names.empty()) names += between;
    names += part->name;
  }
  return names;
}

const Part* find_part(PartKind kind, std::string_view name) {
  const auto& all = parts(kind);
  const auto found = std::find_if(all.begin(), all.end(), [&](auto* p) { return p->name == name; });
  return found == all.end() ? nullptr : *found;
}

std::optional<Error> absent(std::string_view key, std::string_view value,
                            const std::string& where) {
  for (const AbsentName& name : absent_names()) {
    if (name.key != key || (!name.value.empty() && name.value != value)) continue;
    std::string what(key);
    if (!name.value.empty()) what += "=" + std::string(value);
    return Error(Errc::enotbuilt, where + ": this build has no " + what,
                 "configure Forebay with " + std::string(name.wing) + " in -DFOREBAY_WINGS");
  }
  return std::nullopt;
}

void AddedPart::add(PartKind kind, const Part& part) {
  added()[static_cast<std::size_t>(kind)].push_back(&part);
}

}  // namespace forebay
