#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace forebay::bench {

/// All samples of one operation of one workload.
struct Record {
  std::string workload;
  nlohmann::json parameters;
  std::string backend;
  std::string operation;
  int ranks = 0;
  Amounts amounts;
  std::int64_t file_bytes = 0;
  std::string directory_kind;
  std::vector<double> seconds;            ///< of each sample: open to close, the slowest rank
  std::vector<double> processor_seconds;  ///< of each sample: user and system time, all ranks
  std::vector<std::pair<std::string, std::vector<double>>> phases;  ///< the slowest rank in each
  std::int64_t peak_rss = 0;     ///< highest resident bytes of a rank while it was timed
  std::int64_t library_rss = 0;  ///< highest growth of a rank's resident bytes while it was timed
  bool verified = false;
  std::int64_t wrong_values = 0;

  void add_phase(const std::string& name, double seconds);
  double median() const;
};

/// "memory" for tmpfs and the like, otherwise "disk": of the directory that `path` stands in.
std::string directory_kind(const std::string& path);

/// One JSON object with all fields; times in seconds, sizes in bytes.
nlohmann::json to_json(const Record& record, const std::string& command);

/// A table of the records for people.
std::string to_table(const std::vector<Record>& records);

/// Appends `objects` to the JSON list in the file `path`, which is made if it is missing. Throws
/// std::runtime_error if the file holds something else or cannot be written.
void append_json(const std::string& path, const std::vector<nlohmann::json>& objects);

}  // namespace forebay::bench
