#include "workload_posix.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace forebay::bench {
namespace {

constexpr std::int64_t kCall = 8 << 20;
constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail(path.c_str());
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  void close() {
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) fail("close");
  }

 private:
  int fd_;
};

template <typename Call>
void in_calls(std::int64_t length, Call call) {
  for (std::int64_t done = 0; done < length;) {
    const auto n = call(done, std::min(kCall, length - done));
    if (n <= 0) fail("read or write");
    done += n;
  }
}

}  // namespace

PosixWorkload::PosixWorkload(const PosixOptions& options, const Team& team)
    : options_(options), team_(team) {
  if (options_.one_process) {
    length_ = team_.rank == 0 ? options_.bytes : 0;
  } else {
    const std::int64_t each = options_.bytes / team_.size;
    offset_ = each * team_.rank;
    length_ = team_.rank + 1 == team_.size ? options_.bytes - offset_ : each;
  }
  buffer_ = std::make_unique<std::uint64_t[]>(static_cast<std::size_t>(length_) / 8 + 1);
  amounts_.bytes = options_.bytes;
  amounts_.requests = amounts_.pieces = team_.sum((length_ + kCall - 1) / kCall);
  amounts_.own_data_bytes = team_.max(length_);
}

void PosixWorkload::prepare_write() {
  const auto words = static_cast<std::uint64_t>(length_) / 8 + 1;
  for (std::uint64_t w = 0; w < words; ++w) {
    buffer_[w] = (w + static_cast<std::uint64_t>(offset_)) * kFactor;
  }
}

void PosixWorkload::prepare_read() {
  std::memset(buffer_.get(), 0xA5, static_cast<std::size_t>(length_));
}

std::int64_t PosixWorkload::verify() {
  std::int64_t wrong = 0;
  const auto words = static_cast<std::uint64_t>(length_) / 8;
  for (std::uint64_t w = 0; w < words; ++w) {
    wrong += buffer_[w] != (w + static_cast<std::uint64_t>(offset_)) * kFactor;
  }
  return wrong;
}

void PosixWorkload::write(const std::string& path, MPI_Info /*info*/, Timeline& timeline) {
  if (team_.rank == 0) File(path, O_WRONLY | O_CREAT | O_TRUNC).close();
  if (!options_.one_process) MPI_Barrier(team_.comm);
  timeline.mark("open");
  if (length_ > 0) {
    File file(path, O_WRONLY);
    const char* data = reinterpret_cast<const char*>(buffer_.get());
    in_calls(length_, [&](std::int64_t done, std::int64_t n) {
      return ::pwrite(file.fd(), data + done, static_cast<std::size_t>(n), offset_ + done);
    });
    timeline.mark("data");
    file.close();
  }
  timeline.mark("close");
}

void PosixWorkload::read(const std::string& path, MPI_Info /*info*/, Timeline& timeline) {
  if (length_ > 0) {
    File file(path, O_RDONLY);
    timeline.mark("open");
    char* data = reinterpret_cast<char*>(buffer_.get());
    in_calls(length_, [&](std::int64_t done, std::int64_t n) {
      return ::pread(file.fd(), data + done, static_cast<std::size_t>(n), offset_ + done);
    });
    timeline.mark("data");
    file.close();
  }
  timeline.mark("close");
}

}  // namespace forebay::bench
