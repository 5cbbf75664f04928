// The files of journals (store/journal.h), which users know as logs: their names, and a list of
// those in a directory.
//
//     <directory>/<name of the dataset>.<session>.<rank>.records           a rank's own pair …
//     <directory>/<name of the dataset>.<session>.<rank>.data
//     <directory>/<name of the dataset>.<session>.n<first rank>.records    … or a node's
//     <directory>/<name of the dataset>.<session>.<rank>.lost              of a rank that could not
//         keep its log: it is neither replayed nor missing
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "base/types.h"
#include "store/journal.h"
#include "store/journal_reader.h"

namespace forebay {

/// The parts of a log file's name.
struct LogName {
  std::string dataset;  ///< its name, truncated to 200 bytes
  std::uint64_t session = 0;
  bool per_node = false;
  Rank first = 0;       ///< the rank, or the first rank of the node
  bool records = true;  ///< record log, or data log
  bool lost = false;    ///< the rest of a record log that could not be kept

  bool operator==(const LogName&) const = default;
};

/// Path of a pair of log files without ".records" or ".data".
std::string log_stem(const std::string& directory, const std::string& dataset,
                     std::uint64_t session, bool per_node, Rank first);
inline std::string records_path(const std::string& stem) { return stem + ".records"; }
inline std::string data_path(const std::string& stem) { return stem + ".data"; }
inline std::string lost_path(const std::string& stem) { return stem + ".lost"; }

/// Nothing if the name is not that of a log.
std::optional<LogName> parse_log_name(const std::string& file_name);

/// A pair of log files as found in the directory. Nothing was read.
struct LogPair {
  std::string stem;
  LogName name;
  bool has_records = false, has_data = false, is_lost = false;
};

/// A problem with a file, for users.
struct LogProblem {
  std::string path, reason;
};

/// The pairs in a directory, of one session or of all, by session and first rank. Local; one pass
/// over the directory. Errc::enoent and other system errors, with the directory's path.
std::vector<LogPair> list_logs(const std::string& directory,
                               std::optional<std::uint64_t> session = {});

/// One rank's log.
struct FoundLog {
  std::string stem;
  journal::Header header;
  journal::State state;
};

/// The logs of one session in a directory.
struct FoundSession {
  std::uint64_t session = 0;
  std::string file;  ///< the dataset
  int ranks = 1;
  bool per_node = false;
  std::vector<FoundLog> logs;  ///< by rank
};

struct FoundLogs {
  std::vector<FoundSession> sessions;
  std::vector<LogProblem> problems;  ///< damaged, incomplete, or of another version or byte order
};

/// Reads the headers of all logs in a directory. Local. A damaged log is a problem, not an
/// exception.
FoundLogs find_logs(const std::string& directory, std::optional<std::uint64_t> session = {});

/// The logs of one pair: one, or one for each rank of a node that wrote its header. Unreadable logs
/// are added to `problems`.
std::vector<FoundLog> logs_of(const LogPair& pair, std::vector<LogProblem>& problems);

/// Opens one rank's log for reading, and checks that its header matches its name. `report` must
/// outlive the reader. Errc::ebadlog, with the path.
std::unique_ptr<journal::Reader> open_log(const std::string& stem, int part, Report& report);

/// Returns whether both slots of a log's state are intact. The reader takes the newest intact one;
/// a damaged one may have been newer.
bool state_is_certain(const std::string& stem, const journal::Reader& reader, Report& report);

/// Returns the size of a log's file; 0 if it is not there.
Count size_of_log(const std::string& path);

/// Removes a pair of log files; no error if they are gone.
void remove_logs(const std::string& stem);

}  // namespace forebay
