#include "layout/classic_part.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/attempt.h"
#include "format/classic.h"
#include "storage/directory.h"

namespace forebay {
namespace {

template <typename F>
void each_with_beside(F&& f) {
  for (const Part* part : parts(PartKind::layout)) {
    const auto& in_classic = static_cast<const LayoutEntry*>(part)->in_classic;
    if (in_classic.has_beside != nullptr) f(in_classic);
  }
}

}  // namespace

bool has_beside(const std::string& path) noexcept {
  bool any = false;
  attempt_to([&] {
    each_with_beside([&](const ClassicPartEntry& entry) { any |= entry.has_beside(path); });
  });
  return any;
}

std::optional<Schema> header_for_beside(const std::string& path) noexcept {
  std::optional<Schema> header;
  attempt_to([&] {
    if (!has_beside(path) || !std::filesystem::is_regular_file(path)) return;
    Report unseen;
    File file(path, false, 0, unseen);
    header = classic::read_header(path, [&](std::vector<std::byte>& bytes, Offset wanted) {
      return classic::read_beginning(file, bytes, wanted);
    });
  });
  return header;
}

void remove_beside(const std::string& path, const std::optional<Schema>& header) noexcept {
  each_with_beside([&](const ClassicPartEntry& entry) {
    entry.remove_beside(path, header ? &*header : nullptr);
  });
}

void remove_whole(const std::string& path) {
  const bool in_directory = directory::is_one(path);
  const std::string file = directory::to_open(path);
  const auto header = header_for_beside(file);
  if (::unlink(file.c_str()) != 0) {
    if (errno == EISDIR) throw Error(Errc::eaccess, path + " is a folder");
    throw system_error(errno, Errc::efile, "removing", path);
  }
  remove_beside(file, header);
  if (in_directory && ::rmdir(path.c_str()) != 0 && errno != ENOENT)
    throw system_error(errno, Errc::ecantremove, "removing the folder", path);
}

void rename_whole(const std::string& from, const std::string& to) {
  const auto rename = [](const std::string& a, const std::string& b) {
    if (::rename(a.c_str(), b.c_str()) != 0)
      throw system_error(errno, Errc::ecantcreate, "renaming to", b);
  };
  const bool folder = has_beside(from);
  if (folder || (directory::is_one(to) && !std::filesystem::is_directory(from))) {
    if (std::filesystem::exists(to)) remove_whole(to);
    if (folder) rename(directory::folder_beside(from), directory::folder_beside(to));
    return rename(from, to);
  }
  const auto before = header_for_beside(to);
  rename(from, to);
  remove_beside(to, before);
}

}  // namespace forebay
