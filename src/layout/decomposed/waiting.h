// Independent writes that wait for the next collective call, since a slab is of a whole group: as
// they were posted, their data in memory up to a limit, beyond it in a file without a name
// (layout/pending_data.h). Reads of the same rank see them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "array/request.h"
#include "layout/decomposed/selected.h"
#include "layout/pending_data.h"

namespace forebay::decomposed {

class WaitingWrites {
 public:
  WaitingWrites(Count limit, PendingData::MakeFile make_file)
      : limit_(limit), data_(limit, std::move(make_file)) {}

  /// Copies the data, in external form. If it fails some of it may have been added.
  void add(const Request& write);
  bool empty() const { return writes_.empty(); }
  /// How many rounds it takes to hand all over, each of about `limit` bytes, or of one write that
  /// is no box.
  std::int64_t rounds() const { return rounds_; }
  /// The writes of the next round, in order of posting; valid until the next call.
  std::span<Request> next_round();
  /// The next round is the first one again.
  void begin_again();
  void clear();

  /// Puts over what a read has got of one part what was written of it since. `request` reads a
  /// variable of elements of the same size.
  void apply(const Request& read, const Part& part, const Variable& var, Selector& selector) const;

 private:
  Count limit_;
  PendingData data_;
  std::vector<Request> writes_;
  std::vector<Offset> positions_;
  std::int64_t rounds_ = 0;
  Count round_bytes_ = 0;  // of the last one
  std::size_t handed_ = 0;
  std::vector<std::byte> loaded_;
};

}  // namespace forebay::decomposed
