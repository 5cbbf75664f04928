// Slots: the collective buffers of one node, in memory that its ranks share.
//
// Classic two-phase I/O sends every piece in a message to an aggregator. Within a node that is two
// copies and a message too many. Here each rank puts its pieces, byte-swapped, directly into the
// window's buffer. A few slots form a ring; each use of a slot serves one window. No rank waits for
// a particular aggregator: the last rank to arrive has the complete window and does the system
// call, while the others fill the next slots.
//
//   write:  wait until the slot is free → place pieces → arrive. The last to arrive writes the
//           window, or sends it to the node that does, and releases the slot. Or it marks the
//           window as complete, for the one rank that writes all of them, or for any that waits.
//   read:   wait until the slot is free → mark what is needed → arrive. The last to arrive reads,
//           or asks the node that does, and publishes; all copy out → depart. Or it marks the
//           window as complete, and a waiting rank takes it and reads: several at a time.
//
// All ranks of the node know the sequence of windows that they visit. A window's turn in it gives
// its use of the ring. A rank leaves out windows in which it has nothing to do, and all know how
// many arrive and depart at each. A rank keeps its errors: it arrives and departs as if nothing had
// happened, or the others would wait for it for ever.
//
// Who may touch a slot, and until when: once the slot is free, until its own arrive, each rank
// places bytes, or marks what it needs, where no other rank does. After the last arrive, the slot
// belongs to that rank alone, or to the one that takes it, until it publishes (a read: then all
// ranks may look at the bytes, and nobody may change them) or releases. After the last depart, or
// the write, the slot is empty, and the next use begins.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "base/copy_few.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "comm/topology.h"
#include "transport/aggregation_rules.h"
#include "transport/extent_reader.h"
#include "transport/window_cover.h"

