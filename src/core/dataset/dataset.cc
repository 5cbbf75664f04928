// The life of a dataset: create, open, modes, close. Requests are in dataset_data.cc, definitions
// in define.cc and enddef.cc.
#include "dataset/dataset.h"

#include <functional>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "codec/pipeline.h"
#include "comm/agree.h"
#include "comm/last_call.h"
#include "container/joint_container.h"
#include "dataset/dataset_staging.h"
#include "dataset/opening.h"
#include "dataset/print_report.h"
#include "dataset/stage_member.h"
#include "layout/classic_part.h"
#include "method/effect.h"

namespace forebay {

namespace {

/// An existing file keeps its container, whatever hints say; hints apply to files that are created.
/// If no container recognises the file, the default one opens it and reports the error.
void use_found(Method& method, const std::string& found) {
  method.container = found.empty() ? Method{}.container : found;
  method.origin.erase("container");
  if (!found.empty()) method.origin["container"] = "the file";
}

}  // namespace

int coarser_levels(const Variable& var) {
  return var.chunking ? Pipeline::parts_of(var.chunking->codec) - 1 : 0;
}

Dataset::Dataset(Comm comm, const NamedFile& name, Method method)
    : comm_(std::move(comm)), given_(name.given), path_(name.path), method_(std::move(method)) {
  if (const auto resolve = stage_entry().resolve_paths) resolve(method_, name.folder);
  start_timeline(comm_, method_, report_, opened_);
}

// The engine's parts refer to comm_ and report_, which are members declared before them.
Dataset::~Dataset() = default;

template <typename F>
std::unique_ptr<Dataset> Dataset::start(const Comm& comm, const PriorMeeting* met, F&& begin) {
  std::unique_ptr<Dataset> ds;
  bool made = false;  // this rank made the file
  bool has_met = false;
  if (!met) comm.meet();
  auto failed = up_to_meeting(comm, [&] {
    if (met && met->failed) throw *met->failed;
    has_met = begin(ds, made);
  });
  if (!has_met && !failed) failed = attempt_to([&] { comm.meet(); });
  if (!failed) return ds;
  // All ranks close MPI's own file, or none does.
  const bool engine = ds && ds->container_ && ds->container_->has_engine();
  if (comm.all_reduce(engine, Reduce::min)) ds->container_->release();
  if (made) attempt_to([&] { ds->container_->remove(ds->container_->place_now()); });
  ds.reset();
  comm.barrier();  // after it the name is gone: any rank may create the file anew
  throw *failed;
}

std::unique_ptr<Dataset> Dataset::create(Comm comm, const std::string& path, int version,
                                         bool no_clobber, const HintMap& hints, bool may_be_later,
                                         const PriorMeeting* met) {
  return start(comm, met, [&](std::unique_ptr<Dataset>& ds, bool& made) {
    NamedFile name(path);
    OpeningArguments arguments;
    Method method;
    if (met && met->asked) {
      arguments = met->asked->arguments;
      method = method_for(path, arguments.hints, met->asked->sources);
    } else {
      arguments =
          OpeningArguments::to_create(comm.is_root(), name.path, version, no_clobber, hints);
      method = shared_method(comm, name, arguments, true);
    }
    return begin_new(ds, comm, name, static_cast<int>(arguments.flag / 2), arguments.flag % 2 == 1,
                     std::move(method), arguments.logs, may_be_later, made, met);
  });
}

std::unique_ptr<Dataset> Dataset::create_by(Comm comm, const std::string& path, int version,
                                            bool no_clobber, const Method& method) {
  return start(comm, nullptr, [&](std::unique_ptr<Dataset>& ds, bool& made) {
    return begin_new(ds, comm, NamedFile(path), version, no_clobber, method, !no_clobber, false,
                     made, nullptr);
  });
}

bool Dataset::begin_new(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
                        int version, bool exclusive, Method method, bool logs, bool may_be_later,
                        bool& made, const PriorMeeting* met) {
  ds.reset(new Dataset(comm, name, std::move(method)));
  const auto* container = find_part<ContainerEntry>(ds->method_.container);
  const bool is_classic = container->has_classic_header && is_netcdf4(version);
  ds->schema_.version = is_classic ? 5 : version;
  if (logs) meet_leftovers(comm, ds->path_, true, true, ds->method_);
  ds->created_ = ds->changed_ = true;
  ds->use_container();
  const bool stage_first = ds->stage_entry().is_local;
  if (stage_first) ds->start_staging();
  // Values after the file's own collective step would need another one.
  std::function<std::span<std::int64_t>()> tells;
  if (met && met->beside && stage_first && !exclusive) tells = [&] { return met->beside(*ds); };
  const bool has_met = ds->container_->create(exclusive, may_be_later, made, tells);
  // An exclusive creation shows that existing logs belong to a file that was removed.
  if (exclusive) meet_leftovers(comm, ds->path_, true, true, ds->method_);
  if (!stage_first) ds->start_staging();
  return has_met && stage_first && !exclusive;
}

std::unique_ptr<Dataset> Dataset::open(Comm comm, const std::string& path, bool writable,
                                       const HintMap& hints, const PriorMeeting* met) {
  return start(comm, met, [&](std::unique_ptr<Dataset>& ds, bool&) {
    NamedFile name(path);
    auto arguments = OpeningArguments::to_open(comm.is_root(), name.path, writable, hints);
    Method method = shared_method(comm, name, arguments, false);
    begin_old(ds, comm, name, arguments.flag != 0, std::move(method), arguments.found,
              arguments.logs);
    return false;
  });
}

std::unique_ptr<Dataset> Dataset::open_by(Comm comm, const std::string& path, bool writable,
                                          const Method& method) {
  return start(comm, nullptr, [&](std::unique_ptr<Dataset>& ds, bool&) {
    const NamedFile name(path);
    std::string found = look_at(comm.is_root(), name.path);
    comm.broadcast(found);
    begin_old(ds, comm, name, writable, method, found, true);
    return false;
  });
}

void Dataset::begin_old(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
                        bool writable, Method method, const std::string& found, bool logs) {
  use_found(method, found);
  ds.reset(new Dataset(comm, name, std::move(method)));
  ds->writable_ = writable;
  ds->was_there_ = true;
  ds->mode_ = Mode::collective;
  if (logs) meet_leftovers(comm, ds->path_, ds->writable_, false, ds->method_);
  ds->use_container();
  ds->container_->open();
  // The file does not say which variables were filled; PnetCDF assumes that all were.
  for (Variable& var : ds->schema_.vars) var.no_fill = false;
  ds->found_vars_ = ds->schema_.vars.size();
  ds->coarse_ = view_of(ds->schema_, ds->method_, writable);
  ds->record_stride_ = record_size(ds->schema());
  writable ? ds->start_staging() : Staging::start_overlay(*ds, logs);
}

void Dataset::agree(const std::optional<Error>& mine) const { agree_on_error(comm_, mine); }

void Dataset::use_container() {
  const StageEntry& stage = stage_entry();
  if (writable_ && stage.writes_later)
    later_ = std::make_unique<WriteQueue>(method_.async_memory, report_);
  container_ =
      find_part<ContainerEntry>(method_.container)
          ->make({comm_, path_, method_, schema_, report_, writable_, stage.batches, later_.get()});
  stage_ = make_direct_stage(container_->layout());
}

const Variable& Dataset::variable(VarId id) const {
  const auto& vars = schema().vars;
  if (id < 0 || static_cast<std::size_t>(id) >= vars.size()) {
    throw Error(Errc::enotvar, "no variable has id " + std::to_string(id) + " in " + path_);
  }
  return vars[static_cast<std::size_t>(id)];
}

void Dataset::require_define() const {
  if (mode_ != Mode::define)
    throw Error(Errc::enotindefine, path_ + " is not in define mode", "call redef first");
}

void Dataset::require_data() const {
  if (mode_ == Mode::define)
    throw Error(Errc::eindefine, path_ + " is in define mode", "call enddef first");
}

void Dataset::require_writable() const {
  if (!writable_)
    throw Error(Errc::eperm, path_ + " was opened for reading only", "open it with NC_WRITE");
}

void Dataset::redef() {
  require_writable();
  if (mode_ == Mode::define) throw Error(Errc::eindefine, path_ + " is in define mode already");
  if (mode_ == Mode::independent) end_independent();
  before_operation();
  std::optional<Schema> before;
  together(comm_, [&] {
    stage_->flush(true);  // staged writes refer to the old definitions
    before = schema_;
  });
  before_redef_ = std::move(before);
  mode_ = Mode::define;
}

void Dataset::begin_independent() {
  require_data();
  before_operation();
  if (writable_ && mode_ == Mode::collective) stage_->begin_alone();
  apart_ = apart_ || writable_;
  mode_ = Mode::independent;
}

// Ranks may have added different numbers of records independently.
void Dataset::end_independent() {
  require_data();
  if (mode_ != Mode::independent)
    throw Error(Errc::enotindep, path_ + " is not in independent data mode");
  mode_ = Mode::collective;
  if (!writable_) return;
  together(comm_, [&] {
    // A publication includes the number of records, too.
    if (container_->publishes_records() || stage_->holds_writes())
      schema_.numrecs = comm_.all_reduce(schema_.numrecs, Reduce::max);
    stage_->end_alone();
    if (!stage_->holds_writes()) write_agreed_numrecs();
  });
}

void Dataset::sync_numrecs() {
  require_data();
  require_writable();
  before_operation();
  together(comm_, [&] {
    if (writes_wait() && mode_ == Mode::collective) stage_->flush(true);
    write_agreed_numrecs();
  });
}

void Dataset::write_agreed_numrecs() {
  const bool waits = definitions_wait();
  if (!schema_.record_dim() && !waits) return;
  if (!apart_ && !numrecs_dirty_ && !waits) return;  // all ranks know the same number
  std::array<std::int64_t, 2> most{schema_.numrecs, numrecs_dirty_ || waits};
  comm_.all_reduce(most, Reduce::max);
  schema_.numrecs = most[0];
  if (most[1] == 0) return;
  numrecs_dirty_ = true;  // until it is written
  container_->publish();
  numrecs_dirty_ = false;
}

void Dataset::sync() {
  require_data();
  before_operation();
  if (!writable_) {
    staging_ ? stage_->flush_to_sync() : container_->look_again();
    if (coarse_) coarse_->set_records(schema_.numrecs);
    return comm_.barrier();
  }
  StepTimer timer(report_, Step::sync);
  together(comm_, [&] {
    if (container_->publishes_records())
      schema_.numrecs = comm_.all_reduce(schema_.numrecs, Reduce::max);
    stage_->flush_to_sync();
    write_agreed_numrecs();
    container_->sync();
    stage_->synced();
  });
  report_staged_range_error();
}

void Dataset::flush() {
  if (mode_ == Mode::define) return;  // nothing is staged in define mode
  if (mode_ == Mode::collective) {
    before_operation();
    together(comm_, [&] {
      stage_->flush(true);
      container_->show();
    });
  } else {
    stage_->flush(false);
  }
  report_staged_range_error();
}

bool Dataset::writes_wait() const {
  return stage_->holds_writes() || (member_ && member_->is_handed_over());
}

bool Dataset::definitions_wait() const { return member_ && member_->file().definitions_wait(); }

bool Dataset::is_closed() const { return staging_ && staging_->is_closed(); }

FileAsMade Dataset::as_made() {
  const std::int64_t windows = comm_.all_reduce(report_[Counter::windows], Reduce::max);
  const bool shared = member_ && member_->was_member();
  FileAsMade file{was_there_, {}, {}, windows > 0 || shared, shared};
  for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
    const Variable& var = schema_.vars[v];
    const std::string& layout = file.layouts[var.name] = layout_of(var).name;
    if (v < found_vars_ && writable_ && var.ndims() > 0) file.found[var.name] = layout;
  }
  return file;
}

