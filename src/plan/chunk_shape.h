// The shape of a variable's chunks when the user gives none: it follows from the access pattern of
// the first flush.
//
// The problem: chunks of 1 to 4 MiB (large enough to compress well and to be worth a system call,
// small enough to be dealt out and to be read in part), whose borders fall on the borders between
// the ranks' blocks, so that each rank encodes what it writes and nothing moves. Codes lay blocks
// out on a lattice (checkerboard), stack blocks of about equal length (block-append), or write
// scattered pieces, from which no shape follows.
//
// No rank sees all blocks, so the ranks find the lattice in two reductions, each one element-wise
// minimum over a few integers that can be put behind one another for all variables:
//
//     facts    = min over ranks of describe_access(my blocks)
//     lattice  = candidate_lattice(facts)                           (equal on all ranks)
//     holds    = min over ranks of aligned(lattice, my blocks)
//     shape    = choose_chunk_shape(facts, holds)                   (equal on all ranks)
//
// A block of 1 to 4 MiB is a chunk. A larger one is cut evenly, slowest dimension first, so that
// parts are contiguous and tile it; of smaller ones, neighbours are put together, fastest dimension
// first. Where the lattice does not hold, a block of typical lengths takes the place of the
// lattice's. For record variables a chunk spans one record, or as many small records as make 4 KiB;
// all of the above applies to the dimensions of one record.
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
constexpr Count chunk_bytes_limit = Count{1} << 30;        ///< what anybody may ask for
constexpr Count chunk_count_limit = (Count{1} << 31) - 1;  ///< in a fixed variable or one record

/// What the requests to one variable look like. Combined over ranks by the element-wise minimum of
/// values(); what needs a maximum is kept negated. A fresh one is the neutral element.
class AccessFacts {
 public:
  explicit AccessFacts(int ndims = 0);
  /// How many values there are for a variable of `ndims` dimensions.
  static std::size_t size_for(int ndims);

  std::span<std::int64_t> values() { return values_; }
  std::span<const std::int64_t> values() const { return values_; }

  void add_block(const Subarray& block);  ///< empty ones count for nothing
  void add_scattered();                   ///< a request that is a list of pieces

  bool any() const;                ///< some request touches something
  bool scattered() const;          ///< some request is a list of pieces
  Count first_start(int d) const;  ///< smallest start above 0; 0 if all blocks start at 0
  Count shortest(int d) const;     ///< length of a block; 0 without blocks
  Count longest(int d) const;
  bool strided(int d) const;  ///< some block leaves elements out
  int ndims() const { return static_cast<int>(values_.size() / 4); }

 private:
  std::vector<std::int64_t> values_;
};

/// The facts of one rank: its subarrays of one variable, and whether it has requests of other kinds
/// (run lists). A rank without requests passes nothing, and must still take part in the reduction.
AccessFacts describe_access(const Variable& var, std::span<const Subarray* const> blocks,
                            bool scattered = false);

/// Block lengths per dimension (1 in the record dimension) that all blocks may be aligned to. Empty
/// when no lattice can be: nobody touches the variable, scattered pieces, strides.
std::vector<Count> candidate_lattice(const Variable& var, const AccessFacts& combined);

/// Whether every block starts at a multiple of the lattice and ends at one or where the dimension
/// ends. True for a rank without blocks. The record dimension is not looked at.
bool aligned(const Variable& var, std::span<const Count> lattice,
             std::span<const Subarray* const> blocks);

struct ShapeChoice {
  std::vector<Count> shape;  ///< passes check_chunk_shape for all but absurdly large variables
  std::string reason;        ///< one clause for `forebay info`
};

/// The shape for variables of which the access pattern is known; default_chunk_shape where it is of
/// no use. `combined` and `lattice_holds` are reduced over ranks. No entry is below 1 or (but in
/// the record dimension) above the dimension. No errors.
/// `least` stands for least_chunk_bytes where the user wants smaller or larger chunks.
ShapeChoice choose_chunk_shape(const Variable& var, const AccessFacts& combined, bool lattice_holds,
                               Count least = least_chunk_bytes);

/// The shape when nothing is known that helps; `why` opens the reason ("scattered pieces"). Parts
/// of the whole variable (or record) that are contiguous, close to `least` so that there are enough
/// of them for all ranks. No errors.
ShapeChoice default_chunk_shape(const Variable& var, std::string_view why,
                                Count least = least_chunk_bytes);

/// The shape where no pattern matters: the whole variable, or whole records, of less than `least`
/// bytes. Nothing for larger ones. No errors.
std::optional<ShapeChoice> small_chunk_shape(const Variable& var, Count least = least_chunk_bytes);

/// `shape` with no entry larger than the variable's dimension; the record dimension stays, and so
/// do entries that check_chunk_shape will refuse.
std::vector<Count> clipped_chunk_shape(const Variable& var, std::span<const Count> shape);

/// Errc::einval, saying what to ask for instead, when `shape` has the wrong number of entries, one
/// below 1, more than chunk_bytes_limit bytes, or makes more than chunk_count_limit chunks. A shape
/// longer than the variable is no error in itself: clip it first, and only what is left counts.
void check_chunk_shape(const Variable& var, std::span<const Count> shape);

}  // namespace forebay
