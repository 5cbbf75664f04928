#include "hdf5/connector/logged_hooks.h"

#include <H5VLnative.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/attempt.h"
#include "base/random_number.h"
#include "comm/agree.h"
#include "dataset/print_report.h"
#include "hdf5/connector/chunked_hooks.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/list_properties.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/connector/watched_driver.h"
#include "hdf5/shared/id.h"
#include "method/front_end.h"

namespace forebay::vol {
namespace {

/// How the driver stores a file.
struct Access {
  bool plain = false;   ///< one file, whose bytes are where HDF5 says
  bool copied = false;  ///< the same, but HDF5 works on a copy in memory
};

Access access_of(hid_t fapl) {
  const hid_t driver = H5Pget_driver(fapl);
  Access access;
  access.plain = driver == H5FD_SEC2 || driver == H5FD_STDIO;
  std::size_t image = 0;  // of a file that is only in memory
  access.copied =
      driver == H5FD_CORE && H5Pget_file_image(fapl, nullptr, &image) >= 0 && image == 0;
  return access;
}

/// Returns whether HDF5's writes to the file are watched (watched_driver.h).
bool is_watched(const OpenedFile& opened) {
  return opened.mpi_io || H5Pget_driver(opened.fapl) == H5FD_SEC2;
}

std::uint64_t shared_random_number(const Comm& comm) {
  std::uint64_t number = comm.is_root() ? random_number() : 0;
  comm.broadcast(&number, sizeof number);
  return number;
}

// Data that a rank gathers before collective calls write it: enough for the file system, and small
// enough for the processor's cache.
constexpr Count flush_bytes = 2 << 20;
// Calls may become larger, so the next check must not be far away.
constexpr Count most_calls_apart = 100;
// The limit if a thread could write meanwhile.
constexpr Count most_calls_apart_behind = 8;
// Collective calls of this size justify a block of their own.
constexpr Count through_bytes = 512 << 10;
// The limit if held data must be written to files so that others see it (Tails::copies).
constexpr Count through_bytes_shown = 128 << 10;

/// Returns why a file opened in this way cannot have a log; empty if it can.
std::string why_no_log(const OpenedFile& opened) {
  if ((opened.flags & H5F_ACC_SWMR_WRITE) != 0) return "for single writer, multiple readers (SWMR)";
  std::size_t page_buffer = 0;
  unsigned metadata = 0, raw = 0;
  // Pages are written as a whole, with HDF5's view of their bytes.
  if (H5Pget_page_buffer_size(opened.fapl, &page_buffer, &metadata, &raw) >= 0 && page_buffer > 0)
    return "with a page buffer";
  return {};
}

/// Returns whether the file may switch to single writer, multiple readers while it is written. HDF5
/// needs a format of 1.10 or later for that, and one process.
bool may_become_swmr(hid_t fapl) {
  H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
  return H5Pget_libver_bounds(fapl, &low, &high) >= 0 && low >= H5F_LIBVER_V110;
}

/// Returns whether the program asks for an alignment of data in the file, which a log cannot
/// provide. Only for files without MPI; with MPI the alignment is for a file system's stripes.
bool asks_alignment(hid_t fapl) {
  hsize_t threshold = 0, alignment = 1;
  return H5Pget_alignment(fapl, &threshold, &alignment) >= 0 && alignment > 1;
}

LoggedHandle& handle_of(LoggedDataset* dataset) { return static_cast<LoggedHandle&>(*dataset); }

/// Returns whether a rank may write only some fields of elements, and with them what it reads of
/// the others (needs_present). All ranks of a collective call give the same datasets, but may give
/// different memory types.
bool may_write_fields(std::span<const DatasetWrite> writes) {
  return std::any_of(writes.begin(), writes.end(), [](const DatasetWrite& one) {
    return H5Tdetect_class(handle_of(one.dataset).state().type(), H5T_COMPOUND) > 0;
  });
}

/// Throws if a key was set for this very file, which cannot have it. For other settings the report
/// mentions it.
void refuse_or_note(Method& method, const char* key, const std::string& why, const char* advice) {
  const auto said = method.origin.find(key);
  if (said == method.origin.end()) return;
  const std::string what = said->second.text + ": " + key + "=" + method_value(method, key);
  if (said->second.names_file)
    throw Error(Errc::enotsupport, what + " cannot be done: " + why, advice);
  method.notes.push_back(what + " does not apply: " + why);
}

bool is_automatic(const Method& method) {
  return !method.origin.contains("layout") || method.layout == "auto";
}

/// A log cannot become an ordinary file when it is closed.
void refuse_compacting(Method& method) {
  if (method.compact != Compact::close) return;
  refuse_or_note(method, "compact", "the file is a log",
                 "leave it out, and make an ordinary file of it later: forebay convert IN OUT --to "
                 "hdf5; or leave layout=log out, which gives an ordinary file from the beginning");
  method.compact = Compact::never;
}

/// Does what the access list says, unless a hint says otherwise.
void set_buffer_limit(Method& method, Count bytes) {
  if (!method.origin.contains("buffer_limit")) {
    set_method_key(method, "buffer_limit", std::to_string(bytes), set_buffer, set_buffer);
  } else if (method.buffer_limit != bytes) {
    note_overruled(method, fmt::format("{} of {} bytes", set_buffer, bytes),
                   "buffer_limit=" + shown_method_value(method, "buffer_limit") + " (" +
                       method.origin_of("buffer_limit") + ")");
  }
}

Method method_of(const OpenedFile& opened) {
  constexpr const char* giver = "the connector's string";
  Method method = choose_method(opened.name, opened.mpi_hints, share_method_sources(opened.comm),
                                {}, {parse_hints(opened.hints, giver), giver});
  if (opened.buffer) set_buffer_limit(method, *opened.buffer);
  keep_honoured(method, FrontEnd::hdf5);
  // An ordinary file at the close is one from the beginning.
  if (is_automatic(method) && method.compact == Compact::close) method.layout = "chunked";
  return method;
}

/// Returns whether a log can be in a file that is opened in this way.
bool can_have_log(const OpenedFile& opened) {
  return why_no_log(opened).empty() && (opened.mpi_io || access_of(opened.fapl).plain);
}

/// Returns whether a new file that can have a log gets one.
bool wants_log(const OpenedFile& opened, const Method& method) {
  if (method.layout == "chunked" || !is_automatic(method)) return method.layout == "log";
  return opened.mpi_io || !(may_become_swmr(opened.fapl) || asks_alignment(opened.fapl));
}

/// Only a log is written behind the program.
void refuse_async(Method& method) {
  if (method.stage != "async") return;
  refuse_or_note(method, "stage", "only a log is written behind the program",
                 "leave it out, or use layout=log");
  method.stage = "auto";
}

/// Keys that only some layouts of HDF5 files have.
void check_keys_of_layouts(Method& method, bool log) {
  if (!log) refuse_async(method);
  constexpr const char* of_chunks[] = {"codec", "chunk_bytes", "chunk_cache", "codec_threads"};
  constexpr const char* of_log[] = {"log_copy", "log_memory", "subfiling", "subfile_ranks"};
  if (method.layout == "chunked") {
    for (const char* key : of_log)
      refuse_or_note(method, key, "the file has no log", "leave it out, or use layout=log");
    if (method.codec == "none") return;
    if (const auto none = attempt_to([&] { hdf5_filters_of(method.codec, Type::float32, {}); })) {
      refuse_or_note(method, "codec", none->message(),
                     "use shuffle, bitshuffle, deflate, fletcher32, zstd or zfp in layout=chunked");
      method.codec = "none";
    }
    return;
  }
  if (log) refuse_compacting(method);
  for (const char* key : of_chunks)
    refuse_or_note(
        method, key,
        log ? "a log keeps the filters that the program chose" : "HDF5 stores the file's datasets",
        "use layout=chunked");
}

}  // namespace

Method method_for_new(const OpenedFile& opened) {
  Method method = method_of(opened);
  check_keys_of_layouts(method, can_have_log(opened) && wants_log(opened, method));
  return method;
}

void report_ordinary(const OpenedFile& opened) {
  const Method& method = *opened.method;
  const bool automatic = is_automatic(method);
  if (method.notes.empty() && !automatic) return;
  const std::string why = why_no_log(opened);
  std::string text = "an ordinary HDF5 file, without a log";
  if (automatic)
    text += ", which layout=auto took as " +
            (!why.empty() ? "it is opened " + why
                          : "its file driver, alignment or format does not go with a log");
  print_report(opened.comm, opened.name, {}, method, {text});
}

bool is_logged(const UnderObject& dataset, hid_t dxpl) {
  return read_stored(dataset, dxpl).has_value();
}

std::unique_ptr<FileHooks> make_file_hooks(const OpenedFile& opened) {
  // Places in the file are asked of the native connector, and used directly.
  if (!is_native(opened.file.connector)) return nullptr;
  LogStore store(opened.file, opened.comm);
  if (!opened.created && !store.open((opened.flags & H5F_ACC_RDWR) != 0)) {
    if ((opened.flags & H5F_ACC_RDWR) == 0) return nullptr;
    Method method = method_of(opened);
    refuse_async(method);
    if (!opened.mpi_io || method.layout != "chunked" || !why_not_by_ranks(opened).empty())
      return nullptr;
    return std::make_unique<ChunkedHooks>(opened, method);
  }
  if (opened.created && opened.method && opened.method->layout == "chunked")
    return std::make_unique<ChunkedHooks>(opened, *opened.method);
  if (const std::string why = why_no_log(opened); !why.empty()) {
    if (opened.created) return nullptr;
    if ((opened.flags & H5F_ACC_RDWR) != 0)
      throw Error(Errc::enotsupport, opened.name + " holds a log, which cannot be written " + why,
                  "open it to read only, or convert it: forebay convert IN OUT --to hdf5");
  }
  const Access access = opened.mpi_io ? Access{true, false} : access_of(opened.fapl);
  if (!access.plain) {
    if (opened.created) return nullptr;
    if (!access.copied || (opened.flags & H5F_ACC_RDWR) != 0)
      throw Error(Errc::enotsupport,
                  opened.name + " holds a log, which this file driver cannot " +
                      (access.copied ? "write" : "read"),
                  "open it with the default driver or with MPI-IO");
  }
  Method method = opened.method ? *opened.method : method_of(opened);
  if (opened.created && !wants_log(opened, method)) return nullptr;
  if (!opened.created && (opened.flags & H5F_ACC_RDWR) != 0) refuse_compacting(method);
  method.layout = "log";
  return std::make_unique<LoggedHooks>(opened, method, std::move(store));
}

LoggedHooks::LoggedHooks(const OpenedFile& opened, const Method& method, LogStore store)
    : comm_(opened.comm),
      mpi_io_(opened.mpi_io),
      method_(method),
      path_(opened.name),
      writable_((opened.flags & H5F_ACC_RDWR) != 0 || opened.created),
      created_(opened.created),
      reached_(opened.fapl < 0),
      store_(std::move(store)) {
  if (opened.created) store_.create(shared_random_number(comm_));
  const LoggedFileOptions options{opened.path, writable_, store_.session(), method};
  file_ = std::make_unique<LoggedFile>(comm_, options, &store_);
  start_timeline(comm_, method_, file_->report(), opened_);
  if (const auto index = store_.index()) file_->open_index(*index);
  for (const auto& block : store_.blocks(file_->reader().directory().blocks))
    file_->add_block(block);
  if (writable_) {
    start_undo(opened);
    // Dataset numbers differ between openings, so that none is given twice, whatever a killed job
    // left.
    next_id_ = shared_random_number(comm_) << 24;
    file_->start_writing();
  }
  file_->ensure_open();
}

void LoggedHooks::check_writable() const {
  if (opener_.is_another())
    throw Error(Errc::eperm,
                fmt::format("{} was opened by process {}, which still runs: a child of it cannot "
                            "write the log",
                            path_, opener_.process()),
                "open the file in the process that writes it");
  if (!writable_)
    throw Error(Errc::eperm, path_ + " was opened to read only", "open it with H5F_ACC_RDWR");
}

/// Collective. From here on HDF5's writes go through the undo file.
void LoggedHooks::start_undo(const OpenedFile& opened) {
  if (!is_watched(opened)) return;
  const Offset end = opened.created ? 0 : end_of_file(opened.file);
  // The witness belongs to this opening: undo files that a job left beside an older copy do not
  // fit.
  const logged::Witness witness{shared_random_number(comm_), store_.witness_place()};
  agree_on_error(comm_, attempt_to([&] {
                   if (comm_.is_root())
                     file_->put(witness.place, logged::print_witness(witness.opening));
                 }));
  undo_ = std::make_shared<UndoFile>(comm_, opened.path, witness, end);
  try {
    agree_on_error(comm_, attempt_to([&] { watch(opened.file, mpi_io_, undo_); }));
  } catch (...) {
    unwatch(*undo_);  // all ranks close the file
    throw;
  }
  store_.set_undo(*undo_);
}

std::shared_ptr<DatasetState> LoggedHooks::adopt(StoredDataset stored, hid_t type) {
  auto& known = datasets_[stored.id];
  if (auto state = known.lock()) return state;
  Hdf5Id dcpl = owned(H5Pdecode(stored.dcpl.data()), "reading creation properties");
  auto state = std::make_shared<DatasetState>(std::move(stored), type, std::move(dcpl));
  state->set_allocated(mpi_io_);
  known = state;
  return state;
}

CreatedDataset LoggedHooks::create_dataset(const DatasetCreation& creation) {
  if (reached_) return {};
  check_writable();
  if (!why_not_logged(creation.type, creation.space, creation.dcpl).empty()) return {};
  store_.move_to(creation.at);
  StoredDataset stored = stored_from(
      new_id(), creation.space, completed_properties(creation.dcpl, creation.type, creation.space));
  const Hdf5Id dcpl = stand_in_properties(creation.dcpl);
  const Hdf5Id space = stand_in_space(creation.space, creation.dcpl, dcpl);
  CreatedDataset created;
  created.under =
      OwnedUnder(H5VLdataset_create(creation.at.object, creation.location, creation.at.connector,
                                    creation.name, creation.lcpl, creation.type, space, dcpl,
                                    creation.dapl, creation.dxpl, nullptr),
                 creation.at.connector, H5I_DATASET);
  if (!created.under) throw_hdf5("creating the dataset");
  write_stored(created.under.get(), stored, true, creation.dxpl);
  created.logged = std::make_unique<LoggedHandle>(*this, adopt(std::move(stored), creation.type),
                                                  created.under.get());
  return created;
}

std::unique_ptr<LoggedDataset> LoggedHooks::open_dataset(const UnderObject& dataset, hid_t dxpl) {
  auto stored = read_stored(dataset, dxpl);
  if (!stored) return nullptr;
  return std::make_unique<LoggedHandle>(*this, adopt(std::move(*stored), type_of(dataset)),
                                        dataset);
}

/// In collective transfers the ranks check from time to time, all after the same number of calls,
/// whether one rank's buffer is full; then all write. The next check comes before any rank can hold
/// twice the limit by calls of the sizes so far. If a single call is large, calls write through
/// from then on: nothing is copied.
void LoggedHooks::agree_on_room(bool collective) {
  if (!collective || --writes_to_check_ > 0) {
    file_->writer().make_room();
    return;
  }
  const bool lent = through_;  // in this call; no data stays in the program's buffers after it
  std::int64_t numbers[3] = {file_->writer().held(), largest_, behind_ ? 1 : 0};
  comm_.all_reduce(numbers, Reduce::max);
  const Count limit = std::min(file_->options().method.buffer_limit / 2, flush_bytes);
  through_ = numbers[1] >= (file_->copies_pending() ? through_bytes_shown : through_bytes);
  if (lent || through_ || numbers[0] > limit) {
    const auto failed = up_to_meeting(comm_, [&] { file_->writer().flush_data(true); });
    if (failed) throw *failed;
    numbers[0] = 0;
  }
  writes_to_check_ =
      through_ ? 1
               : std::clamp<Count>((limit - numbers[0]) / std::max<Count>(1, numbers[1]), 1,
                                   numbers[2] != 0 ? most_calls_apart_behind : most_calls_apart);
  largest_ = 0;
}

/// Returns for how long the program leaves the memory of its writes with this list unchanged.
logged::Lent LoggedHooks::lent_by(hid_t dxpl, bool collective, bool until_landed) {
  bool copies = method_.log_copy == Switch::enable;
  if (copies && !must_copy(dxpl)) {
    copies = method_.is_said_outside("log_copy");
    if (copies)
      note_overruled(method_, set_copy, "log_copy=enable (" + method_.origin_of("log_copy") + ")");
  }
  if (!copies) return logged::Lent::until_flush;
  if (!collective || !through_) return logged::Lent::never;
  return until_landed ? logged::Lent::until_landed : logged::Lent::in_call;
}

void LoggedHooks::write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) {
  append(at, writes, dxpl, false);
}

