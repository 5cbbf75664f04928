#include "storage/file_stamp.h"

#include <sys/stat.h>

namespace forebay {

FileStamp FileStamp::of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

FileStamp FileStamp::at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? of(status) : FileStamp{};
}

}  // namespace forebay
