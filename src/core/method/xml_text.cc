#include "method/xml_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/quoted.h"
#include "base/words.h"

namespace forebay {

XmlText::XmlText(std::string_view text, const std::string& name) : text_(text), name_(name) {
  const auto result = document_.load_buffer(text_.data(), text_.size());
  if (!result) {
    refuse(line_at(result.offset), std::string("not well-formed XML: ") + result.description(),
           "see docs/methods.md for an example");
  }
}

int XmlText::line_at(std::ptrdiff_t offset) const {
  const auto end = std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + end, '\n'));
}

// pugixml keeps no positions of attributes, so this looks for the name outside quotes, from the
// element's name on.
int XmlText::line_of(const pugi::xml_node& node, std::string_view attribute) const {
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

void XmlText::refuse(int line, const std::string& message, const std::string& advice) const {
  throw Error(Errc::einval, where(line) + ": " + message, advice);
}

void XmlText::require_element(const pugi::xml_node& node, std::span<const std::string_view> names,
                              const std::string& advice) const {
  if (node.type() != pugi::node_element) {
    const std::string_view all = node.value();
    const std::string text(trimmed(all));
    const auto blanks = static_cast<std::ptrdiff_t>(all.find(text));
    refuse(line_at(node.offset_debug() + blanks),
           "text where an element was expected: " + quoted(text), advice);
  }
  if (std::find(names.begin(), names.end(), node.name()) == names.end()) {
    refuse(line_of(node), "there is no element <" + std::string(node.name()) + "> here", advice);
  }
}

void XmlText::refuse_duplicates(const pugi::xml_node& node) const {
  for (auto a = node.first_attribute(); a; a = a.next_attribute()) {
    for (auto b = a.next_attribute(); b; b = b.next_attribute()) {
      if (std::string_view(a.name()) == b.name()) {
        refuse(line_of(node, a.name()),
               "<" + std::string(node.name()) + "> has " + a.name() + " twice", "give it once");
      }
    }
  }
}

void XmlText::require_attributes(const pugi::xml_node& node,
                                 std::span<const std::string_view> names) const {
  refuse_duplicates(node);
  const std::string element = "<" + std::string(node.name()) + ">";
  for (const pugi::xml_attribute attribute : node.attributes()) {
    const std::string_view name = attribute.name();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    refuse(line_of(node, name), element + " has no attribute " + std::string(name),
           did_you_mean(name, names) + "accepted in " + element + ": " + joined(names, ", "));
  }
}

void XmlText::refuse_children(const pugi::xml_node& node) const {
  if (const auto child = node.first_child())
    refuse(line_of(child), "<" + std::string(node.name()) + "> holds nothing but attributes",
           "close it with />");
}

}  // namespace forebay
