// WriteQueue: bytes of files that are written behind a rank's back (D7 §7.2).
//
// What is written to a file while the queue is open (File::write_data_at) is copied, and the call
// returns. One thread a queue, started with the first of them, writes in the order in which they
// came: without MPI, and nothing else. Who opens the queue makes sure of three things:
//
//   - nobody reads what waits before drain() has returned on the rank that has it;
//   - no other rank writes the same bytes before that;
//   - nothing refers to them in a file before that: data first, then what makes it visible.
//
// A write that fails stays, with all behind it, until drain() tries again and succeeds.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/byte_file.h"
#include "base/error.h"
#include "base/large_block.h"
#include "base/report.h"
#include "base/types.h"

namespace forebay {

class WriteQueue {
 public:
  /// Local. At most `memory` bytes wait, with what it takes to know of them where pieces are many
  /// and small. `report` belongs to the thread that adds.
  WriteQueue(Count memory, Report& report);
  /// What waits is dropped.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// While one lives, files hand their data over.
  class Open {
   public:
    explicit Open(WriteQueue& queue) : queue_(queue) { queue_.open_ = true; }
    ~Open() { queue_.open_ = false; }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    WriteQueue& queue_;
  };
  bool is_open() const { return open_; }

  // All local.

  /// Copies `bytes`; `file` stays until they are written, or dropped. Waits while there is no room.
  /// Where memory or a thread is not to be had, writes at once. Throws what writing does then, and
  /// what went wrong before where that keeps it from having room.
  void add(ByteFile& file, Offset offset, std::span<const std::byte> bytes);
  /// Returns when nothing waits. What has failed is tried again, and thrown if it fails again: it
  /// stays then.
  void drain();
  /// Nothing of that file is written any more; returns when that is so.
  void drop(const ByteFile& file);

  bool is_idle() const;  ///< nothing waits
  bool has_failed() const;
  Count bytes() const;  ///< that wait
  Count held() const;   ///< what counts towards `memory`
  Count memory() const { return memory_; }
  Count blocks() const { return blocks_; }  ///< that copies are made in, or that are spare

  struct Seconds {
    double written = 0;  ///< by the thread
    double waited = 0;   ///< by those who added or drained
    double hidden() const { return written > waited ? written - waited : 0; }
  };
  Seconds seconds() const;
  /// The thread's times go to the report. Nothing waits.
  void tell();

 private:
  /// Copies lie in blocks, which are used again once all of theirs are written: memory that comes
  /// from the system each time takes longer than copying to it. A process keeps few that are spare,
  /// and a file of few bytes has a small one.
  struct Block {
    LargeBlock memory;
    Count bytes = 0;
    Count used = 0;     // the adding thread's
    Count entries = 0;  // that lie in it
  };
  struct Entry {
    ByteFile* file;
    Offset offset;
    Count bytes;
    std::byte* data;
    std::shared_ptr<Block> block;
  };
  using Lock = std::unique_lock<std::mutex>;

  void start();
  void work();
  std::size_t take(std::span<iovec> pieces) const;
  bool keep(ByteFile& file, Offset offset, std::span<const std::byte> bytes);
  void find_room(Count bytes);
  void put_by(std::shared_ptr<Block> block);
  void release(const Entry& entry);
  template <typename Condition>
  void wait(Lock& lock, Condition&& ready);
  bool rests() const { return entries_.empty() && !working_; }
  // An entry, and its place in a deque; those of a few pieces are free.
  static constexpr Count entry_bytes = sizeof(Entry) + 32, free_entries = 1024;
  Count held_by(Count bytes, Count entries) const {
    return bytes + std::max<Count>(entries - free_entries, 0) * entry_bytes;
  }

  const Count memory_, block_bytes_;
  Report& report_;
  std::atomic<bool> open_ = false;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_, moved_;
  std::deque<Entry> entries_;                  // the thread takes them off when they are written
  Count blocks_ = 0;                           // that there are; those that are small not counted
  std::shared_ptr<Block> block_;               // of the next copy; the adding thread changes it
  std::vector<std::shared_ptr<Block>> spare_;  // with room for all that there are
  Count bytes_ = 0;
  bool working_ = false, paused_ = false, stopping_ = false;
  std::optional<Error> failed_;
  double written_ = 0, waited_ = 0;
  Report beside_;  // the thread's alone while it works
  std::thread thread_;
};

}  // namespace forebay
