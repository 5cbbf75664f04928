// A layout decides where the elements of a variable are stored: it turns requests into extents and
// passes them to a transport.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"

namespace forebay {

struct ByteRange {
  Offset first = 0, last = 0;  ///< first byte and one past the last; equal: none

  bool empty() const { return first >= last; }
  bool meets(const ByteRange& other) const {
    return !empty() && !other.empty() && first < other.last && other.first < last;
  }
  void add(const ByteRange& other) {  ///< including the bytes between them
    if (other.empty()) return;
    if (empty()) *this = other;
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

/// Names of variables, and the rank that last encoded each of their chunks (-1: none).
using NamedOwners = std::vector<std::pair<std::string, std::vector<std::int32_t>>>;

class JointLayout;

class Layout {
 public:
  virtual ~Layout() = default;
  /// Carries out all requests of one direction. If `collective`, every rank calls it, perhaps with
  /// an empty span. The order of `requests` may change, except among those of one variable.
  virtual void carry_out(std::span<Request> requests, bool write, bool collective) = 0;
  /// Local. As in ExtentIo, for requests of one direction that are about to be carried out
  /// together.
  virtual std::optional<Foreseen> foresee(std::span<const Request> /*requests*/) const {
    return std::nullopt;
  }
  /// Collective. As carry_out(), after ranks have agreed on the result of foresee(); see ExtentIo.
  virtual void carry_out_foreseen(std::span<Request> requests, bool write,
                                  const Foreseen& /*agreed*/) {
    carry_out(requests, write, true);
  }
  /// Collective. Writes deferred data to the file.
  virtual void flush() {}
  /// Local, equal on all ranks. Returns whether flush() may have something to do. It may be true
  /// without need.
  virtual bool may_be_behind() const { return true; }
  /// Collective. Announces a sequence of writes, and its end: see ExtentIo::expect_more.
  virtual void expect_more(bool /*more*/) {}
  /// Local, equal on all ranks: see ExtentIo.
  virtual bool answers_slowly() const { return false; }
  virtual bool overlapped() const { return false; }
  virtual bool sees_overlaps() const { return false; }
  /// Local. The bytes of the file that a write touches, if known before it is carried out. Writes
  /// with disjoint ranges may be carried out in any order.
  virtual std::optional<ByteRange> range_of(const Request& /*request*/) const {
    return std::nullopt;
  }
  /// Local. A byte range that contains all writes to places that may hold data already, or may be
  /// written again. Empty if all go to new places until they are published.
  virtual ByteRange in_place(std::span<const Request> /*writes*/) const {
    return {0, std::numeric_limits<Offset>::max()};
  }
  /// Returns whether an independent write is in the file when carry_out() returns.
  virtual bool writes_alone() const { return false; }
  /// Local. The extents of these writes in the one file that has all of them, for writing several
  /// files together. Null if they are not known before the writes are carried out. `writes` must
  /// outlive the result; their order may change as in carry_out().
  virtual std::unique_ptr<ExtentStream> extents_of(std::span<Request> /*writes*/) {
    return nullptr;
  }
  /// The writes whose variables belong to a joint layout (layout/joint_layout.h), and the others,
  /// which carry_out() carries out.
  struct ForJoint {
    JointLayout* layout = nullptr;  ///< set on all ranks or on none; null: no such layout
    std::span<Request> writes, others;
    bool any_others = false;  ///< equal on all ranks; false: `others` is empty
  };
  /// Local. The order of `writes` may change as in carry_out().
  virtual ForJoint for_joint(std::span<Request> /*writes*/) { return {}; }
  /// How operations were carried out and why, as sentences for the report; may be empty.
  virtual std::string reasons() const { return {}; }
  /// The ranks that encoded chunks, if the report needs them.
  virtual NamedOwners owners() const { return {}; }
};

/// The classic netCDF layout: every variable is contiguous, or interleaved record by record (CDF-1,
/// 2, 5). `schema`, `io` and `report` must outlive the layout. `flatten` sorts all extents of
/// writes (layout/canonical/flattened.h), for comparison.
std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report,
                                              bool flatten = false);

}  // namespace forebay
