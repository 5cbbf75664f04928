// The walk over the entries of a journal.
//
// The log ends where the entry with the next sequence number is missing. Before the walk accepts
// this end, it searches the rest of the file. A later whole entry of the same log proves damage, if
// there was room before it for the missing entries.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "store/journal_places.h"
#include "store/journal_reader.h"

namespace forebay::journal {
namespace {

constexpr Count window_bytes = 1 << 20;
/// The length of the shortest entry that anybody writes: that of stage burst for pieces without a
/// run.
constexpr Count shortest_entry = 56;

/// Returns whether the first 16 bytes are zero. No entry begins so.
bool begins_zero(std::span<const std::byte> bytes) {
  std::uint64_t words[2];
  std::memcpy(words, bytes.data(), sizeof words);
  return (words[0] | words[1]) == 0;
}

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

Walk::Walk(ByteFile& records, const Header& header, const State& state, Visitor& visitor)
    : window_(records, header, window_bytes),
      session_(header.session),
      state_(state),
      visitor_(visitor),
      budget_(8 * std::max<Count>(window_.end(), window_bytes)) {}

Scan Walk::run(bool everything) {
  begin(everything);
  if (position_ > window_.end()) {
    scan_.damage.push_back("the record log ends at byte " + std::to_string(window_.end()) +
                           ", before its first entry at byte " + std::to_string(position_));
  }
  for (;;) {
    while (next_is_whole()) {
      visitor_.visit({position_, entry_, window_.at(position_, entry_.length)}, window_, scan_);
      position_ += entry_.length;
      expected_ = entry_.sequence + 1;
      failed_ = entry_.failed;
    }
    scan_.end = position_;
    const auto found = find_later();
    if (!found) break;
    report_gap(*found);
    position_ = found->position;
    expected_ = found->front.sequence;
  }
  if (gave_up_)
    scan_.damage.emplace_back("there is more damage, too much to search for what is whole");
  return std::move(scan_);
}

/// Sets the position and sequence number of the first entry.
void Walk::begin(bool everything) {
  position_ = state_.first_entry;
  expected_ = state_.first_sequence;
  if (!everything || position_ == header_bytes || window_.end() < header_bytes + least_entry)
    return;
  const auto begins = entry_beginning(window_.at(header_bytes, least_entry));
  if (!begins || begins->sequence >= expected_ || !has_whole(header_bytes, *begins)) return;
  position_ = header_bytes;
  expected_ = begins->sequence;
}

/// Returns whether the entry at position_, which becomes entry_, is the expected next one.
bool Walk::next_is_whole() {
  if (position_ > window_.end() - least_entry) return false;
  const auto begins = entry_beginning(window_.at(position_, least_entry));
  if (!begins || begins->sequence != expected_ || begins->failed < failed_ ||
      !has_whole(position_, *begins))
    return false;
  entry_ = *begins;
  return true;
}

/// Returns whether the entry with the given beginning is whole.
bool Walk::has_whole(Offset position, const Beginning& begins) {
  if (begins.length > window_.end() - position) return false;
  if (begins.length > budget_) {
    gave_up_ = true;
    return false;
  }
  if (is_whole(window_.at(position, begins.length), session_)) return true;
  budget_ -= begins.length;
  return false;
}

// -- the search for later entries -----------------------------------------------------------------

/// Returns the next whole entry with a higher sequence number than the missing one. It looks at
/// every eighth byte of the rest of the file. So all searches of a walk take time in proportion to
/// the file plus the budget for checksums.
std::optional<FoundEntry> Walk::find_later() {
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
        if (has_whole(position, *begins)) {
          past = begins->length;
          break;
        }
      } else if (const auto ahead = begins->sequence - expected_;
                 ahead > 0 &&
                 ahead <= static_cast<std::uint64_t>((position - position_) / shortest_entry) &&
                 has_whole(position, *begins)) {
        return FoundEntry{position, *begins, {}};
      }
      scan_.torn = true;
      // has_whole may have moved the window.
      step += 8;
      break;
    }
    at += step + past;
  }
  // The last bytes are too few for an entry.
  if (at < window_.end() && !store::is_zero(window_.at(at, window_.end() - at))) scan_.torn = true;
  return std::nullopt;
}

void Walk::report_gap(const FoundEntry& found) {
  visitor_.miss();
  scan_.torn = false;
  if (scan_.damage.size() >= most_damage) return;
  const std::uint64_t missing = found.front.sequence - expected_;
  scan_.damage.push_back("bytes " + std::to_string(position_) + " to " +
                         std::to_string(found.position) + " of the record log are damaged: " +
                         (missing == 1
                              ? "entry " + std::to_string(expected_) + " is"
                              : std::to_string(missing) + " entries, " + std::to_string(expected_) +
                                    " to " + std::to_string(found.front.sequence - 1) + ", are") +
                         " missing");
}

}  // namespace

Scan Reader::walk(Visitor& visitor, bool everything) {
  return Walk(*records_, header_, state_, visitor).run(everything);
}

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

}  // namespace forebay::journal
