#include "transport/read_ahead.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/attempt.h"
#include "transport/direct_io.h"
#include "transport/extent_reader.h"

namespace forebay {

namespace {

// A larger piece is worth a call of its own; reading ahead would only copy its bytes once more.
constexpr Count largest_piece = 64 << 10, largest_slow_piece = 1 << 20;
// What lies between a rank's pieces is read in vain; others read theirs as well.
constexpr Count largest_step = 32 << 10, largest_slow_step = 16 << 10;
// If calls are quick, what is held should stay in the cache.
constexpr Count most_held = 256 << 10;

}  // namespace

bool ReadAhead::is_fresh() const {
  return file_.changes() == filled_at_ && Clock::now() - filled_ < for_long;
}

bool ReadAhead::holds(const StreamSummary& mine) const {
  return begin_ < end_ && mine.first >= begin_ && mine.last <= end_ && is_fresh();
}

bool ReadAhead::follows(const StreamSummary& mine) const {
  const bool slow = is_slow_file();
  const Count largest = std::min(slow ? largest_slow_piece : largest_piece, limit_ / 2);
  const Count furthest = slow ? largest_slow_step : largest_step;
  return mine.pieces == 1 && last_ >= 0 && mine.first == last_ + step_ && mine.bytes <= largest &&
         (step_ == mine.bytes || step_ <= furthest);
}

ReadAhead::Need ReadAhead::need(const StreamSummary& mine) const {
  looked_ = file_.changes();
  if (looked_ < 0) return other;
  if (looked_ != seen_) return anew;
  if (mine.empty() || holds(mine)) return nothing;
  return follows(mine) ? what_follows : other;
}

void ReadAhead::agreed(Need all, bool writing) {
  seen_ = looked_;
  if (writing || all == anew) drop();
}

// After a first piece, the next one is expected right behind it.
void ReadAhead::note(const StreamSummary& mine) {
  if (mine.empty()) return;
  const bool alone = mine.pieces == 1, before = alone && last_ >= 0;
  const Count step = before ? mine.first - last_ : 0;
  const bool on = before && step == step_;
  if (!on) drop();
  asked_ = on ? asked_ + step : mine.bytes;
  step_ = step > 0 ? step : mine.bytes;
  last_ = alone ? mine.first : -1;
}

// Reading ahead begins with as little as at first: the dropped bytes may have been read in vain.
void ReadAhead::drop() {
  held_.reset();
  begin_ = end_ = room_ = 0;
  asked_ = 0;
}

// Returns false and holds nothing without memory, or if the file cannot be read further on.
bool ReadAhead::fill(const StreamSummary& mine, Report& report) {
  const Count most = is_slow_file() ? limit_ : std::min(limit_, most_held);
  if (begin_ < end_ && !is_fresh()) asked_ = 0;
  const Count ahead = std::min(asked_ + step_, most - mine.bytes) / step_ * step_;
  begin_ = end_ = 0;
  return !attempt_to([&] {
    const Count bytes = mine.bytes + std::max<Count>(ahead, 0);
    if (bytes > room_) {
      held_.reset();
      room_ = 0;
      held_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
      room_ = bytes;
    }
    filled_at_ = file_.changes();
    filled_ = Clock::now();
    StepTimer timer(report, Step::read);
    const auto got = static_cast<Count>(
        file_.read_at(mine.first, {held_.get(), static_cast<std::size_t>(bytes)}));
    timer.moved(got);
    if (got < mine.bytes)
      std::memset(held_.get() + got, 0, static_cast<std::size_t>(mine.bytes - got));
    begin_ = mine.first;
    end_ = mine.first + std::max(got, mine.bytes);
  });
}

void ReadAhead::read(ExtentStream& extents, Count hole_threshold, Report& report) {
  const StreamSummary mine = extents.summary();
  if (mine.empty()) return;
  if (!holds(mine) && (!follows(mine) || !fill(mine, report)))
    return read_directly(file_, extents, hole_threshold, report);
  give(extents);
}

void ReadAhead::give(ExtentStream& extents) const {
  std::array<Extent, 64> batch;
  while (const std::size_t n = extents.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) copy_in(batch[i], held_.get() + (batch[i].offset - begin_));
  }
}

}  // namespace forebay
