#include "dataset/probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "format/classic_header.h"
#include "layout/classic_part.h"
#include "storage/directory.h"
#include "storage/file.h"

namespace forebay {

std::optional<int> probe_format(const std::string& path) {
  const std::string name = directory::to_open(strip_prefix(path));
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw system_error(errno, Errc::efile, "opening", name);
  std::array<std::byte, 8> bytes{};
  std::size_t got = 0;
  int failed = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) failed = errno;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  ::close(fd);
  if (failed == EISDIR) throw Error(Errc::efile, name + " is a folder");
  if (failed != 0) throw system_error(failed, Errc::eread, "reading", name);
  return classic::detect(std::span<const std::byte>(bytes).first(got));
}

// An absolute path has no prefix that could be stripped once more.
void delete_file(const std::string& path) { remove_whole(absolute_path(path)); }

bool is_directory_file(const std::string& path) { return directory::is_ours(path); }

std::optional<std::string> folder_of_values(const std::string& path) {
  if (!has_beside(path)) return std::nullopt;
  return directory::folder_beside(path);
}

std::string end_of_links(const std::string& path) { return directory::end_of_links(path); }

void rename_file(const std::string& from, const std::string& to) { rename_whole(from, to); }

}  // namespace forebay
