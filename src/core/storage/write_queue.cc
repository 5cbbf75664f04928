#include "storage/write_queue.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/attempt.h"
#include "base/timeline.h"

namespace forebay {

namespace {

using Clock = std::chrono::steady_clock;

/// The largest copy and block. Two of them always fit, so that one is filled while one is written.
constexpr Count largest_copy = 4 << 20;
/// A queue's first block, which may be all that a file needs.
constexpr Count first_block = 256 << 10;
/// The limit for all queues of the process: many open files that seldom write keep no more.
constexpr Count most_spare = 64 << 20;
std::atomic<Count> spare_bytes = 0;
/// Copies have at least this many bytes, however small `memory` is.
constexpr Count least_copy = 32;
/// One system call writes at most this many copies that follow each other in a file.
constexpr std::size_t most_together = 64;

}  // namespace

WriteQueue::WriteQueue(Count memory, Report& report)
    : memory_(std::max<Count>(memory, 1)),
      block_bytes_(std::clamp(memory_ / 2, least_copy, largest_copy)),
      report_(report),
      beside_(report.beside()) {}

WriteQueue::~WriteQueue() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  spare_bytes -= std::ssize(spare_) * block_bytes_;
}

template <typename Condition>
void WriteQueue::wait(Lock& lock, Condition&& ready) {
  if (ready()) return;
  const auto begin = Clock::now();
  moved_.wait(lock, ready);
  waited_ += seconds_since(begin);
}

void WriteQueue::add(ByteFile& file, Offset offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Blocks are filled, so waiting bytes take no more memory than their number, but for two
    // blocks.
    const Count room = block_ ? block_->bytes - block_->used : 0;
    const auto left = static_cast<std::size_t>(room > 0 ? room : block_bytes_);
    const auto part = bytes.first(std::min(left, bytes.size()));
    if (!keep(file, offset, part)) {
      drain();  // earlier bytes are written first
      return file.write_at(offset, bytes);
    }
    bytes = bytes.subspan(part.size());
    offset += static_cast<Offset>(part.size());
  }
}

// Returns false without memory or a thread.
bool WriteQueue::keep(ByteFile& file, Offset offset, std::span<const std::byte> bytes) {
  const auto size = static_cast<Count>(bytes.size());
  {
    Lock lock(mutex_);
    const auto has_room = [&] {
      return bytes_ == 0 || held_by(bytes_ + size, std::ssize(entries_) + 1) <= memory_;
    };
    wait(lock, [&] { return has_room() || failed_; });
    if (!has_room()) throw *failed_;
  }
  const auto without = attempt_to([&] {
    find_room(size);
    std::byte* const to = block_->memory.get() + block_->used;
    std::memcpy(to, bytes.data(), bytes.size());
    if (!thread_.joinable()) start();
    const Lock lock(mutex_);
    entries_.push_back({&file, offset, size, to, block_});
    ++accepted_;
    ++block_->entries;
    block_->used += size;
    bytes_ += size;
  });
  if (without) return false;
  wake_.notify_one();
  ++report_[Counter::writes_staged];
  report_[Counter::bytes_staged] += size;
  return true;
}

std::uint64_t WriteQueue::lend(ByteFile& file, Offset offset, std::span<const std::byte> bytes) {
  if (!thread_.joinable()) start();
  const auto size = static_cast<Count>(bytes.size());
  std::uint64_t number = 0;
  {
    const Lock lock(mutex_);
    entries_.push_back({&file, offset, size, const_cast<std::byte*>(bytes.data()), nullptr});
    number = ++accepted_;
  }
  wake_.notify_one();
  ++report_[Counter::writes_staged];
  report_[Counter::bytes_staged] += size;
  return number;
}

bool WriteQueue::wait_for(std::uint64_t number, std::uint64_t ns) {
  Lock lock(mutex_);
  const auto written = [&] { return accepted_ - entries_.size() >= number; };
  if (!written() && !failed_ && ns > 0) {
    // A program's "for ever" has more nanoseconds than a clock.
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    const auto begin = Clock::now();
    moved_.wait_for(lock, std::chrono::nanoseconds(std::min(ns, most)),
                    [&] { return written() || failed_; });
    waited_ += seconds_since(begin);
  }
  if (!written() && failed_) throw *failed_;
  return written();
}

