// An XML text that a user wrote for Forebay. Errors state file and line, and what would be
// accepted.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

class XmlText {
 public:
  /// Errc::einval if the text is not well-formed. `text` must outlive the object.
  XmlText(std::string_view text, const std::string& name);

  const pugi::xml_document& document() const { return document_; }

  int line_of(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }
  int line_of(const pugi::xml_node& node, std::string_view attribute) const;
  std::string where(int line) const { return name_ + ":" + std::to_string(line); }

  /// Errc::einval.
  [[noreturn]] void refuse(int line, const std::string& message, const std::string& advice) const;
  /// Errc::einval if the node is text, or an element with another name.
  void require_element(const pugi::xml_node& node, std::span<const std::string_view> names,
                       const std::string& advice) const;
  void require_element(const pugi::xml_node& node, std::string_view name,
                       const std::string& advice) const {
    require_element(node, std::span(&name, 1), advice);
  }
  void refuse_duplicates(const pugi::xml_node& node) const;
  /// Errc::einval for a repeated attribute, and for other names than these.
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
