// WriteBehind writes data of a log while the program goes on (Hou 2023, §7.2).
//
// A batch is the data that one rank has in one block. Its place is known when it begins, so a
// thread without MPI can write it (storage/write_queue.h). The batches of a rank are written in
// their order. Invariants:
//
//  - No metadata names a batch before it has landed, which means that it is in the file.
//  - The memory of a batch stays until retire(), because other ranks may read it.
//  - After a write that failed, that batch and all behind it are taken back from the thread.
//  settle()
//    writes them in the call. Until then no other batch begins.
//
// All functions are local, and belong to the thread of the program.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/byte_file.h"
#include "base/error.h"
#include "base/opener.h"
#include "base/report.h"
#include "layout/pending_data.h"
#include "storage/write_queue.h"

namespace forebay::logged {

class WriteBehind {
 public:
  /// What became of a batch. It may outlive the WriteBehind.
  class Progress {
   public:
    /// Waits `ns` nanoseconds at most. Returns whether the batch has landed. Throws if it was taken
    /// back, or lost; memory that was lent for it is free then, too.
    bool wait(std::uint64_t ns);

   private:
    friend class WriteBehind;
    explicit Progress(WriteBehind* by) : by_(by) {}
    WriteBehind* by_;  // null once the outcome is known
    std::optional<Error> failed_;
  };

  struct Batch {
    PendingData data;
    ByteFile* file;  ///< must outlive the WriteBehind
    Offset begin;
    std::uint64_t first, last;  ///< entries of the section
    std::uint32_t subfile;
    bool lent;     ///< until it has landed
    Count copied;  ///< bytes in memory of ours
  };

  /// `landed` is called for each batch when its data is in the file; what it throws counts as a
  /// failure of the batch.
  WriteBehind(Report& report, std::function<void(const Batch&)> landed)
      : report_(report), landed_of_(std::move(landed)) {}
  /// What has not landed is lost.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Makes room for the next batch, so that start() needs no memory but for the thread.
  void prepare();
  /// Call after prepare(), with a batch that has bytes. Never fails: one that the thread cannot
  /// take counts as one that failed.
  std::shared_ptr<Progress> start(Batch&& batch);
  /// Notes what has landed. Does not wait.
  void look();
  /// Returns when all batches have landed. Writes those that were taken back.
  void settle();
  /// Frees the memory of batches that have landed; `data` reuses it. Call when no other rank reads
  /// it.
  void retire(PendingData& data);

  bool has_failed();
  Count copied() const { return copied_; }  ///< bytes of memory of batches that are not retired
  std::int64_t started() const { return started_; }
  WriteQueue::Seconds seconds() const { return queue_ ? queue_->seconds() : WriteQueue::Seconds{}; }
  /// Adds the thread's times to the report. All has landed.
  void tell() {
    leave_parent();
    if (queue_) queue_->tell();
  }

 private:
  struct Begun {
    std::optional<Batch> batch;
    std::shared_ptr<Progress> progress;
    std::uint64_t number = 0;  // of its last write; only if queued
    bool queued = false;
  };

  void land();
  bool wait(Progress& progress, std::uint64_t ns);
  void take_back(const Error& error);
  void leave_parent();

  Report& report_;
  std::function<void(const Batch&)> landed_of_;
  Opener opener_;
  std::list<Begun> prepared_, begun_, landed_;  // a batch moves from one to the next
  Count copied_ = 0;
  std::int64_t started_ = 0;
  std::optional<Error> failed_;
  std::unique_ptr<WriteQueue> queue_;  // made with the first batch
};

}  // namespace forebay::logged
