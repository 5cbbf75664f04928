#include "method/method.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/words.h"
#include "codec/pipeline.h"
#include "method/checkpoint_method.h"
#include "method/config.h"
#include "method/glob.h"
#include "method/method_keys.h"
#include "method/method_values.h"

namespace forebay {
namespace {

constexpr const char* from_forebay_hints = "FOREBAY_HINTS";
constexpr const char* from_pnetcdf_hints = "PNETCDF_HINTS";
constexpr const char* from_api = "MPI_Info";

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

[[noreturn]] void refuse_key(std::string_view key, const std::string& where) {
  std::vector<std::string_view> names;
  for (const KeySpec& spec : key_specs()) names.emplace_back(spec.shown.name);
  throw Error(Errc::einval, where + ": there is no key " + quoted(key),
              did_you_mean(key, names) + "accepted keys: " + joined(names, ", "));
}

[[noreturn]] void refuse_value(const KeySpec& spec, std::string_view value,
                               const std::string& where,
                               std::span<const std::string_view> words = {}) {
  throw Error(Errc::einval, where + ": " + quoted(value) + " is no value of " + spec.shown.name,
              did_you_mean(value, words) + "accepted: " + spec.shown.accepted);
}

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The canonical text of a pipeline.
std::string checked_codec(const KeySpec& spec, std::string_view value, const std::string& where) {
  try {
    return Pipeline::parse(value).text();
  } catch (const Error& error) {
    throw error.at(where + ": " + spec.shown.name);
  }
}

void set_word(Method& method, const KeySpec& spec, const std::string& value,
              const std::string& where) {
  if (!contains(spec.words, value)) refuse_value(spec, value, where, spec.words);
  (spec.word ? method.*spec.word : method.of_parts[spec.shown.name]) = value;
}

void set_choice(Method& method, const KeySpec& spec, bool on) {
  std::string& word = method.*spec.word;
  if (on) {
    word = spec.chosen;
  } else if (word == spec.chosen) {
    word = Method{}.*spec.word;
  }
}

void check_kept(const KeySpec& spec, const std::string& value, const std::string& where) {
  if (std::string_view(spec.shown.name) != "cb_nodes" &&
      std::string_view(spec.shown.name) != "cb_buffer_size") {
    return;
  }
  const auto number = parse_size(value);
  if (!number || *number < 1) refuse_value(spec, value, where);
}

constexpr std::string_view of_each_node = "/node";

std::optional<Count> count_within(const KeySpec& spec, std::string_view text) {
  const auto number = parse_count(text);
  return number && *number >= spec.least && *number <= spec.most ? number : std::nullopt;
}

void set_count(Method& method, const KeySpec& spec, std::string_view value,
               const std::string& where) {
  std::string_view text = value;
  const bool of_node = spec.count_of_node != nullptr && text.ends_with(of_each_node);
  if (of_node) text.remove_suffix(of_each_node.size());
  const auto number = count_within(spec, text);
  if (!number || (of_node && *number == 0)) refuse_value(spec, value, where);
  if (spec.count == nullptr) {
    method.of_parts[spec.shown.name] = std::to_string(*number);
    return;
  }
  if (spec.count_of_node != nullptr)
    method.*spec.count_of_node = of_node ? static_cast<int>(*number) : 0;
  method.*spec.count = of_node ? 0 : static_cast<int>(*number);
}

void set_strictly(Method& method, const KeySpec& spec, const std::string& value,
                  const std::string& where) {
  switch (spec.kind) {
    case KeyKind::word:
      return set_word(method, spec, value, where);
    case KeyKind::size: {
      const auto bytes = parse_size(value);
      if (!bytes || *bytes < spec.least || *bytes > spec.most) refuse_value(spec, value, where);
      if (spec.size) {
        method.*spec.size = *bytes;
      } else {
        method.of_parts[spec.shown.name] = std::to_string(*bytes);
      }
      if (spec.family == KeyFamily::mpi_io)
        method.passed_on[spec.shown.name] = std::to_string(*bytes);
      return;
    }
    case KeyKind::count:
      return set_count(method, spec, value, where);
    case KeyKind::codec:
      method.codec = checked_codec(spec, value, where);
      return;
    case KeyKind::text:
      method.*spec.word = value;
      return;
    case KeyKind::choice:
      if (!contains(spec.words, value)) refuse_value(spec, value, where, spec.words);
      return set_choice(method, spec, value == "enable");
    case KeyKind::kept:
      check_kept(spec, value, where);
      method.passed_on[spec.shown.name] = value;
      return;
  }
}

// A hint that was written for PnetCDF or MPI-IO, read as they read it. Returns false for a value
// that was ignored.
bool set_leniently(Method& method, const KeySpec& spec, const std::string& value) {
  switch (spec.kind) {
    case KeyKind::word: {
      const std::string word = lower_case(value);
      if (!contains(spec.words, word)) return false;
      (spec.word ? method.*spec.word : method.of_parts[spec.shown.name]) = word;
      return true;
    }
    case KeyKind::size: {
      const Count number = leading_number(value);
      if (spec.family == KeyFamily::mpi_io) method.passed_on[spec.shown.name] = value;
      // PnetCDF takes nonsense for these two as 0 (and negative nc_ibuf_size as it is) and tells so
      // when asked.
      if (spec.size == &Method::ibuf_size) return method.ibuf_size = number, true;
      const bool zero_counts = spec.size == &Method::header_read_chunk;
      if (number <= 0 && !zero_counts) return false;
      method.*spec.size = std::clamp<Count>(number, 0, spec.most);
      return true;
    }
    case KeyKind::text:
      method.*spec.word = value;
      return true;
    case KeyKind::choice:
      if (!contains(spec.words, lower_case(value))) return false;
      set_choice(method, spec, lower_case(value) == "enable");
      return true;
    case KeyKind::count: {
      const Count number = leading_number(value);
      if (number < spec.least || number > spec.most) return false;
      if (spec.count) {
        method.*spec.count = static_cast<int>(number);
      } else {
        method.of_parts[spec.shown.name] = std::to_string(number);
      }
      return true;
    }
    default:
      method.passed_on[spec.shown.name] = value;
      return true;
  }
}

void set_foreign_hint(Method& method, const std::string& key, const std::string& value,
                      const std::string& origin) {
  const KeySpec* spec = find_key_spec(key);
  if (value.empty()) return;
  if (spec == nullptr) {
    method.passed_on[key] = value;
  } else if (spec->family == KeyFamily::own) {
    set_method_key(method, key, value, origin, origin);
  } else if (set_leniently(method, *spec, value)) {
    method.origin[key] = origin;
  }
}

// PnetCDF skips entries without '=' and takes blanks after '=' as they are.
void apply_pnetcdf_hints(Method& method, std::string_view text) {
  for (const std::string_view entry : items_of(text, ';'))
    if (const auto hint = key_and_value(entry))
      set_foreign_hint(method, std::string(hint->first), std::string(hint->second),
                       from_pnetcdf_hints);
}

// MPI-IO's "*:N" and "*": at most so many processes of each node; 0 for other texts, as "*:*".
int aggregators_of_each_node(std::string_view list) {
  list = trimmed(list);
  if (!list.starts_with('*')) return 0;
  list.remove_prefix(1);
  if (list.empty()) return 1;
  if (!list.starts_with(':')) return 0;
  return static_cast<int>(
      std::min<Count>(parse_count(list.substr(1)).value_or(0), std::numeric_limits<int>::max()));
}

void apply_configuration(Method& method, const std::string& path, const MethodSources& sources,
                         const std::string& group, bool is_checkpoint) {
  if (sources.config_name.empty()) return;
  if (!sources.config_error.empty()) {
    throw Error(Errc::einval,
                "FOREBAY_CONFIG: cannot read " + sources.config_name + ": " + sources.config_error,
                "accepted: the path of a readable XML file, or nothing");
  }
  apply_config(parse_config(sources.config_text, sources.config_name), path, method, group,
               is_checkpoint);
}

void apply_report(Method& method, const std::string& value) {
  if (value.empty() || value == "0") return;
  constexpr std::string_view json = "json:";
  if (value != "1" && !(value.starts_with(json) && value.size() > json.size())) {
    throw Error(Errc::einval, "FOREBAY_REPORT: " + quoted(value) + " is no kind of report",
                "accepted: 0, 1 or json:PATH");
  }
  method.report = value;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One after another, each behind its length.
void broadcast_texts(const Comm& comm, std::span<std::string* const> texts) {
  std::string all;
  for (const std::string* text : texts) all += std::to_string(text->size()) + ':' + *text;
  comm.broadcast(all);
  std::size_t begin = 0;
  for (std::string* text : texts) {
    const std::size_t colon = all.find(':', begin);
    const std::size_t size = std::stoull(all.substr(begin, colon - begin));
    *text = all.substr(colon + 1, size);
    begin = colon + 1 + size;
  }
}

}  // namespace

void apply_aliases(Method& method) {
  if (method_value(method, "pnetcdf_subfiling") == "enable" && !method.origin.contains("layout")) {
    method.layout = "decomposed";
    method.origin["layout"] = "pnetcdf_subfiling of " + method.origin["pnetcdf_subfiling"];
  }
  const auto given = [&](const char* key) -> Count {
    const auto found = method.passed_on.find(key);
    return found == method.passed_on.end() ? 0 : parse_size(found->second).value_or(0);
  };
  if (!method.origin.contains("aggregators")) {
    const Count all = given("cb_nodes");
    const auto list = method.passed_on.find("cb_config_list");
    const int of_node = list == method.passed_on.end() ? 0 : aggregators_of_each_node(list->second);
    method.aggregators = static_cast<int>(std::min<Count>(all, std::numeric_limits<int>::max()));
    method.aggregators_of_node = of_node;
    const auto note = [&](const std::string& key) {
      method.origin["aggregators"] = key + " of " + method.origin[key];
    };
    if (of_node > 0) note("cb_config_list");
    if (all > 0) note("cb_nodes");
  }
  const Count buffer = given("cb_buffer_size");
  if (buffer > 0 && !method.origin.contains("window_size")) {
    const KeySpec* window = find_key_spec("window_size");
    method.window_size = std::clamp(buffer, window->least, window->most);
    method.origin["window_size"] = "cb_buffer_size of " + method.origin["cb_buffer_size"];
  }
}

void set_method_key(Method& method, const std::string& key, const std::string& value,
                    const std::string& where, const std::string& origin) {
  const KeySpec* spec = find_key_spec(key);
  if (spec == nullptr && is_mpi_io_key(key) && !value.empty()) {
    method.passed_on[key] = value;
    return;
  }
  if (spec == nullptr) refuse_key(key, where);
  if (value.empty()) refuse_value(*spec, value, where);
  set_strictly(method, *spec, value, where);
  method.origin[key] = origin;
}

void apply_hints(Method& method, std::string_view text, const std::string& where) {
  for (const std::string_view entry : items_of(text, ';')) {
    if (entry.empty()) continue;
    const auto hint = key_and_value(entry);
    if (!hint) {
      throw Error(Errc::einval, where + ": " + quoted(entry) + " is no key=value pair",
                  "accepted: key=value;key=value");
    }
    set_method_key(method, std::string(hint->first), std::string(hint->second), where, where);
  }
}

MethodSources read_method_sources(const std::string& otherwise) {
  MethodSources sources;
  sources.config_name = environment("FOREBAY_CONFIG");
  if (sources.config_name.empty()) sources.config_name = otherwise;
  sources.forebay_hints = environment("FOREBAY_HINTS");
  sources.pnetcdf_hints = environment("PNETCDF_HINTS");
  sources.report = environment("FOREBAY_REPORT");
  const char* safe_mode = std::getenv("PNETCDF_SAFE_MODE");
  sources.safe_mode = safe_mode != nullptr && safe_mode[0] != '0';
  sources.strict_start = environment("PNETCDF_RELAX_COORD_BOUND").starts_with('0');
  if (sources.config_name.empty()) return sources;
  errno = 0;
  std::ifstream file(sources.config_name, std::ios::binary);
  std::ostringstream text;
  // A directory opens, and fails when it is read.
  if (!file || (file.peek() != std::ifstream::traits_type::eof() && !(text << file.rdbuf())) ||
      file.bad()) {
    sources.config_error = std::strerror(errno != 0 ? errno : EIO);
  }
  sources.config_text = text.str();
  return sources;
}

MethodSources share_method_sources(const Comm& comm, std::string* beside,
                                   const std::string& otherwise) {
  MethodSources sources;
  std::string safe_mode, strict_start;
  if (comm.is_root()) {
    sources = read_method_sources(otherwise);
    if (sources.safe_mode) safe_mode = "1";
    if (sources.strict_start) strict_start = "1";
  }
  std::string nothing;
  std::array<std::string*, 9> texts = {
      &sources.config_name,   &sources.config_error, &sources.pnetcdf_hints,
      &sources.forebay_hints, &sources.report,       &safe_mode,
      &strict_start,          &sources.config_text,  beside ? beside : &nothing};
  if (comm.size() > 1) broadcast_texts(comm, texts);
  sources.safe_mode = !safe_mode.empty();
  sources.strict_start = !strict_start.empty();
  return sources;
}

std::string text_of(const MethodSources& sources) {
  std::string all = {sources.safe_mode ? '1' : '0', sources.strict_start ? '1' : '0'};
  for (const std::string* text :
       {&sources.config_name, &sources.config_error, &sources.pnetcdf_hints, &sources.forebay_hints,
        &sources.report, &sources.config_text})
    all += std::to_string(text->size()) + ':' + *text;
  return all;
}

namespace {

Method choose(const std::string& path, const HintMap& api_hints, const MethodSources& sources,
              const std::string& group, bool is_checkpoint) {
  Method method;
  method.safe_mode = sources.safe_mode;
  method.strict_start = sources.strict_start;
  apply_report(method, sources.report);
  apply_configuration(method, path, sources, group, is_checkpoint);
  apply_pnetcdf_hints(method, sources.pnetcdf_hints);
  apply_hints(method, sources.forebay_hints, from_forebay_hints);
  for (const auto& [key, value] : api_hints) set_foreign_hint(method, key, value, from_api);
  apply_aliases(method);
  return method;
}

}  // namespace

Method choose_method(const std::string& path, const HintMap& api_hints,
                     const MethodSources& sources, const std::string& group) {
  return choose(path, api_hints, sources, group, false);
}

Method choose_checkpoint_method(const std::string& name, const MethodSources& sources) {
  return choose(name, {}, sources, {}, true);
}

Method choose_method(const std::string& path, const HintMap& api_hints) {
  return choose_method(path, api_hints, read_method_sources());
}

std::string method_value(const Method& method, std::string_view key) {
  const KeySpec* spec = find_key_spec(key);
  if (spec == nullptr || spec->kind == KeyKind::kept) {
    const auto found = method.passed_on.find(std::string(key));
    if (found != method.passed_on.end()) return found->second;
    return spec == nullptr ? "" : spec->shown.standard;
  }
  if (!spec->word && !spec->size && !spec->count) {
    const auto found = method.of_parts.find(std::string(key));
    if (found != method.of_parts.end()) return found->second;
  }
  switch (spec->kind) {
    case KeyKind::word:
    case KeyKind::text:
      return spec->word ? method.*spec->word : spec->shown.standard;
    case KeyKind::choice:
      return method.*spec->word == spec->chosen ? "enable" : "disable";
    case KeyKind::size:
      return spec->size ? std::to_string(method.*spec->size) : spec->shown.standard;
    case KeyKind::count:
      if (spec->count_of_node && method.*spec->count_of_node > 0)
        return std::to_string(method.*spec->count_of_node) + std::string(of_each_node);
      return spec->count ? std::to_string(method.*spec->count) : spec->shown.standard;
    case KeyKind::codec:
      return method.codec;
    default:
      return "disable";
  }
}

std::string shown_method_value(const Method& method, std::string_view key) {
  const KeySpec* spec = find_key_spec(key);
  const bool bytes = spec != nullptr && spec->kind == KeyKind::size && key != "striping_factor";
  const std::string value = method_value(method, key);
  return bytes ? exact_size(parse_size(value).value_or(0)) : value;
}

std::vector<VariableRule> matching_rules(const Method& method, std::string_view variable) {
  std::vector<VariableRule> rules;
  for (const VariableRule& rule : method.variables) {
    if (glob_match(rule.pattern, variable)) rules.push_back(rule);
  }
  return rules;
}

HintMap variable_method(const Method& method, std::string_view variable) {
  HintMap keys = {{"layout", method.layout}, {"codec", method.codec}};
  for (const VariableRule& rule : matching_rules(method, variable)) {
    for (const auto& [key, value] : rule.keys) keys[key] = value;
  }
  return keys;
}

HintMap to_hints(const Method& method) {
  HintMap hints = method.passed_on;
  for (const KeySpec& spec : key_specs()) {
    if (spec.kind == KeyKind::kept || spec.family == KeyFamily::mpi_io) continue;
    hints[spec.shown.name] = method_value(method, spec.shown.name);
  }
  // As PnetCDF says.
  if (hints["pnetcdf_subfiling"] != "enable") hints["nc_num_subfiles"] = "0";
  return hints;
}

}  // namespace forebay
