// Slots decide which state of a file counts. A state is a small record in its own slot. A slot is
// one sector, which one system call writes. So a killed process leaves either the old state or the
// new one.
//
//     newest      the state with the highest number
//     synced      the newest state that is marked as being on the device
//     damaged     a slot that is neither whole nor empty; it may have held the newest state
//
// The next state goes to a slot that holds neither the last state known to count nor the synced
// one. So it does not matter whether a failed write has reached the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fill_elements.h"
#include "base/types.h"

namespace forebay::store {

constexpr int slots = 3;
constexpr Count slot_bytes = 512;

enum class OpenState { newest, synced };

/// A copy of a record is its contents, zeros, and the seeded xxh3-64 of both. Several copies begin
/// at equal distances, and then one damaged byte does no harm. If a slot may cross a sector
/// boundary, its copies are so short that one of them lies within one sector.
struct SlotForm {
  int copies = 1;
  Count copy_bytes = slot_bytes;
  std::uint64_t seed = 0;
};
std::vector<std::byte> print_slot(std::span<const std::byte> contents, const SlotForm& form = {});
/// Returns the contents, with the zeros, of the first whole copy; nothing if no copy is whole.
std::optional<std::span<const std::byte>> parse_slot(std::span<const std::byte> slot,
                                                     const SlotForm& form = {});
using forebay::is_zero;

/// Returns the slot for the next state. -1 as an argument: there is no such state.
constexpr int next_slot(int newest, int synced) {
  const int slot = (newest + 1) % slots;
  return slot == synced ? (slot + 1) % slots : slot;
}

/// What slots contain. A Record has number().
template <typename Record>
struct Slots {
  std::vector<std::optional<Record>> records;  ///< nothing: never written, or damaged
  int damaged = -1;    ///< the last slot that is damaged or cut short; -1: none
  bool empty = false;  ///< the file has no bytes

  /// Returns the slot of the record with the highest number for which counts(record) is true; -1:
  /// none.
  template <typename F>
  int newest(F&& counts) const {
    int newest = -1;
    for (std::size_t i = 0; i < records.size(); ++i)
      if (records[i] && counts(*records[i]) &&
          (newest < 0 || at(newest).number() < records[i]->number()))
        newest = static_cast<int>(i);
    return newest;
  }
  int newest() const {
    return newest([](const Record&) { return true; });
  }
  int newest_of(OpenState which) const {
    return newest(
        [&](const Record& record) { return which == OpenState::newest || record.synced; });
  }
  /// Returns the highest number of all records; 0: there is none.
  std::uint64_t last() const { return newest() < 0 ? 0 : at(newest()).number(); }
  const Record& at(int slot) const { return *records[static_cast<std::size_t>(slot)]; }
};

/// Reads the consecutive slots in `bytes`. parse(slot) returns nothing for a slot that is not
/// whole. Its exceptions are passed on.
template <typename Record, typename Parse>
Slots<Record> read_slots(std::span<const std::byte> bytes, Parse&& parse, int count = slots) {
  Slots<Record> found;
  found.empty = bytes.empty();
  for (int slot = 0; slot < count; ++slot) {
    const auto sector = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(slot_bytes)));
    bytes = bytes.subspan(sector.size());
    found.records.push_back(parse(sector));
    const bool is_cut = !found.empty && std::ssize(sector) < slot_bytes;
    if (is_cut || (!found.records.back() && !is_zero(sector))) found.damaged = slot;
  }
  return found;
}

/// A state whose number is the highest one would be taken for older than those before it. So no
/// state follows it. Errc::enotnc.
template <typename Number>
Number next_number(Number last) {
  if (last < std::numeric_limits<Number>::max()) return last + 1;
  throw Error(Errc::enotnc, "state " + std::to_string(last) + " has the highest number there is",
              "the file can be read, and converted to a new one, but not be written to");
}

/// The states of one file as its writer knows them: which one counts, which one is synced, and
/// which slot the next one goes to. put(slot, record) writes one slot. Ranks that do not write keep
/// track alike, with a put() that does nothing.
///
/// A writer that opened another state than the newest one, or found a damaged slot, calls write()
/// and written() with an equal state of a higher number, before it changes anything else. So that
/// state overrules those that are given up, whose data the next writes may replace.
template <typename Record>
class Commits {
 public:
  Commits() = default;
  /// `state` is in `slot`. -1: no state is synced, no slot is damaged.
  Commits(const Record& state, int slot, int synced = -1, int damaged = -1)
      : state_(state), slot_(slot), synced_(synced), damaged_(damaged) {}

  const Record& state() const { return state_; }  ///< the last one that is known to count
  bool is_synced() const { return synced_ >= 0 && synced_ == slot_; }
  bool has_damaged_slot() const { return damaged_ >= 0; }

  /// Writes `next`, whose number is higher than all that were written. Until written() confirms
  /// that the file has it, either state may count. So what either one uses must stay until one with
  /// a higher number is there.
  template <typename Put>
  void write(const Record& next, Put&& put) const {
    // The mark may be in the file. It is removed, because the next commit but one overwrites data
    // that only this state uses.
    if (mark_in_doubt_) put(slot_, state_);
    put(next_slot(), next);
  }
  void written(const Record& next) {
    slot_ = next_slot();
    state_ = next;
    damaged_ = -1;
    mark_in_doubt_ = false;
  }
  /// Marks the state as being on the device. Returns false if it was marked already. The mark
  /// counts once marked() confirms that it is on the device, too.
  template <typename Put>
  bool mark_synced(Put&& put) {
    if (is_synced()) return false;
    Record marked = state_;
    marked.synced = true;
    mark_in_doubt_ = true;
    put(slot_, marked);
    return true;
  }
  void marked() {
    state_.synced = true;
    synced_ = slot_;
    mark_in_doubt_ = false;
  }

 private:
  // The damaged slot comes first, because it might be taken for the newest state.
  int next_slot() const { return damaged_ >= 0 ? damaged_ : store::next_slot(slot_, synced_); }

  Record state_;
  int slot_ = -1, synced_ = -1, damaged_ = -1;
  bool mark_in_doubt_ = false;  // of state_
};

}  // namespace forebay::store
