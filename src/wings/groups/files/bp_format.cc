// BP files as a format of the tools.
#include "files/open_source.h"
#include "groups/files/bp_source.h"

namespace forebay {
namespace {

std::unique_ptr<Source> open_bp_file(const std::string& path, const std::string& group,
                                     Strings strings) {
  auto source = open_bp(path, strings);
  refuse_group(*source, group);
  return source;
}

}  // namespace

extern const FormatEntry bp_format{"bp", true, is_bp, open_bp_file};

}  // namespace forebay
