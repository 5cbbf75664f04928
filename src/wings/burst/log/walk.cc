#include "burst/log/walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "burst/log/places.h"

namespace forebay::staging {
namespace {

constexpr Count window_bytes = 1 << 20;
constexpr Count most_recent = 64 << 20;  ///< limit in bytes of the pieces in memory
/// The length of the shortest entry: pieces without a run.
constexpr Count shortest_entry = 56;
constexpr std::size_t most_damage = 100;  ///< sentences

Count memory_of(const RunList& list) {
  return static_cast<Count>(list.runs.size() * sizeof(Run) + sizeof list);
}

/// Returns whether the first 16 bytes are zero. No entry begins so.
bool begins_zero(std::span<const std::byte> bytes) {
  std::uint64_t words[2];
  std::memcpy(words, bytes.data(), sizeof words);
  return (words[0] | words[1]) == 0;
}

}  // namespace

// -- Window ---------------------------------------------------------------------------------------

Window::Window(ByteFile& file, const Header& header, Count least)
    : file_(file),
      share_(header.share),
      least_(least),
      end_(bytes_within(file.size(), share_, share_.record_block)) {}

std::span<const std::byte> Window::from(Offset position, Count bytes) {
  if (position < begin_ || position + bytes > begin_ + std::ssize(bytes_)) {
    const Count want = std::min(std::max(bytes, least_), end_ - position);
    if (static_cast<std::size_t>(2 * want) < bytes_.capacity()) bytes_ = {};
    bytes_.resize(static_cast<std::size_t>(want));
    begin_ = position;
    bytes_.resize(read_log(file_, position, bytes_, share_, share_.record_block));
    if (std::ssize(bytes_) < bytes)
      throw Error(Errc::eread, path() + ": it became shorter while it was read");
  }
  return std::span<const std::byte>(bytes_).subspan(static_cast<std::size_t>(position - begin_));
}

std::span<const std::byte> Window::at(Offset position, Count bytes) {
  return from(position, bytes).first(static_cast<std::size_t>(bytes));
}

// -- PiecesCache ----------------------------------------------------------------------------------

PiecesCache::PiecesCache(ByteFile& file, const Header& header)
    : window_(file, header, 4096), session_(header.session) {}

std::shared_ptr<const RunList> PiecesCache::keep(Known& known, Pieces&& pieces) {
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

void PiecesCache::add(std::uint64_t sequence, Offset position, Count length, Pieces&& pieces) {
  Known& known = known_[sequence];
  known.position = position;
  known.length = length;
  keep(known, std::move(pieces));
}

std::shared_ptr<const RunList> PiecesCache::get(std::uint64_t sequence) {
  const auto found = known_.find(sequence);
  if (found == known_.end()) return nullptr;
  Known& known = found->second;
  if (auto runs = known.runs.lock()) return runs;
  auto entry = parse_entry(window_.at(known.position, known.length), session_);
  auto* pieces = entry ? std::get_if<Pieces>(&entry->what) : nullptr;
  if (pieces == nullptr) return nullptr;
  return keep(known, std::move(*pieces));
}

// -- Walk -----------------------------------------------------------------------------------------

Walk::Walk(ByteFile& records, const Header& header, const State& state, const Reader::Visit& visit)
    : window_(records, header, window_bytes),
      session_(header.session),
      state_(state),
      visit_(visit),
      pieces_(records, header),
      budget_(8 * std::max<Count>(window_.end(), window_bytes)) {}

Scan Walk::run(bool everything) {
  begin(everything);
  if (position_ > window_.end()) {
    scan_.damage.push_back("the record log ends at byte " + std::to_string(window_.end()) +
                           ", before its first entry at byte " + std::to_string(position_));
  }
  for (;;) {
    while (next_is_whole()) {
      take();
      position_ += length_;
      expected_ = entry_.sequence + 1;
      failed_ = entry_.failed;
    }
    scan_.end = position_;
    const auto found = find_later();
    if (!found) break;
    report_gap(*found);
    position_ = found->position;
    expected_ = found->sequence;
  }
  if (gave_up_)
    scan_.damage.emplace_back("there is more damage, too much to search for what is whole");
  scan_.cut_entries = request_writes_;
  return std::move(scan_);
}

/// Sets the position and sequence number of the first entry.
void Walk::begin(bool everything) {
  position_ = state_.first_entry;
  expected_ = state_.first_sequence;
  if (!everything || position_ == header_bytes || window_.end() < header_bytes + least_entry)
    return;
  const auto begins = entry_beginning(window_.at(header_bytes, least_entry));
  if (!begins || begins->sequence >= expected_ || !is_whole(header_bytes, *begins, other_)) return;
  position_ = header_bytes;
  expected_ = begins->sequence;
}

/// Reads the entry at position_ into entry_. Returns whether it is the expected next one.
bool Walk::next_is_whole() {
  if (position_ > window_.end() - least_entry) return false;
  const auto begins = entry_beginning(window_.at(position_, least_entry));
  if (!begins || begins->sequence != expected_ || begins->failed < failed_ ||
      !is_whole(position_, *begins, entry_))
    return false;
  length_ = begins->length;
  return true;
}

/// Reads the entry with the given beginning. Returns false if it is not whole.
bool Walk::is_whole(Offset position, const Beginning& begins, Entry& into) {
  if (begins.length > window_.end() - position) return false;
  if (begins.length > budget_) {
    gave_up_ = true;
    return false;
  }
  try {
    if (parse_entry(window_.at(position, begins.length), session_, into)) return true;
  } catch (const Error& error) {
    if (error.code() != Errc::ebadlog) throw;
    throw Error(Errc::ebadlog,
                window_.path() + ", byte " + std::to_string(position) + ": " + error.message(),
                error.advice());
  }
  budget_ -= begins.length;
  return false;
}

void Walk::take() {
  if (auto* pieces = std::get_if<Pieces>(&entry_.what)) {
    ++scan_.pieces;
    pieces_.add(entry_.sequence, position_, length_, std::move(*pieces));
  } else {
    take_write(std::get<Write>(entry_.what));
  }
}

/// The writes of a request are visited after its last one was found. They are then read again, so
/// that memory does not grow with their number.
void Walk::take_write(const Write& write) {
  if (!write.continued) {
    // A failed commit gave up the open request.
    request_writes_ = 0;
    skips_ = false;
  }
  if (skips_) return;
  if (!names_pieces(write)) {
    skips_ = true;
    request_writes_ = 0;
    return;
  }
  if (request_writes_ == 0 && !write.continues) return visit_write(entry_.sequence, write);
  if (request_writes_++ == 0) request_ = position_;
  if (!write.continues) visit_request(position_ + length_);
}

/// Returns false, and notes the damage, if the pieces of the write are missing or of another size.
bool Walk::names_pieces(const Write& write) {
  const auto* named = std::get_if<std::uint64_t>(&write.selection);
  if (named == nullptr) return true;
  const auto runs = pieces_.get(*named);
  if (runs && runs->bytes == write.bytes) return true;
  if (scan_.damage.size() < most_damage)
    scan_.damage.push_back("entry " + std::to_string(entry_.sequence) + " at position " +
                           std::to_string(position_) + " writes " + std::to_string(write.bytes) +
                           " bytes to variable " + std::to_string(write.var) +
                           " by the pieces of entry " + std::to_string(*named) +
                           (runs ? ", which have another size" : ", which are missing"));
  return false;
}

void Walk::visit_request(Offset end) {
  for (Offset at = request_; at < end;) {
    const auto begins = entry_beginning(window_.at(at, least_entry));
    if (!begins || begins->length > end - at || !is_whole(at, *begins, other_))
      throw Error(Errc::eread, window_.path() + ": it changed while it was read");
    if (const auto* write = std::get_if<Write>(&other_.what)) visit_write(other_.sequence, *write);
    at += begins->length;
  }
  request_writes_ = 0;
}

void Walk::visit_write(std::uint64_t sequence, const Write& write) {
  const auto* named = std::get_if<std::uint64_t>(&write.selection);
  ++scan_.writes;
  scan_.data_bytes += write.bytes;
  if (visit_) visit_(sequence, write, named != nullptr ? pieces_.get(*named) : nullptr);
}

// -- the search for later entries -----------------------------------------------------------------

/// Returns the next whole entry with a higher sequence number than the missing one. It looks at
/// every eighth byte of the rest of the file. So all searches of a walk take time in proportion to
/// the file plus the budget for checksums.
std::optional<Walk::Found> Walk::find_later() {
  Offset at = position_;
  scan_.torn = false;
  while (at <= window_.end() - least_entry) {
    const auto bytes = window_.from(at, least_entry);
    Count past = 0;
    Count step = 0;
    for (; step + least_entry <= std::ssize(bytes); step += 8) {
      const auto here = bytes.subspan(static_cast<std::size_t>(step), least_entry);
      if (begins_zero(here)) continue;
      const auto begins = entry_beginning(here);
      if (!begins) {
        scan_.torn = true;
        continue;
      }
      const Offset position = at + step;
      if (const bool is_past = begins->sequence < expected_ || begins->failed < failed_; is_past) {
        if (is_whole(position, *begins, other_)) {
          past = begins->length;
          break;
        }
      } else if (const auto ahead = begins->sequence - expected_;
                 ahead > 0 &&
                 ahead <= static_cast<std::uint64_t>((position - position_) / shortest_entry) &&
                 is_whole(position, *begins, other_)) {
        return Found{position, begins->sequence};
      }
      scan_.torn = true;
      // is_whole may have moved the window.
      step += 8;
      break;
    }
    at += step + past;
  }
  // The last bytes are too few for an entry.
  if (at < window_.end() && !store::is_zero(window_.at(at, window_.end() - at))) scan_.torn = true;
  return std::nullopt;
}

void Walk::report_gap(const Found& found) {
  // The open request is not whole. Neither is a request that the next write continues.
  request_writes_ = 0;
  skips_ = true;
  scan_.torn = false;
  if (scan_.damage.size() >= most_damage) return;
  const std::uint64_t missing = found.sequence - expected_;
  scan_.damage.push_back("bytes " + std::to_string(position_) + " to " +
                         std::to_string(found.position) + " of the record log are damaged: " +
                         (missing == 1
                              ? "entry " + std::to_string(expected_) + " is"
                              : std::to_string(missing) + " entries, " + std::to_string(expected_) +
                                    " to " + std::to_string(found.sequence - 1) + ", are") +
                         " missing");
}

}  // namespace forebay::staging
