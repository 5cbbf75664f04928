// One walk over the entries of a log: Reader::walk.
//
// The log ends where the entry with the next sequence number is missing. Before the walk accepts
// this end, it searches the rest of the file. A later whole entry of the same log proves damage, if
// there was room before it for the missing entries.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_file.h"
#include "burst/format/staging_record.h"
#include "burst/log/staging_log_reader.h"

namespace forebay::staging {

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

/// The pieces found so far. The latest ones are in memory. Others are read again.
class PiecesCache {
 public:
  PiecesCache(ByteFile& file, const Header& header);

  void add(std::uint64_t sequence, Offset position, Count length, Pieces&& pieces);
  /// Returns null if no entry of pieces has this number.
  std::shared_ptr<const RunList> get(std::uint64_t sequence);

 private:
  struct Known {
    Offset position = 0;
    Count length = 0;
    std::weak_ptr<const RunList> runs;
  };

  std::shared_ptr<const RunList> keep(Known& known, Pieces&& pieces);

  Window window_;
  std::uint64_t session_;
  std::unordered_map<std::uint64_t, Known> known_;
  std::list<std::shared_ptr<const RunList>> recent_;  ///< the last one is the newest
  Count recent_bytes_ = 0;
};

class Walk {
 public:
  Walk(ByteFile& records, const Header& header, const State& state, const Reader::Visit& visit);
  Scan run(bool everything);

 private:
  struct Found {
    Offset position;
    std::uint64_t sequence;
  };

  void begin(bool everything);
  bool next_is_whole();
  bool is_whole(Offset position, const Beginning& begins, Entry& into);
  void take();
  void take_write(const Write& write);
  bool names_pieces(const Write& write);
  void visit_request(Offset end);
  void visit_write(std::uint64_t sequence, const Write& write);
  std::optional<Found> find_later();
  void report_gap(const Found& found);

  Window window_;
  std::uint64_t session_;
  State state_;
  const Reader::Visit& visit_;
  PiecesCache pieces_;
  Entry entry_;
  Entry other_;  ///< for reading an entry again, and for searches
  Scan scan_;
  Offset position_ = header_bytes;  ///< of entry_, or of the next expected entry
  Count length_ = 0;                ///< of entry_
  std::uint64_t expected_ = 0;      ///< sequence number
  std::uint32_t failed_ = 0;        ///< of the previous entry
  /// The number of bytes that checksums may still fail on. Entries that do not overlap never use it
  /// up.
  Count budget_;
  bool gave_up_ = false;

  Offset request_ = 0;        ///< position of the first write of the open request
  Count request_writes_ = 0;  ///< number of its open writes
  bool skips_ = false;        ///< omits the rest of this request, because a part of it is missing
};

}  // namespace forebay::staging
