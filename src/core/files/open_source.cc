#include "files/open_source.h"

#include "base/error.h"
#include "base/text_table.h"

namespace forebay {

bool has_format(std::string_view name) {
  for (const FormatEntry* format : built_in_formats())
    if (format->name == name) return format->built;
  return false;
}

const FormatEntry* format_of(const std::string& path) {
  for (const bool first : {true, false})
    for (const FormatEntry* format : built_in_formats())
      if (format->goes_first == first && format->recognise(path)) return format;
  return nullptr;
}

std::unique_ptr<Source> open_source(const std::string& path, const std::string& group,
                                    Strings strings) {
  if (const FormatEntry* format = format_of(path)) return format->open(path, group, strings);
  auto source = open_classic(path);
  refuse_group(*source, group);
  return source;
}

void refuse_group(const Source& source, const std::string& group) {
  if (group.empty() || group == "/") return;
  throw Error(Errc::enogrp,
              printable(source.path()) + ": a " + source.format() + " file has no groups",
              "leave out --group");
}

}  // namespace forebay
