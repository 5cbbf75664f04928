#include "tools/leftovers.h"

namespace forebay::tools {

void tell_notes(const std::string& path) {
  for (const NoteEntry* note : built_in_notes()) note->tell(path);
}

}  // namespace forebay::tools