/// A write that waits for a later call to be flushed was copied, so it is complete.
std::shared_ptr<logged::WriteBehind::Progress> LoggedHooks::begin_write(
    const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) {
  append(at, writes, dxpl, true);
  return file_->writer().handed();
}

/// `until_landed`: the program leaves its memory as it is until what was handed over has landed.
void LoggedHooks::append(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl,
                         bool until_landed) {
  check_writable();
  store_.move_to(at);
  const bool collective = is_collective(dxpl, comm_);
  // After it all ranks show what they wrote in earlier calls, and it can be read.
  if (collective && may_write_fields(writes))
    agree_on_error(comm_, attempt_to([&] { file_->writer().settle(); }));
  const Count before = file_->writer().held();
  const auto failed = attempt_to([&] {
    behind_ = until_landed || method_.stage == "async";
    file_->writer().lend(lent_by(dxpl, collective, until_landed), behind_);
    file_->writer().begin(collective);
    for (const DatasetWrite& one : writes)
      write_logged(*file_, handle_of(one.dataset).state(), one, dxpl);
  });
  largest_ = std::max(largest_, file_->writer().held() - before);
  // Even if this rank's write failed, because others wait.
  const auto unflushed = attempt_to([&] { agree_on_room(collective); });
  if (unflushed) {
    file_->writer().keep_lent();
    throw *unflushed;
  }
  const auto hidden = attempt_to([&] { file_->writer().publish(); });
  // The call fails, so the program's memory is free when it returns.
  const auto handed = file_->writer().handed();
  if ((failed || hidden) && until_landed && handed) attempt_to([&] { handed->wait(UINT64_MAX); });
  if (failed) throw *failed;
  if (hidden) throw *hidden;
}

