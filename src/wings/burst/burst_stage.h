// The implementation of the stage that burst/burst.h describes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "burst/burst.h"
#include "burst/log/staging_writer.h"
#include "burst/recorder.h"
#include "burst/staged_reads.h"
#include "comm/topology.h"

namespace forebay::burst {

class BurstStage : public Stage {
 public:
  BurstStage(const Comm& comm, const Schema& schema, Layout& layout, std::unique_ptr<Host> host,
             const BurstOptions& options, Report& report);
  ~BurstStage() override;  ///< local; leaves the logs as they are

  void start();  ///< collective

  StageNeeds offer(std::span<const Request> writes, std::span<const Request> reads) override;
  void submit(std::span<Request> requests, bool write, bool collective,
              const StageNeeds& needs) override;
  void flush(bool collective) override;
  void flush_to_sync() override;
  void synced() override;
  void end_alone() override {}
  bool holds_writes() const override { return true; }
  void use(Layout& layout) override;
  void close(bool drop) override;
  std::string reasons() const override;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  // burst.cc
  void open_logs();
  bool creates_files() const { return first_ == comm_.rank(); }
  void stage(std::span<const Request> writes);
  void read_together(std::span<Request> reads, const StageNeeds& needs);
  void read_alone(std::span<Request> reads);
  void flush_together(bool to_sync = false);
  void flush_alone();
  void end_epoch();
  void refuse_unsynced() const;
  FlushResult flush_to(Layout& layout, Report& report);

  staging::ReadData reader();
  std::vector<Source> sources();
  staging::State next_state(Count least_records) const;
  void drop_all(Count least_records, bool epoch_over);
  void lose_log(const Error& error);
  void refuse_lost(const FlushResult& result) const;
  bool has_large_pieces() const;
  bool is_due() const;
  bool nothing_staged() const { return sealed_.table.empty() && current_.table.empty(); }

  // background.cc: a thread that flushes due writes
  Lock quiet();  // waits until the thread is idle
  void start_thread();
  void stop_thread();
  void work();
  void work_once(Lock& lock);

  const Comm& comm_;
  const Topology* topology_ = nullptr;  // if the ranks of a node share logs
  Rank first_;                          // of the ranks that share logs
  const Schema& schema_;
  Layout* layout_;
  std::unique_ptr<Host> host_owner_;
  Host& host_;
  BurstOptions options_;
  Report& report_;

  std::unique_ptr<staging::Writer> writer_;  // null after the log's files were lost
  std::optional<Recorder> recorder_;
  std::uint64_t epoch_ = 0;
  StagedWrites sealed_, current_;  // for the thread to write; staged since then
  Count current_pieces_ = 0;       // of the file that current_ touches
  Clock::time_point oldest_;       // when the first write of current_ was staged
  bool recorded_ = true;           // the writes of the last offer() are in the log
  bool blocked_ = false;           // nothing may be appended until the log is dropped
  bool undropped_ = false;         // dropping the log failed, although its entries are in the file
  bool unsynced_ = false;          // the log's device may still have entries that were dropped
  // A sync of the file has begun and has not succeeded; equal on all ranks. Until it does, nothing
  // is dropped from logs, and writes that are in the file stay in them for a recovery.
  bool keeps_flushed_ = false;
  std::optional<Error> refused_;  // why the last offer() was not recorded
  std::string lost_log_;          // why there is no log anymore

  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::thread thread_;
  std::unique_ptr<Aside> aside_;
  bool working_ = false, stopping_ = false, thread_tried_ = false, thread_failed_ = false;

  // For the report.
  Count logged_ = 0, together_ = 0, alone_ = 0, behind_ = 0, directly_ = 0;
};

}  // namespace forebay::burst
