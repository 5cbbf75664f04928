#include "api/hdf5vol/logged_file.h"

#include <H5VLnative.h>

#include <algorithm>

#include "api/hdf5vol/errors.h"
#include "api/hdf5vol/mpio.h"
#include "api/hdf5vol/under_objects.h"
#include "api/hdf5vol/watched_driver.h"
#include "base/attempt.h"
#include "base/random_number.h"
#include "comm/agree.h"
#include "dataset/layouts.h"
#include "dataset/print_report.h"
#include "hdf5/id.h"

namespace forebay::vol {
namespace {

/// What the driver makes of a file.
struct Access {
  bool plain = false;   ///< one file, whose bytes lie where HDF5 says
  bool copied = false;  ///< the same, but HDF5 works on a copy of it in memory
};

Access access_of(hid_t fapl) {
  const hid_t driver = H5Pget_driver(fapl);
  Access access;
  access.plain = driver == H5FD_SEC2 || driver == H5FD_STDIO;
  std::size_t image = 0;  // of a file that is in memory only
  access.copied =
      driver == H5FD_CORE && H5Pget_file_image(fapl, nullptr, &image) >= 0 && image == 0;
  return access;
}

std::uint64_t shared_random_number(const Comm& comm) {
  std::uint64_t number = comm.is_root() ? random_number() : 0;
  comm.broadcast(&number, sizeof number);
  return number;
}

bool is_collective(hid_t dxpl, const Comm& comm) {
  return comm.size() == 1 || asks_collective(dxpl);
}

// Data that a rank gathers before collective calls write it: enough for the file system, and still
// in the processor's cache.
constexpr Count flush_bytes = 2 << 20;
// Calls may be larger than those before: the next look must not be far.
constexpr Count most_calls_apart = 100;
// Collective calls of as much are worth a block of their own.
constexpr Count through_bytes = 512 << 10;
// The same where what is held must be written to files for the others to see (Tails::copies).
constexpr Count through_bytes_shown = 128 << 10;

/// Why a log cannot be written in the way in which the file is opened; empty if it can.
std::string why_no_log(const OpenedFile& opened) {
  if ((opened.flags & H5F_ACC_SWMR_WRITE) != 0) return "for single writer, multiple readers (SWMR)";
  std::size_t page_buffer = 0;
  unsigned metadata = 0, raw = 0;
  // Pages are written whole, with what HDF5 knows of their bytes.
  if (H5Pget_page_buffer_size(opened.fapl, &page_buffer, &metadata, &raw) >= 0 && page_buffer > 0)
    return "with a page buffer";
  return {};
}

/// Whether the file can become one for single writer, multiple readers while it is written: HDF5
/// asks for a format of 1.10 or later, and for one process.
bool may_become_swmr(hid_t fapl) {
  H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
  return H5Pget_libver_bounds(fapl, &low, &high) >= 0 && low >= H5F_LIBVER_V110;
}

/// Whether the program asks where data begins in the file, which a log has no answer to. Of a file
/// that is written without MPI: there it is not for the sake of a file system's stripes.
bool asks_alignment(hid_t fapl) {
  hsize_t threshold = 0, alignment = 1;
  return H5Pget_alignment(fapl, &threshold, &alignment) >= 0 && alignment > 1;
}

LoggedHandle& handle_of(LoggedDataset* dataset) { return static_cast<LoggedHandle&>(*dataset); }

/// Whether a rank may write some fields of elements only, and with them what it reads of the others
/// (needs_present). All ranks of a collective call give the same datasets, but memory types of
/// their own.
bool may_write_fields(std::span<const DatasetWrite> writes) {
  return std::any_of(writes.begin(), writes.end(), [](const DatasetWrite& one) {
    return H5Tdetect_class(handle_of(one.dataset).state().type(), H5T_COMPOUND) > 0;
  });
}

Method method_of(const OpenedFile& opened) {
  Method method = choose_method(opened.name, opened.mpi_hints, share_method_sources(opened.comm));
  apply_hints(method, opened.hints, "the connector's string");
  return method;
}

}  // namespace

Method method_for_new(const OpenedFile& opened) {
  Method method = method_of(opened);
  check_hdf5_layout(method);
  return method;
}

bool is_logged(const UnderObject& dataset, hid_t dxpl) {
  return read_stored(dataset, dxpl).has_value();
}

std::unique_ptr<FileHooks> make_file_hooks(const OpenedFile& opened) {
  // Places in the file are asked of the native connector, and used directly.
  if (!is_native(opened.file.connector)) return nullptr;
  LogStore store(opened.file, opened.comm);
  if (!opened.created && !store.open((opened.flags & H5F_ACC_RDWR) != 0)) return nullptr;
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
  const bool automatic = !method.origin.contains("layout") || method.layout == "auto";
  const bool log =
      automatic ? opened.mpi_io || !(may_become_swmr(opened.fapl) || asks_alignment(opened.fapl))
                : method.layout == "log";
  if (opened.created && !log) return nullptr;
  method.layout = "log";
  return std::make_unique<LoggedHooks>(opened, method, std::move(store));
}

LoggedHooks::LoggedHooks(const OpenedFile& opened, const Method& method, LogStore store)
    : comm_(opened.comm),
      mpi_io_(opened.mpi_io),
      method_(method),
      path_(opened.name),
      writable_((opened.flags & H5F_ACC_RDWR) != 0 || opened.created),
      store_(std::move(store)) {
  if (opened.created) store_.create(shared_random_number(comm_));
  LoggedFileOptions options = logged_options(method);
  options.path = opened.name;
  options.writable = writable_;
  options.session = store_.session();
  // What goes at the end must not take room in the file.
  if (compacts() && options.subfiling == "none") {
    options.subfiling = "ranks";
    options.subfile_ranks = comm_.size();
  }
  file_ = std::make_unique<LoggedFile>(comm_, options, &store_);
  start_timeline(comm_, method_, file_->report(), opened_);
  if (const auto index = store_.index()) file_->open_index(*index);
  for (const auto& block : store_.blocks(file_->reader().directory().blocks))
    file_->add_block(block);
  if (!writable_) return;
  start_undo(opened);
  start_writing();
}

void LoggedHooks::check_writable() const {
  if (!writable_)
    throw Error(Errc::eperm, path_ + " was opened to read only", "open it with H5F_ACC_RDWR");
}

/// Collective. From here on HDF5's writes go by the undo file.
void LoggedHooks::start_undo(const OpenedFile& opened) {
  if (!mpi_io_ && H5Pget_driver(opened.fapl) != H5FD_SEC2) return;
  const Offset end = opened.created ? 0 : end_of_file(opened.file);
  // Of this opening: what a job left beside an older copy of the file is nothing to it.
  const logged::Witness witness{shared_random_number(comm_), store_.witness_place()};
  agree_on_error(comm_, attempt_to([&] {
                   if (comm_.is_root()) file_->put_witness(witness);
                 }));
  undo_ = std::make_shared<UndoFile>(comm_, path_, witness, end);
  try {
    agree_on_error(comm_, attempt_to([&] { watch(opened.file, mpi_io_, undo_); }));
  } catch (...) {
    unwatch(*undo_);  // the file is closed by all ranks alike
    throw;
  }
  store_.set_undo(*undo_);
}

/// Collective. Datasets of each opening have numbers of their own, so that
/// none is given twice, whatever a killed job left.
void LoggedHooks::start_writing() {
  next_id_ = shared_random_number(comm_) << 24;
  file_->start_writing();
}

std::shared_ptr<DatasetState> LoggedHooks::adopt(StoredDataset stored, hid_t type) {
  auto& known = datasets_[stored.id];
  if (auto state = known.lock()) return state;
  auto state = std::make_shared<DatasetState>(std::move(stored), type);
  state->set_allocated(mpi_io_);
  known = state;
  return state;
}

CreatedDataset LoggedHooks::create_dataset(const DatasetCreation& creation) {
  check_writable();
  if (compacted_ || !why_not_logged(creation.type, creation.space, creation.dcpl).empty())
    return {};
  store_.move_to(creation.at);
  StoredDataset stored = stored_from(
      new_id(), creation.space, completed_properties(creation.dcpl, creation.type, creation.space));
  const Hdf5Id dcpl =
      compacts() ? compactable_properties(creation.dcpl) : stand_in_properties(creation.dcpl);
  const Hdf5Id space = compacts() ? compactable_space(creation.space, creation.dcpl)
                                  : stand_in_space(creation.space, creation.dcpl, dcpl);
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

/// In collective transfers the ranks look now and then, all after the same number of calls, whether
/// one holds as much as it should; then all write. The next look comes before anybody can hold
/// twice that by calls like those before. Where one call alone is large, calls write through from
/// then on: nothing is copied.
void LoggedHooks::agree_on_room(bool collective) {
  if (!collective || --writes_to_check_ > 0) {
    file_->writer().make_room();
    return;
  }
  const bool lent = through_;  // in this call: nothing stays with the program's buffers behind it
  std::int64_t numbers[2] = {file_->writer().held(), largest_};
  comm_.all_reduce(numbers, Reduce::max);
  const Count limit = std::min(file_->options().buffer_limit / 2, flush_bytes);
  through_ = numbers[1] >= (file_->copies_pending() ? through_bytes_shown : through_bytes);
  if (lent || through_ || numbers[0] > limit) {
    const auto failed = up_to_meeting(comm_, [&] { file_->writer().flush_data(); });
    if (failed) {
      file_->writer().keep_lent();
      throw *failed;
    }
    numbers[0] = 0;
  }
  writes_to_check_ = through_
                         ? 1
                         : std::clamp<Count>((limit - numbers[0]) / std::max<Count>(1, numbers[1]),
                                             1, most_calls_apart);
  largest_ = 0;
}

void LoggedHooks::write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) {
  check_writable();
  store_.move_to(at);
  const bool collective = is_collective(dxpl, comm_);
  // Behind it all ranks show what they wrote in earlier calls.
  if (collective && may_write_fields(writes)) comm_.meet();
  const Count before = file_->writer().held();
  const auto failed = attempt_to([&] {
    file_->writer().lend(collective && through_);
    file_->writer().begin(collective);
    for (const DatasetWrite& one : writes)
      write_logged(*file_, handle_of(one.dataset).state(), one, dxpl);
  });
  largest_ = std::max(largest_, file_->writer().held() - before);
  agree_on_room(collective);  // also by a rank whose write failed: the others wait for it
  const auto hidden = attempt_to([&] { file_->writer().publish(); });
  if (failed) throw *failed;
  if (hidden) throw *hidden;
}

void LoggedHooks::read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) {
  store_.move_to(at);
  // A collective read sees what any rank wrote before it.
  if (file_->writing() && comm_.size() > 1 && is_collective(dxpl, comm_)) flush();
  naming(path_, [&] {
    for (const DatasetRead& one : reads)
      read_logged(*file_, handle_of(one.dataset).state(), one, dxpl);
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
  store_.move_to(at);
  if (undo_) undo_->begin();
  flush();
  flush_below(at, scope);
  if (file_->writing()) file_->sync();
}

void LoggedHooks::flush_with_parent() {
  if (!store_.is_held()) return;  // it may be out of reach
  if (undo_) undo_->begin();
  flush();
}

void LoggedHooks::before_mount(const UnderObject& at) {
  if (!writable_ || compacted_) return;
  store_.move_to(at);
  store_.hold();
}

void LoggedHooks::finish() {
  if (!file_->writing()) return;
  report_due_ = true;
  if (const auto index = file_->finish()) {
    file_->adopt_index(index->place);  // on all ranks; without its name blocks are read one by one
    store_.replace_index();
  }
}

void LoggedHooks::before_close(const UnderObject& at, Closing closing) {
  if (closing == Closing::handle) return;
  store_.move_to(at);
  if (undo_) undo_->begin();
  together(comm_, [&] {
    if (!compacted_) finish();
    const bool mounted = store_.let_go();
    if (closing == Closing::last && writable_ && compacts() && !mounted) compact(at);
  });
  // Behind it all ranks close the file in HDF5, where they wait for each other: nothing fails here.
  if (closing == Closing::last && report_due_) attempt_together(comm_, [&] { report(); });
}

void LoggedHooks::report() {
  std::vector<std::string> notes{"layout log: each rank appends"};
  if (compacts())
    notes.emplace_back(compacted_ ? "compacted at close: an ordinary HDF5 file"
                                  : "not compacted: some datasets were made without compact=close");
  if (undo_ && !undo_->active())
    notes.emplace_back("flushes are not one step: the folder takes no undo file");
  file_->report()[Step::total] = seconds_since(opened_);
  print_report(comm_, path_, file_->report(), method_, notes);
}

// -- one handle
// -------------------------------------------------------------------------------------

Count LoggedHandle::stored_bytes() {
  const auto dims = static_cast<std::uint32_t>(state_->extents().size());
  Count sum = hooks_.file().reader().stored_bytes(state_->id(), dims);
  if (hooks_.file().writing())
    for (const auto& entry : hooks_.file().writer().pending())
      if (entry.dataset == state_->id()) sum += entry.stored;
  return sum;
}

/// Of a dataset without chunks HDF5 allocates all or nothing.
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
      return false;  // datatype and access properties are the stand-in's
  }
}

void LoggedHandle::set_extent(const hsize_t* size, hid_t dxpl) {
  if (!hooks_.writable())
    throw Error(Errc::eperm, "the file was opened to read only", "open it with H5F_ACC_RDWR");
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

void LoggedHandle::before_close(hid_t) {}

}  // namespace forebay::vol
