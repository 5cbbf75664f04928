#include <algorithm>

#include "base/attempt.h"
#include "burst/burst_stage.h"
#include "comm/agree.h"
#include "layout/canonical/canonical.h"

namespace forebay::burst {

namespace {

constexpr Count mib = Count{1} << 20;

// Pieces of this size gain nothing by waiting to be merged with others.
constexpr Count large_piece = mib / 2;

// Upper limit for the data of one record, so that a batch holds several.
Count record_limit(const BurstOptions& options) {
  return std::clamp<Count>(options.flush.buffer / 8 / 4096 * 4096, 4 << 10, 16 * mib);
}

}  // namespace

std::unique_ptr<Stage> make_burst_stage(const Comm& comm, const Schema& schema, Layout& layout,
                                        std::unique_ptr<Host> host, const BurstOptions& options,
                                        Report& report) {
  auto stage = std::make_unique<BurstStage>(comm, schema, layout, std::move(host), options, report);
  stage->start();
  return stage;
}

BurstStage::BurstStage(const Comm& comm, const Schema& schema, Layout& layout,
                       std::unique_ptr<Host> host, const BurstOptions& options, Report& report)
    : comm_(comm),
      schema_(schema),
      layout_(&layout),
      host_owner_(std::move(host)),
      host_(*host_owner_),
      options_(options),
      report_(report) {
  first_ = comm_.rank();
  if (!options_.shared) return;
  topology_ = &Topology::of(comm_, options_.ranks_per_node);
  first_ = topology_->leader();
}

BurstStage::~BurstStage() { stop_thread(); }

void BurstStage::start() {
  const auto failed = attempt_together(comm_, [&] {
    // The files of a node must exist before its other ranks open them.
    if (creates_files()) open_logs();
    comm_.meet();
    if (!creates_files()) open_logs();
    comm_.meet();
    host_.logs_begin();
  });
  if (!failed) return;
  if (creates_files()) {
    for (const char* suffix : {".records", ".data"})
      attempt_to([&] { host_.remove_log(options_.log_stem(first_) + suffix); });
  }
  throw *failed;
}

void BurstStage::open_logs() {
  staging::Header header;
  header.session = options_.session;
  header.rank = comm_.rank();
  header.ranks = comm_.size();
  header.path = options_.dataset;
  if (options_.shared) {
    header.share.part = topology_->node().rank();
    header.share.parts = topology_->node().size();
  }
  const std::string stem = options_.log_stem(first_);
  staging::State state;
  state.epoch = epoch_;
  state.schema = host_.fingerprint();
  writer_.reset();
  auto records = host_.open_log(stem + ".records", creates_files());
  auto data = host_.open_log(stem + ".data", creates_files());
  writer_ = std::make_unique<staging::Writer>(std::move(records), std::move(data), header, state);
  recorder_.emplace(schema_, *writer_, record_limit(options_));
}

StageNeeds BurstStage::offer(std::span<const Request> writes, std::span<const Request> reads) {
  StageNeeds needs;
  recorded_ = true;
  if (!writes.empty()) stage(writes);
  const Lock lock(mutex_);
  needs.direct = !recorded_;
  // Without a thread, due data can only be flushed in the next collective call.
  needs.flush = !recorded_ || current_.table.bytes() > options_.flush.buffer / 4 ||
                (!thread_.joinable() && is_due());
  needs.staged = !nothing_staged();
  if (reads.empty()) return needs;
  const std::array<StagedWrites*, 2> staged{&sealed_, &current_};
  needs.unserved = !std::all_of(reads.begin(), reads.end(),
                                [&](const Request& read) { return covers(staged, schema_, read); });
  return needs;
}

void BurstStage::stage(std::span<const Request> writes) {
  StepTimer timer(report_, Step::stage);
  recorded_ = false;
  refused_.reset();
  if (!writer_ || blocked_) {
    if (blocked_) refused_ = Error(Errc::eno_space, "the staging log is full");
    return;
  }
  const Lock lock(mutex_);
  if (current_.table.empty()) oldest_ = Clock::now();
  const Count before = current_.table.data_bytes();
  const std::size_t count = recorder_->record(writes, current_.table, refused_);
  recorded_ = count == writes.size();
  blocked_ = !recorded_;
  logged_ += static_cast<Count>(count);
  report_[Counter::writes_staged] += static_cast<Count>(count);
  report_[Counter::bytes_staged] += current_.table.data_bytes() - before;
  for (std::size_t i = 0; i < count; ++i)
    current_pieces_ += RequestCursor(writes[i], schema_).summary().pieces;
  if (!thread_tried_ &&
      (options_.flush_size > 0 || options_.flush_seconds > 0 || has_large_pieces()))
    start_thread();
  if (thread_.joinable() && (is_due() || options_.flush_seconds > 0)) wake_.notify_one();
}

bool BurstStage::has_large_pieces() const {
  return options_.flush_size == 0 && layout_->writes_alone() &&
         current_.table.data_bytes() >= large_piece * std::max<Count>(current_pieces_, 1);
}

bool BurstStage::is_due() const {
  if (current_.table.empty()) return false;
  if (options_.flush_size > 0 && current_.table.data_bytes() >= options_.flush_size) return true;
  if (aside_ && has_large_pieces()) return true;
  return options_.flush_seconds > 0 && seconds_since(oldest_) >= options_.flush_seconds;
}

void BurstStage::submit(std::span<Request> requests, bool write, bool collective,
                        const StageNeeds& needs) {
  if (!write) return collective ? read_together(requests, needs) : read_alone(requests);
  if (!needs.flush) return;
  if (collective) {
    flush_together();
    if (!needs.direct) return;
    refuse_unsynced();
    directly_ += !recorded_;
    return layout_->carry_out(recorded_ ? std::span<Request>() : requests, true, true);
  }
  if (layout_->writes_alone()) {
    Lock lock = quiet();
    flush_alone();
    lock.unlock();
    if (recorded_) return;
    refuse_unsynced();
    if (undropped_) {
      throw Error(Errc::ewrite,
                  "the staging log " + options_.log_stem(first_) +
                      ".* can neither take writes nor be emptied",
                  "call a collective function, such as sync; what was staged is in the file");
    }
    ++directly_;
    layout_->carry_out(requests, true, false);
  } else if (!recorded_) {
    throw Error(refused_ ? refused_->code() : Errc::eno_space,
                refused_ ? refused_->message() : "the staging log is lost: " + lost_log_,
                "this file's layout cannot be written by one rank alone: call a collective "
                "function, such as sync, now and then, or give staging more room");
  }
}

void BurstStage::read_together(std::span<Request> reads, const StageNeeds& needs) {
  if (needs.unserved) {
    if (needs.staged) {
      flush_together();
      refuse_unsynced();
    }
    return layout_->carry_out(reads, false, true);
  }
  agree_on_error(comm_, attempt_to([&] { read_alone(reads); }));
}

// Overlays staged data on the content of the file. The thread must be idle, so that no data moves
// from the log to the file between reading one and the other.
void BurstStage::read_alone(std::span<Request> reads) {
  const Lock lock = quiet();
  const std::array<StagedWrites*, 2> staged{&sealed_, &current_};
  std::vector<Request> from_file;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (!nothing_staged() && covers(staged, schema_, reads[i])) continue;
    places.push_back(i);
    from_file.push_back(std::move(reads[i]));
  }
  const auto failed = attempt_to([&] {
    if (!from_file.empty()) layout_->carry_out(from_file, false, false);
  });
  // A layout may have changed the order of requests.
  std::sort(from_file.begin(), from_file.end(),
            [](const Request& a, const Request& b) { return a.sequence < b.sequence; });
  for (std::size_t i = 0; i < places.size(); ++i) reads[places[i]] = std::move(from_file[i]);
  if (failed) throw *failed;
  if (nothing_staged()) return;
  StepTimer timer(report_, Step::reload);
  for (Request& read : reads)
    report_[Counter::reads_served] += overlay(staged, schema_, read, reader());
}

