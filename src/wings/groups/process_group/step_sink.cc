#include "groups/process_group/step_sink.h"

#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay::process_group {

namespace {

std::vector<Extent> extents_of(std::span<const FilePiece> pieces) {
  std::vector<Extent> extents;
  for (const FilePiece& piece : pieces)
    if (!piece.bytes.empty())
      extents.push_back(
          {piece.at, std::ssize(piece.bytes), const_cast<std::byte*>(piece.bytes.data()), 0, 1});
  return extents;
}

}  // namespace

// Adjacent pieces are written with one call.
void StepSink::write(File& file, const LoggedPiece& /*of*/, std::span<const FilePiece> pieces) {
  std::vector<iovec> together;
  Offset from = 0, end = -1;
  const auto write_them = [&] {
    if (!together.empty()) file.write_at(from, std::span(together));
    together.clear();
  };
  for (const FilePiece& piece : pieces) {
    if (piece.bytes.empty()) continue;
    if (piece.at != end) {
      write_them();
      from = end = piece.at;
    }
    together.push_back({const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
    end += static_cast<Offset>(piece.bytes.size());
  }
  write_them();
}

void StepSink::write_groups_by(const MakeIo& /*make*/) {
  throw Error(Errc::enotsupport, "groups that wait in a queue or a log are written by no transport",
              "choose stage=direct");
}

void StepSink::end_writes(const std::optional<Error>& failed) { agree_on_error(comm_, failed); }

std::optional<Error> StepSink::close() {
  auto failed = attempt_to([&] { finish(); });
  if (failed) failed = attempt_to([&] { finish(); });  // the last possible attempt
  return failed;
}

/// The data file is known once the first step's size is. If this throws, the next step tries again.
void DirectSink::begin_writes() {
  groups_.reset();
  if (make_groups_io_ && !groups_io_) groups_io_ = make_groups_io_(files_.shared_data());
}

void DirectSink::write_last(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) {
  if (groups_io_)
    groups_.emplace(extents_of(pieces));
  else
    write(file, of, pieces);
}

/// Collective. A rank that has failed joins the next reduction of the others, and cannot join MPI's
/// own calls. So ranks agree first, and throw before these calls if one has failed. Returns what
/// goes wrong in them, on all ranks that share a data file.
std::optional<Error> DirectSink::write_groups(const std::optional<Error>& failed) {
  agree_on_error(comm_, failed);
  ListStream nothing({});
  const StepTimer timer(report_, Step::write);
  return attempt_to([&] { groups_io_->write_all(groups_ ? *groups_ : nothing); });
}

/// If there are so many small pieces that ranks would wait for each other's calls, all ranks write
/// their pieces together. If this throws, the next step tries again.
void DirectSink::begin_index(std::int64_t names, Count bytes) {
  constexpr std::int64_t many = 64, very_many = 256;
  constexpr Count small = 4096;
  const std::int64_t pieces = names * comm_.size();
  if (!make_io_ || comm_.size() == 1 || names < many || pieces < very_many ||
      bytes / pieces >= small)
    return;
  const auto file = files_.shared_metadata();
  if (!file) return;
  if (!index_io_) {
    const auto failed = attempt_together(comm_, [&] { index_io_ = make_io_(file); });
    if (failed) index_io_.reset();
    if (failed) throw *failed;
  }
  together_ = true;
}

void DirectSink::write_index(const LoggedPiece& of, std::span<const FilePiece> pieces) {
  if (together_)
    stream_.emplace(extents_of(pieces));
  else
    write(files_.metadata(), of, pieces);
}

void DirectSink::end_writes(const std::optional<Error>& failed_before) {
  const bool together = std::exchange(together_, false);
  const auto failed = groups_io_ ? write_groups(failed_before) : failed_before;
  if (!together) return StepSink::end_writes(failed);
  auto stream = std::exchange(stream_, std::nullopt);
  // The reason why this rank has no stream is part of the reduction below.
  auto foreseen = index_io_->foresee(stream ? stream->summary() : StreamSummary());
  const bool told = foreseen.has_value();
  meet_with(comm_, failed, [&](Errc code) {
    told ? comm_.meet(foreseen->values, Reduce::sum, code, Foreseen::maxima) : comm_.meet(code);
  });
  const StepTimer timer(report_, Step::header);
  told ? index_io_->carry_out_foreseen(*stream, true, *foreseen, std::nullopt)
       : index_io_->write_all(*stream);
}

std::optional<Error> DirectSink::close() {
  std::optional<Error> failed;
  for (ExtentIo* const io : {groups_io_.get(), index_io_.get()})
    if (io) attempt_into(failed, [&] { io->close(); });
  return failed;
}

QueueSink::~QueueSink() {
  files_.data().use_queue(nullptr);
  files_.metadata().use_queue(nullptr);
}

void QueueSink::write_last(File& file, const LoggedPiece& /*of*/,
                           std::span<const FilePiece> pieces) {
  file.use_queue(&queue_);
  const WriteQueue::Open open(queue_);
  for (const FilePiece& piece : pieces)
    if (!piece.bytes.empty()) file.write_data_at(piece.at, piece.bytes);
}

void QueueSink::finish() {
  if (!held_) return;
  agree_on_error(comm_, attempt_to([&] { queue_.drain(); }));
  files_.show({&*held_, 1});
  held_.reset();
}

void QueueSink::drop_all() {
  queue_.drop(files_.data());
  queue_.drop(files_.metadata());
}

void QueueSink::give_up() {
  if (held_) return;  // held_ is the step that could not be written
  drop_all();
  attempt_to([&] { comm_.meet(); });
}

std::optional<Error> QueueSink::close() {
  auto failed = StepSink::close();
  drop_all();
  queue_.tell();
  return failed;
}

void LogSink::begin_end() {
  if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 1);
}

/// Writes pieces to the file at once if the log has no space. No record refers to them yet.
void LogSink::write(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) {
  if (!log_->add(file, of, pieces)) StepSink::write(file, of, pieces);
}

/// All of the step is in logs or in its files. held_ has memory for its record.
void LogSink::show_logged(const bp::StepRecord& record) {
  enum : std::int64_t { goes_on, is_full, has_no_record };
  std::int64_t state = log_->is_full() ? is_full : goes_on;
  const LoggedPiece of{LoggedPiece::index, static_cast<std::int64_t>(files_.opening),
                       static_cast<std::int64_t>(record.step),
                       files_.index_end + std::ssize(held_) * bp::record_bytes};
  if (comm_.is_root() && !log_->add_record(of, bp::print_record(record))) state = has_no_record;
  state = comm_.all_reduce(state, Reduce::max);
  if (state != has_no_record) held_.push_back(record);
  if (state == goes_on) return;
  const auto failed = attempt_to([&] { empty(); });
  if (state == is_full) {
    // The step is safe in the logs. They report the error again when they are emptied.
    if (failed) comm_.forget_failed_meeting();
    return;
  }
  if (failed) throw *failed;
  StepSink::show(record);
}

void LogSink::show(const bp::StepRecord& record) {
  show_logged(record);
  log_->keep_step();
}

void LogSink::finish() {
  if (!held_.empty()) empty();
}

/// A power failure may undo what no device has stored. Then a log would have steps again that are
/// in the file, or only parts of them, and nobody could open the file before it is recovered.
void LogSink::synced() {
  if (!unsynced_) return;
  agree_on_error(comm_, attempt_to([&] { log_->sync(); }));
  unsynced_ = false;
}

/// Collective. Writes all waiting pieces from logs to the files, and then the records of their
/// steps.
void LogSink::empty() {
  agree_on_error(comm_, attempt_to([&] { log_->drain(); }));
  files_.show(held_);
  held_.clear();
  log_->drop();
  unsynced_ = true;
}

std::optional<Error> LogSink::close() {
  log_->forget_step();
  auto failed = StepSink::close();
  if (!failed) log_->end();
  return failed;
}

}  // namespace forebay::process_group
