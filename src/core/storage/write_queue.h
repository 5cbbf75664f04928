// WriteQueue writes bytes of files in the background (Hou 2023, §7.2).
//
// While the queue is open, what is written to a file (File::write_data_at) is copied, and the call
// returns. Each queue has one thread, started with the first copy. It writes the copies in order,
// uses no MPI, and does nothing else. The user who opens the queue ensures three things:
//
//  - nobody reads waiting bytes before drain() has returned on the rank that has them;
//  - no other rank writes the same bytes before that;
//  - nothing in a file refers to them before that: data first, then what makes it visible.
//
// A write that fails stays, with all behind it, until drain() tries it again and succeeds.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  /// Local. At most `memory` bytes wait, which includes bookkeeping if pieces are many and small.
  /// `report` belongs to the thread that adds.
  WriteQueue(Count memory, Report& report);
  /// Drops what waits.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// While one exists, files give their data to the queue.
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

  // All functions are local.

  /// Copies `bytes`. `file` must exist until they are written or dropped. Waits while there is no
  /// room. Without memory or a thread, writes at once and throws errors of that. Also throws an
  /// earlier error if that error keeps the queue full.
  void add(ByteFile& file, Offset offset, std::span<const std::byte> bytes);
  /// The same without a copy: the caller keeps the bytes as they are until they are written or
  /// dropped. They do not count towards `memory`. Never waits. Returns the number of this write,
  /// counted from 1. Throws without memory or a thread.
  std::uint64_t lend(ByteFile& file, Offset offset, std::span<const std::byte> bytes);
  /// Waits `ns` nanoseconds at most. Returns whether the write of that number, and all before it,
  /// are written or dropped. Throws an error that keeps them from being written.
  bool wait_for(std::uint64_t number, std::uint64_t ns);
  /// Returns when nothing waits. Tries a failed write again. If it fails again, throws the error
  /// and keeps the write.
  void drain();
  /// Drops all writes to a file. Returns when none of them is being done any more.
  void drop(const ByteFile& file);

  bool is_idle() const;  ///< nothing waits
  bool has_failed() const;
  Count bytes() const;  ///< bytes of copies that wait
  Count held() const;   ///< what counts towards `memory`
  Count memory() const { return memory_; }
  Count blocks() const { return blocks_; }  ///< in use or spare, without small ones

  struct Seconds {
    double written = 0;  ///< by the thread
    double waited = 0;   ///< by those who added or drained
    double hidden() const { return written > waited ? written - waited : 0; }
  };
  Seconds seconds() const;
  /// Adds the thread's times to the report. Nothing may wait.
  void tell();

 private:
  /// Copies lie in blocks. A block is used again once all its copies are written: fresh memory from
  /// the system takes longer than copying to it. A process keeps few spare blocks, and a file of
  /// few bytes has a small block.
  struct Block {
    LargeBlock memory;
    Count bytes = 0;
    Count used = 0;     // by the adding thread
    Count entries = 0;  // copies that lie in it
  };
  struct Entry {
    ByteFile* file;
    Offset offset;
    Count bytes;
    std::byte* data;
    std::shared_ptr<Block> block;  // null: the bytes are lent
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
  // An entry and its place in a deque. The first `free_entries` do not count.
  static constexpr Count entry_bytes = sizeof(Entry) + 32, free_entries = 1024;
  Count held_by(Count bytes, Count entries) const {
    return bytes + std::max<Count>(entries - free_entries, 0) * entry_bytes;
  }

  const Count memory_, block_bytes_;
  Report& report_;
  std::atomic<bool> open_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, moved_;
  std::deque<Entry> entries_;                  // the thread removes them when they are written
  Count blocks_ = 0;                           // how many exist, without small ones
  std::shared_ptr<Block> block_;               // for the next copy; the adding thread changes it
  std::vector<std::shared_ptr<Block>> spare_;  // with capacity for all that exist
  Count bytes_ = 0;                            // of copies
  std::uint64_t accepted_ = 0;                 // all entries so far
  bool working_ = false, paused_ = false, stopping_ = false;
  std::optional<Error> failed_;
  double written_ = 0, waited_ = 0;
  Report beside_;  // for the thread alone while it works
  std::thread thread_;
};

}  // namespace forebay