void BurstStage::flush(bool collective) {
  if (collective) {
    flush_together();
  } else if (layout_->writes_alone()) {
    const Lock lock = quiet();
    flush_alone();
  }
  refuse_unsynced();
}

void BurstStage::flush_to_sync() { flush_together(true); }

/// Throws, on all ranks alike, if the last sync of the file has failed. Writes of different ranks
/// have no order in logs that are kept for a recovery. So no flush may promise one, and no write
/// may pass the logs by.
void BurstStage::refuse_unsynced() const {
  if (!keeps_flushed_) return;
  throw Error(
      Errc::ewrite,
      "the last sync of " + options_.dataset +
          " failed; the logs keep what was staged since the flush before it",
      "close the file, run forebay recover " + options_.dataset +
          " once its device is sound, and write again what other flushes had written since the "
          "sync before");
}

// A power failure may undo what no device has stored. Entries that came back would be replayed over
// later writes. A log that was lost is skipped by its epoch.
void BurstStage::synced() {
  const Lock lock = quiet();
  if (keeps_flushed_) {
    end_epoch();
    keeps_flushed_ = false;
    drop_all(0, true);
  }
  if (!unsynced_) return;
  if (writer_) writer_->sync();
  host_.sync_epoch();
  unsynced_ = false;
}

