#include "hdf5/log/log_writer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "hdf5/log/tail_reader.h"

namespace forebay::logged {
namespace {

template <typename Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

}  // namespace

LogWriter::LogWriter(const Comm& comm, ByteFile& file, BlockSpace& space,
                     std::optional<Subfile> subfile, const WriterOptions& options,
                     PendingData::MakeFile make_temporary, Tails* tails, Report& report)
    : comm_(comm),
      file_(file),
      space_(space),
      subfile_(std::move(subfile)),
      options_(options),
      report_(report),
      tails_(tails),
      data_(options.buffer_limit, std::move(make_temporary)),
      section_(static_cast<std::uint32_t>(comm.rank()), options.buffer_limit / 4),
      epoch_(options.first_epoch),
      behind_(report, [this](const WriteBehind::Batch& batch) { publish_landed(batch); }) {}

std::uint64_t epoch_after(std::uint64_t last) {
  if (last < largest_epoch) return last + 1;
  throw Error(Errc::erange, "a log has no numbers for more than 2^32 flushes and collective writes",
              "convert the file: forebay convert IN OUT --to hdf5");
}

void LogWriter::begin(bool collective) {
  attempt_to([&] { behind_.look(); });  // others may wait for what has landed
  handed_.reset();
  if (comm_.size() == 1) return;
  if (collective) {
    turn_ = 0;
    epoch_ = epoch_after(epoch_);
  } else {
    turn_ = tails_ != nullptr ? tails_->next_turn() : 1;
  }
}

void LogWriter::append_tail(TailRecord kind, std::span<const std::byte> payload) {
  tails_->append(static_cast<std::uint32_t>(kind), payload);
}

void LogWriter::publish_entries(At where) {
  if (tails_ == nullptr) return;
  for (; published_patterns_ < section_.patterns(); ++published_patterns_) {
    const auto packed = section_.packed(published_patterns_);
    if (packed.empty())
      append_tail(TailRecord::reference, bytes_of(section_.reference(published_patterns_)));
    else
      append_tail(TailRecord::pattern, packed);
  }
  // Lent bytes may change before the others know that they have landed, and files of tails would
  // have a copy.
  const bool hidden = where == At::thread && (lent_ > 0 || tails_->copies());
  for (; published_ < section_.entries(); ++published_) {
    TailEntry what{section_.pending()[published_], 0};
    if (what.entry.kind == Kind::write && where != At::file)
      what.address =
          hidden ? on_its_way : tails_->address_of(data_, what.entry.data, what.entry.stored);
    append_tail(TailRecord::entry, bytes_of(what));
  }
}

/// From now on the first pending entries are no longer in data_, and never in its temporary file.
void LogWriter::publish_handed(std::size_t entries) {
  if (tails_ == nullptr) return;
  const auto number = static_cast<std::uint64_t>(entries);
  append_tail(TailRecord::handed, bytes_of(number));
  tails_->show(turn_, data_.saved());
}

void LogWriter::publish_landed(const WriteBehind::Batch& batch) {
  if (tails_ == nullptr) return;
  const TailPlaced now{batch.first, batch.last, batch.subfile, batch.begin};
  append_tail(TailRecord::placed, bytes_of(now));
  tails_->show(turn_, data_.saved());
}

void LogWriter::publish() {
  if (tails_ == nullptr) return;
  publish_entries(At::memory);
  tails_->show(turn_, data_.saved());
}

void LogWriter::make_room() {
  if (data_.is_full(behind_.copied())) move_to_file();
}

/// Other ranks look for the data at its old address until saved() is called.
void LogWriter::move_to_file() {
  data_.save();
  if (tails_ != nullptr) tails_->saved(data_.saved());
  data_.move_to_file();
}

void LogWriter::keep_lent() {
  writes_in_call_ = false;
  if (lends_ != Lent::in_call && lends_ != Lent::until_landed) return;
  lent_ = 0;
  if (!attempt_to([&] { data_.keep_lent(); })) return;
  try {
    move_to_file();
  } catch (...) {
    data_.lose();  // lent bytes may change from now on
    throw;
  }
}

void LogWriter::add(std::uint64_t dataset, const Placed& selection, Offset position,
                    std::span<const std::byte> bytes, std::optional<std::uint32_t> filter_mask) {
  Entry entry;
  entry.dataset = dataset;
  entry.epoch = epoch_;
  entry.turn = turn_;
  entry.base = selection.base;
  entry.data = position;
  entry.stored = static_cast<Count>(bytes.size());
  entry.hash = hash_of(bytes);
  entry.filtered = filter_mask.has_value();
  entry.filter_mask = filter_mask.value_or(0);
  section_.add(entry, &selection.pattern);
  ++report_[Counter::requests];
  report_[Counter::pieces] += static_cast<std::int64_t>(selection.pattern.runs.size());
  report_[Counter::bytes_asked_write] += entry.stored;
}

void LogWriter::write(std::uint64_t dataset, const Placed& selection,
                      std::span<const std::byte> bytes, bool lent,
                      std::optional<std::uint32_t> filter_mask) {
  StepTimer timer(report_, Step::stage);
  bool keep = lent && lends_ != Lent::never;
  if (keep && lends_ == Lent::in_call) {
    if (behind_call_ && has_room(std::ssize(bytes)))
      keep = false;
    else
      writes_in_call_ = true;
  }
  if (keep && lends_ == Lent::until_landed) lent_ += std::ssize(bytes);
  add(dataset, selection, keep ? data_.lend(bytes) : data_.add(bytes), bytes, filter_mask);
}

std::span<std::byte> LogWriter::reserve(Count bytes) {
  return room_ = data_.reserve(bytes, reserved_);
}

void LogWriter::commit(std::uint64_t dataset, const Placed& selection) {
  StepTimer timer(report_, Step::stage);
  add(dataset, selection, reserved_, room_, std::nullopt);
}

void LogWriter::cut(std::uint64_t dataset, std::span<const Count> extents) {
  const std::uint64_t next = epoch_after(epoch_after(epoch_));
  epoch_ = next - 1;  // the cut comes after all earlier writes, on any rank
  turn_ = 0;
  if (comm_.is_root()) {
    Entry entry;
    entry.dataset = dataset;
    entry.epoch = epoch_;
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
      entry.kind = Kind::cleared;
      section_.add(entry, nullptr);
    } else {
      entry.kind = Kind::extent;
      const Placed box = box_pattern(
          extents, Subarray{Counts(extents.size()), {extents.begin(), extents.end()}, {}});
      section_.add(entry, &box.pattern);
    }
  }
  epoch_ = next;
}

