// The files of logs (format/staging_record.h): their names, and which of them are in a directory.
//
//     <directory>/<name of the dataset>.<session>.<rank>.records           a rank's own pair …
//     <directory>/<name of the dataset>.<session>.<rank>.data
//     <directory>/<name of the dataset>.<session>.n<first rank>.records    … or a node's
//     <directory>/<name of the dataset>.<session>.<rank>.lost              of a rank that could not
//         keep its log: nothing of it is to be replayed, nor missing
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "base/types.h"
#include "format/staging_record.h"
#include "staging_log/reader.h"

namespace forebay {

/// What the name of a log file tells.
struct LogName {
  std::string dataset;  ///< its name, at most the first 200 bytes of it
  std::uint64_t session = 0;
  bool per_node = false;
  Rank first = 0;       ///< the rank, or the first rank of the node
  bool records = true;  ///< record log, or data log
  bool lost = false;    ///< what is left of a record log that could not be kept

  bool operator==(const LogName&) const = default;
};

/// Path of a pair of log files without ".records" or ".data".
std::string log_stem(const std::string& directory, const std::string& dataset,
                     std::uint64_t session, bool per_node, Rank first);
inline std::string records_path(const std::string& stem) { return stem + ".records"; }
inline std::string data_path(const std::string& stem) { return stem + ".data"; }
inline std::string lost_path(const std::string& stem) { return stem + ".lost"; }

/// Nothing for a name that is not that of a log.
std::optional<LogName> parse_log_name(const std::string& file_name);

/// A pair of log files as the directory shows it. Nothing was read.
struct LogPair {
  std::string stem;
  LogName name;
  bool has_records = false, has_data = false, is_lost = false;
};

/// A problem with a file, for people.
struct LogProblem {
  std::string path, reason;
};

/// The pairs in a directory, of one session or of all, by session and first rank. Local; one walk
/// over the directory. Errc::enoent and the system's other errors with the directory's path.
std::vector<LogPair> list_logs(const std::string& directory,
                               std::optional<std::uint64_t> session = {});

/// One rank's log.
struct FoundLog {
  std::string stem;
  staging::Header header;
  staging::State state;
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

/// Reads the headers of all logs in a directory. Local. Never throws for a damaged log: that is a
/// problem.
FoundLogs find_logs(const std::string& directory, std::optional<std::uint64_t> session = {});

/// The logs of one pair: one, or one for each rank of a node that wrote its header. What cannot be
/// read is added to `problems`.
std::vector<FoundLog> logs_of(const LogPair& pair, std::vector<LogProblem>& problems);

/// Opens one rank's log for reading and checks that it is the one that its name and `header` tell.
/// `report` outlives the reader. Errc::ebadlog, with the path.
std::unique_ptr<staging::Reader> open_log(const std::string& stem, int part, Report& report);

/// Whether both slots that tell a log's state are as they were written. The reader takes the newest
/// whole one; if the other one is damaged it may have been newer.
bool state_is_certain(const std::string& stem, const staging::Reader& reader, Report& report);

/// Removes a pair of log files; it is no error if they are gone.
void remove_logs(const std::string& stem);

}  // namespace forebay
