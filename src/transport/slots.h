// Slots: the collective buffers of one node, in memory that its ranks share.
//
// The classic two-phase scheme sends every piece in a message to an aggregator. Within a node that
// is two copies and a message too many: here each rank puts its pieces, byte-swapped, straight into
// the window's buffer. A few slots form a ring; each use of a slot serves one window. No rank waits
// for a particular aggregator: the rank that arrives last has the complete window before it and
// does the system call, while the others fill the next slots.
//
//   write:  acquire → place pieces → arrive; the last to arrive writes the window and releases the
//   slot read:   acquire → mark what is needed → arrive; the last to arrive reads, publishes; all
//   copy out → depart
//
// Every rank of the node goes through the same uses in the same order. Errors stay with the rank
// that meets them: it arrives and departs as if nothing had happened, or the others would wait for
// it for ever.
//
// Who may touch a slot, and until when: from acquire to its arrive each rank places bytes, or marks
// what it needs, where no other rank does. Behind the last arrive the slot belongs to that rank
// alone, until it publishes (a read: the bytes are all ranks' to look at, nobody's to change) or
// releases. Behind the last depart, or the write, the slot is empty, and the next use begins.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "comm/topology.h"
#include "storage/file.h"
#include "transport/extent_reader.h"

namespace forebay {

class Slots {
 public:
  /// Collective over the node that this rank is on. `ok()` is the same on all its ranks.
  Slots(const Topology& topology, Count window_size, int slots);
  bool ok() const { return static_cast<bool>(memory_); }
  int count() const { return slots_; }

  struct Use {
    int slot = 0;
    std::uint64_t generation = 0;
    Offset begin = 0;  ///< first byte of the window in the file
  };

  /// Waits until the slot of the next use is free, and until earlier uses of the same window are
  /// over: what they write comes first. All ranks make the same sequence of calls.
  Use acquire(Offset window_begin);

  /// Puts the pieces of one source, which come in file order and lie within the window, into the
  /// buffer.
  class Placer;

  /// Notes that the bytes of the piece are wanted, in blocks of 4 KiB.
  void need(const Use& use, Offset offset, Count length);

  /// True for the last of the node's ranks.
  bool arrive(const Use& use);

  /// By the last to arrive, on any of its threads: writes what was placed. Holes of up to
  /// `hole_threshold` bytes are read first and written with their neighbours. Releases the slot
  /// whatever happens.
  void write_out(const Use& use, File& file, Count hole_threshold, Report& report);
  /// By the last to arrive: reads what is needed and publishes it.
  void read_in(const Use& use, File& file, Count hole_threshold, Report& report);
  void wait_until_read(const Use& use);
  const std::byte* data(const Use& use, Offset offset) const {
    return buffer(use.slot) + (offset - use.begin);
  }
  /// The last to depart releases the slot.
  void depart(const Use& use);

 private:
  struct alignas(64) Control {
    std::atomic<std::uint32_t> arrived, departed;
    std::atomic<std::uint64_t> generation;  // finished uses
    std::atomic<std::uint64_t> published;   // uses whose data has been read
    std::atomic<std::int64_t> low,
        high;  // placed bytes lie within [low, high), relative to the window
    std::atomic<std::uint32_t>
        signal;  // changes with generation and published; what sleepers sleep on
    std::atomic<std::uint32_t> sleepers;
  };
  using Word = std::atomic<std::uint64_t>;

  template <typename Condition>
  void wait_for(Control& control, Condition&& ready);
  void wake(Control& control);
  Control& control(int slot) const;
  std::byte* buffer(int slot) const;
  Word* cover(int slot) const;   // one bit a byte placed
  Word* needed(int slot) const;  // one bit a block of 4 KiB
  void fill_holes(const Use& use, File& file, std::vector<std::pair<Count, Count>>& holes);
  void release(const Use& use);

  static constexpr Count block = 4096;

  const Comm& node_;
  Count window_;
  int slots_;
  std::size_t slot_bytes_;
  NodeMemory memory_;
  Peers& peers_;
  std::uint64_t uses_ = 0;
  std::vector<Use> latest_;  // of each slot; every rank has the same; no memory needed once made
};

/// Millions of pieces go through add(), so its state is local (registers, after inlining) and marks
/// of one word of the cover are collected before the shared word is touched. The destructor
/// publishes what is left.
class Slots::Placer {
 public:
  Placer(Slots& slots, const Use& use)
      : control_(slots.control(use.slot)),
        buffer_(slots.buffer(use.slot)),
        cover_(slots.cover(use.slot)),
        begin_(use.begin) {}
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;
  ~Placer();

  void add(const Extent& piece) {
    const Count at = piece.offset - begin_;
    copy_swapped_piece(buffer_ + at, piece);
    mark(at, at + piece.length);
  }
  void add_bytes(Offset offset, const std::byte* from, Count bytes) {
    const Count at = offset - begin_;
    std::memcpy(buffer_ + at, from, static_cast<std::size_t>(bytes));
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
    if (first != word_) {
      flush();
      word_ = first;
    }
    const std::uint64_t head = ~std::uint64_t{0} << (from % 64);
    const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (to - 1) % 64);
    if (first == last) {
      bits_ |= head & tail;
    } else {
      mark_words(head, tail, first, last);
    }
  }
  void flush() {
    if (bits_) cover_[word_].fetch_or(bits_, std::memory_order_relaxed);
    bits_ = 0;
  }
  void mark_words(std::uint64_t head, std::uint64_t tail, Count first, Count last);

  Control& control_;
  std::byte* buffer_;
  Word* cover_;
  Offset begin_;
  Count low_ = -1, high_ = -1;
  Count word_ = -1;
  std::uint64_t bits_ = 0;
};

}  // namespace forebay
