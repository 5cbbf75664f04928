#include "container/recognise.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "base/descriptor.h"

namespace forebay {

const ContainerEntry* recognise(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  std::array<std::byte, 64> first{};
  FoundFile found{path, S_ISDIR(status.st_mode), {}};
  if (!found.is_directory) {
    // A pipe is not to be opened twice: its writer would see it closed.
    if (!S_ISREG(status.st_mode)) return nullptr;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return nullptr;
    found.first = std::span(first).first(read_at(file.get(), 0, first, path));
  }
  for (const Part* part : parts(PartKind::container)) {
    const auto* entry = static_cast<const ContainerEntry*>(part);
    if (entry->recognises(found)) return entry;
  }
  return nullptr;
}

}  // namespace forebay
