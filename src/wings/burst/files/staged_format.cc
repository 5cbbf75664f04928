// Files over which staged writes are laid, as a format of the tools.
#include "burst/files/staged_source.h"
#include "files/open_source.h"

namespace forebay {
namespace {

std::unique_ptr<Source> open_format(const std::string& path, const std::string& group,
                                    Strings /*strings*/) {
  auto source = open_overlaid(path);  // the environment says which
  refuse_group(*source, group);
  return source;
}

}  // namespace

extern const FormatEntry staged_format{"staged", true, is_overlaid, open_format, true};

}  // namespace forebay
