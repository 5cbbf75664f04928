#include "method/config.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/quoted.h"
#include "base/words.h"
#include "method/adios_methods.h"
#include "method/glob.h"
#include "method/group_config.h"
#include "method/method_keys.h"
#include "method/xml_text.h"

namespace forebay {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : xml_(text, name), name_(name) {}

  Config parse() {
    Config config;
    config.name = name_;
    bool found = false;
    for (const pugi::xml_node node : xml_.document().children()) {
      xml_.require_element(node, "forebay", "a configuration is one <forebay> element");
      if (found)
        xml_.refuse(xml_.line_of(node), "a second <forebay>", "a configuration is one element");
      found = true;
      parse_root(node, config);
    }
    if (!found) xml_.refuse(1, "nothing in it", "a configuration is one <forebay> element");
    return config;
  }

 private:
  std::string pattern_of(const pugi::xml_node& node) const {
    const std::string element = "<" + std::string(node.name()) + ">";
    const pugi::xml_attribute match = node.attribute("match");
    if (!match)
      xml_.refuse(xml_.line_of(node), element + " has no match", "give match=\"PATTERN\"");
    if (const auto fault = glob_fault(match.value())) {
      xml_.refuse(xml_.line_of(node, "match"),
                  "match=" + quoted(match.value()) + " is no pattern: " + *fault,
                  "accepted: a name in which * ? [abc] [a-z] [!abc] stand for characters");
    }
    return match.value();
  }

  void parse_root(const pugi::xml_node& root, Config& config) const {
    if (const auto attribute = root.first_attribute()) {
      xml_.refuse(xml_.line_of(root, attribute.name()),
                  "<forebay> has no attribute " + std::string(attribute.name()),
                  "set keys in <file match=\"*\" ...>");
    }
    constexpr std::array<std::string_view, 4> accepted = {"file", "group", "method", "checkpoint"};
    for (const pugi::xml_node node : root.children()) {
      xml_.require_element(
          node, accepted,
          "accepted in <forebay>: <file match=\"...\" ...>, <checkpoint match=\"...\" "
          "...>, <group name=\"...\">, <method group=\"...\" ...>");
      if (node.name() == accepted[0] || node.name() == accepted[3])
        config.files.push_back(parse_file(node));
      if (node.name() == accepted[1]) add_group(parse_group(xml_, node), config);
      if (node.name() == accepted[2]) config.group_methods.push_back(parse_method(node));
    }
    check_methods(config);
  }

  void add_group(GroupDefinition group, Config& config) const {
    for (const GroupDefinition& other : config.groups)
      if (other.name == group.name)
        xml_.refuse(group.line, "a second group " + group.name, "give it another name");
    config.groups.push_back(std::move(group));
  }

  // A group may be defined by calls; but if this file has groups, an unknown name is a mistake.
  void check_methods(const Config& config) const {
    for (const GroupMethod& method : config.group_methods) {
      std::vector<std::string_view> names;
      for (const GroupDefinition& group : config.groups) names.push_back(group.name);
      if (names.empty() || std::find(names.begin(), names.end(), method.group) != names.end())
        continue;
      xml_.refuse(method.line, "there is no group " + method.group,
                  did_you_mean(method.group, names, "name one of the groups here"));
    }
  }

  // Reads all attributes except `besides` as keys. Those that the attribute `adios` stands for come
  // first, so that keys beside it take precedence.
  std::vector<ConfigSetting> settings_of(const pugi::xml_node& node, std::string_view besides,
                                         const char* adios = nullptr) const {
    std::vector<ConfigSetting> settings;
    Method scratch;
    if (const auto named = adios ? node.attribute(adios) : pugi::xml_attribute()) {
      const int line = xml_.line_of(node, adios);
      const std::string via = std::string(adios) + "=" + named.value();
      for (auto& [key, value] : keys_of_adios_method(named.value(), xml_.where(line))) {
        set_method_key(scratch, key, value, xml_.where(line) + ": " + via, xml_.where(line));
        settings.push_back({key, value, line, via});
      }
    }
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string key = attribute.name();
      if (key == besides || (adios && key == adios)) continue;
      const int line = xml_.line_of(node, key);
      set_method_key(scratch, key, attribute.value(), xml_.where(line), xml_.where(line));
      settings.push_back({key, attribute.value(), line, {}});
    }
    return settings;
  }

  GroupMethod parse_method(const pugi::xml_node& node) const {
    xml_.refuse_duplicates(node);
    if (!node.attribute("group"))
      xml_.refuse(xml_.line_of(node), "<method> has no group", "give group=\"NAME\"");
    xml_.refuse_children(node);
    return {node.attribute("group").value(), xml_.line_of(node),
            settings_of(node, "group", "method")};
  }

  FileRule parse_file(const pugi::xml_node& node) const {
    xml_.refuse_duplicates(node);
    FileRule rule;
    rule.pattern = pattern_of(node);
    rule.line = xml_.line_of(node);
    rule.of_checkpoints = std::string_view(node.name()) == "checkpoint";
    rule.settings = settings_of(node, "match");
    for (const pugi::xml_node child : node.children()) {
      xml_.require_element(
          child, "variable",
          std::string("accepted in <") + node.name() + ">: <variable match=\"...\" ...>");
      rule.variables.push_back(parse_variable(child));
    }
    return rule;
  }

  VariableRule parse_variable(const pugi::xml_node& node) const {
    constexpr std::array<std::string_view, 2> accepted = {"layout", "codec"};
    xml_.refuse_duplicates(node);
    VariableRule rule{pattern_of(node), {}, xml_.where(xml_.line_of(node))};
    Method scratch;
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string key = attribute.name();
      if (key == "match") continue;
      const std::string place = xml_.where(xml_.line_of(node, key));
      if (std::find(accepted.begin(), accepted.end(), key) == accepted.end()) {
        const bool of_files = find_key_spec(key) != nullptr;
        std::string message = place + (of_files ? ": \"" : ": there is no key \"");
        message += key;
        message += of_files ? "\" holds for whole files, not for variables" : "\"";
        throw Error(Errc::einval, message,
                    did_you_mean(key, accepted) + "accepted in <variable>: match, layout, codec");
      }
      set_method_key(scratch, key, attribute.value(), place, place);
      rule.keys[key] = attribute.value();
    }
    xml_.refuse_children(node);
    return rule;
  }

  XmlText xml_;
  std::string name_;
};

}  // namespace

Config parse_config(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

void apply_config(const Config& config, const std::string& path, Method& method,
                  const std::string& group, bool is_checkpoint, std::size_t which) {
  const auto apply = [&](const std::vector<ConfigSetting>& settings, bool names_file) {
    for (const ConfigSetting& setting : settings) {
      std::string place = config.name + ":" + std::to_string(setting.line);
      if (!setting.via.empty()) place += ", " + setting.via;
      set_method_key(method, setting.key, setting.value, place,
                     Origin(place, SaidBy::config, names_file));
    }
  };
  for (const FileRule& rule : config.files) {
    if (rule.of_checkpoints && !is_checkpoint) continue;
    if (!glob_match_path(rule.pattern, path)) continue;
    const bool names_file = !has_wildcards(rule.pattern);
    apply(rule.settings, names_file);
    for (VariableRule variable : rule.variables) {
      variable.names_file = names_file && !has_wildcards(variable.pattern);
      method.variables.push_back(std::move(variable));
    }
  }
  if (group.empty()) return;
  for (const GroupMethod& rule : config.group_methods)
    if (rule.group == group && which-- == 0) return apply(rule.settings, true);
}

}  // namespace forebay
