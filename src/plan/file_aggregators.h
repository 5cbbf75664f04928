// Which rank writes which of several files (H §IV-C.1: one aggregator a file, uniformly over the
// ranks; ⌊f·N/F⌋ of N ranks for file f of F).
//
// Nodes come first: what a node can send to storage its ranks share. So files are dealt to nodes,
// equally many to each, but no more than it has ranks; and on a node to its ranks, evenly. With
// F <= N no rank has two. Files that follow each other, whose patches are neighbours, are on the
// same node or on neighbouring ones. With equal nodes file f is on the node that rank ⌊f·N/F⌋ is
// on, where nodes have consecutive ranks; on a single node it is that rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

class FileAggregators {
 public:
  /// `ranks_of`: how many ranks each node has, at least one. Errc::einval where there are more
  /// files than ranks, or none. O(nodes log nodes).
  FileAggregators(Count files, std::span<const int> ranks_of);

  /// A rank as the one of its node: the how manieth, from 0 on.
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
