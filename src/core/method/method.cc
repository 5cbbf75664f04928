#include "method/method.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/path.h"
#include "base/quoted.h"
#include "base/words.h"
#include "codec/pipeline.h"
#include "method/checkpoint_method.h"
#include "method/config.h"
#include "method/front_end.h"
#include "method/glob.h"
#include "method/group_methods.h"
#include "method/method_keys.h"
#include "method/method_values.h"
#include "method/part.h"

namespace forebay {
namespace {

constexpr const char* from_api = "MPI_Info";

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
  if (!contains(spec.words, value)) {
    if (const auto error = absent(spec.shown.name, value, where)) throw *error;
    refuse_value(spec, value, where, spec.words);
  }
  put_word(method, spec, value);
}

/// The key whose value this key chooses (nc_burst_buf: stage).
const char* chosen_key(const KeySpec& choice) {
  for (const KeySpec& spec : key_specs())
    if (spec.kind == KeyKind::word && spec.word == choice.word) return spec.shown.name;
  return choice.shown.name;
}

/// The value and origin of a key so far.
std::optional<Method::Said> said_of(const Method& method, const std::string& key) {
  const auto found = method.origin.find(key);
  if (found == method.origin.end()) return std::nullopt;
  return Method::Said{method_value(method, key), found->second};
}

/// Saves the present value before a stronger source sets the key.
void keep_weaker(Method& method, const std::string& key) {
  if (const auto said = said_of(method, key)) method.weaker[key].push_back(*said);
}

void set_choice(Method& method, const KeySpec& spec, bool on, const Origin& origin) {
  std::string& word = method.*spec.word;
  if (!on && word != spec.chosen) return;
  keep_weaker(method, chosen_key(spec));
  word = on ? spec.chosen : Method{}.*spec.word;
  method.origin[chosen_key(spec)] =
      Origin(std::string(spec.shown.name) + " of " + origin.text, origin.by, false, true);
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
                  const std::string& where, const Origin& origin) {
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
      put_word(method, spec, value);
      return;
    case KeyKind::choice:
      if (!contains(spec.words, value)) refuse_value(spec, value, where, spec.words);
      return set_choice(method, spec, value == "enable", origin);
    case KeyKind::kept:
      check_kept(spec, value, where);
      method.passed_on[spec.shown.name] = value;
      return;
  }
}

