// One walk over the entries of a log: Reader::walk.
//
// The log ends where no entry follows that carries the next sequence number. Before that is taken
// for the end, the rest of the file is searched: a later entry of the same log that is whole, and
// for which there was room to have been preceded by those that are missing, proves damage.
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
#include "format/staging_record.h"
#include "staging_log/reader.h"

namespace forebay::staging {

/// The bytes of a log's own positions, read `least` bytes or more at a time.
class Window {
 public:
  Window(ByteFile& file, const Header& header, Count least);

  const std::string& path() const { return file_.path(); }
  Offset end() const { return end_; }
  /// `bytes` bytes at a position, which lie before end(). Valid until the next call.
  std::span<const std::byte> at(Offset position, Count bytes);
  /// At least `bytes` bytes at a position, and what is in memory after them.
  std::span<const std::byte> from(Offset position, Count bytes);

 private:
  ByteFile& file_;
  Share share_;
  Count least_;
  Offset end_, begin_ = 0;  ///< of the log; of what is in memory
  std::vector<std::byte> bytes_;
};

/// Pieces that were met. Those met last are in memory, others are read again.
class PiecesCache {
 public:
  PiecesCache(ByteFile& file, const Header& header);

  void add(std::uint64_t sequence, Offset position, Count length, Pieces&& pieces);
  /// Null if there is no entry of pieces with that number.
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
  Entry other_;  ///< an entry that is read again, or that a search tries
  Scan scan_;
  Offset position_ = header_bytes;  ///< of entry_, or of where the next one is expected
  Count length_ = 0;                ///< of entry_
  std::uint64_t expected_ = 0;      ///< sequence number
  std::uint32_t failed_ = 0;        ///< of the entry before
  /// Bytes of entries that may still be hashed in vain. Entries that do not overlap never use it
  /// up.
  Count budget_;
  bool gave_up_ = false;

  Offset request_ = 0;        ///< position of the first write of the open request
  Count request_writes_ = 0;  ///< so many are open
  bool skips_ = false;        ///< the rest of this request: a part of it is missing
};

}  // namespace forebay::staging
