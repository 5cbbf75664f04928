// A file in memory for tests of logs. It can be full, cut short, damaged and inspected.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/error.h"

namespace forebay {

/// The part that outlives the open file. A test keeps it, reopens the file, and damages it.
struct MemoryDisk {
  std::vector<std::byte> bytes;
  std::vector<std::byte> stored;  ///< what the last sync() found: a power failure leaves it
  Count room = std::numeric_limits<Count>::max();  ///< bytes that may still be written
  bool releases = true;                            ///< the space of a range can be given back
  bool linked = true;
  int writes = 0, truncations = 0;  ///< calls
  Count released = 0;               ///< bytes
  std::function<void()> arrived;    ///< is called after each write; an exception is its error

  void flip(Offset offset, unsigned bit) {
    bytes.at(static_cast<std::size_t>(offset)) ^= static_cast<std::byte>(1U << bit);
  }
};

class MemoryFile : public ByteFile {
 public:
  MemoryFile(std::string path, std::shared_ptr<MemoryDisk> disk)
      : path_(std::move(path)), disk_(std::move(disk)) {}

  const std::string& path() const override { return path_; }

  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    if (offset < 0) throw Error(Errc::eread, "a negative position");
    const auto& bytes = disk_->bytes;
    if (offset >= std::ssize(bytes)) return 0;
    const auto at = static_cast<std::size_t>(offset);
    const std::size_t n = std::min(into.size(), bytes.size() - at);
    if (n > 0) std::memcpy(into.data(), bytes.data() + at, n);
    return n;
  }

  using ByteFile::write_at;
  /// If `room` does not suffice, writes what fits and throws Errc::eno_space.
  void write_at(Offset offset, std::span<iovec> pieces) override {
    ++disk_->writes;
    for (iovec& p : pieces) {
      const auto n = std::min(static_cast<Count>(p.iov_len), disk_->room);
      const auto end = static_cast<std::size_t>(offset + n);
      if (n > 0 && end > disk_->bytes.size()) disk_->bytes.resize(end);
      if (n > 0) std::memcpy(disk_->bytes.data() + offset, p.iov_base, static_cast<std::size_t>(n));
      disk_->room -= n;
      offset += n;
      if (n < static_cast<Count>(p.iov_len))
        throw Error(Errc::eno_space, "writing " + path_ + ": full");
      p = {};
    }
    if (disk_->arrived) disk_->arrived();
  }

  Offset size() override { return std::ssize(disk_->bytes); }
  void truncate(Offset size) override {
    ++disk_->truncations;
    disk_->bytes.resize(static_cast<std::size_t>(size));
  }
  void sync() override { disk_->stored = disk_->bytes; }

  bool release(Offset offset, Count bytes) override {
    if (!disk_->releases) return false;
    disk_->released += bytes;
    const auto end = std::min(offset + bytes, size());
    if (offset < end)
      std::fill(disk_->bytes.begin() + offset, disk_->bytes.begin() + end, std::byte{0});
    return true;
  }

  bool is_linked() override { return disk_->linked; }

 private:
  std::string path_;
  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace forebay
