#include "limits/posix_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace forebay::bench {
namespace {

constexpr std::int64_t kCall = 8 << 20;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

template <typename Call>
void in_calls(std::size_t length, Call call) {
  for (std::int64_t done = 0, all = static_cast<std::int64_t>(length); done < all;) {
    const auto n = call(done, static_cast<std::size_t>(std::min(kCall, all - done)));
    if (n <= 0) fail("read or write");
    done += n;
  }
}

}  // namespace

PosixFile::PosixFile(const std::string& path, int flags)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
  if (fd_ < 0) fail(path.c_str());
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

void PosixFile::close() {
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail("close");
}

void PosixFile::write_all(std::int64_t offset, std::span<const std::byte> data) const {
  in_calls(data.size(), [&](std::int64_t done, std::size_t n) {
    return ::pwrite(fd_, data.data() + done, n, offset + done);
  });
}

void PosixFile::read_all(std::int64_t offset, std::span<std::byte> data) const {
  in_calls(data.size(), [&](std::int64_t done, std::size_t n) {
    return ::pread(fd_, data.data() + done, n, offset + done);
  });
}

std::int64_t posix_calls(std::int64_t bytes) { return (bytes + kCall - 1) / kCall; }

}  // namespace forebay::bench
