// Refines a part of a variable in patches step by step (Fan et al. 2021, §III). Each step reads the
// details of one more level, only in patches that are not good enough yet.
#pragma once

#include <vector>

#include "array/request.h"
#include "base/types.h"
#include "layout/chunked/file_chunks.h"
#include "patches/hierarchy.h"

namespace forebay {

class Refinement {
 public:
  /// `chunks` must outlive it. `box` is a checked selection of the variable, without strides, in
  /// existing records. Reads the first part of each of its patches. Errors are those of
  /// FileChunks::read().
  Refinement(const FileChunks& chunks, VarId var, Subarray box, int threads = 1);

  /// The level of values(). It begins with the coarsest one.
  int level() const { return level_; }
  /// Returns the elements of that level in the box; some of its counts may be 0.
  const Subarray& selection() const { return selection_; }
  /// Returns how far the variable can be, in the box, from what the patches hold so far, taken back
  /// to full resolution patch by patch. Missing values do not count.
  double error() const;
  Count bytes_read() const { return bytes_read_; }

  /// Goes to the next finer level, which must exist. Reads its part of the patches whose error is
  /// above `error`, and of those with missing elements. Errors are those of FileChunks::read().
  /// After an error it may be called again; only bytes_read() has changed.
  void refine(double error);
  /// Gets all elements of selection() as values of `type`. Returns true if a value does not fit it.
  bool values(Type type, void* out) const;

 private:
  struct Patch {
    Count id = 0;
    std::vector<std::vector<std::byte>> parts;  ///< as stored; empty if the patch was never written
    LevelFacts facts;
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
