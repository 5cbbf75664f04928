// A layout decides where the elements of a variable lie in the file(s): it turns requests into
// extents and hands them to a transport.
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
  Offset first = 0, last = 0;  ///< first byte and one past the last; the same: none

  bool empty() const { return first >= last; }
  bool meets(const ByteRange& other) const {
    return !empty() && !other.empty() && first < other.last && other.first < last;
  }
  void add(const ByteRange& other) {  ///< and what lies between them
    if (other.empty()) return;
    if (empty()) *this = other;
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

/// Names of variables, and which rank encoded each of their chunks last (-1: none did).
using NamedOwners = std::vector<std::pair<std::string, std::vector<std::int32_t>>>;

class JointLayout;

class Layout {
 public:
  virtual ~Layout() = default;
  /// Carries out all requests of one direction. If `collective`, every rank calls, with an empty
  /// span if need be.
  /// The order of `requests` may change, except among those of one variable.
  virtual void carry_out(std::span<Request> requests, bool write, bool collective) = 0;
  /// Local. See ExtentIo: of requests of one direction that are about to be carried out together.
  virtual std::optional<Foreseen> foresee(std::span<const Request> /*requests*/) const {
    return std::nullopt;
  }
  /// Collective. carry_out() of what ranks foresaw and have agreed on, see ExtentIo.
  virtual void carry_out_foreseen(std::span<Request> requests, bool write,
                                  const Foreseen& /*agreed*/) {
    carry_out(requests, write, true);
  }
  /// Collective. What was put off reaches the file.
  virtual void flush() {}
  /// Local; the same on all ranks: whether flush() may have something to do. True is never wrong.
  virtual bool may_be_behind() const { return true; }
  /// Collective. Says that several writes follow each other, and when they are over: see
  /// ExtentIo::expect_more.
  virtual void expect_more(bool /*more*/) {}
  /// Local; the same on all ranks: see ExtentIo.
  virtual bool answers_slowly() const { return false; }
  virtual bool overlapped() const { return false; }
  virtual bool sees_overlaps() const { return false; }
  /// Local. The bytes of the file that a write touches, where that is known before it is carried
  /// out: writes whose ranges do not meet may be carried out in any order.
  virtual std::optional<ByteRange> range_of(const Request& /*request*/) const {
    return std::nullopt;
  }
  /// Local. Within which bytes of files the writes lie that are put where something may be already,
  /// or may be put again; none if all go to places of their own until they are published.
  virtual ByteRange in_place(std::span<const Request> /*writes*/) const {
    return {0, std::numeric_limits<Offset>::max()};
  }
  /// Whether what one rank wrote by itself is in the file when carry_out() returns.
  virtual bool writes_alone() const { return false; }
  /// Local. The extents of these writes in the one file that has all of them, for whoever writes
  /// several files together; null where they are not known before they are carried out. `writes`
  /// outlive it; their order may change as carry_out() changes it.
  virtual std::unique_ptr<ExtentStream> extents_of(std::span<Request> /*writes*/) {
    return nullptr;
  }
  /// Of writes those to variables of a layout that writes several files as one operation
  /// (layout/joint_layout.h), and the others, which carry_out() carries out.
  struct ForJoint {
    JointLayout* layout = nullptr;  ///< the same on all ranks, or null on all: there is none
    std::span<Request> writes, others;
    bool any_others = false;  ///< the same on all ranks; false: `others` is empty
  };
  /// Local. The order of `writes` may change as carry_out() changes it.
  virtual ForJoint for_joint(std::span<Request> /*writes*/) { return {}; }
  /// How operations were carried out and why, for the report: sentences; may be empty.
  virtual std::string reasons() const { return {}; }
  /// Who encoded what, where the report wants it.
  virtual NamedOwners owners() const { return {}; }
};

/// The classic netCDF layout: every variable contiguous, or interleaved record by record (CDF-1, 2,
/// 5). `schema`, `io` and `report` outlive the layout. `flatten`: order writes by sorting all their
/// extents (layout/canonical/flattened.h), to compare.
std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report,
                                              bool flatten = false);

}  // namespace forebay
