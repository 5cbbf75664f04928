// Stage `async`: a collective write returns when its data is copied (Hou 2023, §7.2). The layout
// and the encoding are done in the call, since they are collective. A thread of each rank writes
// the resulting bytes while the program computes (storage/write_queue.h), without MPI.
//
// Data comes first, then the metadata that makes it visible: the number of records, an index, a
// commit. No metadata is written before the bytes of all ranks are in their files. The next
// collective write finds out in its own reduction whether data still waits on any rank, and
// publishes if none does. It waits for the data itself in two cases: if a rank has copied half of
// what it may, so that writes are published even if the file is slower than the program; and if it
// writes bytes that an earlier write still has in some rank's queue. Collective reads, sync, flush,
// redef, changes of the header, independent mode and close wait for all data.
//
// Failed writes are kept. The next collective call tries them again. If that fails, all ranks get
// the error, and the writes of that call are dropped.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/layout.h"
#include "method/method.h"
#include "method/method_keys.h"
#include "stage/stage.h"
#include "storage/write_queue.h"

namespace forebay {

namespace {

/// The number of byte ranges in progress that are tracked separately.
constexpr std::size_t most_ranges = 64;

class AsyncStage : public Stage {
 public:
  AsyncStage(const StageSite& site, WriteQueue& queue)
      : site_(site), layout_(&site.layout), queue_(queue) {
    under_way_.reserve(most_ranges);
  }

  StageNeeds offer(std::span<const Request> writes, std::span<const Request> /*reads*/) override {
    StageNeeds needs;
    if (alone_) return needs;
    needs.staged = !queue_.is_idle();
    needs.flush = queue_.has_failed() || queue_.held() > queue_.memory() / 2;
    ByteRange mine;
    if (attempt_to([&] { mine = layout_->in_place(writes); })) mine = anywhere;
    needs.first = mine.empty() ? nowhere : -mine.first;
    needs.last = mine.last;
    return needs;
  }

  void submit(std::span<Request> requests, bool write, bool collective,
              const StageNeeds& needs) override {
    if (alone_ || !collective) return layout_->carry_out(requests, write, collective);
    const ByteRange range{-needs.first, needs.last};
    if (!write || needs.flush != 0 || meets(range)) {
      settle();
    } else if (needs.staged == 0) {
      publish();
    }
    if (!write) return layout_->carry_out(requests, false, true);
    note(range);
    ++copied_;
    ++held_;  // even on failure, since a part of it may be in progress
    const WriteQueue::Open open(queue_);
    layout_->carry_out(requests, true, true);
  }

  void flush(bool collective) override {
    if (!collective) return;
    settle();
    layout_->flush();
  }
  bool may_be_behind() const override { return holds_writes() || layout_->may_be_behind(); }
  void begin_alone() override {
    settle();
    alone_ = true;
  }
  void end_alone() override {
    alone_ = false;
    layout_->flush();
  }
  bool holds_writes() const override { return held_ > 0; }
  bool publishes_later() const override { return !alone_; }
  void before_header() override { settle(); }
  void use(Layout& layout) override { layout_ = &layout; }
  void close(bool /*drop*/) override {
    held_ = 0;
    queue_.tell();
  }

  std::string reasons() const override {
    if (copied_ == 0) return {};
    const auto seconds = queue_.seconds();
    return fmt::format(
        "async: {} collective writes copied, published {} times; a thread wrote for {:.3f} s, for "
        "{:.3f} s of which calls waited: {:.3f} s hidden",
        copied_, published_, seconds.written, seconds.waited, seconds.hidden());
  }

 private:
  static constexpr ByteRange anywhere{0, std::numeric_limits<Offset>::max()};
  static constexpr std::int64_t nowhere = -std::numeric_limits<std::int64_t>::max();

  bool meets(const ByteRange& range) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const ByteRange& other) { return other.meets(range); });
  }

  // Adds a range of bytes in progress; merges all ranges first if there are too many. The result is
  // equal on all ranks.
  void note(const ByteRange& range) {
    if (range.empty()) return;
    if (under_way_.size() == most_ranges) {
      for (const ByteRange& other : under_way_) under_way_[0].add(other);
      under_way_.resize(1);
    }
    if (!under_way_.empty() && under_way_.back().last == range.first)
      under_way_.back().add(range);
    else
      under_way_.push_back(range);
  }

  // Collective. Afterwards the copied data is in the files and visible.
  void settle() {
    if (held_ == 0) return;
    agree_on_error(site_.comm, attempt_to([&] {
                     StepTimer timer(site_.report, Step::wait);
                     queue_.drain();
                   }));
    publish();
  }

  // Collective. No data waits on any rank.
  void publish() {
    if (held_ == 0) return;
    site_.host.publish();
    under_way_.clear();
    held_ = 0;
    ++published_;
  }

  StageSite site_;
  Layout* layout_;
  WriteQueue& queue_;
  bool alone_ = false;
  std::vector<ByteRange> under_way_;  // this and the following are equal on all ranks
  std::int64_t held_ = 0;             // writes that are not published yet
  std::int64_t copied_ = 0, published_ = 0;
};

constexpr KeySpec keys[] = {
    size_key({"async_memory", "bytes, at least 1", "128MiB",
              "Stage async: bytes of a rank that wait to be written at most; a call that has more "
              "waits.",
              "engine"},
             &Method::async_memory, 1)
        .honoured_by(written_as_netcdf | bp_files)
        .with("stage=async"),
};

}  // namespace

extern const StageEntry async_stage{
    {"async", "copied, and written by a thread while the program goes on", 18, keys,
     written_as_netcdf | bp_files | FrontEnd::hdf5},
    [](const StageSite& site) -> std::unique_ptr<Stage> {
      WriteQueue* queue = site.host.later();
      return queue ? std::make_unique<AsyncStage>(site, *queue) : nullptr;
    },
    false,
    false,
    true};

}  // namespace forebay
