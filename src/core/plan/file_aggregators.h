// Which rank writes which of several files (Fan et al. 2021, §IV-C.1: one aggregator per file,
// spread evenly over the ranks; rank ⌊f·N/F⌋ of N for file f of F).
//
// Here nodes come first, since the ranks of a node share its bandwidth to storage. Files are
// distributed evenly over nodes, at most one per rank, and then evenly over the ranks of a node.
// With F <= N no rank has two files. Consecutive files, whose chunks are neighbours, are on the
// same node or on neighbouring ones. If nodes are equal and have consecutive ranks, file f is on
// the node of rank ⌊f·N/F⌋; on a single node it is that rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

class FileAggregators {
 public:
  /// `ranks_of` has the number of ranks of each node, at least one each. Errc::einval if there are
  /// no files, or more files than ranks. O(nodes log nodes).
  FileAggregators(Count files, std::span<const int> ranks_of);

  /// A rank, given by its node and its number on that node, from 0.
  struct Place {
    int node = 0, rank = 0;
    bool operator==(const Place&) const = default;
  };
  Place of(Count file) const;  ///< 0 <= file < files. O(log nodes)
  /// The file that the rank at a place writes. O(1).
  std::optional<Count> file_at(Place place) const;

 private:
  struct Node {
    Count first;  // of its files
    int ranks;
  };
  Count files_on(std::size_t node) const;

  std::vector<Node> nodes_;
  Count files_;
};

}  // namespace forebay
