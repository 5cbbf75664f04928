// Reads a log that another process wrote, after a crash or to show it.
//
// Every byte is checked. Anything impossible gives Errc::ebadlog with its place. Memory grows with
// one entry, not with what the file claims.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "burst/format/staging_record.h"

namespace forebay::staging {

/// What a walk over a log found.
struct Scan {
  Count writes = 0, pieces = 0;  ///< entries of each kind
  Count data_bytes = 0;          ///< total of the writes
  Offset end = header_bytes;     ///< position one past the last whole entry
  Count cut_entries = 0;  ///< writes at the end that do not count, as their request is incomplete
  /// A torn tail follows the last whole entry: neither zeros nor whole old entries of the log.
  bool torn = false;
  /// One sentence for each damaged place before later whole entries, and for what is missing there.
  std::vector<std::string> damage;
};

class Reader {
 public:
  /// Errc::ebadlog for anything but a log, for another version or byte order, or if the two files
  /// do not belong together. `part`: the rank's part of shared files (0: the first).
  Reader(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, int part = 0);

  const Header& header() const { return header_; }
  const State& state() const { return state_; }

  /// Called for each write that counts, in order, with the runs of its pieces (null for a
  /// subarray). Writes of an incomplete request at the end are omitted. All writes that refer to
  /// the same pieces get the same shared_ptr as long as somebody holds it. Pieces that were not
  /// used for a while are read again.
  using Visit = std::function<void(std::uint64_t sequence, const Write&,
                                   const std::shared_ptr<const RunList>& pieces)>;
  /// Calls `visit` for each write. `everything`: begins at the front of the file, with writes that
  /// no longer count, as far as they are still there.
  Scan walk(const Visit& visit, bool everything = false);

  /// Reads all data of a write. Errc::ebadlog if they are not what was written.
  void read(const WriteFacts& write, std::span<std::byte> into);

 private:
  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
};

}  // namespace forebay::staging
