// What the system tells of a file's content: as precise as its time stamps.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.h"

struct stat;

namespace forebay {

/// Two equal stamps belong to one file that was not written between them.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  Offset size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const FileStamp&) const = default;
  static FileStamp of(const struct stat& status);
  /// Local. Returns zeros if there is no such file.
  static FileStamp at(const std::string& path);
};

}  // namespace forebay
