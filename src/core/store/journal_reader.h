// Reads a journal that another process wrote, after a crash or to show it.
//
// Every byte is checked. Anything impossible gives Errc::ebadlog with its place. Memory grows with
// one entry, not with what the file claims.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "store/journal.h"

namespace forebay::journal {

constexpr std::size_t most_damage = 100;  ///< sentences of a scan

/// What a walk over a journal found.
struct Scan {
  Offset end = header_bytes;  ///< position one past the last whole entry
  /// A torn tail follows the last whole entry: neither zeros nor whole old entries of the log.
  bool torn = false;
  /// One sentence for each damaged place before later whole entries, and for what is missing there.
  std::vector<std::string> damage;

  // What visitors count.
  Count writes = 0;       ///< entries that write something
  Count data_bytes = 0;   ///< total of the writes
  Count cut_entries = 0;  ///< writes at the end that do not count, as their request is incomplete
};

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

/// An entry that a walk has found whole.
struct FoundEntry {
  Offset position = 0;
  Beginning front;
  std::span<const std::byte> bytes;  ///< all of them, until the walk's window is used
};

/// Sees the entries of a journal in order, and adds to the scan.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void visit(const FoundEntry& entry, Window& window, Scan& scan) = 0;
  /// Entries are missing, which is in the scan, before the next one.
  virtual void miss() {}
};

class Reader {
 public:
  /// Errc::ebadlog for anything but a log, for another version or byte order, or if the two files
  /// do not belong together. `part`: the rank's part of shared files (0: the first).
  Reader(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, int part = 0);

  const Header& header() const { return header_; }
  const State& state() const { return state_; }  ///< when it was opened
  /// Reads the state that the log has by now.
  State state_now();
  /// Returns a window on the record log, for entries that a visitor reads again.
  Window window(Count least);

  /// Visits each entry that counts. `everything`: begins at the front of the file, with entries
  /// that no longer count, as far as they are still there. Exceptions of the visitor come out.
  Scan walk(Visitor& visitor, bool everything = false);

  /// Reads all data of an entry. Errc::ebadlog if they are not what was written.
  void read(const Data& data, std::span<std::byte> into);

 private:
  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
};

}  // namespace forebay::journal
