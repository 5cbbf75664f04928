// The recovery of one session, as stage/recovery.h describes it, whatever its logs say: which logs
// there are, who replays which, what counts, and what is removed. How the writes get to the file is
// up to the kind of file: a wing registers a ReplayEntry for its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/timeline.h"
#include "stage/recovery.h"
#include "storage/open_files.h"
#include "store/journal_files.h"
#include "store/staging_control.h"

namespace forebay {

/// Returns a text such as "0, 3, 5 to 9 and more".
std::string listed(const std::vector<Rank>& ranks);
/// Returns the first few sentences as one text.
std::string listed(const std::vector<std::string>& sentences);
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
  journal::Reader& get(const std::string& stem, int part);

  std::mutex mutex_;
  Report report_;
  // Each has two files.
  OpenFiles<std::pair<std::string, int>, std::unique_ptr<journal::Reader>> open_{
      std::max<std::size_t>(most_open_files() / 2, 1)};
};

/// What a SessionRecovery works on.
struct SessionSite {
  const Comm& comm;
  const RecoveryOptions& options;
  const RecoveryProgress& progress;
  /// Has session, file, directory, ranks, job and has_control, equal on all ranks.
  RecoveredSession& result;
  /// Belongs to rank 0 and is locked. It is null for list and verify, and if there is none.
  std::unique_ptr<StagingControl>& control;
  StagingInfo info;  ///< from the control file, or derived from the logs
};

class SessionRecovery {
 public:
  explicit SessionRecovery(SessionSite site);
  virtual ~SessionRecovery() = default;
  /// Collective. Does all steps. Errors are thrown equally on all ranks.
  void run();

 protected:
  /// A log for which this rank is responsible.
  struct Mine {
    Mine(Rank r, int p, std::string s) : rank(r), part(p), stem(std::move(s)) {}

    Rank rank = 0;
    int part = 0;
    std::string stem;
    journal::State state;
    Count data_bytes = 0;  ///< size of the data log's file
    Count writes = 0;      ///< writes that the file may lack
    bool lost = false;     ///< cannot be opened
    bool finished = false;
  };

  /// Local. Counts the entries of a log that count, without their data.
  virtual journal::Scan count_entries(journal::Reader& reader) const = 0;
  /// Collective. Replays all logs into `file`. Everything is read and verified before anything is
  /// written.
  virtual void replay(const std::string& file) = 0;
  /// Returns whether some logs can be replayed if others are missing.
  virtual bool can_be_partial() const { return true; }

  void refuse_damage() const;
  void damaged(const Mine& log, const std::string& what);
  /// Collective. Puts the damage that ranks have found since then behind that of before.
  void gather_damage(std::vector<std::string> before);
  /// Local. Reads the data of an entry of a log. Returns what is wrong with them.
  std::optional<std::string> verify(const Mine& log, journal::Reader& reader,
                                    const journal::Data& data, std::vector<std::byte>& into) const;
  void sum(std::initializer_list<Count*> counts) const;
  void tell(const char* step, Count done, Count all) const;

  const Comm& comm_;
  const RecoveryOptions& options_;
  const RecoveryProgress& progress_;
  RecoveredSession& result_;
  std::vector<Mine> mine_;
  LogReaders readers_;
  Count verified_ = 0;  ///< bytes of this rank
  Count my_bytes_ = 0;  ///< bytes that this rank verifies and replays

 private:
  // -- steps, in order
  void find();
  void share_out(const std::vector<Mine>& visible);
  void open();
  void count();
  bool is_complete() const;
  void refuse_what_is_missing() const;
  void clean_up();

  std::unique_ptr<StagingControl> control_;
  StagingInfo info_;
  std::vector<LogPair> pairs_;
  std::vector<Rank> lost_;   ///< ranks here that could not keep their logs
  bool closed_ = false;      ///< everything is in the file
  bool needs_file_ = false;  ///< something is not in the file
};

/// How logs of one kind of file are replayed. A line of its file begins
/// `extern const ReplayEntry name_replay{`
struct ReplayEntry {
  /// Local. Returns whether the path is a file of this kind; null: for all that no other entry
  /// takes.
  bool (*applies)(const std::string& path);
  std::unique_ptr<SessionRecovery> (*make)(SessionSite site);
};
/// Returns all that wings bring, in no order.
std::span<const ReplayEntry* const> built_in_replays();

/// Returns the file that a session is replayed into.
const std::string& file_of(const RecoveryOptions& options, const RecoveredSession& session);
/// Collective. Errc::enotsupport if no wing of this build replays logs of such a file.
std::unique_ptr<SessionRecovery> make_session_recovery(SessionSite site);

}  // namespace forebay
