#include "storage/directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/attempt.h"
#include "base/error.h"
#include "base/stale_files.h"
#include "storage/file.h"

namespace forebay::directory {
namespace {

constexpr std::string_view name = "/header.nc";

/// Classifies a file by its name and first bytes; a state by the first bytes of any of its slots. A
/// file that cannot be read is not known to be ours.
Beginning beginning_in(const std::string& folder, std::string_view file) noexcept {
  // A kill between make_nameless_file()'s two calls leaves the name.
  if (file.starts_with("header.nc.pending.")) return Beginning::torn;
  const bool is_state = file == "state";
  if (!is_state && file != "index" && !is_number(file)) return Beginning::foreign;
  auto its = Beginning::foreign;
  attempt_to([&] {
    Report unseen;
    std::array<std::byte, enough_of_beginning> bytes{};
    File opened(folder + "/" + std::string(file), false, 0, unseen);
    const auto read = std::span<const std::byte>(bytes).first(opened.read_at(0, bytes));
    its = beginning_of(read, is_state ? state_word : data_file_word);
    for (int slot = 1; is_state && slot < state_slots; ++slot) {
      const auto at = static_cast<std::size_t>(slot) * state_slot_bytes;
      if (beginning_of(read.subspan(std::min(at, read.size())), state_word) == Beginning::data_file)
        its = Beginning::data_file;
    }
  });
  return its;
}

/// Whether a folder has definitions, whether all else is ours, and whether any of that proves it.
struct Contents {
  bool header = false, ours = true, known = false, empty = true;
};

Contents contents_of(const std::string& folder) {
  Contents found;
  found.ours = each_in_folder(folder,
                              [&](int, const char* file, bool is_regular) {
                                found.empty = false;
                                if (is_regular && file == name.substr(1)) {
                                  found.header = true;
                                  return;
                                }
                                const Beginning its =
                                    is_regular ? beginning_in(folder, file) : Beginning::foreign;
                                found.ours &= its != Beginning::foreign;
                                found.known |= its == Beginning::data_file;
                              }) &&
               found.ours;
  return found;
}

}  // namespace

std::string header_of(const std::string& directory) {
  const bool slash = directory.ends_with('/');
  return directory + std::string(name.substr(slash ? 1 : 0));
}

// This is false for anything but a directory.
bool is_one(const std::string& path) {
  struct stat status {};
  return ::stat(header_of(path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_header(const std::string& path) { return path == name.substr(1) || path.ends_with(name); }

bool is_ours(const std::string& path) { return is_one(path) && contents_of(path).ours; }

bool is_link(const std::string& path) {
  auto normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  std::error_code failed;
  return std::filesystem::is_symlink(normal, failed);
}

// Data files of a plain file may lie elsewhere, behind a link with their usual name.
bool is_unfinished(const std::string& path) {
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();
  if (failed || real.ends_with(beside)) return false;
  const Contents found = contents_of(path);
  return found.ours && !found.header && (found.empty || (found.known && !is_link(path)));
}

// Files that prove that the folder is ours go last, so that a kill leaves it ours.
void remove_data(const std::string& directory) noexcept {
  for (const Beginning its : {Beginning::torn, Beginning::data_file})
    remove_stale_files(directory,
                       [&](std::string_view file) { return beginning_in(directory, file) == its; });
}

std::string to_open(const std::string& path) { return is_one(path) ? header_of(path) : path; }

std::string end_of_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int most_links = 40;  // the limit of systems
  fs::path at = path;
  std::error_code failed;
  for (int n = 0; n < most_links && fs::is_symlink(at, failed); ++n) {
    const fs::path next = fs::read_symlink(at, failed);
    if (failed) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

std::string to_make(const std::string& path) {
  std::string end = end_of_links(path);
  std::error_code failed;
  if (std::filesystem::is_symlink(end, failed))
    throw system_error(ELOOP, Errc::efile, "creating", path);
  return end;
}

unsigned mode_for(unsigned mode_of_file) {
  const unsigned read = mode_of_file & 0444, enter = read >> 2;
  return S_IRWXU | (mode_of_file & 0777) | enter;
}

void make_beside(const std::string& folder, const std::string& file) {
  struct stat status {};
  if (is_header(file) && ::stat(folder.c_str(), &status) != 0)
    throw Error(Errc::enoent, folder + " is not there any more",
                "a folder that is taken as one file keeps its name until its definitions end");
  const unsigned mode = ::stat(file.c_str(), &status) == 0 ? mode_for(status.st_mode) : 0777;
  if (::mkdir(to_make(folder).c_str(), mode) != 0 && errno != EEXIST)
    throw system_error(errno, Errc::efile, "making the folder", folder);
}

std::string folder_beside(const std::string& path) {
  const std::string file = is_header(path) ? path : end_of_links(path);
  if (!is_header(file)) return file + std::string(beside);
  if (file == name.substr(1)) return ".";
  return file.size() == name.size() ? "/" : file.substr(0, file.size() - name.size());
}

}  // namespace forebay::directory
