#include "hdf5/connector/chunked_hooks.h"

#include <H5VLnative.h>

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/print_report.h"
#include "hdf5/connector/chunked_below.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/connector/under_objects.h"

namespace forebay::vol {
namespace {

bool has_storage(const UnderObject& dataset) {
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_SPACE_STATUS;
  args.args.get_space_status.status = &status;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    throw_hdf5("asking for a dataset's storage");
  return status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

}  // namespace

std::string why_not_by_ranks(const OpenedFile& opened) {
  if (!opened.mpi_io) return "it was opened without MPI-IO";
  hsize_t userblock = 0;
  if (opened.created) {
    checked(H5Pget_userblock(opened.fcpl, &userblock), "asking where the file begins");
  } else {
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_FCPL;
    if (H5VLfile_get(opened.file.object, opened.file.connector, &args, H5P_DATASET_XFER_DEFAULT,
                     nullptr) < 0)
      throw_hdf5("asking for a file's creation properties");
    const Hdf5Id fcpl = owned_list(args.args.get_fcpl.fcpl_id);
    checked(H5Pget_userblock(fcpl, &userblock), "asking where the file begins");
  }
  return userblock > 0 ? "it has a user block" : "";
}

ChunkedHooks::ChunkedHooks(const OpenedFile& opened, const Method& method)
    : comm_(opened.comm),
      method_(method),
      name_(opened.name),
      path_(opened.path),
      by_hdf5_(why_not_by_ranks(opened)),
      beyond_limit_(path_, comm_.rank(), report_) {
  start_timeline(comm_, method_, report_, opened_);
  if (by_hdf5_.empty()) file_ = std::make_unique<ChunkedFile>(comm_, path_, method_, report_);
}

ChunkedHooks::~ChunkedHooks() = default;

std::shared_ptr<ChunkedDataset> ChunkedHooks::adopt(const UnderObject& dataset,
                                                    const std::string& name) {
  auto state = chunked_dataset(dataset);
  if (!state) return nullptr;
  auto& known = datasets_[state->token];
  const bool same = known && known->form == state->form && known->codec == state->codec &&
                    known->element_size == state->element_size && known->grows == state->grows &&
                    known->is_chunked == state->is_chunked &&
                    (state->is_chunked ? known->placed.chunk == state->placed.chunk
                                       : known->ndims == state->ndims) &&
                    H5Tequal(known->type, state->type) > 0;
  if (same) return known;
  state->name = name.empty() ? "a dataset" : name;
  known = state;
  return known;
}

CreatedDataset ChunkedHooks::create_dataset(const DatasetCreation& creation) {
  const std::string name = creation.name == nullptr ? "" : creation.name;
  const std::string codec = variable_value(method_, name.substr(name.rfind('/') + 1), "codec");
  const auto changed =
      encoding_properties(creation.dcpl, creation.type, creation.space, codec, method_);
  CreatedDataset created;
  created.under =
      OwnedUnder(H5VLdataset_create(creation.at.object, creation.location, creation.at.connector,
                                    creation.name, creation.lcpl, creation.type, creation.space,
                                    changed ? static_cast<hid_t>(*changed) : creation.dcpl,
                                    creation.dapl, creation.dxpl, nullptr),
                 creation.at.connector, H5I_DATASET);
  if (!created.under) throw UnderFailed{};
  if (changed) ++encoded_here_;
  if (!file_) return created;
  if (auto state = adopt(created.under.get(), name)) {
    state->stale = true;
    created.logged = std::make_unique<ChunkedHandle>(*this, std::move(state), created.under.get());
  }
  return created;
}

std::unique_ptr<LoggedDataset> ChunkedHooks::open_dataset(const UnderObject& dataset, hid_t) {
  if (!file_) return nullptr;
  auto state = adopt(dataset, {});
  if (!state) return nullptr;
  return std::make_unique<ChunkedHandle>(*this, std::move(state), dataset);
}

std::shared_ptr<ChunkedDataset> ChunkedHooks::find(const UnderObject& at,
                                                   const ChunkedQueue::Written& written) {
  if (written.dataset) return written.dataset;
  if (const auto known = datasets_.find(written.token); known != datasets_.end())
    return known->second;
  const OwnedUnder dataset = open_by_token(at, written.token);
  auto state = adopt(dataset.get(), {});
  if (!state) throw Error(Errc::einternal, "ranks take a dataset for different ones");
  return state;
}

void ChunkedHooks::write_waiting(const UnderObject& at) {
  if (!file_) return;
  std::int64_t any[] = {queue_.any_independent(), untold_.has_value()};
  if (const auto unknown = attempt_to([&] { agree_on_error(comm_, lost_, any, Reduce::max); })) {
    drop();
    throw *unknown;
  }
  if (queue_.any_collective() || any[0] != 0) carry_out(at, any[0] != 0);
  if (any[1] != 0) agree_on_error(comm_, std::exchange(untold_, {}));
}

void ChunkedHooks::carry_out(const UnderObject& at, bool any_independent) {
  std::vector<OwnedUnder> opened;
  const auto failed = attempt_together(comm_, [&] {
    const LibraryContext own;
    const ChunkedQueue::Plan plan = queue_.plan(comm_, any_independent);
    std::vector<ChunkedFile::OpenDataset> filtered;
    std::vector<const PlacedVariable*> placed;
    std::map<std::vector<std::byte>, VarId> vars;
    std::vector<std::shared_ptr<ChunkedDataset>> datasets;  // which live until all is written
    for (const auto& written : plan.datasets) {
      auto dataset = datasets.emplace_back(find(at, written));
      if (dataset->is_placed()) {
        OwnedUnder& held = held_[dataset->token];
        if (!held) held = open_by_token(at, dataset->token);
        complete_places(*dataset, held.get());
        placed.push_back(&dataset->placed);
        vars[dataset->token] = static_cast<VarId>(-std::ssize(placed));
        continue;
      }
      opened.push_back(open_by_token(at, dataset->token));
      filtered.push_back({std::move(dataset), opened.back().get()});
    }
    file_->write(filtered, placed, [&] {
      for (const auto& each : filtered) vars[each.dataset->token] = each.dataset->var;
      return queue_.requests(plan, vars);
    });
    ++flushes_;
    groups_ += std::ssize(plan.ends) + 1;
  });
  opened.clear();
  if (!failed) return drop();
  queue_.drop_lent();
  comm_.forget_failed_meeting();
  file_->forget();
  throw *failed;
}

// What waited is in the file, or lost.
void ChunkedHooks::drop() {
  held_.clear();
  queue_.clear();
  beyond_limit_.clear();
  lost_.reset();
  // Places of datasets that the program has closed would be kept until the file is closed.
  std::erase_if(datasets_, [](const auto& each) {
    return each.second.use_count() == 1 && each.second->is_placed();
  });
}

void ChunkedHooks::refuse_while_waiting(const ChunkedDataset& dataset, const char* what) const {
  if (!queue_.waits(dataset.token)) return;
  throw Error(Errc::eperm,
              std::string(what) +
                  " of a dataset to which writes wait: not all ranks take part, so "
                  "they cannot be carried out now",
              "call H5Fflush before it, on all ranks, or read collectively");
}

// In a collective read of a dataset without storage HDF5 1.14.5 would have ranks without elements
// wait for the others, which read nothing. Natively a dataset without filters has its storage from
// the beginning, so programs do not know this.
void ChunkedHooks::read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) {
  if (!is_collective(dxpl, comm_)) {
    for (const DatasetRead& one : reads)
      refuse_while_waiting(*ChunkedHandle::of(one.dataset).dataset(), "an independent read");
    return ReadBelow(reads).run(dxpl);
  }
  ReadBelow stored, others;
  together(comm_, [&] {
    write_waiting(at);
    const LibraryContext own;
    for (const DatasetRead& one : reads)
      (comm_.size() == 1 || has_storage(ChunkedHandle::of(one.dataset).under()) ? stored : others)
          .add(one);
  });
  stored.run(dxpl);
  if (others.empty()) return;
  const LibraryContext own;  // in the program's call HDF5 knows its list already
  const Hdf5Id list = owned_list(H5Pcopy(dxpl));
  set_independent(list);
  others.run(list);
}

void ChunkedHooks::flush(const UnderObject& at, H5F_scope_t scope) {
  write_waiting(at);
  H5VL_file_specific_args_t args{};
  args.op_type = H5VL_FILE_FLUSH;
  args.args.flush = {at.type, scope};
  if (H5VLfile_specific(at.object, at.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw UnderFailed{};
}

void ChunkedHooks::flush_with_parent() {
  if (root_) write_waiting(root_.get());
}

void ChunkedHooks::before_mount(const UnderObject& at) {
  write_waiting(at);
  root_ = open_child(at, name_location(at.type, "/"));
}

// The place of a dataset that is removed may become that of another.
void ChunkedHooks::before_objects_change(const UnderObject& at) {
  write_waiting(at);
  if (file_) file_->forget();
  for (const auto& [token, dataset] : datasets_) dataset->stale = true;
  std::erase_if(datasets_, [](const auto& each) { return each.second.use_count() == 1; });
}

void ChunkedHooks::before_close(const UnderObject& at, Closing closing) {
  if (closing == Closing::handle) return;
  // What failed may succeed when the file is closed again; a third time it is given up.
  const bool gives_up = failed_closings_++ > 1;
  if (const auto failed = attempt_together(comm_, [&] { write_waiting(at); })) {
    comm_.forget_failed_meeting();
    if (gives_up) drop();
    throw *failed;
  }
  failed_closings_ = 0;
  root_ = {};
  if (closing != Closing::last) return;
  attempt_and_go_on(comm_, [&] { report(); });
  if (!file_) return;
  const auto failed = attempt_and_go_on(comm_, [&] { file_->close(); });
  file_.reset();
  if (failed) throw *failed;
}

void ChunkedHooks::report() {
  std::vector<std::string> notes;
  if (file_) {
    notes.emplace_back(
        "layout chunked: an ordinary HDF5 file; ranks encoded and wrote its datasets");
    notes.push_back(std::to_string(flushes_) + " operations on all datasets, in " +
                    std::to_string(groups_) + " groups of writes in order");
    if (in_place_ > 0)
      notes.push_back(std::to_string(in_place_) +
                      " collective writes of large pieces, which each rank wrote by itself");
    for (std::string& reason : file_->reasons()) notes.push_back(std::move(reason));
  } else {
    notes.push_back("layout chunked: an ordinary HDF5 file, which HDF5 wrote, as " + by_hdf5_);
  }
  if (encoded_here_ > 0)
    notes.push_back("codec " + method_.codec + " was given to " + std::to_string(encoded_here_) +
                    " new datasets");
  report_[Step::total] = seconds_since(opened_);
  print_report(comm_, name_, report_, method_, notes);
}

bool ChunkedHandle::specific(H5VL_dataset_specific_args_t& args, hid_t) {
  if (args.op_type != H5VL_DATASET_SET_EXTENT) return false;
  const std::vector<Count> now = present_extents(under_).now;
  const hsize_t* const size = args.args.set_extent.size;
  bool shrinks = false, only_grows_first = true;
  for (std::size_t d = 0; d < now.size(); ++d) {
    shrinks = shrinks || static_cast<Count>(size[d]) < now[d];
    only_grows_first = only_grows_first && (d == 0 || static_cast<Count>(size[d]) == now[d]);
  }
  // What waits is numbered by the other dimensions, and lies in chunks that stay.
  if (only_grows_first && !shrinks) return false;
  hooks_.write_waiting(under_);
  if (shrinks) dataset_->stale = true;  // HDF5 may remove chunks, or cut them
  return false;
}

bool ChunkedHandle::optional(H5VL_optional_args_t& args, hid_t) {
  switch (args.op_type) {
    case H5VL_NATIVE_DATASET_CHUNK_WRITE:
      hooks_.refuse_while_waiting(*dataset_, "a direct write");
      // Chunks without filters stay where they are.
      if (!dataset_->is_placed()) dataset_->stale = true;
      return false;
    case H5VL_NATIVE_DATASET_CHUNK_READ:
      hooks_.refuse_while_waiting(*dataset_, "a direct read");
      return false;
    case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE:
    case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS:
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD:
    case H5VL_NATIVE_DATASET_CHUNK_ITER:
      if (!dataset_->is_placed()) hooks_.refuse_while_waiting(*dataset_, "a query of chunks");
      return false;
    default:
      return false;
  }
}

}  // namespace forebay::vol
