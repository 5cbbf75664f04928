// Background flushes: a thread writes due data with its own layout and descriptor. It takes over
// the present table (`sealed_`), so that staging continues meanwhile.
#include <algorithm>

#include "base/attempt.h"
#include "burst/burst_stage.h"

namespace forebay::burst {

BurstStage::Lock BurstStage::quiet() {
  Lock lock(mutex_);
  idle_.wait(lock, [&] { return !working_; });
  return lock;
}

void BurstStage::start_thread() {
  thread_tried_ = true;
  aside_ = host_.aside();
  if (!aside_) return;
  stopping_ = thread_failed_ = false;
  // If no thread can be created, staged writes wait for the next flush.
  if (attempt_to([&] { thread_ = std::thread([this] { work(); }); })) aside_.reset();
}

void BurstStage::stop_thread() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  if (!aside_) return;
  for (std::size_t i = 0; i < report_.counters.size(); ++i)
    report_.counters[i] += aside_->report().counters[i];
  aside_.reset();
}

void BurstStage::work() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (!thread_failed_ && is_due()) {
      work_once(lock);
    } else if (thread_failed_ || options_.flush_seconds <= 0 || current_.table.empty()) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock, oldest_ + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options_.flush_seconds)));
    }
  }
}

void BurstStage::work_once(Lock& lock) {
  const staging::Mark end = writer_->mark();
  recorder_->forget_pieces();
  std::swap(sealed_, current_);
  current_pieces_ = 0;
  const Count least = std::max(writer_->state().least_records, sealed_.table.last_record());
  working_ = true;
  lock.unlock();
  auto error = attempt_to([&] {
    Flush flush({Source{&sealed_.table, reader()}}, aside_->layout(), options_.flush,
                aside_->report());
    refuse_lost(flush.run(flush.batches(), false));
  });
  lock.lock();
  working_ = false;
  if (!error && !keeps_flushed_)
    error = attempt_to([&] { writer_->drop(end, next_state(least), options_.keep_logs); });
  if (error) {
    // The data stays staged; the next flush by a call of the program reports the error.
    thread_failed_ = true;
  } else {
    ++behind_;
    unsynced_ = true;
    sealed_.clear();
  }
  idle_.notify_all();
}

}  // namespace forebay::burst
