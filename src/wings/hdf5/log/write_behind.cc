#include "hdf5/log/write_behind.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/attempt.h"

namespace forebay::logged {

WriteBehind::~WriteBehind() {
  leave_parent();
  for (const Begun& begun : begun_) {
    begun.progress->by_ = nullptr;
    begun.progress->failed_ =
        failed_ ? *failed_
                : Error(Errc::ewrite, "the file was closed before this was written",
                        "wait for the event set before H5Fclose");
  }
}

/// In a child of the process there is no thread. The child has its memory, and the thread's lock,
/// as they were when it began.
void WriteBehind::leave_parent() {
  if (opener_.process() == ::getpid()) return;
  opener_ = {};
  static_cast<void>(queue_.release());
  for (Begun& begun : begun_) begun.queued = false;
  if (!begun_.empty())
    failed_ = Error(Errc::eperm, "another process has begun this write", "flush the file");
}

void WriteBehind::prepare() {
  leave_parent();
  if (!queue_) queue_ = std::make_unique<WriteQueue>(1, report_);
  if (!prepared_.empty()) return;
  std::shared_ptr<Progress> progress(new Progress(this));
  prepared_.emplace_back().progress = std::move(progress);
}

std::shared_ptr<WriteBehind::Progress> WriteBehind::start(Batch&& given) {
  Begun& begun = prepared_.front();
  const Batch& batch = begun.batch.emplace(std::move(given));
  begun_.splice(begun_.end(), prepared_);
  copied_ += batch.copied;
  ++started_;
  const auto failed = attempt_to([&] {
    begun.number = batch.data.lend_to(*queue_, *batch.file, batch.begin);
    begun.queued = true;
  });
  if (failed) take_back(*failed);
  return begun.progress;
}

bool WriteBehind::has_failed() {
  leave_parent();
  return failed_ || (queue_ && queue_->has_failed());
}

/// The next batch is in the file.
void WriteBehind::land() {
  const Begun& begun = begun_.front();
  landed_of_(*begun.batch);
  begun.progress->by_ = nullptr;
  landed_.splice(landed_.end(), begun_, begun_.begin());
}

void WriteBehind::look() {
  leave_parent();
  const auto is_written = [&](const Begun& begun) {
    bool written = false;  // also while a later batch has failed
    attempt_to([&] { written = begun.queued && queue_->wait_for(begun.number, 0); });
    return written;
  };
  while (!begun_.empty() && is_written(begun_.front())) land();
}

/// Memory that was lent may change once its owner knows of the error.
void WriteBehind::take_back(const Error& error) {
  attempt_to([&] { look(); });  // what is in the file already has not failed
  failed_ = error;
  for (Begun& begun : begun_) {
    Batch& batch = *begun.batch;
    queue_->drop(*batch.file);
    begun.queued = false;
    if (!std::exchange(batch.lent, false)) continue;
    if (attempt_to([&] { batch.data.keep_lent(); })) batch.data.lose();
    copied_ += batch.data.held() - batch.copied;
    batch.copied = batch.data.held();
  }
}

void WriteBehind::settle() {
  leave_parent();
  while (!begun_.empty()) {
    const Begun& begun = begun_.front();
    if (begun.queued) {
      const auto failed = attempt_to([&] {
        StepTimer timer(report_, Step::wait);
        queue_->wait_for(begun.number, UINT64_MAX);
      });
      if (failed) {
        take_back(*failed);
        continue;
      }
    } else {
      StepTimer timer(report_, Step::write);
      begun_.front().batch->data.write_to(*begun.batch->file, begun.batch->begin);
    }
    land();
  }
  failed_.reset();
}

void WriteBehind::retire(PendingData& data) {
  for (; !landed_.empty(); landed_.pop_front()) {
    copied_ -= landed_.front().batch->copied;
    data.reuse(std::move(landed_.front().batch->data));
  }
}

bool WriteBehind::Progress::wait(std::uint64_t ns) {
  if (by_ != nullptr) return by_->wait(*this, ns);
  if (failed_) throw *failed_;
  return true;
}

bool WriteBehind::wait(Progress& progress, std::uint64_t ns) {
  leave_parent();
  const auto mine = std::find_if(begun_.begin(), begun_.end(), [&](const Begun& begun) {
    return begun.progress.get() == &progress;
  });
  std::optional<Error> failed;
  if (mine->queued) {
    failed = attempt_to([&] {
      if (queue_->wait_for(mine->number, ns)) look();
    });
    if (failed) take_back(*failed);
  } else {
    failed = failed_;
  }
  if (!failed || progress.by_ == nullptr) return progress.by_ == nullptr;
  progress.by_ = nullptr;
  progress.failed_ = *failed;
  throw *failed;
}

}  // namespace forebay::logged
