#include "burst/log/walk_writes.h"

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace forebay::staging {
namespace {

using journal::FoundEntry, journal::most_damage, journal::Window;

constexpr Count most_recent = 64 << 20;  ///< limit in bytes of the pieces in memory

Count memory_of(const RunList& list) {
  return static_cast<Count>(list.runs.size() * sizeof(Run) + sizeof list);
}

/// The pieces found so far. The latest ones are in memory. Others are read again.
class PiecesCache {
 public:
  explicit PiecesCache(Reader& reader)
      : window_(reader.window(4096)), session_(reader.header().session) {}

  void add(std::uint64_t sequence, Offset position, Count length, Pieces&& pieces) {
    Known& known = known_[sequence];
    known.position = position;
    known.length = length;
    keep(known, std::move(pieces));
  }
  /// Returns null if no entry of pieces has this number.
  std::shared_ptr<const RunList> get(std::uint64_t sequence) {
    const auto found = known_.find(sequence);
    if (found == known_.end()) return nullptr;
    Known& known = found->second;
    if (auto runs = known.runs.lock()) return runs;
    auto entry = parse_entry(window_.at(known.position, known.length), session_);
    auto* pieces = entry ? std::get_if<Pieces>(&entry->what) : nullptr;
    if (pieces == nullptr) return nullptr;
    return keep(known, std::move(*pieces));
  }

 private:
  struct Known {
    Offset position = 0;
    Count length = 0;
    std::weak_ptr<const RunList> runs;
  };

  std::shared_ptr<const RunList> keep(Known& known, Pieces&& pieces) {
    auto list = std::make_shared<RunList>();
    list->runs = std::move(pieces.runs);
    list->bytes = pieces.bytes;
    std::shared_ptr<const RunList> shared = std::move(list);
    known.runs = shared;
    recent_.push_back(shared);
    recent_bytes_ += memory_of(*shared);
    while (recent_bytes_ > most_recent && recent_.size() > 1) {
      recent_bytes_ -= memory_of(*recent_.front());
      recent_.pop_front();
    }
    return shared;
  }

  Window window_;
  std::uint64_t session_;
  std::unordered_map<std::uint64_t, Known> known_;
  std::list<std::shared_ptr<const RunList>> recent_;  ///< the last one is the newest
  Count recent_bytes_ = 0;
};

/// Visits whole requests.
class Requests : public journal::Visitor {
 public:
  Requests(Reader& reader, const Visit& visit)
      : session_(reader.header().session), visit_(visit), pieces_(reader) {}

  void visit(const FoundEntry& found, Window& window, journal::Scan& scan) override {
    try {
      parse_whole_entry(found.bytes, entry_);
    } catch (const Error& error) {
      throw error.at(window.path() + ", byte " + std::to_string(found.position));
    }
    if (auto* pieces = std::get_if<Pieces>(&entry_.what)) {
      ++lists_;
      pieces_.add(entry_.sequence, found.position, found.front.length, std::move(*pieces));
    } else {
      take_write(found, window, scan);
    }
  }

  /// The open request is not whole. Neither is a request that the next write continues.
  void miss() override {
    request_writes_ = 0;
    skips_ = true;
  }

  Count lists() const { return lists_; }
  Count open_writes() const { return request_writes_; }

 private:
  /// The writes of a request are visited after its last one was found. They are then read again, so
  /// that memory does not grow with their number.
  void take_write(const FoundEntry& found, Window& window, journal::Scan& scan) {
    const auto& write = std::get<Write>(entry_.what);
    if (!write.continued) {
      // A failed commit gave up the open request.
      request_writes_ = 0;
      skips_ = false;
    }
    if (skips_) return;
    if (!names_pieces(found, write, scan)) {
      skips_ = true;
      request_writes_ = 0;
      return;
    }
    if (request_writes_ == 0 && !write.continues) return visit_write(entry_.sequence, write, scan);
    if (request_writes_++ == 0) request_ = found.position;
    if (!write.continues) visit_request(found.position + found.front.length, window, scan);
  }

  /// Returns false, and notes the damage, if the pieces of the write are missing or of another
  /// size.
  bool names_pieces(const FoundEntry& found, const Write& write, journal::Scan& scan) {
    const auto* named = std::get_if<std::uint64_t>(&write.selection);
    if (named == nullptr) return true;
    const auto runs = pieces_.get(*named);
    if (runs && runs->bytes == write.bytes) return true;
    if (scan.damage.size() < most_damage)
      scan.damage.push_back(
          "entry " + std::to_string(found.front.sequence) + " at position " +
          std::to_string(found.position) + " writes " + std::to_string(write.bytes) +
          " bytes to variable " + std::to_string(write.var) + " by the pieces of entry " +
          std::to_string(*named) + (runs ? ", which have another size" : ", which are missing"));
    return false;
  }

  void visit_request(Offset end, Window& window, journal::Scan& scan) {
    for (Offset at = request_; at < end;) {
      const auto length = journal::entry_length(window.at(at, least_entry));
      if (!length || *length > end - at || !parse_entry(window.at(at, *length), session_, entry_))
        throw Error(Errc::eread, window.path() + ": it changed while it was read");
      if (const auto* write = std::get_if<Write>(&entry_.what))
        visit_write(entry_.sequence, *write, scan);
      at += *length;
    }
    request_writes_ = 0;
  }

  void visit_write(std::uint64_t sequence, const Write& write, journal::Scan& scan) {
    const auto* named = std::get_if<std::uint64_t>(&write.selection);
    ++scan.writes;
    scan.data_bytes += write.bytes;
    if (visit_) visit_(sequence, write, named != nullptr ? pieces_.get(*named) : nullptr);
  }

  std::uint64_t session_;
  const Visit& visit_;
  PiecesCache pieces_;
  Entry entry_;  ///< the last one that was parsed
  Count lists_ = 0;
  Offset request_ = 0;        ///< position of the first write of the open request
  Count request_writes_ = 0;  ///< number of its open writes
  bool skips_ = false;        ///< omits the rest of this request, because a part of it is missing
};

}  // namespace

Scan walk_writes(Reader& reader, const Visit& visit, bool everything) {
  Requests requests(reader, visit);
  Scan scan{reader.walk(requests, everything), requests.lists()};
  scan.cut_entries = requests.open_writes();
  return scan;
}

}  // namespace forebay::staging