namespace forebay {

class Slots {
 public:
  static constexpr int most = 16;
  /// Collective over the node of this rank. `ok()` is the same on all its ranks. They must reduce
  /// once more before the first use.
  Slots(const Topology& topology, Count window_size, const RingSizes& rings);
  ~Slots() { topology_.give_back(std::move(memory_)); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  /// Returns the bytes that slots take of the node's shared memory.
  static Count bytes_of(Count window_size, int slots);
  bool ok() const { return static_cast<bool>(memory_); }
  const RingSizes& rings() const { return rings_; }

  struct Use {
    int slot = 0;
    std::uint64_t generation = 0;
    Offset begin = 0;  ///< first byte of the window in the file
  };

  /// What a rank does while it waits for others.
  enum class Left { nothing, idle, moved };  ///< may sleep; must look again; has moved something
  using Meanwhile = std::function<Left()>;

  /// Local. Returns the use for a window, the `turn`th of its kind in the sequence.
  Use use_at(bool home, Count turn, Offset window_begin) const {
    const auto slots = static_cast<std::uint64_t>(home ? rings_.home : rings_.away);
    const std::uint64_t use = uses_[home ? 0 : 1] + static_cast<std::uint64_t>(turn);
    return {(home ? 0 : rings_.home) + static_cast<int>(use % slots), use / slots, window_begin};
  }
  /// Local. Ends a sequence for this rank: the turns of the next one follow it. `use_of(i)` gives
  /// the uses of its windows in order, the same on all ranks.
  template <typename F>
  void go_on_behind(std::size_t windows, F&& use_of) {
    std::array<std::uint64_t, 2> turns{};
    for (std::size_t i = 0; i < windows; ++i) {
      const Use use = use_of(i);
      latest_[static_cast<std::size_t>(use.slot)] = use;
      ++turns[use.slot < rings_.home ? 0 : 1];
    }
    for (std::size_t kind = 0; kind < turns.size(); ++kind) uses_[kind] += turns[kind];
  }
  /// Returns whether bytes may be placed: the slot is free, and uses of the same window in earlier
  /// sequences are over, so that their bytes are written first.
  bool is_free(const Use& use) const;
  void wait_until_free(const Use& use, const Meanwhile& meanwhile);
  /// Waits until earlier uses of the slot are over.
  void wait_until_empty(const Use& use, const Meanwhile& meanwhile);

  /// Puts the pieces of one source into the buffer. They come in file order and lie within the
  /// window.
  class Placer;

  /// Notes that the bytes of a piece are needed, in blocks of 4 KiB.
  void need(const Use& use, Offset offset, Count length);
  template <typename Piece>
  void need(const Use& use, const Piece& piece) {  // holes contain no block
    each_run(piece, block - 1, [&](Offset offset, Count bytes) { need(use, offset, bytes); });
  }

  /// Local. From here on, notes whether bytes are placed where others had placed some.
  void watch_overlaps(bool on) { watches_ = on; }
  /// Local. Returns whether bytes of this rank were placed so since the last call.
  bool take_overlapped() { return std::exchange(overlapped_, false); }

  /// Returns true for the last of `of` ranks.
  bool arrive(const Use& use, int of);

  /// Local. Waits until fewer than `most` ranks of the node have a turn, and takes one. Any thread
  /// may end it. A turn is for a system call: a rank that has one waits for nobody.
  void take_turn(int most);
  void end_turn();

  /// Called by the last to arrive: a rank that looks for such windows may take this one. `wakes`:
  /// wakes a rank that sleeps until the slot is free.
  void complete(const Use& use, bool wakes);
  /// take(): it was complete, and is now this rank's to move. is_taken(): some rank has taken it.
  bool take(const Use& use);
  bool is_taken(const Use& use) const;

  /// Called by the last to arrive, or the rank that took the window, on any of its threads. Writes
  /// what was placed. Holes of up to `hole_threshold` bytes are read first and written with their
  /// neighbours. Releases the slot in any case.
  void write_out(const Use& use, ByteFile& file, Count hole_threshold, Report& report);
  /// Called by the last to arrive, or the rank that took it. Reads what is needed and publishes it.
  void read_in(const Use& use, ByteFile& file, Count hole_threshold, Report& report);
  // For the last to arrive, if another node writes or reads the window:

  /// Calls f(from, to), relative to the window, for each run of bytes that was placed or wished
  /// for.
  template <typename F>
  void for_each_run(const Use& use, F&& f) const {
    const Control& c = control(use.slot);
    forebay::for_each_run(cover(use.slot), c.low.load(std::memory_order_relaxed),
                          c.high.load(std::memory_order_relaxed), f);
  }
  std::byte* bytes(const Use& use) const { return buffer(use.slot); }
  /// release_placed(): the bytes were sent, the slot is free. publish(): all may copy the bytes.
  void release_placed(const Use& use);
  void publish(const Use& use);

  bool is_read(const Use& use) const;
  void wait_until_read(const Use& use, const Meanwhile& meanwhile);
  const std::byte* data(const Use& use, Offset offset) const {
    return buffer(use.slot) + (offset - use.begin);
  }
  /// The last of `of` ranks to depart releases the slot.
  void depart(const Use& use, int of);

 private:
  struct alignas(64) Control {
    std::atomic<std::uint32_t> arrived, departed;
    std::atomic<std::uint64_t> generation;  // finished uses
    std::atomic<std::uint64_t> published;   // uses whose data has been read
    std::atomic<std::uint64_t> complete, taken;
    std::atomic<std::int64_t> low,
        high;  // placed bytes lie within [low, high), relative to the window
    std::atomic<std::uint32_t>
        signal;  // changes with generation and published; sleepers wait on it
    std::atomic<std::uint32_t> sleepers;
    std::atomic<std::uint32_t> turns, turn_signal;  // those of the first slot serve all
  };
  using Word = std::atomic<std::uint64_t>;

  template <typename Condition>
  void wait_for(Control& control, const Meanwhile& meanwhile, Condition&& ready);
  void wake(Control& control);
  Control& control(int slot) const;
  std::byte* buffer(int slot) const;
  using Lock = std::atomic<std::uint8_t>;
  std::uint64_t* cover(int slot) const;  // one bit for each byte placed
  Lock* locks(int slot) const;           // one for each group of the cover's words
  Word* needed(int slot) const;          // one bit for each block of 4 KiB
  static std::size_t groups_of(Count window_size);
  void clear_placed(const Use& use);
  void release(const Use& use);

  static constexpr Count block = 4096, group = 32;

  const Topology& topology_;
  const Comm& node_;
  Count window_;
  RingSizes rings_;
  std::size_t slot_bytes_;
  NodeMemory memory_;
  Peers& peers_;
  std::array<std::uint64_t, 2> uses_{};  // of each kind
  bool watches_ = false, overlapped_ = false;
  // What this rank places in a window, in the form of the cover, and which groups have any. Both
  // are empty except while it places.
  std::vector<std::uint64_t> marks_;
  std::vector<std::uint8_t> marked_;
  std::vector<Use> latest_;  // of each slot; equal on all ranks; needs no memory later
};

/// Millions of pieces go through add(). So its state is local (registers, after inlining), and what
/// is placed is marked in memory of this rank. An atomic word of the cover for each piece would
/// wait for the piece to be in memory, and for ranks that mark beside it. The destructor adds the
/// marks to the cover. Only one may exist at a time.
class Slots::Placer {
 public:
  Placer(Slots& slots, const Use& use)
      : slots_(slots),
        control_(slots.control(use.slot)),
        buffer_(slots.buffer(use.slot)),
        cover_(slots.cover(use.slot)),
        locks_(slots.locks(use.slot)),
        marks_(slots.marks_.data()),
        marked_(slots.marked_.data()),
        begin_(use.begin) {}
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;
  ~Placer();

