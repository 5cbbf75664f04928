// A layout decides where the elements of a variable lie in the file(s): it turns requests into
// extents and hands them to a transport.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/extent.h"
#include "base/report.h"
#include "data/request.h"
#include "data/schema.h"

namespace forebay {

class Layout {
 public:
  virtual ~Layout() = default;
  /// Carries out all requests of one direction. If `collective`, every rank calls, with an empty
  /// span if need be.
  virtual void carry_out(std::span<Request> requests, bool write, bool collective) = 0;
};

/// The classic netCDF layout: every variable contiguous, or interleaved record by record (CDF-1, 2,
/// 5). `schema`, `io` and `report` outlive the layout.
std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report);

}  // namespace forebay
