#include "method/effect.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/words.h"
#include "method/glob.h"
#include "method/method_keys.h"

namespace forebay {
namespace {

/// Calls f for the parts of a text between separators until it returns `wanted`; returns whether it
/// did.
template <typename F>
bool any_part(std::string_view text, std::string_view between, bool wanted, F&& f) {
  for (;;) {
    const std::size_t end = text.find(between);
    if (f(text.substr(0, end)) == wanted) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + between.size());
  }
}

bool has_value(const Method& method, const FileAsMade& file, std::string_view key,
               std::string_view value) {
  if (key == "file")
    return value == "opened"       ? file.opened
           : value == "in windows" ? file.in_windows
                                   : file.in_bundle;
  if (key != "layout") return method_value(method, key) == value;
  return std::any_of(file.layouts.begin(), file.layouts.end(),
                     [&](const auto& variable) { return variable.second == value; });
}

/// Returns whether a condition holds: "key=value|value and key=value or key=value".
bool holds(const Method& method, const FileAsMade& file, std::string_view condition) {
  return any_part(condition, " or ", true, [&](std::string_view all) {
    return !any_part(all, " and ", false, [&](std::string_view one) {
      const std::size_t equals = one.find('=');
      return any_part(one.substr(equals + 1), "|", true, [&](std::string_view value) {
        return has_value(method, file, one.substr(0, equals), value);
      });
    });
  });
}

std::string told(const KeySpec& key, const std::string& value, const std::string& by) {
  return std::string(key.shown.name) + "=" + value + " (" + by +
         ") has no effect on this file: it takes " + key.needs;
}

/// The variables that a rule's codec applies to; none if another rule hides it.
HintMap layouts_of(const VariableRule& rule, const Method& method, const FileAsMade& file) {
  HintMap layouts;
  for (const auto& [name, layout] : file.layouts)
    if (glob_match(rule.pattern, name) && has_rule(method, name, "codec"))
      layouts.emplace(name, layout);
  return layouts;
}

/// The layout that was requested for a variable and its origin, unless it is the default.
std::string layout_asked_for(const Method& method, const std::string& variable) {
  const std::string& layout = variable_value(method, variable, "layout");
  if (layout == Method().layout || layout == "auto") return {};
  std::string by = method.origin_of("layout");
  if (has_rule(method, variable, "layout"))
    for (const VariableRule& rule : matching_rules(method, variable))
      if (rule.keys.contains("layout")) by = rule.origin + ", variables " + rule.pattern;
  return "layout=" + layout + " (" + by + ")";
}

/// Existing variables keep their layout, whatever is requested when the file is opened.
std::vector<std::string> layouts_not_taken(const Method& method, const HintMap& found) {
  std::map<std::string, std::vector<std::string>> names;  // of variables, by request
  for (const auto& [name, layout] : found)
    if (layout != variable_value(method, name, "layout"))
      names[layout_asked_for(method, name)].push_back(name);
  names.erase("");
  constexpr std::size_t most_named = 3;
  std::vector<std::string> lines;
  for (auto& [said, list] : names) {
    const std::size_t others = list.size() > most_named ? list.size() - most_named : 0;
    list.resize(list.size() - others);
    lines.push_back(
        said + " has no effect on variables that were in the file before: " + joined(list, ", ") +
        (others > 0 ? " and " + std::to_string(others) + " others" : ""));
  }
  return lines;
}

}  // namespace

std::vector<std::string> without_effect(const Method& method, const FileAsMade& file) {
  std::vector<std::string> lines;
  const Method standard;
  for (const auto& [name, origin] : method.origin) {
    const KeySpec* key = find_key_spec(name);
    if (!key || !key->needs || origin.is_alias) continue;
    const std::string value = method_value(method, name);
    if (value != method_value(standard, name) && !holds(method, file, key->needs))
      lines.push_back(told(*key, value, origin.text));
  }
  const KeySpec& codec = *find_key_spec("codec");
  for (const VariableRule& rule : method.variables) {
    const auto said = rule.keys.find("codec");
    if (said == rule.keys.end() || said->second == standard.codec) continue;
    const HintMap layouts = layouts_of(rule, method, file);
    if (!layouts.empty() && !holds(method, {file.opened, layouts}, codec.needs))
      lines.push_back(told(codec, said->second, rule.origin + ", variables " + rule.pattern));
  }
  const auto not_taken = layouts_not_taken(method, file.found);
  lines.insert(lines.end(), not_taken.begin(), not_taken.end());
  return lines;
}

}  // namespace forebay
