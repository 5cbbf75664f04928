// The recovery of one session, as recovery.h describes it. Every public function is collective.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/timeline.h"
#include "burst/log/staging_log_reader.h"
#include "burst/log/table.h"
#include "burst/recovery/recovery.h"
#include "burst/staging_control.h"
#include "burst/staging_files.h"
#include "dataset/dataset.h"

namespace forebay {

/// Throws on every rank the error of the lowest rank that has one, with its text.
void agree_on_words(const Comm& comm, const std::optional<Error>& mine);
/// Collects the sentences of all ranks on every rank, in rank order: at most a thousand.
void gather_sentences(const Comm& comm, std::vector<std::string>& sentences);

/// Readers of many logs; it keeps only as many open as descriptors allow. Threads enter one at a
/// time.
class LogReaders {
 public:
  /// Calls f with the reader of a rank's log.
  template <typename F>
  void with(const std::string& stem, int part, F&& f) {
    const std::lock_guard<std::mutex> guard(mutex_);
    f(get(stem, part));
  }
  Report& report() { return report_; }

 private:
  static constexpr std::size_t most_open = 200;
  struct Open {
    std::unique_ptr<staging::Reader> reader;
    std::uint64_t used = 0;
  };
  staging::Reader& get(const std::string& stem, int part);

  std::mutex mutex_;
  Report report_;
  std::map<std::pair<std::string, int>, Open> open_;
  std::uint64_t uses_ = 0;
};

class SessionRecovery {
 public:
  /// `result` has session, file, directory, ranks, job and has_control, equal on all ranks.
  /// `control` belongs to rank 0 and is locked. It is null for list and verify, and if there is
  /// none.
  SessionRecovery(const Comm& comm, const RecoveryOptions& options,
                  const RecoveryProgress& progress, RecoveredSession& result,
                  std::unique_ptr<StagingControl> control, const StagingInfo& info);
  /// Does all steps. Errors are thrown equally on all ranks.
  void run();

 private:
  /// A log for which this rank is responsible.
  struct Mine {
    Mine(Rank r, int p, std::string s) : rank(r), part(p), stem(std::move(s)) {}

    Rank rank = 0;
    int part = 0;
    std::string stem;
    staging::State state;
    Count data_bytes = 0;  ///< size of the data log's file
    Count writes = 0;      ///< writes that the dataset may lack
    bool lost = false;     ///< cannot be opened
    bool finished = false;
    staging::Table table;
  };

  // -- steps, in order
  void find();
  void share_out(const std::vector<Mine>& visible);
  void open();
  void count();
  bool is_complete() const;
  void refuse_what_is_missing() const;
  void refuse_damage() const;
  void replay();
  void clean_up();

  void damaged(const Mine& log, const std::string& what);
  void load(Dataset& dataset, Mine& log);

  // -- steps of BP4 directories (step_recovery.cc)
  struct StepRecord;
  using StepRecords = std::vector<StepRecord>;
  void replay_steps(const std::string& directory);
  StepRecords records_of_steps();
  static bool is_in_file(const std::string& directory, const StepRecord& record);
  void check_records(const std::string& directory, const StepRecords& records) const;
  std::int64_t verify_steps(const StepRecords& records);
  void write_steps(const std::string& directory, const StepRecords& records);
  void show_steps(const std::string& directory, const StepRecords& records) const;
  void sum(std::initializer_list<Count*> counts) const;
  void tell(const char* step, Count done, Count all) const;

  const Comm& comm_;
  const RecoveryOptions& options_;
  const RecoveryProgress& progress_;
  RecoveredSession& result_;
  std::unique_ptr<StagingControl> control_;
  StagingInfo info_;  ///< from the control file, or derived from the logs
  std::vector<LogPair> pairs_;
  std::vector<Mine> mine_;
  std::vector<Rank> lost_;  ///< ranks here that could not keep their logs
  LogReaders readers_;
  bool closed_ = false;      ///< everything is in the dataset
  bool needs_file_ = false;  ///< something is not in the dataset
  Count verified_ = 0;       ///< bytes of this rank
  Count my_bytes_ = 0;       ///< bytes that this rank verifies and replays
};

}  // namespace forebay
