// File descriptors, and reads and writes through them. A system call that is interrupted or moves
// fewer bytes than asked is repeated until all is moved or the file ends.
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

/// Returns `fd`, or a duplicate above the three standard descriptors if `fd` is one of them; `fd`
/// is closed then. A program that closed its standard output may still print, and must not print
/// into our file. Returns -1 and sets errno if no descriptor is left.
int beyond_standard(int fd) noexcept;

/// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(beyond_standard(fd)) {}
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

/// Repeats `call(done)`, which moves bytes as read() and write() do, behind the `done` bytes moved
/// before. Returns the number of bytes moved; fewer than `bytes` only if a file that is read ends.
/// Throws Errc::eread, ewrite, or the code for the system's error.
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
