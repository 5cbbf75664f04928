// Requests for single records, and writes of fill values for records without other values,
// distributed over the ranks.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "array/request.h"
#include "comm/comm.h"
#include "dataset/dataset.h"

namespace forebay {

/// Local. Returns a variable's extents without the record dimension.
std::vector<Count> record_extents(const Dataset& file, VarId var);

/// Local. Returns a read of a box in the variable's type; for a record variable, a box of that
/// record. `data` must stay valid until the request is done.
Request get_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, std::byte* data);
/// Returns a write of such a box.
Request put_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, const std::byte* data);

class FillRequests {
 public:
  /// `comm` must outlive this object.
  explicit FillRequests(const Comm& comm) : comm_(comm) {}

  /// Local; all ranks call with equal arguments. Adds this rank's part of a record, in requests of
  /// at most 1 MiB. Their values live as long as this object.
  void add(const Dataset& file, VarId var, Count record, std::vector<Request>& to);

 private:
  const std::byte* values(const Variable& var);

  const Comm& comm_;
  std::map<std::vector<std::byte>, std::vector<std::byte>> values_;  // by a single fill value
};

}  // namespace forebay
