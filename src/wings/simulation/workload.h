// A parallel program as planning sees it: which ranks request what in which collective call. There
// is no data, and requests are created only when they are visited.
#pragma once

#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/types.h"
#include "method/method.h"

namespace forebay::simulation {

class Workload {
 public:
  virtual ~Workload() = default;

  /// All variables have their places (placed()).
  virtual const Schema& schema() const = 0;
  virtual Count operations() const = 0;  ///< collective calls that read or write
  /// Appends the requests of a rank in one operation. Selections are within the schema.
  virtual void add_requests(Count operation, Rank rank, std::vector<Request>& requests) const = 0;
};

/// The schema as enddef places it in a new file of container `classic`. Errc::evarsize if the
/// format cannot hold it.
Schema placed(Schema schema, const Method& method);

}  // namespace forebay::simulation
