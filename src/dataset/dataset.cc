// Life of a dataset: create, open, modes, close. Requests are in dataset_data.cc, definitions in
// define.cc and enddef.cc.
#include "dataset/dataset.h"

#include <functional>
#include <mutex>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "container/recognise.h"
#include "dataset/dataset_staging.h"
#include "dataset/layouts.h"
#include "dataset/print_report.h"
#include "dataset/recovery.h"
#include "layout/classic_part.h"

namespace forebay {

namespace {

/// Rank 0's arguments of create and open, so that no two ranks ever follow different methods.
struct Arguments {
  HintMap hints;
  std::int64_t flag = 0;
  std::string found = {};  ///< the container of the file that is there, if one recognises it
  bool logs = false;       ///< an earlier job may have left some

  std::string pack() const {
    std::string packed = std::to_string(flag) + '\0' + found + '\0' + (logs ? "1" : "") + '\0';
    for (const auto& [key, value] : hints) packed += key + '\0' + value + '\0';
    return packed;
  }
  void unpack(const std::string& packed) {
    std::size_t at = 0;
    const auto next = [&] {
      std::string text = packed.c_str() + at;
      at += text.size() + 1;
      return text;
    };
    flag = std::stoll(next());
    found = next();
    logs = !next().empty();
    hints.clear();
    while (at < packed.size()) {
      const std::string key = next();
      hints[key] = next();
    }
  }
};

}  // namespace

/// What rank 0 has told.
struct Asked {
  Arguments arguments;
  MethodSources sources;
  std::int64_t hash;

  Asked(Arguments given, MethodSources read)
      : arguments(std::move(given)), sources(std::move(read)) {
    const std::string all = arguments.pack() + text_of(sources);
    hash = static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(all))) >> 1);
  }
};