// Sets a hint for PnetCDF or MPI-IO as these libraries read it. Returns false if its value was
// ignored.
bool set_leniently(Method& method, const KeySpec& spec, const std::string& value,
                   const Origin& origin) {
  switch (spec.kind) {
    case KeyKind::word: {
      const std::string word = lower_case(value);
      if (!contains(spec.words, word)) return false;
      put_word(method, spec, word);
      return true;
    }
    case KeyKind::size: {
      const Count number = leading_number(value);
      if (spec.family == KeyFamily::mpi_io) method.passed_on[spec.shown.name] = value;
      // PnetCDF takes nonsense for these two as 0 (a negative nc_ibuf_size as it is) and returns
      // that on inquiry.
      if (spec.size == &Method::ibuf_size) return method.ibuf_size = number, true;
      const bool zero_counts = spec.size == &Method::header_read_chunk;
      if (number <= 0 && !zero_counts) return false;
      method.*spec.size = std::clamp<Count>(number, 0, spec.most);
      return true;
    }
    case KeyKind::text:
      put_word(method, spec, value);
      return true;
    case KeyKind::choice:
      if (!contains(spec.words, lower_case(value))) return false;
      set_choice(method, spec, lower_case(value) == "enable", origin);
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

// Other libraries' keys are general rules: programs pass one MPI_Info to several libraries.
void set_foreign_hint(Method& method, const std::string& key, const std::string& value,
                      const Origin& origin) {
  const KeySpec* spec = find_key_spec(key);
  if (value.empty()) return;
  const Origin lenient(origin.text, origin.by, false);
  if (spec == nullptr) {
    if (const auto error = absent(key, value, origin.text))
      method.notes.emplace_back(error->what());
    method.passed_on[key] = value;
  } else if (spec->family == KeyFamily::own) {
    set_method_key(method, key, value, origin.text, origin);
  } else if (set_leniently(method, *spec, value, lenient)) {
    method.origin[key] = lenient;
  }
}

// As in PnetCDF, entries without '=' are skipped and blanks after '=' are kept.
void apply_pnetcdf_hints(Method& method, std::string_view text) {
  const Origin origin("PNETCDF_HINTS", SaidBy::pnetcdf_hints, false);
  for (const std::string_view entry : items_of(text, ';'))
    if (const auto hint = key_and_value(entry))
      set_foreign_hint(method, std::string(hint->first), std::string(hint->second), origin);
}

// MPI-IO's "*:N" and "*": at most N (1) processes of each node; 0 for other texts, such as "*:*".
int aggregators_of_each_node(std::string_view list) {
  list = trimmed(list);
  if (!list.starts_with('*')) return 0;
  list.remove_prefix(1);
  if (list.empty()) return 1;
  if (!list.starts_with(':')) return 0;
  return static_cast<int>(
      std::min<Count>(parse_count(list.substr(1)).value_or(0), std::numeric_limits<int>::max()));
}

std::optional<Config> config_of(const MethodSources& sources) {
  if (sources.config_name.empty()) return std::nullopt;
  if (!sources.config_error.empty()) {
    throw Error(Errc::einval,
                "FOREBAY_CONFIG: cannot read " + sources.config_name + ": " + sources.config_error,
                "accepted: the path of a readable XML file, or nothing");
  }
  return parse_config(sources.config_text, sources.config_name);
}

void apply_configuration(Method& method, const std::string& path, const MethodSources& sources,
                         const std::string& group, bool is_checkpoint, std::size_t which) {
  if (const auto config = config_of(sources))
    apply_config(*config, path, method, group, is_checkpoint, which);
}

constexpr std::string_view json_report = "json:";

bool is_json_report(const std::string& value) {
  return value.starts_with(json_report) && value.size() > json_report.size();
}

/// Makes the path of a report absolute, since the program may change its directory later.
std::string with_absolute_path(const std::string& value) {
  if (!is_json_report(value)) return value;
  return std::string(json_report) + absolute_path(value.substr(json_report.size()));
}

void apply_report(Method& method, const std::string& value) {
  if (value.empty() || value == "0") return;
  if (value != "1" && !is_json_report(value)) {
    throw Error(Errc::einval, "FOREBAY_REPORT: " + quoted(value) + " is no kind of report",
                "accepted: 0, 1 or json:PATH");
  }
  method.report = value;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Broadcasts the texts in one message, each after its length.
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
  const auto note = [&](const std::string& key, const std::string& alias) {
    const Origin& of = method.origin[alias];
    method.origin[key] = Origin(alias + " of " + of.text, of.by, false, true);
  };
  if (method_value(method, "pnetcdf_subfiling") == "enable" &&
      method.is_said_above("pnetcdf_subfiling", "layout") &&
      find_part(PartKind::layout, "decomposed")) {
    keep_weaker(method, "layout");
    method.layout = "decomposed";
    note("layout", "pnetcdf_subfiling");
  }
  const auto given = [&](const char* key) -> Count {
    const auto found = method.passed_on.find(key);
    return found == method.passed_on.end() ? 0 : parse_size(found->second).value_or(0);
  };
  const Count all = method.is_said_above("cb_nodes", "aggregators") ? given("cb_nodes") : 0;
  const auto list = method.passed_on.find("cb_config_list");
  const int of_node =
      list != method.passed_on.end() && method.is_said_above("cb_config_list", "aggregators")
          ? aggregators_of_each_node(list->second)
          : 0;
  if (all > 0 || of_node > 0) {
    method.aggregators = static_cast<int>(std::min<Count>(all, std::numeric_limits<int>::max()));
    method.aggregators_of_node = of_node;
    note("aggregators", all > 0 ? "cb_nodes" : "cb_config_list");
  }
  const Count buffer = given("cb_buffer_size");
  if (buffer > 0 && method.is_said_above("cb_buffer_size", "window_size")) {
    const KeySpec* window = find_key_spec("window_size");
    method.window_size = std::clamp(buffer, window->least, window->most);
    note("window_size", "cb_buffer_size");
  }
}

void set_method_key(Method& method, const std::string& key, const std::string& value,
                    const std::string& where, const Origin& origin) {
  const KeySpec* spec = find_key_spec(key);
  if (spec == nullptr && is_mpi_io_key(key) && !value.empty()) {
    method.passed_on[key] = value;
    return;
  }
  if (spec == nullptr) {
    if (const auto error = absent(key, value, where)) throw *error;
    refuse_key(key, where);
  }
  if (value.empty()) refuse_value(*spec, value, where);
  const std::optional<Method::Said> before = said_of(method, key);
  set_strictly(method, *spec, value, where, origin);
  if (before) method.weaker[key].push_back(*before);
  method.origin[key] = origin;
}

namespace {

/// Calls f(key, value) for each hint.
template <typename F>
void each_hint(std::string_view text, const std::string& where, F&& f) {
  for (const std::string_view entry : items_of(text, ';')) {
    if (entry.empty()) continue;
    const auto hint = key_and_value(entry);
    if (!hint) {
      throw Error(Errc::einval, where + ": " + quoted(entry) + " is no key=value pair",
                  "accepted: key=value;key=value");
    }
    f(std::string(hint->first), std::string(hint->second));
  }
}

}  // namespace

HintMap parse_hints(std::string_view text, const std::string& where) {
  HintMap hints;
  each_hint(text, where, [&](const auto& key, const auto& value) { hints[key] = value; });
  return hints;
}

void apply_hints(Method& method, std::string_view text, const Origin& origin) {
  each_hint(text, origin.text, [&](const auto& key, const auto& value) {
    set_method_key(method, key, value, origin.text, origin);
  });
}

MethodSources read_method_sources(const std::string& otherwise) {
  MethodSources sources;
  sources.config_name = environment("FOREBAY_CONFIG");
  if (sources.config_name.empty()) sources.config_name = otherwise;
  sources.forebay_hints = environment("FOREBAY_HINTS");
  sources.pnetcdf_hints = environment("PNETCDF_HINTS");
  sources.report = with_absolute_path(environment("FOREBAY_REPORT"));
  const char* safe_mode = std::getenv("PNETCDF_SAFE_MODE");
  sources.safe_mode = safe_mode != nullptr && safe_mode[0] != '0';
  sources.strict_start = environment("PNETCDF_RELAX_COORD_BOUND").starts_with('0');
  if (sources.config_name.empty()) return sources;
  errno = 0;
  std::ifstream file(sources.config_name, std::ios::binary);
  std::ostringstream text;
  // Opening a directory succeeds, but reading it fails.
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

void apply_program(Method& method, const HintMap& api_hints, const OwnHints& own) {
  const auto giver = api_hints.find(hints_giver);
  const Origin origin(giver == api_hints.end() ? from_api : giver->second);
  for (const auto& [key, value] : api_hints)
    if (key != hints_giver) set_foreign_hint(method, key, value, origin);
  for (const auto& [key, value] : own.keys)
    set_method_key(method, key, value, own.giver, own.giver);
}

/// Adds notes for settings of the program, `inside`, that do not apply.
void note_overruled_keys(const Method& inside, Method& method) {
  for (const auto& [key, origin] : inside.origin) {
    const std::string said = method_value(inside, key);
    if (said == method_value(method, key)) continue;
    const KeySpec* spec = find_key_spec(key);
    const std::string by = spec && spec->kind == KeyKind::choice ? chosen_key(*spec) : key;
    note_overruled(method, key + "=" + said + " (" + origin.text + ")",
                   by + "=" + method_value(method, by) + " (" + method.origin_of(by) + ")");
  }
}

Method choose(const std::string& path, const HintMap& api_hints, const MethodSources& sources,
              const std::string& group, bool is_checkpoint, const OwnHints& own,
              std::size_t which = 0) {
  Method method;
  method.safe_mode = sources.safe_mode;
  method.strict_start = sources.strict_start;
  apply_report(method, sources.report);
  apply_program(method, api_hints, own);
  const Method inside = method;
  apply_configuration(method, path, sources, group, is_checkpoint, which);
  apply_pnetcdf_hints(method, sources.pnetcdf_hints);
  apply_hints(method, sources.forebay_hints, Origin("FOREBAY_HINTS", SaidBy::forebay_hints, false));
  note_overruled_keys(inside, method);
  apply_aliases(method);
  return method;
}

}  // namespace

void note_overruled(Method& method, const std::string& what, const std::string& by) {
  const std::string note = what + " is overruled by " + by;
  if (std::find(method.notes.begin(), method.notes.end(), note) == method.notes.end())
    method.notes.push_back(note);
}

Method choose_method(const std::string& path, const HintMap& api_hints,
                     const MethodSources& sources, const std::string& group, const OwnHints& own) {
  return choose(path, api_hints, sources, group, false, own);
}

Method choose_group_method(const std::string& path, const MethodSources& sources,
                           const std::string& group, std::size_t which, const OwnHints& own) {
  return choose(path, {}, sources, group, false, own, which);
}

std::size_t methods_of_group(const MethodSources& sources, const std::string& group) {
  const auto config = config_of(sources);
  if (!config) return 0;
  return static_cast<std::size_t>(
      std::count_if(config->group_methods.begin(), config->group_methods.end(),
                    [&](const GroupMethod& method) { return method.group == group; }));
}

Method choose_checkpoint_method(const std::string& name, const MethodSources& sources,
                                const OwnHints& own) {
  Method method = choose(name, {}, sources, {}, true, own);
  keep_honoured(method, FrontEnd::checkpoints);
  return method;
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
  if (!spec->word && !spec->place.get && !spec->size && !spec->count) {
    const auto found = method.of_parts.find(std::string(key));
    if (found != method.of_parts.end()) return found->second;
  }
  switch (spec->kind) {
    case KeyKind::word:
    case KeyKind::text:
      if (spec->place.get) return std::string(spec->words[spec->place.get(method)]);
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

namespace {

/// Returns whether the environment sets the key for all files and variables, after the XML file's
/// rules.
bool hides_rules(const Method& method, const std::string& key) {
  const auto found = method.origin.find(key);
  return found != method.origin.end() && found->second.by > SaidBy::config;
}

/// The rule that determines `key`, or null.
const VariableRule* last_rule(const Method& method, std::string_view variable,
                              const std::string& key) {
  if (hides_rules(method, key)) return nullptr;
  const auto found = std::find_if(
      method.variables.rbegin(), method.variables.rend(), [&](const VariableRule& rule) {
        return rule.keys.contains(key) && glob_match(rule.pattern, variable);
      });
  return found == method.variables.rend() ? nullptr : &*found;
}

}  // namespace

const std::string& variable_value(const Method& method, std::string_view variable,
                                  const std::string& key) {
  if (const VariableRule* rule = last_rule(method, variable, key)) return rule->keys.at(key);
  return key == "layout" ? method.layout : method.codec;
}

HintMap variable_method(const Method& method, std::string_view variable) {
  HintMap keys;
  for (const char* key : {"layout", "codec"}) keys[key] = variable_value(method, variable, key);
  return keys;
}

bool has_rule(const Method& method, std::string_view variable, const std::string& key) {
  return last_rule(method, variable, key) != nullptr;
}

std::optional<std::string> said_outside(const Method& method, std::string_view variable,
                                        const std::string& key) {
  if (const VariableRule* rule = last_rule(method, variable, key))
    return key + "=" + rule->keys.at(key) + " (" + rule->origin + ")";
  if (!method.is_said_outside(key)) return std::nullopt;
  return key + "=" + method_value(method, key) + " (" + method.origin_of(key) + ")";
}

HintMap to_hints(const Method& method) {
  HintMap hints = method.passed_on;
  for (const KeySpec& spec : key_specs()) {
    if (spec.kind == KeyKind::kept || spec.family == KeyFamily::mpi_io) continue;
    hints[spec.shown.name] = method_value(method, spec.shown.name);
  }
  // PnetCDF returns this value.
  if (hints["pnetcdf_subfiling"] != "enable") hints["nc_num_subfiles"] = "0";
  return hints;
}

}  // namespace forebay
