#include "storage/directory.h"

#include <sys/stat.h>

#include <array>
#include <string_view>

#include "base/leavings.h"
#include "storage/file.h"

namespace forebay::directory {
namespace {

constexpr std::string_view name = "/header.nc";

bool may_be_data_file(const std::string& path) {
  Report unseen;
  std::array<std::byte, enough_of_beginning> bytes{};
  const std::size_t n = File(path, false, 0, unseen).read_at(0, bytes);
  return beginning_of(std::span(bytes).first(n)) != Beginning::foreign;
}

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

bool is_header(const std::string& path) { return path == name.substr(1) || path.ends_with(name); }

bool is_ours(const std::string& path) {
  if (!is_one(path)) return false;
  bool ours = true;
  const bool can_be_read = each_in_folder(path, [&](int, const char* entry, bool is_regular) {
    const std::string_view file = entry;
    if (!ours || file == name.substr(1) || file == "state") {
      ours &= is_regular;
    } else {
      ours = is_regular && (file == "index" || is_number(file)) &&
             may_be_data_file(path + "/" + entry);
    }
  });
  return can_be_read && ours;
}

void remove_data(const std::string& directory) noexcept {
  remove_leavings(directory, [](std::string_view file) { return file != name.substr(1); });
}

std::string to_open(const std::string& path) { return is_one(path) ? header_of(path) : path; }

std::string folder_beside(const std::string& path) {
  if (!is_header(path)) return path + ".subfiles";
  if (path == name.substr(1)) return ".";
  return path.size() == name.size() ? "/" : path.substr(0, path.size() - name.size());
}

}  // namespace forebay::directory
