#include "storage/directory.h"

#include <sys/stat.h>

#include <string_view>

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

std::string to_open(const std::string& path) { return is_one(path) ? header_of(path) : path; }

std::string folder_beside(const std::string& path) {
  if (path == name.substr(1)) return ".";
  if (!path.ends_with(name)) return path + ".subfiles";
  return path.size() == name.size() ? "/" : path.substr(0, path.size() - name.size());
}

}  // namespace forebay::directory
