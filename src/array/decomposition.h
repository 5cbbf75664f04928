// A decomposition map as one rank has it (D6 §6.4.1.1): which elements of an array it holds, as
// pieces in the order in which its memory has them. Variables are defined by it (D6 §6.4.1.2): its
// dimensions are their last ones, and writing them needs no starts and counts but those of the
// dimensions before.
//
// What selects a variable's elements is made once for each element size and box of leading
// coordinates, and is the same list for every variable and record after that: no start or count of
// a piece is looked at again, and layouts know the list by its address.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

constexpr std::size_t most_decompositions = 1 << 16;  ///< of a file

/// Not for several threads at once.
class Decomposition {
 public:
  /// What a header tells: nothing is known of this rank's pieces. `dims` have the lengths `shape`;
  /// `ranks` defined it together.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks);
  /// The same with pieces: any order, also overlapping or empty. Errors as flatten_varn's.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                const VarnPieces& pieces);
  /// The same with runs of elements over the whole array, each a piece.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                std::span<const Run> runs);

  const std::vector<DimId>& dims() const { return dims_; }
  const std::vector<Count>& shape() const { return shape_; }
  int ranks() const { return ranks_; }

  bool has_pieces() const { return !begins_.empty(); }
  int pieces() const { return static_cast<int>(begins_.size()) - 1; }
  /// Of `n` pieces, those that overlap counted each time.
  Count elements(int first, int n) const { return before_[at(first + n)] - before_[at(first)]; }
  Count elements() const { return elements(0, pieces()); }
  /// Runs of `n` pieces over the array, in elements; `resolved`: where they overlap the later one
  /// stays.
  RunList runs(int first, int n, bool resolved) const;

  /// Pieces [first, first + n) at the leading coordinates of `var` that start and count say, which
  /// have been checked, as have first and n; they have some elements. In memory, elements of one
  /// leading coordinate follow those of another. Errc::eintoverflow.
  Runs select(const Variable& var, std::span<const Count> start, std::span<const Count> count,
              int first, int n, bool write) const;

 private:
  struct Key {
    int first, n;
    Count width;
    bool resolved;
    std::vector<Count> box;  // counts and distances of leading coordinates, if there are several
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    std::shared_ptr<const RunList> list;
  };

  static std::size_t at(int piece) { return static_cast<std::size_t>(piece); }
  void end_piece();
  std::shared_ptr<const RunList> make(const Key& key) const;
  void remember(Known known) const;

  std::vector<DimId> dims_;
  std::vector<Count> shape_;
  int ranks_;
  Count extent_ = 1;                  // elements of the array
  std::vector<Run> runs_;             // in elements, piece after piece
  std::vector<std::size_t> begins_;   // of each piece's runs, and one more
  std::vector<Count> before_;         // elements before each piece, and of all
  bool overlapping_ = false;          // some piece meets another
  mutable std::vector<Known> known_;  // the one used last is last
};

}  // namespace forebay
