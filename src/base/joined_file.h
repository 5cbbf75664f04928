// Several files as one: they follow one another in its positions, so that what carries bytes to and
// from one file reads a directory of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_file.h"

namespace forebay {

/// Throws Errc::etrunc: one of several files ends before byte `end`, where its values go to.
[[noreturn]] void throw_short(const ByteFile& file, Offset end);

class JoinedFile final : public ByteFile {
 public:
  /// A file by its number; stays until the next call at least. Throws what opening it throws.
  using Open = std::function<ByteFile&(std::uint32_t number)>;
  /// Where files begin: at multiples of this.
  static constexpr Count unit = 4096;

  /// `path`: for messages, and what is known of the folder.
  JoinedFile(std::string path, Open open) : path_(std::move(path)), open_(std::move(open)) {}

  /// Of each file the bytes that belong to it here, from its first one on; 0: it is not opened.
  /// Errc::eintoverflow where positions would not fit into 63 bits. Not while somebody reads.
  void set_sizes(std::span<const Count> sizes);
  /// Where a file begins.
  Offset begin_of(std::uint32_t number) const { return begins_[number]; }

  const std::string& path() const override { return path_; }
  /// What lies between files, or in none, is zero. Errc::etrunc where a file has become shorter.
  std::size_t read_at(Offset offset, std::span<std::byte> into) override;
  Offset size() override { return begins_.back(); }
  void sync() override {}
  bool is_linked() override { return true; }
  // Errc::eperm: it is for reading.
  using ByteFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override;
  void truncate(Offset size) override;
  bool release(Offset, Count) override { return false; }

 private:
  std::string path_;
  Open open_;
  std::vector<Offset> begins_{0};  // and where the last one ends
  std::vector<Count> sizes_;
};

}  // namespace forebay
