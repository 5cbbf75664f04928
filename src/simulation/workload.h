// A parallel program as planning sees it: which ranks ask for what in which collective call. No
// data, and no rank of which all is known at once: requests are made when they are looked at.
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

  /// With all variables in their places (placed()).
  virtual const Schema& schema() const = 0;
  virtual Count operations() const = 0;  ///< collective calls that read or write
  /// Appends what a rank asks for in one of them. Selections are within the schema.
  virtual void add_requests(Count operation, Rank rank, std::vector<Request>& requests) const = 0;
};

/// The schema as enddef places it in a new file of the container `classic`. Errc::evarsize where
/// the format cannot hold it.
Schema placed(Schema schema, const Method& method);

}  // namespace forebay::simulation
