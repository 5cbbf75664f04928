// The element <group> of a configuration (groups.h has the grammar).
#pragma once

#include "method/groups.h"
#include "method/xml_text.h"

namespace forebay {

/// Errc::einval or Errc::enotsupport, with name and line of the file, as for parse_config().
GroupDefinition parse_group(const XmlText& xml, const pugi::xml_node& node);

}  // namespace forebay
