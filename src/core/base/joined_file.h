// JoinedFile shows several files as one, one behind another, so that code that reads one file can
// read a directory of files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_file.h"

namespace forebay {

/// Throws Errc::etrunc: `file` ends before byte `end`, up to which it has values.
[[noreturn]] void throw_short(const ByteFile& file, Offset end);

class JoinedFile final : public ByteFile {
 public:
  /// Returns a file by its number; valid until the next call at least. May throw an error of
  /// opening.
  using Open = std::function<ByteFile&(std::uint32_t number)>;
  /// Files begin at multiples of this.
  static constexpr Count unit = 4096;

  /// `path` is used in messages and to look up properties of the folder.
  JoinedFile(std::string path, Open open) : path_(std::move(path)), open_(std::move(open)) {}

  /// Sets how many bytes of each file, from its first on, belong to the whole. Files of size 0 are
  /// not opened. Throws Errc::eintoverflow beyond 63 bits. Nobody may read meanwhile.
  void set_sizes(std::span<const Count> sizes);
  /// Returns the position where a file begins.
  Offset begin_of(std::uint32_t number) const { return begins_[number]; }

  const std::string& path() const override { return path_; }
  /// Reads bytes; those between files are zero. Throws Errc::etrunc if a file has become shorter.
  std::size_t read_at(Offset offset, std::span<std::byte> into) override;
  Offset size() override { return begins_.back(); }
  void sync() override {}
  bool is_linked() override { return true; }
  // The file is read-only: these throw Errc::eperm.
  using ByteFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override;
  void truncate(Offset size) override;
  bool release(Offset, Count) override { return false; }

 private:
  std::string path_;
  Open open_;
  std::vector<Offset> begins_{0};  // and the end of the last file
  std::vector<Count> sizes_;
};

}  // namespace forebay