staging::ReadData BurstStage::reader() {
  return [this](const staging::WriteFacts& write, std::span<std::byte> into) {
    writer_->read(write, into);
  };
}

std::vector<Source> BurstStage::sources() {
  std::vector<Source> list;
  for (const StagedWrites* staged : {&sealed_, &current_}) {
    if (!staged->table.empty()) list.push_back({&staged->table, reader()});
  }
  return list;
}

FlushResult BurstStage::flush_to(Layout& layout, Report& report) {
  Flush flush(sources(), layout, options_.flush, report);
  return flush.run(flush.batches(), false);
}

void BurstStage::refuse_lost(const FlushResult& result) const {
  if (result.lost.empty()) return;
  const Error& first = result.lost.front().error;
  throw Error(
      first.code(),
      std::to_string(result.lost.size()) +
          " staged writes cannot be read back from the staging log, the first: " + first.message(),
      "everything else is in " + options_.dataset +
          "; the log is kept: see forebay log, and forebay recover --skip-damaged");
}

/// Collective. All that was staged is in the file, and no log of this epoch is replayed any more.
void BurstStage::end_epoch() {
  comm_.meet();  // no rank has failed so far
  host_.epoch_begins(epoch_ + 1);
  ++epoch_;
}

void BurstStage::flush_together(bool to_sync) {
  const Lock lock = quiet();
  together(comm_, [&] {
    // The end of an epoch also keeps a log from being replayed that could not be emptied.
    const std::int64_t mine = !nothing_staged() || undropped_ || blocked_;
    if (comm_.all_reduce(mine, Reduce::max) == 0) return layout_->flush();
    host_.before_flush();
    const FlushResult result =
        burst::flush_together(comm_, sources(), *layout_, options_.flush, report_);
    agree_on_error(comm_, attempt_to([&] { refuse_lost(result); }));
    layout_->flush();
    host_.after_flush();
    if (to_sync) {
      comm_.meet();  // ranks keep their logs alike
      keeps_flushed_ = true;
    }
    if (!keeps_flushed_) end_epoch();
    ++together_;
    ++report_[Counter::flushes];
    drop_all(0, true);
  });
}

