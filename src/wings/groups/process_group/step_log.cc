#include "groups/process_group/step_log.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "array/selection.h"
#include "array/type.h"
#include "base/attempt.h"

namespace forebay::process_group {

namespace {

staging::Write write_of(const LoggedPiece& of, Count bytes) {
  staging::Write write;
  write.var = of.file;
  write.type = Type::uint8;
  write.selection = Subarray{{of.opening, of.step, of.at}, {1, 1, bytes}, {}};
  return write;
}

}  // namespace

std::string LoggedPiece::file_name() const {
  if (file == index) return "md.idx";
  if (file == metadata) return "md.0";
  return "data." + std::to_string(file - data);
}

std::optional<LoggedPiece> logged_piece(const staging::Write& write) {
  const auto* const box = std::get_if<Subarray>(&write.selection);
  if (!box || write.var < 0 || write.type != Type::uint8 || box->start.size() != 3 ||
      box->count != std::vector<Count>{1, 1, write.bytes})
    return std::nullopt;
  if (box->start[2] > std::numeric_limits<Offset>::max() - write.bytes) return std::nullopt;
  return LoggedPiece{write.var, box->start[0], box->start[1], box->start[2]};
}

StepLog::StepLog(std::unique_ptr<staging::Writer> log, const Limits& limits, Report& report)
    : log_(std::move(log)), limits_(limits), report_(report) {}

/// Adds pieces of memory that are contiguous in the file.
void StepLog::add_run(ByteFile& file, const LoggedPiece& of, Offset at, std::span<const iovec> run,
                      std::vector<Waiting>& fresh) {
  LoggedPiece piece = of;
  piece.at = at;
  std::vector<iovec> part;
  Count bytes = 0;
  const auto end_part = [&] {
    if (bytes == 0) return;
    staging::Write write = write_of(piece, bytes);
    log_->add(write, part);
    fresh.push_back({&file, piece.at, write.data, write.bytes, write.hash});
    piece.at += bytes;
    bytes = 0;
    part.clear();
  };
  for (const iovec& memory : run) {
    for (std::size_t taken = 0; taken < memory.iov_len;) {
      const std::size_t room = static_cast<std::size_t>(most_piece - bytes);
      const std::size_t take = std::min(memory.iov_len - taken, room);
      part.push_back({static_cast<std::byte*>(memory.iov_base) + taken, take});
      bytes += static_cast<Count>(take);
      taken += take;
      if (bytes == most_piece) end_part();
    }
  }
  end_part();
}

bool StepLog::add(ByteFile& file, LoggedPiece of, std::span<const FilePiece> pieces) noexcept {
  const StepTimer timer(report_, Step::stage);
  const auto failed = attempt_to([&] {
    std::vector<Waiting> fresh;
    std::vector<iovec> run;
    Offset from = 0, end = 0;
    for (const FilePiece& piece : pieces) {
      if (piece.bytes.empty()) continue;
      if (!run.empty() && piece.at != end) {
        add_run(file, of, from, run, fresh);
        run.clear();
      }
      if (run.empty()) from = piece.at;
      run.push_back({const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
      end = piece.at + static_cast<Offset>(piece.bytes.size());
    }
    add_run(file, of, from, run, fresh);
    if (waiting_.capacity() - waiting_.size() < fresh.size())
      waiting_.reserve(std::max(waiting_.size() + fresh.size(), 2 * waiting_.capacity()));
    log_->commit();
    if (waiting_.empty()) oldest_ = Clock::now();
    waiting_.insert(waiting_.end(), fresh.begin(), fresh.end());
    Count added = 0;
    for (const Waiting& one : fresh) added += one.bytes;
    bytes_ += added;
    report_[Counter::writes_staged] += std::ssize(fresh);
    report_[Counter::bytes_staged] += added;
  });
  if (!failed) return true;
  log_->forget();
  refused_ = true;
  return false;
}

bool StepLog::add_record(LoggedPiece of, std::span<const std::byte> record) noexcept {
  const StepTimer timer(report_, Step::stage);
  const auto failed = attempt_to([&] {
    staging::Write write = write_of(of, std::ssize(record));
    const iovec bytes{const_cast<std::byte*>(record.data()), record.size()};
    log_->add(write, {&bytes, 1});
    log_->commit();
  });
  if (!failed) return true;
  log_->forget();
  refused_ = true;
  return false;
}

bool StepLog::is_full() const {
  if (refused_) return true;
  if (static_cast<Count>(waiting_.size() * sizeof(Waiting)) > limits_.memory) return true;
  if (limits_.most > 0 && bytes_ >= limits_.most) return true;
  return limits_.seconds > 0 && !waiting_.empty() &&
         Clock::now() - oldest_ >= std::chrono::seconds(limits_.seconds);
}

void StepLog::forget_step() noexcept {
  for (; waiting_.size() > whole_; waiting_.pop_back()) bytes_ -= waiting_.back().bytes;
}

void StepLog::drain() {
  std::vector<std::byte> bytes;
  for (const Waiting& one : waiting_) {
    {
      const StepTimer timer(report_, Step::reload);
      bytes.resize(static_cast<std::size_t>(one.bytes));
      staging::WriteFacts facts;
      facts.data = one.data;
      facts.bytes = one.bytes;
      facts.hash = one.hash;
      log_->read(facts, bytes);
    }
    const StepTimer timer(report_, Step::write);
    one.file->write_at(one.at, std::span<const std::byte>(bytes));
  }
}

void StepLog::drop() noexcept {
  waiting_.clear();
  whole_ = 0;
  bytes_ = 0;
  refused_ = false;
  // If that fails, entries that stay in the log are at worst written to the files again.
  attempt_to([&] { log_->drop(log_->mark(), log_->state(), limits_.keeps); });
}

void StepLog::end() noexcept {
  if (!limits_.keeps) return;
  attempt_to([&] {
    staging::State state = log_->state();
    state.closed = true;
    log_->drop(log_->mark(), state, true);
  });
}

}  // namespace forebay::process_group
