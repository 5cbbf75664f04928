// The shape of a variable's chunks if the user gives none. It follows from the access pattern of
// the first flush.
//
// The problem: chunks should have 1 to 4 MiB. That is large enough to compress well and to be worth
// a system call, and small enough to distribute and to read in part. Their borders should be the
// borders between the ranks' blocks, so that each rank encodes what it writes and nothing moves.
// Programs lay blocks out on a lattice (checkerboard), stack blocks of about equal length
// (block-append), or write scattered pieces, from which no shape follows.
//
// No rank sees all blocks. So the ranks find the lattice in two reductions. Each is an element-wise
// minimum over a few integers, which can be concatenated for all variables:
//
//     facts    = min over ranks of describe_access(my blocks)
//     lattice  = candidate_lattice(facts)                           (equal on all ranks)
//     holds    = min over ranks of aligned(lattice, my blocks)
//     shape    = choose_chunk_shape(facts, holds)                   (equal on all ranks)
//
// A block of 1 to 4 MiB is a chunk. A larger one is cut evenly, slowest dimension first, so that
// its parts are contiguous. Smaller neighbours are merged, fastest dimension first. If there is no
// lattice, a block of typical lengths is used instead. A chunk of a record variable spans one
// record, or enough small records for 4 KiB; the rules apply to the dimensions of one record.
//
// Pure functions; cost linear in blocks and dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

constexpr Count least_chunk_bytes = Count{1} << 20;        ///< chosen shapes have at least so many
                                                           ///< bytes, in external form, ...
constexpr Count most_per_least = 4;                        ///< ... and at most so many times that
constexpr Count chunk_bytes_limit = Count{1} << 30;        ///< the most that a user may ask for
constexpr Count chunk_count_limit = (Count{1} << 31) - 1;  ///< in a fixed variable or one record

/// What the requests to one variable look like. An element-wise minimum of values() combines the
/// facts of ranks; maxima are stored negated. A new object is the neutral element.
class AccessFacts {
 public:
  explicit AccessFacts(int ndims = 0);
  /// The number of values for a variable of `ndims` dimensions.
  static std::size_t size_for(int ndims);

  std::span<std::int64_t> values() { return values_; }
  std::span<const std::int64_t> values() const { return values_; }

  void add_block(const Subarray& block);  ///< empty blocks do not count
  void add_scattered();                   ///< a request that is a list of pieces

  bool any() const;                ///< some request touches an element
  bool scattered() const;          ///< some request is a list of pieces
  Count first_start(int d) const;  ///< smallest start above 0; 0 if all blocks start at 0
  Count shortest(int d) const;     ///< length of a block; 0 without blocks
  Count longest(int d) const;
  bool strided(int d) const;  ///< some block skips elements
  int ndims() const { return static_cast<int>(values_.size() / 4); }

 private:
  std::vector<std::int64_t> values_;
};

/// The facts of one rank: its subarrays of one variable, and whether it has other requests (run
/// lists). A rank without requests passes nothing, and still takes part in the reduction.
AccessFacts describe_access(const Variable& var, std::span<const Subarray* const> blocks,
                            bool scattered = false);

/// Block lengths per dimension (1 in the record dimension) that all blocks may be aligned to. Empty
/// if there is no lattice: nobody touches the variable, or pieces are scattered or strided.
std::vector<Count> candidate_lattice(const Variable& var, const AccessFacts& combined);

/// Returns whether every block starts at a multiple of the lattice, and ends at one or at the end
/// of the dimension. True for a rank without blocks. Ignores the record dimension.
bool aligned(const Variable& var, std::span<const Count> lattice,
             std::span<const Subarray* const> blocks);

struct ShapeChoice {
  std::vector<Count> shape;  ///< passes check_chunk_shape for all but absurdly large variables
  std::string reason;        ///< one clause for `forebay info`
};

/// The shape for a variable with a known access pattern; default_chunk_shape if the pattern is of
/// no use. `combined` and `lattice_holds` are reduced over ranks. No entry is below 1 or (except in
/// the record dimension) above the dimension. `least` replaces least_chunk_bytes if the user wants
/// smaller or larger chunks. No errors.
ShapeChoice choose_chunk_shape(const Variable& var, const AccessFacts& combined, bool lattice_holds,
                               Count least = least_chunk_bytes);

/// The shape without a useful pattern; `why` begins the reason ("scattered pieces"). Chunks are
/// contiguous parts of the variable (or record), close to `least` bytes so that there are enough
/// for all ranks. No errors.
ShapeChoice default_chunk_shape(const Variable& var, std::string_view why,
                                Count least = least_chunk_bytes);

/// The shape of a variable (or records) of less than `least` bytes, whatever the pattern: all of
/// it. Nothing for larger ones. No errors.
std::optional<ShapeChoice> small_chunk_shape(const Variable& var, Count least = least_chunk_bytes);

/// `shape` with no entry larger than the variable's dimension. The record dimension and entries
/// that check_chunk_shape rejects stay as they are.
std::vector<Count> clipped_chunk_shape(const Variable& var, std::span<const Count> shape);

/// Errc::einval, saying what to ask for instead, if `shape` has the wrong number of entries, an
/// entry below 1, more than chunk_bytes_limit bytes, or makes more than chunk_count_limit chunks. A
/// shape larger than the variable is no error: clip it first, since only the rest counts.
void check_chunk_shape(const Variable& var, std::span<const Count> shape);

}  // namespace forebay
