// Independent writes that wait for the next collective call, because a slab belongs to a whole
// group. They are kept as posted. Their data is in memory up to a limit, and beyond it in an
// unnamed file (layout/pending_data.h). Reads of the same rank see them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "array/request.h"
#include "decomposed/selected.h"
#include "layout/pending_data.h"

namespace forebay::decomposed {

class WaitingWrites {
 public:
  WaitingWrites(Count limit, PendingData::MakeFile make_file)
      : limit_(limit), data_(limit, std::move(make_file)) {}

  /// Copies the data, in external form. If it fails, some of it may have been added.
  void add(const Request& write);
  bool empty() const { return writes_.empty(); }
  /// Returns how many rounds it takes to hand all writes over. A round has about `limit` bytes, or
  /// one write that is not a box.
  std::int64_t rounds() const { return rounds_; }
  /// Returns the writes of the next round, in order of posting. Valid until the next call.
  std::span<Request> next_round();
  /// Restarts with the first round.
  void begin_again();
  void clear();

  /// Overwrites the result of a read of one part with the values that wait. `read` must read a
  /// variable with elements of the same size.
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
