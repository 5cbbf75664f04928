#include "method/config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <pugixml.hpp>

#include "base/error.h"
#include "method/glob.h"
#include "method/method_keys.h"
#include "method/method_values.h"

namespace forebay {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Config parse() {
    const auto result = document_.load_buffer(text_.data(), text_.size());
    if (!result) {
      refuse(line_at(result.offset), std::string("not well-formed XML: ") + result.description(),
             "see docs/methods.md for an example");
    }
    Config config{name_, {}};
    bool found = false;
    for (const pugi::xml_node node : document_.children()) {
      require_element(node, "forebay", "a configuration is one <forebay> element");
      if (found) refuse(line_of(node), "a second <forebay>", "a configuration is one element");
      found = true;
      parse_root(node, config);
    }
    if (!found) refuse(1, "nothing in it", "a configuration is one <forebay> element");
    return config;
  }

 private:
  int line_at(std::ptrdiff_t offset) const {
    const auto end =
        std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + end, '\n'));
  }
  int line_of(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }

  // pugixml keeps no position of attributes: look for the name outside quotes from the element's
  // name on.
  int line_of(const pugi::xml_node& node, std::string_view attribute) const {
    const auto begin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
    char quote = 0;
    for (std::size_t i = begin; i < text_.size() && (quote != 0 || text_[i] != '>'); ++i) {
      if (quote != 0) {
        if (text_[i] == quote) quote = 0;
      } else if (text_[i] == '"' || text_[i] == '\'') {
        quote = text_[i];
      } else if (i > begin && text_.substr(i).starts_with(attribute) &&
                 (text_[i - 1] == ' ' || text_[i - 1] == '\n' || text_[i - 1] == '\t' ||
                  text_[i - 1] == '\r')) {
        const auto after = text_.substr(i + attribute.size());
        if (trimmed(after).starts_with('=')) return line_at(static_cast<std::ptrdiff_t>(i));
      }
    }
    return line_of(node);
  }

  std::string where(int line) const { return name_ + ":" + std::to_string(line); }

  [[noreturn]] void refuse(int line, const std::string& message, const std::string& advice) const {
    throw Error(Errc::einval, where(line) + ": " + message, advice);
  }

  void require_element(const pugi::xml_node& node, std::string_view name,
                       const std::string& advice) const {
    if (node.type() != pugi::node_element) {
      const std::string_view all = node.value();
      const std::string text(trimmed(all));
      const auto blanks = static_cast<std::ptrdiff_t>(all.find(text));
      refuse(line_at(node.offset_debug() + blanks),
             "text where an element was expected: \"" + text + "\"", advice);
    }
    if (node.name() != name) {
      refuse(line_of(node), "there is no element <" + std::string(node.name()) + "> here", advice);
    }
  }

  void refuse_duplicates(const pugi::xml_node& node) const {
    for (auto a = node.first_attribute(); a; a = a.next_attribute()) {
      for (auto b = a.next_attribute(); b; b = b.next_attribute()) {
        if (std::string_view(a.name()) == b.name()) {
          refuse(line_of(node, a.name()),
                 "<" + std::string(node.name()) + "> has " + a.name() + " twice", "give it once");
        }
      }
    }
  }

  std::string pattern_of(const pugi::xml_node& node) const {
    const std::string element = "<" + std::string(node.name()) + ">";
    const pugi::xml_attribute match = node.attribute("match");
    if (!match) refuse(line_of(node), element + " has no match", "give match=\"PATTERN\"");
    if (const auto fault = glob_fault(match.value())) {
      refuse(line_of(node, "match"),
             "match=\"" + std::string(match.value()) + "\" is no pattern: " + *fault,
             "accepted: a name in which * ? [abc] [a-z] [!abc] stand for characters");
    }
    return match.value();
  }

  void parse_root(const pugi::xml_node& root, Config& config) const {
    if (const auto attribute = root.first_attribute()) {
      refuse(line_of(root, attribute.name()),
             "<forebay> has no attribute " + std::string(attribute.name()),
             "set keys in <file match=\"*\" ...>");
    }
    for (const pugi::xml_node node : root.children()) {
      require_element(node, "file", "accepted in <forebay>: <file match=\"...\" ...>");
      config.files.push_back(parse_file(node));
    }
  }

  FileRule parse_file(const pugi::xml_node& node) const {
    refuse_duplicates(node);
    FileRule rule;
    rule.pattern = pattern_of(node);
    rule.line = line_of(node);
    Method scratch;
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string key = attribute.name();
      if (key == "match") continue;
      const int line = line_of(node, key);
      set_method_key(scratch, key, attribute.value(), where(line), where(line));
      rule.settings.push_back({key, attribute.value(), line});
    }
    for (const pugi::xml_node child : node.children()) {
      require_element(child, "variable", "accepted in <file>: <variable match=\"...\" ...>");
      rule.variables.push_back(parse_variable(child));
    }
    return rule;
  }

  VariableRule parse_variable(const pugi::xml_node& node) const {
    constexpr std::array<std::string_view, 2> accepted = {"layout", "codec"};
    refuse_duplicates(node);
    VariableRule rule{pattern_of(node), {}, where(line_of(node))};
    Method scratch;
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string key = attribute.name();
      if (key == "match") continue;
      const std::string place = where(line_of(node, key));
      if (std::find(accepted.begin(), accepted.end(), key) == accepted.end()) {
        const auto meant = nearest_word(key, accepted);
        const bool of_files = find_key_spec(key) != nullptr;
        std::string message = place + (of_files ? ": \"" : ": there is no key \"");
        message += key;
        message += of_files ? "\" holds for whole files, not for variables" : "\"";
        throw Error(Errc::einval, message,
                    (meant ? "did you mean \"" + *meant + "\"? " : "") +
                        "accepted in <variable>: match, layout, codec");
      }
      set_method_key(scratch, key, attribute.value(), place, place);
      rule.keys[key] = attribute.value();
    }
    if (const auto child = node.first_child()) {
      refuse(line_of(child), "<variable> holds nothing but attributes", "close it with />");
    }
    return rule;
  }

  std::string_view text_;
  std::string name_;
  pugi::xml_document document_;
};

}  // namespace

Config parse_config(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

void apply_config(const Config& config, const std::string& path, Method& method) {
  for (const FileRule& rule : config.files) {
    if (!glob_match_path(rule.pattern, path)) continue;
    for (const ConfigSetting& setting : rule.settings) {
      const std::string origin = config.name + ":" + std::to_string(setting.line);
      set_method_key(method, setting.key, setting.value, origin, origin);
    }
    method.variables.insert(method.variables.end(), rule.variables.begin(), rule.variables.end());
  }
}

}  // namespace forebay
