#include "base/leavings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay {

// Not std::filesystem: its iterators end the program where memory runs out.
void remove_leavings(const std::string& folder, bool (*ours)(std::string_view name)) noexcept {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return;
  const int at = ::dirfd(open);
  while (const dirent* entry = ::readdir(open)) {
    struct stat status;
    if (ours(entry->d_name) && ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode))
      ::unlinkat(at, entry->d_name, 0);
  }
  ::closedir(open);
  ::rmdir(folder.c_str());
}

}  // namespace forebay
