// Turns requests into log records (Hou 2023, §3.2.2). A large request becomes several records of a
// bounded size. A run list becomes pieces in file order, so that the log holds its data in the
// order of the file.
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
#include "burst/log/staging_writer.h"
#include "burst/log/table.h"

namespace forebay::burst {

class Recorder {
 public:
  /// `most_bytes` limits the data of one record. `schema` and `writer` must outlive the recorder.
  Recorder(const Schema& schema, staging::Writer& writer, Count most_bytes);

  /// Appends the writes to the log and to the table. Returns the number of requests that are
  /// recorded; `error` says why not all. On failure (the device is full or broken), requests that
  /// are not in the table do not count, but the log may end with a part of one. Nothing may be
  /// appended then until the log is dropped.
  std::size_t record(std::span<const Request> writes, staging::Table& table,
                     std::optional<Error>& error);
  /// To be called after Writer::mark(): pieces get new names.
  void forget_pieces() { known_.clear(); }

 private:
  struct Part {
    staging::Write write;
    Runs runs;
  };
  /// The recorded form of a run list: parts in file order without positions in memory.
  struct Known {
    std::shared_ptr<const RunList> source;  // keeps the key valid
    struct Piece {
      std::shared_ptr<const RunList> runs;
      Offset memory;          // of its data in the request's buffer
      std::size_t first = 0;  // first of the source's runs, if data must be gathered
      std::size_t count = 0;
      Offset skipped = 0;  // bytes of the first run that belong to the previous part
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
