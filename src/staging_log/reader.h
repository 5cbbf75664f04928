// Reads a log that somebody else wrote: after a crash, or to show it.
//
// Every byte is suspect. What cannot be is said with Errc::ebadlog and the place, and memory grows
// with one entry, not with what the file claims.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "format/staging_record.h"

namespace forebay::staging {

/// What a walk over a log found.
struct Scan {
  Count writes = 0, pieces = 0;  ///< entries of each kind
  Count data_bytes = 0;          ///< of the writes
  Offset end = header_bytes;     ///< position one past the last whole entry
  Count cut_entries = 0;  ///< writes at the end whose request is incomplete: they do not count
  /// Something follows the last whole entry: neither zeros nor whole entries of the log's past, but
  /// a torn tail.
  bool torn = false;
  /// Places where entries are damaged though later ones are whole, and what is missing: one
  /// sentence each.
  std::vector<std::string> damage;
};

class Reader {
 public:
  /// Errc::ebadlog for what is no log, of another version or byte order, or whose two files do not
  /// belong together. `part`: which rank's share of files that ranks share (0: the first).
  Reader(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, int part = 0);

  const Header& header() const { return header_; }
  const State& state() const { return state_; }

  /// Calls `visit` for each write that counts, in order, with the runs of its pieces (null for a
  /// subarray). Writes of an incomplete request at the end are left out.
  /// The same shared_ptr is passed to all writes that name the same pieces, as long as somebody
  /// holds it; pieces that nobody has used for a while are read again.
  using Visit = std::function<void(std::uint64_t sequence, const Write&,
                                   const std::shared_ptr<const RunList>& pieces)>;
  /// `everything`: begins at the front of the file, also with writes that no longer count, as far
  /// as they have been kept.
  Scan walk(const Visit& visit, bool everything = false);

  /// The data of a write, whole. Errc::ebadlog if they are not what was written.
  void read(const WriteFacts& write, std::span<std::byte> into);

 private:
  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
};

}  // namespace forebay::staging
