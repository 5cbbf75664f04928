// A request: one variable, one selection, one piece of memory, in one direction. Front ends make
// them, stages queue them, layouts turn them into extents.
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
  std::vector<Count>
      imap;  ///< distance in elements between neighbours per dimension; empty: contiguous
  const void* out_of_range =
      nullptr;  ///< what a read puts where a value does not fit; null: the type's fill value
};

struct Request {
  // What a front end says. It has checked it against the schema (check_selection).
  VarId var = 0;
  bool write = false;
  std::variant<Subarray, Runs> selection;
  Count last_record = 0;  ///< one past the highest record touched (0 for fixed variables); grows
                          ///< numrecs on write
  Count elements = 0;     ///< number of elements selected
  int level = 0;          ///< of a read: the selection is one of at_level() of the variable
  Memory memory;
  bool buffered = false;  ///< bput: the data is copied out of `memory` when posted
  /// Runs once when the request has completed or was cancelled (a read's data is in `memory.data`
  /// by then, if `delivered`): unpacking of derived datatypes and release of what the front end
  /// holds.
  std::function<void(bool delivered)> on_done;

  // What Dataset makes of it: data in external size (swap reverses it on its way), in a buffer that
  // follows the selection.
  std::byte* packed = nullptr;  ///< elements in selection order, `element_size` bytes each
  int element_size = 1;
  int swap = 1;  ///< width to reverse; 1 when `packed` is in external form already
  std::unique_ptr<std::byte[]>
      staging;                 ///< owns `packed` where data was converted, gathered or buffered
  std::uint64_t sequence = 0;  ///< order of posting; where writes overlap the highest wins
  int id = 0;

  /// What layouts look at, for whoever hands it over in its stead. `packed` is this one's.
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
