#include "base/descriptor.h"

#include <fcntl.h>

namespace forebay {

int beyond_standard(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int other = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return other;
}

std::size_t read_at(int fd, Offset offset, std::span<std::byte> into, const std::string& path) {
  return transfer(Transfer::read, into.size(), path, [&](std::size_t done) {
    return ::pread(fd, into.data() + done, into.size() - done, offset + static_cast<Offset>(done));
  });
}

void write_at(int fd, Offset offset, std::span<const std::byte> from, const std::string& path) {
  transfer(Transfer::write, from.size(), path, [&](std::size_t done) {
    return ::pwrite(fd, from.data() + done, from.size() - done, offset + static_cast<Offset>(done));
  });
}

}  // namespace forebay
