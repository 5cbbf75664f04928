// A part of a variable in patches that becomes finer step by step (H §III): each step reads the
// details of one more level, of those patches alone that are not good enough yet.
#pragma once

#include <vector>

#include "array/request.h"
#include "base/types.h"
#include "codec/hierarchy.h"
#include "files/file_chunks.h"

namespace forebay {

class Refinement {
 public:
  /// `chunks` outlives it. `box` is a checked selection of the variable, without strides, in
  /// records that there are. Reads the first part of each of its patches. Errors as
  /// FileChunks::read().
  Refinement(const FileChunks& chunks, VarId var, Subarray box, int threads = 1);

  /// Of what values() gives; begins as the coarsest one.
  int level() const { return level_; }
  /// What of that level stands in the box; some of its counts may be 0.
  const Subarray& selection() const { return selection_; }
  /// How far the variable can be, wherever in the box it is not missing, from what the patches hold
  /// so far, taken back to full resolution patch by patch.
  double error() const;
  Count bytes_read() const { return bytes_read_; }

  /// Goes to the next finer level, which there is: reads its part of the patches whose error is
  /// above `error`, and of those where elements are missing. Errors as FileChunks::read(); it may
  /// be called again then, and all else is as before but for bytes_read().
  void refine(double error);
  /// All elements of selection(), as values of `type`. True if a value does not fit that.
  bool values(Type type, void* out) const;

 private:
  struct Patch {
    Count id = 0;
    std::vector<std::vector<std::byte>> parts;  ///< as stored; none of one that was never written
    HierarchyFacts facts;
  };
  double error_of(const Patch& patch) const;
  void read_part(Patch& patch);
  void select();

  const FileChunks& chunks_;
  VarId var_;
  Subarray box_, selection_;
  int threads_, levels_, level_;
  std::vector<Patch> patches_;  ///< by id
  Count bytes_read_ = 0;
};

}  // namespace forebay