Offset LogWriter::my_place(const Comm& ranks, Count mine, Count& total) const {
  const auto sizes = ranks.all_gather(mine);
  const auto me = sizes.begin() + ranks.rank();
  total = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  return std::accumulate(sizes.begin(), me, Offset{0});
}

/// Returns whether a copy of `bytes` bytes keeps within the limit.
bool LogWriter::has_room(Count bytes) const {
  return behind_.copied() + data_.held() - lent_ + bytes <= options_.buffer_limit;
}

bool LogWriter::can_go_behind() {
  return behind_call_ && !writes_in_call_ && data_.saved() == 0 && !behind_.has_failed() &&
         has_room(0);
}

void LogWriter::flush_data(bool behind) {
  // A rank decides for itself: each takes part in the same steps.
  behind = behind && can_go_behind() && !attempt_to([&] { behind_.look(); });
  auto failed = attempt_to([&] { behind ? behind_.prepare() : behind_.settle(); });
  const Count mine = data_.bytes();
  Count total = 0;
  const Offset before = my_place(subfile_ ? subfile_->ranks : comm_, mine, total);
  Offset begin = 0;
  if (subfile_)
    begin = subfile_->end;
  else if (total > 0)
    begin = space_.allot(BlockSpace::Use::data, total);
  auto& file = subfile_ ? *subfile_->file : file_;
  const std::uint32_t number = subfile_ ? subfile_->number : 0;
  const std::size_t first = placed_, last = section_.entries();
  const auto write_now = [&] {
    StepTimer timer(report_, Step::write);
    if (mine > 0) data_.write_to(file, begin + before);
    if (tails_ == nullptr || first == last) return;
    publish_entries(At::file);
    const TailPlaced now{first, last, number, begin + before};
    append_tail(TailRecord::placed, bytes_of(now));
    tails_->show(turn_, data_.saved());
  };
  const auto show_what_goes_on = [&] {
    publish_entries(At::thread);
    publish_handed(last);
  };
  if (!failed) failed = behind ? attempt_to(show_what_goes_on) : attempt_to(write_now);
  // After this step all ranks find the data of earlier batches, and what was written now, in the
  // file. So its memory is free.
  try {
    agree_on_error(comm_, failed);
  } catch (...) {
    if (behind) attempt_to([&] { publish_handed(first); });
    throw;
  }
  behind_.retire(data_);
  section_.place_data(first, number, begin + before);
  placed_ = last;
  // A rank without data has nothing to wait for.
  if (behind && mine > 0)
    handed_ = behind_.start(
        {data_.give(), &file, begin + before, first, last, number, lent_ > 0, mine - lent_});
  else
    data_.clear();
  lent_ = 0;
  writes_in_call_ = false;
  if (subfile_) subfile_->end += total;
}