void Dataset::close() {
  if (is_closed()) throw Error(Errc::ebadid, path_ + " was closed as the program ended");
  const LastCall last(comm_);
  std::optional<Error> first;
  std::optional<Error> pending;  // says less than other errors
  auto step = [&](auto&& f) {
    auto error = attempt_together(comm_, f);
    if (error && !first) first = error;
    return !error;
  };
  if (mode_ == Mode::define && !step([&] { enddef(); }) && mode_ == Mode::define && before_redef_) {
    // The definitions before it hold, with the values that were written to them.
    schema_ = std::move(*before_redef_);
    before_redef_.reset();
    mode_ = Mode::collective;
  }
  if (!puts_.empty() || !gets_.empty()) {
    attempt_to([&] { cancel(Which::all, {}, {}); });
    pending = Error(Errc::epending);
    attempt_to([&] {  // with a text, if there is memory for it
      pending =
          Error(Errc::epending, "nonblocking requests were pending when " + path_ + " was closed",
                "call wait or cancel before close");
    });
  }
  if (mode_ == Mode::independent) step([&] { end_independent(); });
  // Work that no rank has, or for which no other rank waits, needs no collective step.
  bool behind = mode_ == Mode::collective && stage_->may_be_behind();
  bool publishes_last = true;
  if (behind && writable_ && stage_entry().is_local && !stage_->holds_writes()) {
    if (const auto mine = container_->has_last_work()) {
      std::int64_t any = *mine;
      const auto failed = up_to_meeting(comm_, [&] { any = comm_.all_reduce(any, Reduce::max); });
      behind = publishes_last = failed || any != 0;
      keep_first(first, failed);
    }
  }
  const bool flushed = !behind || step([&] { stage_->flush(true); });
  if (writable_ && mode_ == Mode::collective) {
    // If writing staged data failed, nothing makes it visible.
    const bool all_there = flushed || !stage_->holds_writes();
    const bool publishes = publishes_last && all_there && container_->publishes_records();
    if (publishes) step([&] { container_->refresh_definitions(); });
    // If this has steps at all, the last one is collective.
    if (all_there && (schema_.record_dim() || definitions_wait()))
      keep_first(first, up_to_meeting(comm_, [&] { write_agreed_numrecs(); }));
    if (publishes) step([&] { container_->publish_last(); });
    attempt_into(first, [&] {
      std::int64_t changed = changed_ && all_there;
      if (apart_) changed = comm_.all_reduce(changed, Reduce::max);
      container_->fill_up(changed != 0);
    });
  }
  const auto close_stage = [&] { stage_->close(false); };
  stage_->holds_writes() ? void(step(close_stage)) : void(attempt_into(first, close_stage));
  report_[Step::total] = seconds_since(opened_);
  attempt_into(first, [&] { container_->release(); });
  if (!method_.report.empty()) {
    step([&] {
      auto reasons = container_->reasons();
      reasons.push_back(stage_->reasons());
      reasons.insert(reasons.end(), remarks_.begin(), remarks_.end());
      if (coarse_) reasons.push_back(coarse_->reason());
      const auto lines = without_effect(method_, as_made());
      reasons.insert(reasons.end(), lines.begin(), lines.end());
      std::erase(reasons, std::string());  // from parts that have none
      print_report(comm_, path_, report_, method_, reasons, container_->layout().owners());
    });
  }
  attempt_into(first, [&] { container_->close(); });
  std::int64_t left = pending.has_value();
  agree_on_error(comm_, first, std::span(&left, 1), Reduce::max);
  if (left != 0 && comm_.size() > 1) {
    const Error others = told_by_others(comm_, pending, to_int(Errc::epending));
    if (!pending) throw Error(others);
  }
  if (pending) throw *pending;
  report_staged_range_error();
}