// Ensures that block_ has `bytes` bytes left.
void WriteQueue::find_room(Count bytes) {
  if (block_ && block_->used + bytes <= block_->bytes) return;
  const bool first = !block_;
  {
    const Lock lock(mutex_);
    if (block_ && block_->entries == 0 && bytes <= block_->bytes) {
      block_->used = 0;
      return;
    }
    if (block_ && block_->entries == 0) put_by(std::move(block_));  // there is capacity
    block_.reset();
    if (!spare_.empty()) {
      block_ = std::move(spare_.back());
      spare_.pop_back();
      spare_bytes -= block_bytes_;
      block_->used = 0;
      return;
    }
    spare_.reserve(static_cast<std::size_t>(blocks_ + 1));
  }
  auto fresh = std::make_shared<Block>();
  fresh->bytes =
      first ? std::clamp(bytes, std::min(first_block, block_bytes_), block_bytes_) : block_bytes_;
  fresh->memory = make_large_block(fresh->bytes);
  const Lock lock(mutex_);
  block_ = std::move(fresh);
  if (block_->bytes == block_bytes_) ++blocks_;
}

// The block is empty, and is not block_.
void WriteQueue::put_by(std::shared_ptr<Block> block) {
  if (block->bytes < block_bytes_) return;
  if (spare_bytes.fetch_add(block_bytes_) + block_bytes_ <= most_spare) {
    spare_.push_back(std::move(block));
  } else {
    spare_bytes -= block_bytes_;
    --blocks_;
  }
}

// The entry was written or dropped.
void WriteQueue::release(const Entry& entry) {
  if (!entry.block) return;
  bytes_ -= entry.bytes;
  if (--entry.block->entries == 0 && entry.block != block_) put_by(entry.block);
}

// The program's signals are for its own threads.
void WriteQueue::start() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto failed = attempt_to([&] { thread_ = std::thread([this] { work(); }); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed) throw *failed;
}

// Takes the first entry and those that follow it in the file.
std::size_t WriteQueue::take(std::span<iovec> pieces) const {
  std::size_t n = 0;
  Offset end = entries_.front().offset;
  for (const Entry& entry : entries_) {
    if (n == pieces.size() || entry.file != entries_.front().file || entry.offset != end) break;
    pieces[n++] = {entry.data, static_cast<std::size_t>(entry.bytes)};
    end += entry.bytes;
  }
  return n;
}

void WriteQueue::work() {
  Lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || (!entries_.empty() && !failed_ && !paused_); });
    if (stopping_) return;
    std::array<iovec, most_together> pieces;
    const std::size_t n = take(pieces);
    ByteFile& file = *entries_.front().file;
    const Offset offset = entries_.front().offset;
    working_ = true;
    lock.unlock();
    const auto begin = Clock::now();
    auto failed = attempt_to([&] {
      StepTimer timer(beside_, Step::write);
      Count bytes = 0;  // the file's counters are in another report
      for (std::size_t i = 0; i < n; ++i) bytes += static_cast<Count>(pieces[i].iov_len);
      file.write_at(offset, std::span(pieces).first(n));
      timer.moved(bytes);
    });
    lock.lock();
    written_ += seconds_since(begin);
    working_ = false;
    failed_ = std::move(failed);
    for (std::size_t i = 0; i < n && !failed_; ++i) {
      release(entries_.front());
      entries_.pop_front();
    }
    moved_.notify_all();
  }
}

void WriteQueue::drain() {
  Lock lock(mutex_);
  failed_.reset();
  wake_.notify_one();
  wait(lock, [&] { return rests() || failed_; });
  if (failed_) throw *failed_;
}

void WriteQueue::drop(const ByteFile& file) {
  Lock lock(mutex_);
  paused_ = true;
  moved_.wait(lock, [&] { return !working_; });
  paused_ = false;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.file != &file) return false;
    release(entry);
    return true;
  });
  if (entries_.empty()) failed_.reset();
  moved_.notify_all();
  wake_.notify_one();
}

bool WriteQueue::is_idle() const {
  const Lock lock(mutex_);
  return rests();
}

bool WriteQueue::has_failed() const {
  const Lock lock(mutex_);
  return failed_.has_value();
}

Count WriteQueue::bytes() const {
  const Lock lock(mutex_);
  return bytes_;
}

Count WriteQueue::held() const {
  const Lock lock(mutex_);
  return held_by(bytes_, std::ssize(entries_));
}

WriteQueue::Seconds WriteQueue::seconds() const {
  const Lock lock(mutex_);
  return {written_, waited_};
}

void WriteQueue::tell() {
  const Lock lock(mutex_);
  if (working_) return;
  attempt_to([&] {
    report_.take_over(beside_);
    beside_ = report_.beside();
  });
}

}  // namespace forebay
