// Requests of single records, and of fill values where a record has no others: dealt out to the
// ranks.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "array/request.h"
#include "comm/comm.h"
#include "dataset/dataset.h"

namespace forebay {

/// Local. A variable's extents without that of records.
std::vector<Count> record_extents(const Dataset& file, VarId var);

/// Local. Reads a box in the variable's type, of a record variable one of that record. `data` stays
/// until it is done.
Request get_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, std::byte* data);
/// The same, writing.
Request put_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, const std::byte* data);

class FillRequests {
 public:
  /// `comm` outlives it.
  explicit FillRequests(const Comm& comm) : comm_(comm) {}

  /// Local; all ranks call with equal arguments. This rank's part of a record, in requests of 1 MiB
  /// at most, whose values stay as long as this object.
  void add(const Dataset& file, VarId var, Count record, std::vector<Request>& to);

 private:
  const std::byte* values(const Variable& var);

  const Comm& comm_;
  std::map<std::vector<std::byte>, std::vector<std::byte>> values_;  // by one of them
};

}  // namespace forebay
