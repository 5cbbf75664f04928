// One walk over the entries of a journal: Reader::walk.
//
// The log ends where the entry with the next sequence number is missing. Before the walk accepts
// this end, it searches the rest of the file. A later whole entry of the same log proves damage, if
// there was room before it for the missing entries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "store/journal.h"
#include "store/journal_reader.h"

namespace forebay::journal {

/// A window on the logical bytes of a record log. It reads at least `least` bytes at a time.
class Window {
 public:
  Window(ByteFile& file, const Header& header, Count least);

  const std::string& path() const { return file_.path(); }
  Offset end() const { return end_; }
  /// Returns `bytes` bytes at a position, all before end(). Valid until the next call.
  std::span<const std::byte> at(Offset position, Count bytes);
  /// Returns at least `bytes` bytes at a position, with all that is in memory after them.
  std::span<const std::byte> from(Offset position, Count bytes);

 private:
  ByteFile& file_;
  Share share_;
  Count least_;
  Offset end_, begin_ = 0;  ///< of the log; of the bytes in memory
  std::vector<std::byte> bytes_;
};

class Walk {
 public:
  Walk(ByteFile& records, const Header& header, const State& state, Visitor& visitor);
  Scan run(bool everything);

 private:
  void begin(bool everything);
  bool next_is_whole();
  bool has_whole(Offset position, const Beginning& begins);
  std::optional<FoundEntry> find_later();
  void report_gap(const FoundEntry& found);

  Window window_;
  std::uint64_t session_;
  State state_;
  Visitor& visitor_;
  Scan scan_;
  Offset position_ = header_bytes;  ///< of the next expected entry
  Beginning entry_;                 ///< of the entry at position_, if it is whole
  std::uint64_t expected_ = 0;      ///< sequence number
  std::uint32_t failed_ = 0;        ///< of the previous entry
  /// The number of bytes that checksums may still fail on. Entries that do not overlap never use it
  /// up.
  Count budget_;
  bool gave_up_ = false;
};

constexpr std::size_t most_damage = 100;  ///< sentences of a scan

}  // namespace forebay::journal