// All ranks together write the number of records to the file's header later; until then the log has
// it.
void BurstStage::flush_alone() {
  if (nothing_staged() && !blocked_ && !undropped_) return;
  const Count least = std::max(
      {writer_->state().least_records, sealed_.table.last_record(), current_.table.last_record()});
  refuse_lost(flush_to(*layout_, report_));
  ++alone_;
  ++report_[Counter::flushes];
  drop_all(least, false);
}

staging::State BurstStage::next_state(Count least_records) const {
  staging::State state = writer_->state();
  state.epoch = epoch_;
  state.schema = host_.fingerprint();
  state.least_records = least_records;
  return state;
}

// Drops all entries, since none is needed anymore, unless logs are kept because of a sync. If the
// log cannot record that, its entries would be replayed. After a collective flush they belong to a
// finished epoch, so only later writes must not go there. Otherwise they must stay the oldest
// writes, so later ones must go there, too.
void BurstStage::drop_all(Count least_records, bool epoch_over) {
  sealed_.clear();
  current_.clear();
  current_pieces_ = 0;
  thread_failed_ = false;
  if (keeps_flushed_) return;
  unsynced_ = true;
  if (!writer_) return;
  bool removed = false;
  const auto error = attempt_to([&] {
    recorder_->forget_pieces();
    const staging::State state = next_state(least_records);
    // A program that cleans up directories may have removed files in use.
    removed = !options_.shared && !writer_->is_linked();
    if (removed) open_logs();
    writer_->drop(writer_->mark(), state, options_.keep_logs);
  });
  undropped_ = error && !epoch_over && !removed;
  if (undropped_) return;
  blocked_ = false;
  if (error) lose_log(*error);
}

// From now on, writes go directly to the file. The log must not be replayed over them.
void BurstStage::lose_log(const Error& error) {
  attempt_to([&] { lost_log_ = error.message(); });
  if (writer_ && !options_.shared) {
    attempt_to([&] { host_.lose_log(options_.log_stem(first_)); });
  }
  recorder_.reset();
  writer_.reset();
}

void BurstStage::use(Layout& layout) {
  {
    const Lock lock = quiet();
    layout_ = &layout;
  }
  stop_thread();  // it uses the previous layout
  thread_tried_ = false;
  const Lock lock(mutex_);
  if (writer_ && nothing_staged()) drop_all(writer_->state().least_records, true);
}

void BurstStage::close(bool drop_staged) {
  stop_thread();
  const bool keeps = !drop_staged && (keeps_flushed_ || !nothing_staged());
  const auto left = comm_.all_reduce(std::int64_t{keeps}, Reduce::max);
  if (left != 0) return;  // these writes have failed, or could not be synced, and are kept
  host_.logs_closing(epoch_);
  std::optional<Error> mine;
  if (writer_ && options_.keep_logs) {
    mine = attempt_to([&] {
      staging::State state = writer_->state();
      state.closed = true;
      writer_->drop(writer_->mark(), state, true);
    });
  } else if (!options_.keep_logs && creates_files()) {
    writer_.reset();
    for (const char* suffix : {".records", ".data", ".lost"}) {
      const auto error = attempt_to([&] { host_.remove_log(options_.log_stem(first_) + suffix); });
      if (!mine) mine = error;
    }
  }
  writer_.reset();
  agree_on_error(comm_, mine);
  host_.logs_end();
}

std::string BurstStage::reasons() const {
  const auto times = [](Count n) {
    return n == 1 ? std::string("once") : std::to_string(n) + " times";
  };
  std::string text = "burst: " + std::to_string(logged_) + " writes of this rank staged under " +
                     options_.log_stem(first_) + ".*, flushed " + times(together_) +
                     " by all ranks";
  if (alone_ > 0) text += ", " + times(alone_) + " by this rank alone";
  if (behind_ > 0) text += ", " + times(behind_) + " in the background";
  if (directly_ > 0)
    text += "; " + times(directly_) + " written at once because the staging log could not take it";
  if (!lost_log_.empty()) text += "; without a staging log since it was lost: " + lost_log_;
  return text;
}

}  // namespace forebay::burst
