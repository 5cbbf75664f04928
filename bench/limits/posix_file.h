#pragma once

// One file through system calls of 8 MiB, without a library.

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forebay::bench {

/// Owns a descriptor. Errors are std::system_error.
class PosixFile {
 public:
  PosixFile(const std::string& path, int flags);
  ~PosixFile();
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  void write_all(std::int64_t offset, std::span<const std::byte> data) const;
  void read_all(std::int64_t offset, std::span<std::byte> data) const;
  void close();

 private:
  int fd_;
};

/// System calls that write_all() and read_all() make for so many bytes.
std::int64_t posix_calls(std::int64_t bytes);

}  // namespace forebay::bench
