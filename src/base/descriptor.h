// File descriptors, and reads and writes by them: a system call may move less than it was asked
// for, or be interrupted, and is repeated until all is moved or the file ends.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/types.h"

namespace forebay {

/// Closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }  ///< the caller closes it

 private:
  int fd_;
};

enum class Transfer { read, write };

/// `call(done)` moves some bytes as read() and write() do, after the `done` that were moved before.
/// Returns how many were moved, which are fewer than `bytes` only where a file that is read ends.
/// Throws Errc::eread or ewrite, or what the system's error stands for.
template <typename Call>
std::size_t transfer(Transfer what, std::size_t bytes, const std::string& path, Call&& call) {
  const bool reads = what == Transfer::read;
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = call(done);
    if (n == 0 && reads) break;
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    throw system_error(n < 0 ? errno : EIO, reads ? Errc::eread : Errc::ewrite,
                       reads ? "reading" : "writing", path);
  }
  return done;
}

std::size_t read_at(int fd, Offset offset, std::span<std::byte> into, const std::string& path);
void write_at(int fd, Offset offset, std::span<const std::byte> from, const std::string& path);

}  // namespace forebay
