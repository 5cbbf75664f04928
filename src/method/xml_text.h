// An XML text that a user wrote for Forebay, with what it takes to refuse a mistake in it by file
// and line, and to say what would be accepted.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

class XmlText {
 public:
  /// Errc::einval for what is not well-formed. `text` outlives it.
  XmlText(std::string_view text, const std::string& name);

  const pugi::xml_document& document() const { return document_; }

  int line_of(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }
  int line_of(const pugi::xml_node& node, std::string_view attribute) const;
  std::string where(int line) const { return name_ + ":" + std::to_string(line); }

  /// Errc::einval.
  [[noreturn]] void refuse(int line, const std::string& message, const std::string& advice) const;
  /// Text is no element, nor is one of another name.
  void require_element(const pugi::xml_node& node, std::span<const std::string_view> names,
                       const std::string& advice) const;
  void require_element(const pugi::xml_node& node, std::string_view name,
                       const std::string& advice) const {
    require_element(node, std::span(&name, 1), advice);
  }
  void refuse_duplicates(const pugi::xml_node& node) const;
  /// No attribute twice, and none but these.
  void require_attributes(const pugi::xml_node& node,
                          std::span<const std::string_view> names) const;
  void refuse_children(const pugi::xml_node& node) const;

 private:
  int line_at(std::ptrdiff_t offset) const;

  std::string_view text_;
  const std::string& name_;
  pugi::xml_document document_;
};

}  // namespace forebay
