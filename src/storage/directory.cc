#include "storage/directory.h"

#include <sys/stat.h>

#include <array>
#include <string_view>

#include "base/leavings.h"
#include "storage/file.h"

namespace forebay::directory {
namespace {

constexpr std::string_view name = "/header.nc";

/// By its name, and by what it begins with; a state by what any of its slots does.
Beginning beginning_in(const std::string& folder, std::string_view file) {
  const bool is_state = file == "state";
  if (!is_state && file != "index" && !is_number(file)) return Beginning::foreign;
  Report unseen;
  std::array<std::byte, enough_of_beginning> bytes{};
  const std::string path = folder + "/" + std::string(file);
  auto left =
      std::span<const std::byte>(bytes).first(File(path, false, 0, unseen).read_at(0, bytes));
  const Beginning its = beginning_of(left, is_state ? state_word : data_file_word);
  constexpr std::size_t slot = 512;
  for (int others = 2; is_state && others > 0 && left.size() > slot; --others) {
    left = left.subspan(slot);
    if (beginning_of(left, state_word) == Beginning::data_file) return Beginning::data_file;
  }
  return its;
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
  bool ours = true, known = false;
  const bool can_be_read = each_in_folder(path, [&](int, const char* entry, bool is_regular) {
    const std::string_view file = entry;
    ours &= is_regular;
    if (!ours) return;
    const Beginning its = file == name.substr(1) ? Beginning::data_file : beginning_in(path, file);
    ours = its != Beginning::foreign;
    known |= its == Beginning::data_file;
  });
  return can_be_read && ours && known;
}

bool is_empty(const std::string& path) {
  bool empty = true;
  return each_in_folder(path, [&](int, const char*, bool) { empty = false; }) && empty;
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
