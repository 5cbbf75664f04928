#include "method/group_config.h"

#include <array>

#include "base/error.h"

namespace forebay {
namespace {

class GroupParser {
 public:
  explicit GroupParser(const XmlText& xml) : xml_(xml) {}

  GroupDefinition parse(const pugi::xml_node& node) {
    xml_.require_attributes(node, std::array<std::string_view, 2>{"name", "language"});
    placed(node, [&] { group_ = define_group(text(node, "name"), text(node, "language")); });
    group_.line = xml_.line_of(node);
    for (const pugi::xml_node child : node.children()) {
      xml_.require_element(child, std::array<std::string_view, 3>{"var", "global", "attribute"},
                           "accepted in <group>: <var .../>, <global ...>, <attribute .../>");
      const std::string_view name = child.name();
      if (name == "var") variable(child, {});
      if (name == "global") global(child);
      if (name == "attribute") attribute(child);
    }
    placed(node, [&] { check_group(group_); });
    return std::move(group_);
  }

 private:
  static std::string text(const pugi::xml_node& node, const char* attribute) {
    return node.attribute(attribute).value();
  }

  // Adds the element's place to the errors of f().
  template <typename F>
  void placed(const pugi::xml_node& node, F&& f) const {
    try {
      f();
    } catch (const Error& error) {
      throw error.at(xml_.where(xml_.line_of(node)));
    }
  }

  void variable(const pugi::xml_node& node, const GroupVariableText& around) {
    xml_.require_attributes(
        node, std::array<std::string_view, 7>{"name", "type", "dimensions", "joined", "steps",
                                              "gwrite", "characteristics"});
    xml_.refuse_children(node);
    GroupVariableText v = around;
    v.name = text(node, "name");
    v.type = text(node, "type");
    v.dimensions = text(node, "dimensions");
    v.joined = text(node, "joined");
    v.steps = text(node, "steps");
    v.gwrite = text(node, "gwrite");
    v.characteristics = text(node, "characteristics");
    placed(node, [&] { define_variable(group_, v); });
  }

  void global(const pugi::xml_node& node) {
    xml_.require_attributes(node, std::array<std::string_view, 2>{"dimensions", "offsets"});
    GroupVariableText around;
    around.global = text(node, "dimensions");
    around.offsets = text(node, "offsets");
    if (around.global.empty() || around.offsets.empty())
      xml_.refuse(xml_.line_of(node), "<global> lacks dimensions or offsets",
                  "give dimensions=\"LIST\" and offsets=\"LIST\"");
    for (const pugi::xml_node child : node.children()) {
      xml_.require_element(child, "var", "accepted in <global>: <var .../>");
      variable(child, around);
    }
  }

  void attribute(const pugi::xml_node& node) {
    xml_.require_attributes(node, std::array<std::string_view, 3>{"name", "value", "type"});
    xml_.refuse_children(node);
    placed(node, [&] {
      define_attribute(group_, text(node, "name"), text(node, "value"), text(node, "type"));
    });
  }

  const XmlText& xml_;
  GroupDefinition group_;
};

}  // namespace

GroupDefinition parse_group(const XmlText& xml, const pugi::xml_node& node) {
  return GroupParser(xml).parse(node);
}

}  // namespace forebay