/// Collective. All ranks look into the index together; then each reads by itself.
void LoggedHooks::read_together(std::span<const DatasetRead> reads, hid_t dxpl) {
  struct Part {
    const DatasetRead* read;
    LoggedTransfer transfer;
  };
  std::vector<Part> parts;
  std::vector<logged::WantedEntries> wanted;
  auto failed = attempt_to([&] {
    for (const DatasetRead& one : reads) {
      const DatasetState& state = handle_of(one.dataset).state();
      LoggedTransfer transfer = transfer_of(state, one);
      if (transfer.file.elements == 0) continue;
      const Placed& placed = transfer.file.placed;
      wanted.push_back({state.id(), state.ndims(), bounds_of(placed.pattern, placed.base)});
      parts.push_back({&one, std::move(transfer)});
    }
  });
  if (failed) wanted.clear();
  std::vector<std::vector<logged::NumberedEntry>> found;
  keep_first(failed, attempt_to([&] { found = file_->find_together(wanted); }));
  if (failed) throw *failed;
  for (std::size_t i = 0; i < parts.size(); ++i)
    read_logged(*file_, handle_of(parts[i].read->dataset).state(), *parts[i].read,
                parts[i].transfer, dxpl, &found[i]);
}

void LoggedHooks::read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) {
  store_.move_to(at);
  const bool collective = comm_.size() > 1 && is_collective(dxpl, comm_);
  // A collective read sees what any rank wrote before it.
  if (file_->writing() && collective) flush();
  naming(path_, [&] {
    if (collective && file_->index_is_dealt()) return read_together(reads, dxpl);
    for (const DatasetRead& one : reads) {
      DatasetState& state = handle_of(one.dataset).state();
      read_logged(*file_, state, one, transfer_of(state, one), dxpl);
    }
  });
}

