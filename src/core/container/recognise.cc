#include "container/recognise.h"

#include <sys/stat.h>

namespace forebay {

const ContainerEntry* recognise(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  for (const Part* part : parts(PartKind::container)) {
    const auto* entry = static_cast<const ContainerEntry*>(part);
    if (entry->recognises(path, S_ISDIR(status.st_mode))) return entry;
  }
  return nullptr;
}

}  // namespace forebay
