// Turns requests into log records (D3 §3.2.2): large ones into several of a bounded size, run lists
// into pieces in file order, so that their data lie in the log as the file wants them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/error.h"
#include "staging_log/table.h"
#include "staging_log/writer.h"

namespace forebay::burst {

class Recorder {
 public:
  /// `most_bytes`: of data of one record. `schema` and `writer` outlive the recorder.
  Recorder(const Schema& schema, staging::Writer& writer, Count most_bytes);

  /// Appends the writes to the log and to the table. If that fails (the device is full, or broken)
  /// nothing of the requests that are not in the table counts, but the log may end with the
  /// beginning of one: nothing may follow it until the log is dropped.
  /// Returns the number of requests that are recorded; `error` tells why not all.
  std::size_t record(std::span<const Request> writes, staging::Table& table,
                     std::optional<Error>& error);
  /// After Writer::mark(): pieces are named anew.
  void forget_pieces() { known_.clear(); }

 private:
  struct Part {
    staging::Write write;
    Runs runs;
  };
  /// A run list as it is recorded: parts in file order without positions in memory.
  struct Known {
    std::shared_ptr<const RunList> source;  // keeps the key alive
    struct Piece {
      std::shared_ptr<const RunList> runs;
      Offset memory;          // of its data in the request's buffer
      std::size_t first = 0;  // of the source's runs, where data has to be gathered
      std::size_t count = 0;
      Offset skipped = 0;  // bytes of the first run that belong to the part before
    };
    std::vector<Piece> pieces;
    bool gather = false;
  };

  void add(const Request& request);
  void add_subarray(const Request& request, const Subarray& sub);
  void add_runs(const Request& request, const Runs& selected);
  void add_part(staging::Write&& write, Runs runs, const std::byte* data, Count bytes);
  const Known& known(const std::shared_ptr<const RunList>& list);
  void commit(staging::Table& table);

  const Schema& schema_;
  staging::Writer& writer_;
  Count most_;
  std::unordered_map<const RunList*, Known> known_;
  std::vector<Part> parts_;  // added and not committed
  std::vector<std::unique_ptr<std::byte[]>> gathered_;
  Count gathered_bytes_ = 0;
};

}  // namespace forebay::burst