namespace {

/// What this process has been told last of a file that was created.
class LastAsked {
 public:
  std::shared_ptr<const Asked> get() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void set(std::shared_ptr<const Asked> asked) {
    const std::lock_guard lock(mutex_);
    last_.swap(asked);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Asked> last_;
};

LastAsked& last_asked() {
  static auto* last = new LastAsked;  // what ends last may make a file yet
  return *last;
}

/// `makes`: a file that is created.
Method shared_method(const Comm& comm, const std::string& path, Arguments& arguments, bool makes) {
  std::string packed = arguments.pack();
  const MethodSources sources = share_method_sources(comm, &packed);
  if (!comm.is_root()) arguments.unpack(packed);
  // Programs that open a file between two others create those alike. Without memory for it the next
  // one is told in words again.
  if (makes)
    attempt_to([&] { last_asked().set(std::make_shared<const Asked>(arguments, sources)); });
  return choose_method(path, arguments.hints, sources);
}

/// Rank 0 looks. The others are told with its arguments.
std::string look_at(const Comm& comm, const std::string& path) {
  if (!comm.is_root()) return {};
  const ContainerEntry* entry = recognise(path);
  return entry ? entry->name : "";
}

/// Rank 0 looks.
bool may_have_logs(bool is_root, const std::string& path) {
  return is_root && has_leftover_logs(path);
}

Arguments to_create(bool is_root, const std::string& path, int version, bool no_clobber,
                    const HintMap& hints) {
  Arguments arguments{hints, version * 2 + (no_clobber ? 1 : 0)};
  arguments.logs = !no_clobber && may_have_logs(is_root, strip_prefix(path));
  return arguments;
}

/// A file is what it is, whatever hints say: they are for those that are created. What no container
/// recognises the default one opens, and tells what is wrong with it.
void use_found(Method& method, const std::string& found) {
  method.container = found.empty() ? Method{}.container : found;
  method.origin.erase("container");
  if (!found.empty()) method.origin["container"] = "the file";
}

}  // namespace

Dataset::Dataset(Comm comm, std::string path, Method method)
    : comm_(std::move(comm)), path_(std::move(path)), method_(std::move(method)) {
  start_timeline(comm_, method_, report_, opened_);
}

// The engine's parts refer to comm_ and report_, which are members declared before them.
Dataset::~Dataset() = default;

template <typename F>
std::unique_ptr<Dataset> Dataset::start(const Comm& comm, const Met* met, F&& begin) {
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
  // MPI's own file is closed by all ranks or by none.
  const bool engine = ds && ds->container_ && ds->container_->has_engine();
  if (comm.all_reduce(engine, Reduce::min)) ds->container_->release();
  if (made) attempt_to([&] { ds->container_->remove(); });
  ds.reset();
  comm.barrier();  // behind it the name is gone: any rank may create the file anew
  throw *failed;
}

std::unique_ptr<Dataset> Dataset::create(Comm comm, const std::string& path, int version,
                                         bool no_clobber, const HintMap& hints, bool may_be_later,
                                         const Met* met) {
  return start(comm, met, [&](std::unique_ptr<Dataset>& ds, bool& made) {
    Arguments arguments;
    Method method;
    if (met && met->asked) {
      arguments = met->asked->arguments;
      method = choose_method(path, arguments.hints, met->asked->sources);
    } else {
      arguments = to_create(comm.is_root(), path, version, no_clobber, hints);
      method = shared_method(comm, path, arguments, true);
    }
    const Beside* const beside = met && met->beside ? &met->beside : nullptr;
    return begin_new(ds, comm, path, static_cast<int>(arguments.flag / 2), arguments.flag % 2 == 1,
                     std::move(method), arguments.logs, may_be_later, made, beside);
  });
}

std::shared_ptr<const Asked> Dataset::ask_to_create(const std::string& path, int version,
                                                    bool no_clobber, const HintMap& hints) {
  return std::make_shared<const Asked>(to_create(true, path, version, no_clobber, hints),
                                       read_method_sources());
}

std::shared_ptr<const Asked> Dataset::asked_last() { return last_asked().get(); }

std::int64_t Dataset::hash_of_asked(const Asked& asked) { return asked.hash; }

std::unique_ptr<Dataset> Dataset::create_by(Comm comm, const std::string& path, int version,
                                            bool no_clobber, const Method& method) {
  return start(comm, nullptr, [&](std::unique_ptr<Dataset>& ds, bool& made) {
    return begin_new(ds, comm, path, version, no_clobber, method, !no_clobber, false, made,
                     nullptr);
  });
}

bool Dataset::begin_new(std::unique_ptr<Dataset>& ds, const Comm& comm, const std::string& path,
                        int version, bool exclusive, Method method, bool logs, bool may_be_later,
                        bool& made, const Beside* beside) {
  check_netcdf_layouts(path, method);
  ds.reset(new Dataset(comm, strip_prefix(path), std::move(method)));
  ds->schema_.version = version;
  if (logs) meet_leftover_logs(comm, ds->path_, true, true, ds->method_);
  ds->created_ = ds->changed_ = true;
  ds->use_container();
  const bool stage_first = ds->stage_entry().is_local;
  if (stage_first) ds->start_staging();
  // What comes behind the file's meeting would have one of its own.
  std::function<std::span<std::int64_t>()> tells;
  if (beside && stage_first && !exclusive) tells = [&] { return (*beside)(*ds); };
  const bool has_met = ds->container_->create(exclusive, may_be_later, made, tells);
  // An exclusive creation tells that what logs there are belong to a file that was removed.
  if (exclusive) meet_leftover_logs(comm, ds->path_, true, true, ds->method_);
  if (!stage_first) ds->start_staging();
  return has_met && stage_first && !exclusive;
}

std::unique_ptr<Dataset> Dataset::open(Comm comm, const std::string& path, bool writable,
                                       const HintMap& hints, const Met* met) {
  return start(comm, met, [&](std::unique_ptr<Dataset>& ds, bool&) {
    const std::string file = strip_prefix(path);
    Arguments arguments{hints, writable, look_at(comm, file), may_have_logs(comm.is_root(), file)};
    Method method = shared_method(comm, path, arguments, false);
    begin_old(ds, comm, path, arguments.flag != 0, std::move(method), arguments.found,
              arguments.logs);
    return false;
  });
}

std::unique_ptr<Dataset> Dataset::open_by(Comm comm, const std::string& path, bool writable,
                                          const Method& method) {
  return start(comm, nullptr, [&](std::unique_ptr<Dataset>& ds, bool&) {
    std::string found = look_at(comm, strip_prefix(path));
    comm.broadcast(found);
    begin_old(ds, comm, path, writable, method, found, true);
    return false;
  });
}

void Dataset::begin_old(std::unique_ptr<Dataset>& ds, const Comm& comm, const std::string& path,
                        bool writable, Method method, const std::string& found, bool logs) {
  check_netcdf_layouts(path, method);
  use_found(method, found);
  ds.reset(new Dataset(comm, strip_prefix(path), std::move(method)));
  ds->writable_ = writable;
  ds->mode_ = Mode::collective;
  if (logs) meet_leftover_logs(comm, ds->path_, ds->writable_, false, ds->method_);
  ds->use_container();
  ds->container_->open();
  // The file does not say which variables were filled; PnetCDF takes all of them to be.
  for (Variable& var : ds->schema_.vars) var.no_fill = false;
  ds->coarse_ = CoarseView::of(ds->schema_, ds->method_, writable);
  ds->record_stride_ = record_size(ds->schema());
  ds->start_staging();
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
  catch_up();
  std::optional<Schema> before;
  together(comm_, [&] {
    stage_->flush(true);  // what is staged refers to the definitions of before
    before = schema_;
  });
  before_redef_ = std::move(before);
  mode_ = Mode::define;
}

void Dataset::begin_independent() {
  require_data();
  catch_up();
  if (writable_ && mode_ == Mode::collective) stage_->begin_alone();
  apart_ = apart_ || writable_;
  mode_ = Mode::independent;
}

// Ranks may have added different numbers of records on their own.
void Dataset::end_independent() {
  require_data();
  if (mode_ != Mode::independent)
    throw Error(Errc::enotindep, path_ + " is not in independent data mode");
  mode_ = Mode::collective;
  if (!writable_) return;
  together(comm_, [&] {
    // A publication tells the number of records, too.
    if (container_->publishes_records() || stage_->holds_writes())
      schema_.numrecs = comm_.all_reduce(schema_.numrecs, Reduce::max);
    stage_->end_alone();
    if (!stage_->holds_writes()) write_agreed_numrecs();
  });
}

void Dataset::sync_numrecs() {
  require_data();
  require_writable();
  catch_up();
  together(comm_, [&] {
    if ((stage_->holds_writes() || handed_over_) && mode_ == Mode::collective) stage_->flush(true);
    write_agreed_numrecs();
  });
}

void Dataset::write_agreed_numrecs() {
  const bool waits = container_->definitions_wait();
  if (!schema_.record_dim() && !waits) return;
  if (!apart_ && !numrecs_dirty_ && !waits) return;  // all know
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
  catch_up();
  if (!writable_) {
    container_->look_again();
    if (coarse_) coarse_->set_records(schema_.numrecs);
    return comm_.barrier();
  }
  StepTimer timer(report_, Step::sync);
  together(comm_, [&] {
    if (container_->publishes_records())
      schema_.numrecs = comm_.all_reduce(schema_.numrecs, Reduce::max);
    stage_->flush(true);
    write_agreed_numrecs();
    container_->sync();
  });
  report_staged_range_error();
}

void Dataset::flush() {
  if (mode_ == Mode::define) return;  // nothing is staged then
  if (mode_ == Mode::collective) {
    catch_up();
    together(comm_, [&] { stage_->flush(true); });
  } else {
    stage_->flush(false);
  }
  report_staged_range_error();
}

void Dataset::close() {
  std::optional<Error> first;
  std::optional<Error> pending;  // tells less than what else may have failed
  auto step = [&](auto&& f) {
    auto error = attempt_together(comm_, f);
    if (error && !first) first = error;
    return !error;
  };
  if (mode_ == Mode::define) step([&] { enddef(); });
  if (!queue_.empty()) {
    attempt_to([&] { cancel(Which::all, {}, {}); });
    pending = Error(Errc::epending);
    attempt_to([&] {  // in words, if there is memory for them
      pending =
          Error(Errc::epending, "nonblocking requests were pending when " + path_ + " was closed",
                "call wait or cancel before close");
    });
  }
  if (mode_ == Mode::independent) step([&] { end_independent(); });
  // What has nothing to do on any rank, or nothing that others wait for, needs no meeting.
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
    // Nothing tells of what is staged still, as writing it failed.
    const bool all_there = flushed || !stage_->holds_writes();
    const bool publishes = publishes_last && all_there && container_->publishes_records();
    if (publishes) step([&] { container_->refresh_definitions(); });
    // Its last step is a meeting, if it has any.
    if (all_there && (schema_.record_dim() || container_->definitions_wait()))
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
      std::erase(reasons, std::string());  // of parts that have none
      print_report(comm_, path_, report_, method_, reasons, container_->layout().owners());
    });
  }
  attempt_into(first, [&] { container_->close(); });
  std::int64_t left = pending.has_value();
  agree_on_error(comm_, first, std::span(&left, 1), Reduce::max);
  if (pending) throw *pending;
  if (left != 0)
    throw error_of_others(to_int(Errc::epending), "another rank had requests that were pending");
  report_staged_range_error();
}

void Dataset::abort() {
  // What could not be made need not be removed.
  if (attempt_to([&] { finish_making(); })) created_ = false;
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
  if (remove || step([&] { stage_->flush(true); })) step([&] { stage_->close(remove); });
  step([&] { container_->release(); });
  step([&] { container_->close(); });
  // Nobody has the file open: it may be removed.
  step([&] {
    if (remove && comm_.is_root()) container_->remove();
  });
  agree(first);
}

HintMap Dataset::hints_in_force() const { return to_hints(method_); }

}  // namespace forebay