  void add(const Extent& piece) {
    const Count at = piece.offset - begin_;
    copy_swapped_piece(buffer_ + at, piece);
    mark(at, at + piece.length);
  }
  /// Only notes that the bytes are wanted.
  void wish(Offset offset, Count bytes) { mark(offset - begin_, offset - begin_ + bytes); }
  void add_bytes(Count at, const std::byte* from, Count bytes) {
    copy_few(buffer_ + at, from, bytes);
    mark(at, at + bytes);
  }

 private:
  static void copy_swapped_piece(std::byte* to, const Extent& e) {
    constexpr Count few = 32;  // bytes; below, a loop is quicker than a call
    const std::byte* from = e.memory + e.skip;
    if (e.length <= few && e.swap == 4 && ((e.skip | e.length) & 3) == 0) {
      for (Count i = 0; i < e.length; i += 4) copy_swapped(to + i, from + i, 4, 4);
    } else if (e.length <= few && e.swap == 8 && ((e.skip | e.length) & 7) == 0) {
      for (Count i = 0; i < e.length; i += 8) copy_swapped(to + i, from + i, 8, 8);
    } else {
      copy_out(to, e);
    }
  }
  void mark(Count from, Count to) {
    low_ = low_ < 0 ? from : std::min(low_, from);
    high_ = std::max(high_, to);
    const Count first = from / 64, last = (to - 1) / 64;
    const std::uint64_t head = ~std::uint64_t{0} << (from % 64);
    const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (to - 1) % 64);
    if (first == last) {
      marks_[first] |= head & tail;
      marked_[first / group] = 1;
    } else {
      mark_words(head, tail, first, last);
    }
  }
  void mark_words(std::uint64_t head, std::uint64_t tail, Count first, Count last);
  bool add_to_cover(Count g);

  Slots& slots_;
  Control& control_;
  std::byte* buffer_;
  std::uint64_t* cover_;
  Lock* locks_;
  std::uint64_t* marks_;
  std::uint8_t* marked_;
  Offset begin_;
  Count low_ = -1, high_ = -1;
};

}  // namespace forebay
