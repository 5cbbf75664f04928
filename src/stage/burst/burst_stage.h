// The stage itself; see stage/burst/burst.h for what it does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/topology.h"
#include "stage/burst/burst.h"
#include "stage/burst/recorder.h"
#include "stage/burst/staged_reads.h"
#include "staging_log/writer.h"

namespace forebay::burst {

class BurstStage : public Stage {
 public:
  BurstStage(const Comm& comm, const Schema& schema, Layout& layout, std::unique_ptr<Host> host,
             const BurstOptions& options, Report& report);
  ~BurstStage() override;  ///< local; leaves the logs as they are

  void start();  ///< collective

  StageNeeds offer(std::vector<Request>& writes, const std::vector<Request>& reads) override;
  void submit(std::vector<Request>& requests, bool write, bool collective,
              const StageNeeds& needs) override;
  void flush(bool collective) override;
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
  void stage(std::vector<Request>& writes);
  void read_together(std::vector<Request>& reads, const StageNeeds& needs);
  void read_alone(std::vector<Request>& reads);
  void flush_together();
  void flush_alone();
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

  // background.cc: a thread that flushes what is due
  Lock quiet();  // waits until the thread is not at work
  void start_thread();
  void stop_thread();
  void work();
  void work_once(Lock& lock);

  const Comm& comm_;
  const Topology* topology_ = nullptr;  // where the ranks of a node share logs
  Rank first_;                          // of those that share
  const Schema& schema_;
  Layout* layout_;
  std::unique_ptr<Host> host_owner_;
  Host& host_;
  BurstOptions options_;
  Report& report_;

  std::unique_ptr<staging::Writer> writer_;  // none after the log's files have been lost
  std::optional<Recorder> recorder_;
  std::uint64_t epoch_ = 0;
  StagedWrites sealed_, current_;  // what the thread writes, and what was staged since
  Count current_pieces_ = 0;       // of the file that current_ touches
  Clock::time_point oldest_;       // when the first of current_ was staged
  bool recorded_ = true;           // the writes of the last offer() are in the log
  bool blocked_ = false;           // nothing may be appended until the log is dropped
  bool undropped_ = false;         // the log could not be told that its entries are in the file
  std::optional<Error> refused_;   // why the last offer() was not recorded
  std::string lost_log_;           // why there is no log any more

  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::thread thread_;
  std::unique_ptr<Aside> aside_;
  bool working_ = false, stopping_ = false, thread_tried_ = false, thread_failed_ = false;

  // For the report.
  Count logged_ = 0, together_ = 0, alone_ = 0, behind_ = 0, directly_ = 0;
};

}  // namespace forebay::burst
