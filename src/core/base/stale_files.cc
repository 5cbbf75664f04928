#include "base/stale_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/byteorder.h"

namespace forebay {

Beginning beginning_of(std::span<const std::byte> bytes, std::uint32_t word) {
  if (bytes.size() <= most_torn &&
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return Beginning::torn;
  const bool has_word = bytes.size() >= sizeof word && load_be<std::uint32_t>(bytes.data()) == word;
  return has_word ? Beginning::data_file : Beginning::foreign;
}

// This does not use std::filesystem: its iterators end the program if memory runs out.
bool each_in_folder(const std::string& folder, const VisitEntry& f) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return false;
  const int at = ::dirfd(open.get());
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    struct stat status;
    if (name != "." && name != "..")
      f(at, entry->d_name,
        ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode));
  }
  return true;
}

void remove_stale_files(const std::string& folder,
                        const std::function<bool(std::string_view name)>& ours) noexcept {
  each_in_folder(folder, [&](int at, const char* name, bool is_regular) {
    if (is_regular && ours(name)) ::unlinkat(at, name, 0);
  });
  ::rmdir(folder.c_str());
}

}  // namespace forebay
