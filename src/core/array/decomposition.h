// A decomposition map as one rank has it (Hou 2023, §6.4.1.1): the elements of an array that it
// holds, as pieces in the order of its memory. Variables are defined by it (Hou 2023, §6.4.1.2):
// its dimensions are their last ones. To write such a variable takes starts and counts only for the
// dimensions before these.
//
// The list that selects a variable's elements is made once for each element size and box of leading
// coordinates. Every variable and record after that gets the same list: no start or count of a
// piece is looked at again, and layouts know the list by its address.
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

/// Only one thread may use it at a time.
class Decomposition {
 public:
  /// A map from a header: nothing is known of this rank's pieces. `dims` have the lengths `shape`;
  /// `ranks` ranks defined it together.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks);
  /// A map with pieces in any order, which may overlap or be empty. Throws as flatten_varn does.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                const VarnPieces& pieces);
  /// A map with runs of elements over the whole array, each a piece.
  Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                std::span<const Run> runs);

  const std::vector<DimId>& dims() const { return dims_; }
  const std::vector<Count>& shape() const { return shape_; }
  int ranks() const { return ranks_; }

  bool has_pieces() const { return !begins_.empty(); }
  int pieces() const { return static_cast<int>(begins_.size()) - 1; }
  /// Returns the elements of `n` pieces. Those that overlap count each time.
  Count elements(int first, int n) const { return before_[at(first + n)] - before_[at(first)]; }
  Count elements() const { return elements(0, pieces()); }
  /// Returns the runs of `n` pieces over the array, in elements. If `resolved`, the later run stays
  /// where runs overlap.
  RunList runs(int first, int n, bool resolved) const;

  /// Selects pieces [first, first + n) at the leading coordinates of `var` that start and count
  /// give. All these have been checked, and the pieces have some elements. In memory, elements of
  /// one leading coordinate follow those of another. Throws Errc::eintoverflow.
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
  std::vector<std::size_t> begins_;   // where each piece's runs begin, and the end
  std::vector<Count> before_;         // elements before each piece, and of all
  bool overlapping_ = false;          // some pieces overlap
  mutable std::vector<Known> known_;  // the one used most recently is last
};

}  // namespace forebay
