#include "base/append_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace forebay {

void append_report(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  int fault = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0) fault = errno;
    if (written >= 0 && static_cast<std::size_t>(written) < line.size()) fault = ENOSPC;
    ::close(fd);
  }
  if (fault != 0)
    std::fprintf(stderr, "forebay: cannot append the report to %s: %s\n", path.c_str(),
                 std::strerror(fault));
}

}  // namespace forebay
