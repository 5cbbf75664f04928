#include "storage/directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/leavings.h"

namespace forebay::directory {
namespace {

constexpr std::string_view name = "/header.nc";

}  // namespace

std::string header_of(const std::string& directory) {
  const bool slash = directory.ends_with('/');
  return directory + std::string(name.substr(slash ? 1 : 0));
}

// What is no directory has no such file in it.
bool is_one(const std::string& path) {
  struct stat status {};
  return ::stat(header_of(path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_ours(const std::string& path) {
  if (!is_one(path)) return false;
  const auto entries = std::filesystem::directory_iterator(path);
  return std::all_of(begin(entries), end(entries), [](const auto& entry) {
    const std::string file = entry.path().filename().string();
    const bool named =
        file == name.substr(1) || file == "state" || file == "index" || is_number(file);
    return named && entry.symlink_status().type() == std::filesystem::file_type::regular;
  });
}

std::string to_open(const std::string& path) { return is_one(path) ? header_of(path) : path; }

std::string folder_beside(const std::string& path) {
  if (path == name.substr(1)) return ".";
  if (!path.ends_with(name)) return path + ".subfiles";
  return path.size() == name.size() ? "/" : path.substr(0, path.size() - name.size());
}

}  // namespace forebay::directory
