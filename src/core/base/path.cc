#include "base/path.h"

#include <unistd.h>

#include <climits>
#include <string_view>

namespace forebay {

std::string strip_prefix(const std::string& path) {
  static constexpr std::string_view prefixes[] = {
      "ufs:",  "nfs:",    "xfs:",   "pvfs:", "pvfs2:", "gpfs:",
      "gpfs-", "lustre:", "panfs:", "ime:",  "daos:",  "testfs:"};
  for (std::string_view p : prefixes) {
    if (p.back() == ':' && path.starts_with(p)) return path.substr(p.size());
  }
  return path;
}

std::string current_folder() {
  char folder[PATH_MAX + 1];
  if (::getcwd(folder, sizeof folder) == nullptr || folder[0] != '/') return {};
  return folder;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
  std::string plain = strip_prefix(path);
  if (plain.empty() || plain.front() == '/' || folder.empty()) return plain;
  return folder + (folder == "/" ? "" : "/") + plain;
}

}  // namespace forebay