void LoggedHooks::flush() {
  if (file_->writing()) together(comm_, [&] { file_->flush(); });
}

void LoggedHooks::flush_below(const UnderObject& at, H5F_scope_t scope) {
  H5VL_file_specific_args_t args{};
  args.op_type = H5VL_FILE_FLUSH;
  args.args.flush = {at.type, scope};
  const bool failed =
      H5VLfile_specific(at.object, at.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0;
  const auto any = attempt_to([&] { comm_.meet(failed ? Errc::ehdferr : Errc::ok); });
  if (failed) throw UnderFailed{};
  if (any) throw *any;
}

void LoggedHooks::flush(const UnderObject& at, H5F_scope_t scope) {
  if (opener_.is_another()) return;  // waiting data belongs to the parent process
  store_.move_to(at);
  if (undo_) undo_->begin();
  flush();
  flush_below(at, scope);
  if (file_->writing()) file_->sync();
}

void LoggedHooks::flush_with_parent() {
  if (!store_.is_held()) return;  // the file may be out of reach
  if (undo_) undo_->begin();
  flush();
}

// With MPI-IO, and in files of an older format, HDF5 itself refuses and says why.
void LoggedHooks::refuse_swmr(const UnderObject& at) {
  H5F_info2_t info{};
  H5VL_native_file_optional_args_t native{};
  native.get_info = {at.type, &info};
  H5VL_optional_args_t args{H5VL_NATIVE_FILE_GET_INFO, &native};
  const bool known =
      H5VLfile_optional(at.object, at.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
  constexpr unsigned first_with_swmr = 3;  // the first superblock version with SWMR
  if (mpi_io_ || (known && info.super.version < first_with_swmr)) return;
  throw Error(Errc::enotsupport,
              "a log cannot be written for single writer, multiple readers (SWMR)",
              created_ ? "make the file with layout=canonical, or without a layout in FOREBAY_HINTS"
                       : "convert the file: forebay convert IN OUT --to hdf5");
}

void LoggedHooks::before_mount(const UnderObject& at) {
  if (!writable_) return;
  store_.move_to(at);
  store_.hold();
}

void LoggedHooks::finish() {
  if (!file_->writing()) return;
  report_due_ = true;
  if (const auto index = file_->finish()) {
    file_->adopt_index(index->place);  // on all ranks; without it blocks are read one by one
    store_.replace_index();
  }
}

void LoggedHooks::before_close(const UnderObject& at, Closing closing) {
  if (closing == Closing::handle || opener_.is_another()) return;
  store_.move_to(at);
  if (undo_) undo_->begin();
  together(comm_, [&] {
    finish();
    store_.let_go();
    if (closing == Closing::last && file_->writing()) file_->follow_rename();
  });
  // After it all ranks close the file in HDF5 and wait for each other there, so nothing may fail
  // here.
  if (closing == Closing::last && report_due_) attempt_and_go_on(comm_, [&] { report(); });
}

void LoggedHooks::report() {
  std::vector<std::string> notes{
      method_.origin.contains("layout") && method_.layout != "auto"
          ? "layout log: each rank appends"
          : "layout log, which layout=auto takes for what a log can serve: each rank appends"};
  if (undo_ && !undo_->active())
    notes.emplace_back("flushes are not one step: the folder takes no undo file");
  logged::WriteBehind& behind = file_->writer().write_behind();
  if (behind.started() > 0) {
    behind.tell();
    const auto seconds = behind.seconds();
    notes.push_back(fmt::format(
        "async: {} times data was handed to a thread, which wrote for {:.3f} s, for {:.3f} s of "
        "which calls waited: {:.3f} s hidden",
        behind.started(), seconds.written, seconds.waited, seconds.hidden()));
  }
  file_->report()[Step::total] = seconds_since(opened_);
  print_report(comm_, path_, file_->report(), method_, notes);
}

// -- one handle

Count LoggedHandle::stored_bytes() {
  Count sum = hooks_.file().reader().stored_bytes(state_->id(), state_->ndims());
  if (hooks_.file().writing())
    for (const auto& entry : hooks_.file().writer().pending())
      if (entry.dataset == state_->id()) sum += entry.stored;
  return sum;
}

/// HDF5 allocates a dataset without chunks completely or not at all.
Count LoggedHandle::storage_size() {
  if (state_->chunked()) return stored_bytes();
  Count whole = static_cast<Count>(state_->element_size());
  for (const Count extent : state_->extents()) whole *= extent;
  return state_->allocated() || stored_bytes() > 0 ? whole : 0;
}

bool LoggedHandle::get(H5VL_dataset_get_args_t& args, hid_t) {
  switch (args.op_type) {
    case H5VL_DATASET_GET_SPACE:
      args.args.get_space.space_id = state_->make_space().release();
      return true;
    case H5VL_DATASET_GET_DCPL:
      args.args.get_dcpl.dcpl_id = checked(H5Pcopy(state_->dcpl()), "copying a property list");
      return true;
    case H5VL_DATASET_GET_SPACE_STATUS:
      *args.args.get_space_status.status =
          storage_size() > 0 ? H5D_SPACE_STATUS_ALLOCATED : H5D_SPACE_STATUS_NOT_ALLOCATED;
      return true;
    case H5VL_DATASET_GET_STORAGE_SIZE:
      *args.args.get_storage_size.storage_size = static_cast<hsize_t>(storage_size());
      return true;
    default:
      return false;  // the stand-in has the right datatype and access properties
  }
}

void LoggedHandle::set_extent(const hsize_t* size, hid_t dxpl) {
  hooks_.check_writable();
  if (!state_->chunked())
    throw Error(Errc::enotsupport, "only datasets with a chunked layout can change their extents",
                "set a chunk shape in the creation property list");
  StoredDataset stored = state_->stored();
  bool shrinks = false;
  for (std::size_t d = 0; d < stored.extents.size(); ++d) {
    if (stored.maximum[d] != H5S_UNLIMITED && size[d] > stored.maximum[d])
      throw Error(Errc::einval, "dimension " + std::to_string(d) + " can have " +
                                    std::to_string(stored.maximum[d]) + " elements at most, not " +
                                    std::to_string(size[d]));
    if (size[d] > INT64_MAX) throw Error(Errc::einval, "an extent beyond 63 bits");
    shrinks |= static_cast<Count>(size[d]) < stored.extents[d];
    stored.extents[d] = static_cast<Count>(size[d]);
  }
  if (stored.extents == state_->extents()) return;
  if (shrinks) {
    hooks_.file().writer().cut(stored.id, stored.extents);
    hooks_.file().writer().publish();
  }
  write_stored(under_, stored, false, dxpl);
  state_->set_extents(std::move(stored.extents));
}

bool LoggedHandle::specific(H5VL_dataset_specific_args_t& args, hid_t dxpl) {
  switch (args.op_type) {
    case H5VL_DATASET_SET_EXTENT:
      set_extent(args.args.set_extent.size, dxpl);
      return true;
    default:
      return false;  // the stand-in is flushed and refreshed below
  }
}

bool LoggedHandle::optional(H5VL_optional_args_t& args, hid_t) {
  auto* native = static_cast<H5VL_native_dataset_optional_args_t*>(args.args);
  switch (args.op_type) {
    case H5VL_NATIVE_DATASET_GET_OFFSET:
      *native->get_offset.offset = HADDR_UNDEF;  // not in one place
      return true;
    case H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE:
    case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE:
    case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS:
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD:
    case H5VL_NATIVE_DATASET_CHUNK_READ:
    case H5VL_NATIVE_DATASET_CHUNK_WRITE:
    case H5VL_NATIVE_DATASET_CHUNK_ITER:
      throw Error(Errc::enotsupport, "this dataset is in a log, which has no chunks",
                  "read and write it with H5Dread and H5Dwrite, or convert the file: forebay "
                  "convert IN OUT --to hdf5");
    default:
      return false;
  }
}

}  // namespace forebay::vol
