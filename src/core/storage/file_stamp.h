// What the system tells of a file's content: as precise as its time stamps.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/types.h"

namespace forebay {

/// Two equal stamps belong to one file that was not written between them.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  Offset size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const FileStamp&) const = default;

  static FileStamp of(const struct stat& status) {
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
            status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }
  /// Local. Returns zeros if there is no such file.
  static FileStamp at(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? of(status) : FileStamp{};
  }
};

}  // namespace forebay