std::optional<MetadataBlock> LogWriter::flush() {
  std::int64_t most[] = {static_cast<std::int64_t>(section_.entries()),
                         static_cast<std::int64_t>(epoch_)};
  comm_.all_reduce(most, Reduce::max);
  if (most[0] == 0) return std::nullopt;
  const std::uint64_t next = epoch_after(static_cast<std::uint64_t>(most[1]));
  flush_data();
  epoch_ = next;

  const auto section = section_.entries() > 0 ? section_.print() : std::vector<std::byte>{};
  const auto sizes = comm_.all_gather(static_cast<std::int64_t>(section.size()));
  Table table;
  table.epoch = epoch_;
  const auto sections = std::count_if(sizes.begin(), sizes.end(), [](auto n) { return n > 0; });
  Offset end = table_bytes(sections), mine = 0;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (sizes[static_cast<std::size_t>(rank)] == 0) continue;
    if (rank == comm_.rank()) mine = end;
    table.sections.push_back({end, sizes[static_cast<std::size_t>(rank)]});
    end += table.sections.back().bytes;
  }
  const Offset place = space_.allot(BlockSpace::Use::metadata, end);
  agree_on_error(comm_, attempt_to([&] {
                   StepTimer timer(report_, Step::header);
                   // In case a later step fails, the block begins with zeros, which means that it
                   // has no table (hdf5/format/log_section.h).
                   if (comm_.is_root())
                     file_.write_at(place, std::span<const std::byte>(std::array<std::byte, 32>{}));
                   if (!section.empty()) file_.write_at(place + mine, std::span(section));
                 }));
  // What the table names is in the file now, on all ranks.
  const auto failed = attempt_to([&] {
    StepTimer timer(report_, Step::header);
    if (comm_.is_root()) file_.write_at(place, std::span<const std::byte>(print_table(table)));
  });
  agree_on_error(comm_, failed);
  section_.placed(place + mine);
  placed_ = published_ = published_patterns_ = 0;
  turn_ = 0;
  // All ranks have passed the last step that can fail, and none reads this rank's tail any more.
  if (tails_ != nullptr) tails_->restart();
  return MetadataBlock{place, end};
}

void LogWriter::read_pending(std::size_t n, Offset skip, std::span<std::byte> into) {
  const Entry& entry = section_.pending()[n];
  if (n >= placed_) {
    data_.read(entry.data + skip, into);
    return;
  }
  settle();
  auto& file = entry.file != 0 ? *subfile_->file : file_;
  if (file.read_at(entry.data + skip, into) != into.size())
    throw Error(Errc::eread, file.path() + " ends before data that was written to it",
                "it was changed from outside");
}

}  // namespace forebay::logged
