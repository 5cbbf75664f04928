// The canonical layout's arithmetic: extents of requests, in file order. See plan/order.h for how
// requests are merged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/extent.h"
#include "base/small_list.h"
#include "layout/ordered_stream.h"

namespace forebay {

/// Yields the extents of one request in file order. Nothing is flattened ahead.
class RequestCursor {
 public:
  RequestCursor(const Request& request, const Schema& schema)
      : RequestCursor(request, schema.vars[static_cast<std::size_t>(request.var)], schema.recsize) {
  }
  /// The same for records that are `record_distance` bytes apart in the file.
  RequestCursor(const Request& request, const Variable& var, Count record_distance);

  /// The bytes between the first and one past the last touched, and the number of pieces.
  StreamSummary summary() const { return summary_; }
  std::size_t next(std::span<Extent> out);

  // Parts of a subarray, row by row: for who reads it piece by piece, in any order.

  RequestCursor(const Subarray& part, const Variable& var, Count record_distance);
  /// What is selected from byte `from` on, `bytes` of it, into `memory`.
  void restrict_to(Count from, Count bytes, std::byte* memory, int swap);
  /// The next pieces that are equally far from each other; nothing at the end.
  std::optional<ExtentRow> next_row();

 private:
  struct Loop {
    Count count;
    Count stride;  // bytes in the file
    Count index = 0;
  };

  void set_up_subarray(const Subarray& sub, const Variable& var, Count record_distance);
  void set_up_runs(const Runs& selected, const Variable& var, Count record_distance);
  std::size_t next_of_subarray(std::span<Extent> out);
  std::size_t next_of_runs(std::span<Extent> out);
  std::size_t next_of_records(std::span<Extent> out);
  void advance();

  StreamSummary summary_;
  std::byte* memory_ = nullptr;
  std::int32_t swap_ = 1;
  Offset base_ = 0;           // first byte of what comes next (subarray), or of the run list's base
  Count run_ = 0;             // bytes of each contiguous piece (subarray)
  Offset position_ = 0;       // in `memory_`
  SmallList<Loop, 4> loops_;  // outermost first; empty: one piece
  bool at_end_ = false;
  // Of restrict_to(): pieces that are left, bytes of the first one that lie before what is wanted,
  // and of the last one behind it.
  Count left_ = 0, before_ = 0, behind_ = 0;
  const RunList* list_ = nullptr;
  std::size_t run_index_ = 0;
  // Run lists over several records that do not follow each other in the file.
  Count dense_ = 0, gap_ = 0;           // bytes of a record, and to the next one; dense_ 0: no such
  Offset shift_ = 0;                    // of the list's offsets
  Count record_ = -1, record_end_ = 0;  // the record at hand
  Count of_run_ = 0;                    // bytes of the run that are done
  std::shared_ptr<const RunList> in_file_;
};

/// All requests of one operation in file order.
class CanonicalStream final : public OrderedStream<RequestCursor> {
 public:
  CanonicalStream(std::span<const Request> requests, const Schema& schema, bool write);
  std::unique_ptr<ExtentStream> clone() const override;

 private:
  RequestCursor cursor(std::uint32_t request) const override {
    return {requests_[request], schema_};
  }

  std::span<const Request> requests_;
  const Schema& schema_;
  bool write_;
};

}  // namespace forebay