void Dataset::abort() {
  const LastCall last(comm_);
  // A file that could not be made need not be removed.
  if (member_ && attempt_to([&] { member_->file().finish_making(); })) created_ = false;
  const bool remove = created_;
  if (mode_ == Mode::define && before_redef_) {
    schema_ = std::move(*before_redef_);
    before_redef_.reset();
    mode_ = Mode::collective;
  }
  attempt_to([&] { cancel(Which::all, {}, {}); });
  std::optional<Error> first;
  auto step = [&](auto&& f) {
    auto error = attempt_together(comm_, f);
    if (error && !first) first = error;
    return !error;
  };
  if (!remove && mode_ == Mode::independent) step([&] { end_independent(); });
  if (remove || step([&] { stage_->flush(true); })) {
    // Values that were written since the last sync stay, as those of a file that is closed.
    if (!remove && writable_ && container_->publishes_records())
      step([&] { container_->publish_last(); });
    step([&] { stage_->close(remove); });
  }
  step([&] { container_->release(); });
  std::string place;
  attempt_into(first, [&] { place = remove && comm_.is_root() ? container_->place_now() : ""; });
  step([&] { container_->close(); });
  // No rank has the file open any more, so it may be removed.
  step([&] {
    if (remove && comm_.is_root()) container_->remove(place);
  });
  agree(first);
}

}  // namespace forebay
