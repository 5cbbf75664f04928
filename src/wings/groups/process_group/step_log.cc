#include "groups/process_group/step_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "array/type.h"
#include "base/attempt.h"
#include "base/byteorder.h"

namespace forebay::process_group {

namespace {

/// The body of an entry, as stage burst prints a write to a subarray.
struct PieceBody {
  std::int32_t file, type;
  std::int64_t last_record, data, bytes;
  std::uint64_t hash;
  std::uint32_t ndims, strided;
  std::int64_t start[3], count[3];
};
constexpr std::uint8_t subarray_kind = 1;
constexpr std::size_t piece_bytes = journal::least_entry + sizeof(PieceBody);
static_assert(piece_bytes == 128);

/// Adds a piece to a log. Returns its place there.
journal::Data add_piece(journal::Writer& log, const LoggedPiece& of, std::span<const iovec> bytes) {
  journal::Data place;
  log.add(bytes, [&](const journal::Data& data, std::uint64_t sequence, std::uint64_t session,
                     std::vector<std::byte>& out, std::uint32_t failed) {
    const PieceBody body{of.file,
                         static_cast<std::int32_t>(Type::uint8),
                         0,
                         data.data,
                         data.bytes,
                         data.hash,
                         3,
                         0,
                         {of.opening, of.step, of.at},
                         {1, 1, data.bytes}};
    const auto entry = journal::append_entry({sequence, failed, subarray_kind}, sizeof body, out);
    std::memcpy(entry.data() + journal::least_entry, &body, sizeof body);
    journal::seal_entry(entry, session);
    place = data;
  });
  return place;
}

class Pieces final : public journal::Visitor {
 public:
  explicit Pieces(const VisitPiece& visit) : visit_(visit) {}

  void visit(const journal::FoundEntry& entry, journal::Window&, journal::Scan& scan) override {
    journal::Data data;
    const auto piece = parse(entry, data);
    ++scan.writes;
    scan.data_bytes += data.bytes;
    if (visit_) visit_(entry.front.sequence, piece, data);
  }

 private:
  static std::optional<LoggedPiece> parse(const journal::FoundEntry& entry, journal::Data& data) {
    if (entry.front.kind != subarray_kind || entry.bytes.size() != piece_bytes) return std::nullopt;
    const auto body = load_native<PieceBody>(entry.bytes.data() + journal::least_entry);
    Offset end = 0;
    const bool good =
        body.file >= 0 && body.type == static_cast<std::int32_t>(Type::uint8) && body.ndims == 3 &&
        body.strided == 0 && body.count[0] == 1 && body.count[1] == 1 &&
        body.count[2] == body.bytes && body.data >= journal::data_begin && body.bytes >= 0 &&
        add_fits(body.data, body.bytes, end) && body.start[0] >= 0 && body.start[1] >= 0 &&
        body.start[2] >= 0 && add_fits(body.start[2], body.bytes, end);
    if (!good) return std::nullopt;
    data = {body.data, body.bytes, body.hash};
    return LoggedPiece{body.file, body.start[0], body.start[1], body.start[2]};
  }

  const VisitPiece& visit_;
};

}  // namespace

std::string LoggedPiece::file_name() const {
  if (file == index) return "md.idx";
  if (file == metadata) return "md.0";
  return "data." + std::to_string(file - data);
}

journal::Scan walk_pieces(journal::Reader& reader, const VisitPiece& visit, bool everything) {
  Pieces pieces(visit);
  return reader.walk(pieces, everything);
}

StepLog::StepLog(std::unique_ptr<journal::Writer> log, const Limits& limits, Report& report)
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
    fresh.push_back({&file, piece.at, add_piece(*log_, piece, part)});
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
    for (const Waiting& one : fresh) added += one.data.bytes;
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
    const iovec bytes{const_cast<std::byte*>(record.data()), record.size()};
    add_piece(*log_, of, {&bytes, 1});
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
  for (; waiting_.size() > whole_; waiting_.pop_back()) bytes_ -= waiting_.back().data.bytes;
}

void StepLog::drain() {
  std::vector<std::byte> bytes;
  for (const Waiting& one : waiting_) {
    {
      const StepTimer timer(report_, Step::reload);
      bytes.resize(static_cast<std::size_t>(one.data.bytes));
      log_->read(one.data, bytes);
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
  drop_is_due_ = attempt_to([&] { drop_all(); }).has_value();
}

void StepLog::drop_all() { log_->drop(log_->mark(), log_->state(), limits_.keeps); }

void StepLog::sync() {
  if (drop_is_due_ && waiting_.empty()) {
    drop_all();
    drop_is_due_ = false;
  }
  log_->sync();
}

void StepLog::end() noexcept {
  if (!limits_.keeps) return;
  attempt_to([&] {
    journal::State state = log_->state();
    state.closed = true;
    log_->drop(log_->mark(), state, true);
  });
}

}  // namespace forebay::process_group
