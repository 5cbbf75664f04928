#include "method/front_end.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "method/method.h"
#include "method/method_keys.h"
#include "method/part.h"

namespace forebay {
namespace {

constexpr FrontEndInfo infos[] = {
    {FrontEnd::netcdf, "netCDF", "netCDF files", "docs/pnetcdf.md"},
    {FrontEnd::hdf5, "HDF5 connector", "HDF5 files through the connector", "docs/hdf5.md"},
    {FrontEnd::groups, "groups, BP", "BP files of groups", "docs/groups.md"},
    {FrontEnd::group_records, "groups, netCDF", "netCDF files of groups", "docs/groups.md"},
    {FrontEnd::checkpoints, "checkpoints", "checkpoints", "docs/checkpoints.md"},
    {FrontEnd::bundles, "forebay_bundle_open", "bundles that a program begins", "docs/bundles.md"},
    {FrontEnd::convert_netcdf, "convert, netCDF", "conversions to netCDF", "docs/commands.md"},
    {FrontEnd::convert_bp, "convert, BP", "conversions to BP", "docs/commands.md"},
    {FrontEnd::convert_hdf5, "convert, HDF5", "conversions to HDF5", "docs/commands.md"},
    {FrontEnd::convert_zarr, "convert, Zarr", "conversions to Zarr", "docs/commands.md"}};

std::optional<PartKind> parts_of(const KeySpec& key) {
  const std::string_view name = key.shown.name;
  if (name == "container") return PartKind::container;
  if (name == "layout") return PartKind::layout;
  if (name == "stage") return PartKind::stage;
  if (name == "transport") return PartKind::transport;
  return std::nullopt;
}

/// Returns whether readers of the other format know all stages of a pipeline.
bool has_readers(FrontEnd front_end, std::string_view pipeline) {
  if (front_end != FrontEnd::convert_hdf5 && front_end != FrontEnd::convert_zarr) return true;
  const auto stages = items_of(pipeline, ',');
  return std::all_of(stages.begin(), stages.end(), [&](std::string_view stage) {
    const std::string_view name = stage.substr(0, stage.find(':'));
    return name == "none" || name == "shuffle" || name == "deflate" ||
           (name == "zstd" && front_end == FrontEnd::convert_zarr);
  });
}

/// The front ends that honour a value, for users: writers first, conversions if there is no writer.
std::string honoured_by(const KeySpec& key, std::string_view value) {
  std::string who;
  for (const bool converts : {false, true})
    for (const FrontEndInfo& info : infos)
      if (who.empty() || !converts)
        if (conversions.contains(info.id) == converts && honours(info.id, key, value))
          who += (who.empty() ? "" : ", ") + std::string(info.files) + " (" + info.page + ")";
  return who;
}

std::string advice_for(FrontEnd front_end, const KeySpec& key, const std::string& value) {
  const std::string values = honoured_values(front_end, key);
  const std::string others = honoured_by(key, value);
  std::string advice = values.empty() ? "leave it out" : "accepted here: " + values;
  if (!others.empty())
    advice += "; " + std::string(key.shown.name) + "=" + value + " is for " + others;
  return advice;
}

struct Unmet {
  const KeySpec* key;
  std::string value, origin;
};

std::string told(FrontEnd front_end, const Unmet& unmet, const std::string& of_variables = {}) {
  return std::string(info_of(front_end).files) + " have no " + unmet.key->shown.name + "=" +
         unmet.value + of_variables;
}

/// Throws an error for this file, or adds a note for a general rule.
void refuse_or_note(Method& method, FrontEnd front_end, const Unmet& unmet, bool is_named,
                    const std::string& of_variables = {}) {
  const std::string text = told(front_end, unmet, of_variables);
  if (is_named)
    throw Error(Errc::enotsupport, unmet.origin + ": " + text,
                advice_for(front_end, *unmet.key, unmet.value));
  method.notes.push_back(unmet.origin + " did not reach this file: " + text);
}

/// "layout=log (FOREBAY_HINTS)", for notes.
std::string told_choice(const Method& method, const std::string& key) {
  return key + "=" + method_value(method, key) + " (" + method.origin_of(key) + ")";
}

void reset(Method& method, const KeySpec& key) {
  const Method standard;
  const std::string name = key.shown.name;
  method.origin.erase(name);
  method.of_parts.erase(name);
  method.passed_on.erase(name);
  if (key.kind == KeyKind::choice) return;  // the key that it sets is checked, too
  if (key.kind == KeyKind::codec) method.codec = standard.codec;
  if (key.word) method.*key.word = standard.*key.word;
  if (key.place.set) key.place.set(method, key.place.get(standard));
  if (key.size) method.*key.size = standard.*key.size;
  if (key.count) method.*key.count = standard.*key.count;
  if (key.count_of_node) method.*key.count_of_node = standard.*key.count_of_node;
}

/// The setting that overruled the program's choice no longer applies. Notes that name it get the
/// name of its replacement; they are removed if the program's choice applies again.
void rename_overruler(Method& method, const std::string& gone, const KeySpec& key) {
  const std::string tail = " is overruled by " + gone;
  std::erase_if(method.notes, [&](std::string& note) {
    if (!note.ends_with(tail)) return false;
    if (!method.is_said_outside(key.shown.name)) return true;
    note.resize(note.size() - tail.size());
    note += " is overruled by " + told_choice(method, key.shown.name);
    return false;
  });
}

/// Applies the value of the next weaker source, if any. Keys of other kinds are honoured with all
/// values or with none, so they need no weaker value.
void fall_back(Method& method, const KeySpec& key) {
  if (!parts_of(key) && key.kind != KeyKind::codec) return;
  const std::string name = key.shown.name;
  auto& weaker = method.weaker[name];
  if (weaker.empty()) return;
  (key.kind == KeyKind::codec ? method.codec : method.*key.word) = weaker.back().value;
  method.origin[name] = weaker.back().origin;
  weaker.pop_back();
}

// Keys for MPI-IO in the program's MPI_Info are passed unchanged to HDF5's own files.
bool goes_on_to_hdf5(FrontEnd front_end, const KeySpec& key, const Origin& origin) {
  return front_end == FrontEnd::hdf5 && key.family == KeyFamily::mpi_io && !origin.is_outside() &&
         !origin.names_file;
}

/// A rule for variables from outside takes precedence over the program's setting for the file.
void note_rules_over_program(Method& method) {
  for (const VariableRule& rule : method.variables) {
    for (const auto& [name, value] : rule.keys) {
      if (!method.origin.contains(name) || method.is_said_outside(name)) continue;
      if (value == method_value(method, name)) continue;
      note_overruled(method, told_choice(method, name) + " of variables " + rule.pattern,
                     name + "=" + value + " (" + rule.origin + ")");
    }
  }
}

void keep_honoured_rules(Method& method, FrontEnd front_end) {
  for (VariableRule& rule : method.variables) {
    for (const char* name : {"layout", "codec"}) {
      const auto said = rule.keys.find(name);
      const KeySpec& key = *find_key_spec(name);
      if (said == rule.keys.end() || honours(front_end, key, said->second)) continue;
      refuse_or_note(method, front_end, {&key, said->second, rule.origin}, rule.names_file,
                     " (variables " + rule.pattern + ")");
      rule.keys.erase(said);
    }
  }
}

}  // namespace

std::span<const FrontEndInfo> front_ends() { return infos; }

const FrontEndInfo& info_of(FrontEnd front_end) {
  return *std::find_if(std::begin(infos), std::end(infos),
                       [&](const FrontEndInfo& info) { return info.id == front_end; });
}

bool honours(FrontEnd front_end, const KeySpec& key, std::string_view value) {
  static const auto& standard = *new Method;
  if (value == method_value(standard, key.shown.name)) return true;
  if (const auto kind = parts_of(key)) {
    const Part* part = find_part(*kind, value);
    return !part || part->front_ends.contains(front_end);  // auto: the front end chooses
  }
  return key.front_ends.contains(front_end) &&
         (key.kind != KeyKind::codec || has_readers(front_end, value));
}

std::string honoured_values(FrontEnd front_end, const KeySpec& key) {
  std::string values;
  if (!parts_of(key)) return values;
  for (const std::string_view value : key.words)
    if (honours(front_end, key, value)) (values += values.empty() ? "" : "|") += value;
  return values;
}

void keep_honoured(Method& method, FrontEnd front_end) {
  Method kept = method;
  for (const auto& [name, said] : method.origin) {
    const KeySpec* key = find_key_spec(name);
    if (!key) continue;
    for (auto origin = kept.origin.find(name); origin != kept.origin.end();
         origin = kept.origin.find(name)) {
      if (goes_on_to_hdf5(front_end, *key, origin->second)) break;
      const Unmet unmet{key, method_value(kept, name), origin->second.text};
      if (honours(front_end, *key, unmet.value)) break;
      const bool is_alias = origin->second.is_alias, is_named = origin->second.names_file;
      const std::string gone = told_choice(kept, name);
      reset(kept, *key);
      fall_back(kept, *key);
      rename_overruler(kept, gone, *key);
      // The aliased key gets a note of its own.
      if (is_alias) continue;
      // A bundle's files handle general rules themselves.
      if (front_end == FrontEnd::bundles && !is_named) continue;
      refuse_or_note(kept, front_end, unmet, is_named);
    }
  }
  keep_honoured_rules(kept, front_end);
  if (front_end != FrontEnd::bundles) note_rules_over_program(kept);
  method = std::move(kept);
}

}  // namespace forebay
