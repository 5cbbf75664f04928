// A request: one variable, one selection, one piece of memory, in one direction. Front ends make
// requests, stages queue them, layouts turn them into extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "array/selection.h"
#include "array/type.h"
#include "base/types.h"

namespace forebay {

/// Where the elements of a request lie in the caller's memory, in selection order (row-major over
/// `count`).
struct Memory {
  std::byte* data = nullptr;  ///< first element; writes do not modify it
  Type type = Type::none;     ///< native type of each element
};

/// The parts that few requests have.
struct RequestExtras {
  Counts imap;  ///< distance in elements between neighbours per dimension; empty: contiguous
  /// Runs once when the request has completed or was cancelled. If `delivered`, a read's data is in
  /// `memory.data` by then. It unpacks derived datatypes and releases what the front end holds.
  std::function<void(bool delivered)> on_done;
};

/// It is small, because programs have millions of requests pending. No part of it points to another
/// part, so that lists may move it byte by byte (dataset/request_list.h).
struct Request {
  // The front end sets these, and has checked them against the schema (check_selection).
  VarId var = 0;
  int level = 0;  ///< for reads: the selection is one of at_level() of the variable
  std::variant<Subarray, Runs> selection;
  Count last_record = 0;  ///< one past the highest record touched (0 for fixed variables); grows
                          ///< numrecs on write
  Count elements = 0;     ///< number of elements selected
  Memory memory;
  std::unique_ptr<RequestExtras> extras;  ///< may be null

  // Dataset sets these: the data in external size (`swap` reverses it on its way), in a buffer that
  // follows the selection.
  std::byte* packed = nullptr;  ///< elements in selection order, `element_size` bytes each
  std::unique_ptr<std::byte[]>
      staging;                 ///< owns `packed` where data was converted, gathered or buffered
  std::uint64_t sequence = 0;  ///< order of posting; where writes overlap the highest wins
  int element_size = 1;
  int swap = 1;           ///< width to reverse; 1 when `packed` is in external form already
  int id = 0;             ///< while it is pending; then its place in the list that is waited for
  bool write = false;     ///< set by the front end, as is `buffered`
  bool buffered = false;  ///< bput: the data is copied out of `memory` when posted

  bool is_mapped() const { return extras && !extras->imap.empty(); }
  RequestExtras& with_extras() {
    if (!extras) extras = std::make_unique<RequestExtras>();
    return *extras;
  }

  /// Returns what layouts look at, to be passed on instead of this request, which keeps `packed`.
  Request for_layout() const {
    Request same;
    same.var = var;
    same.write = write;
    same.selection = selection;
    same.last_record = last_record;
    same.elements = elements;
    same.level = level;
    same.packed = packed;
    same.element_size = element_size;
    same.swap = swap;
    same.sequence = sequence;
    return same;
  }
};

}  // namespace forebay
