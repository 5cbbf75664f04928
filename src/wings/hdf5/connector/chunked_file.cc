#include "hdf5/connector/chunked_file.h"

#include <algorithm>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/native_chunks.h"
#include "hdf5/connector/watched_driver.h"
#include "transport/direct_io.h"

namespace forebay::vol {
namespace {

/// HDF5 keeps sizes of chunks in 32 bits.
constexpr Count most_chunk_bytes = std::numeric_limits<std::uint32_t>::max();

PlacedStream::Variables variables(std::span<const PlacedVariable* const> placed) {
  return [placed](VarId var) -> const PlacedVariable& {
    return *placed[static_cast<std::size_t>(-1 - var)];
  };
}

}  // namespace

ChunkedFile::ChunkedFile(const Comm& comm, const std::string& path, const Method& method,
                         Report& report)
    : comm_(comm),
      path_(path),
      method_(method),
      report_(report),
      file_(std::make_shared<File>(path, true, comm.rank(), report)) {
  agree_on_file(comm_, *file_, std::nullopt);
  transport_ = make_transport(comm_, file_, transport_options(method_), report_);
}

ChunkedFile::~ChunkedFile() = default;

void ChunkedFile::add(const OpenDataset& open) {
  ChunkedDataset& its = *open.dataset;
  its.var = static_cast<VarId>(schema_.vars.size());
  its.extents.clear();
  its.stale = true;
  Variable var;
  var.name = its.name;
  var.type = type_as_wide(its.element_size);
  var.chunking = Chunking{its.form.chunk, its.codec, {}};
  const std::size_t rank = its.form.chunk.size();
  for (std::size_t d = 0; d < rank; ++d) {
    // A length is set by set_extents(); 0 would be the record dimension.
    const Count length = d == 0 && its.grows ? 0 : 1;
    var.dimids.push_back(schema_.add_dim({{}, length}));
  }
  schema_.add_var(std::move(var));
  datasets_.push_back(open.dataset);
  grids_.emplace_back(schema_.vars.back(), its.form.chunk);
}

void ChunkedFile::set_extents(const OpenDataset& open, const std::vector<Count>& extents) {
  ChunkedDataset& its = *open.dataset;
  const auto v = static_cast<std::size_t>(its.var);
  Variable& var = schema_.vars[v];
  for (std::size_t d = its.grows ? 1 : 0; d < extents.size(); ++d)
    schema_.dims[static_cast<std::size_t>(var.dimids[d])].length = extents[d];
  schema_.derive(var);
  grids_[v] = ChunkGrid(var, its.form.chunk);
}

// Asks HDF5 for the chunks that the dataset has.
void ChunkedFile::load(const OpenDataset& open) {
  const ChunkedDataset& its = *open.dataset;
  const ChunkGrid& grid = grids_[static_cast<std::size_t>(its.var)];
  chunked::ChunkTable table;
  table.shape = its.form.chunk;
  for_each_chunk(open.under, [&](const hsize_t* offset, unsigned mask, Offset place, Count bytes) {
    Count id = 0;
    for (std::size_t d = 0; d < its.form.chunk.size(); ++d) {
      const Count at = static_cast<Count>(offset[d]) / its.form.chunk[d];
      id = d == 0 ? at : id * grid.grid_length(static_cast<int>(d)) + at;
    }
    chunked::Entry& entry = table.set(id);
    entry.offset = place;
    entry.bytes = bytes;
    entry.skipped = mask;
  });
  chunks_->store().table(its.var) = std::move(table);
}

void ChunkedFile::prepare(std::span<const OpenDataset> datasets) {
  // Other ranks, and HDF5, have written since, also over what was read.
  file_->note_written();
  file_->look_again();
  if (datasets.empty()) return;
  if (!chunks_) {
    chunks_ = std::make_unique<chunked::StoredChunks>(
        ClassicSite{comm_, path_, method_, schema_, *file_, *transport_, report_, nullptr,
                    read_directly, nullptr, false},
        [this](VarId var) -> const chunked::StoredForm& {
          return datasets_[static_cast<std::size_t>(var)]->form;
        });
    chunks_->store().leave_places_to_others(
        [this](VarId var, Count id, const chunked::Entry& entry) {
          return place_of(var, id, entry);
        });
    chunks_->begin({}, {});
  }
  std::vector<std::int64_t> stale;
  for (const OpenDataset& open : datasets) stale.push_back(open.dataset->stale);
  comm_.all_reduce(stale, Reduce::max);
  bool changed = false;
  for (const OpenDataset& open : datasets)
    if (open.dataset->var < 0) {
      add(open);
      changed = true;
    }
  if (changed) chunks_->grow(schema_.vars.size());
  open_.assign(schema_.vars.size(), {});
  auto is_stale = stale.begin();
  for (const OpenDataset& open : datasets) {
    ChunkedDataset& its = *open.dataset;
    its.stale = *is_stale++ != 0;
    open_[static_cast<std::size_t>(its.var)] = open.under;
    const std::vector<Count> extents = present_extents(open.under).now;
    if (its.grows) schema_.numrecs = std::max(schema_.numrecs, extents[0]);
    const auto from = its.grows ? 1 : 0;
    const bool same = its.extents.size() == extents.size() &&
                      std::equal(extents.begin() + from, extents.end(), its.extents.begin() + from);
    if (!same) set_extents(open, extents);
    if (!same || its.stale) {
      load(open);
      changed = true;
    }
    its.extents = extents;
    its.stale = false;
  }
  if (changed) chunks_->renew_codings();
}

void ChunkedFile::put_chunk(VarId var, Count id, Count bytes, std::uint32_t skipped) {
  const auto v = static_cast<std::size_t>(var);
  const std::vector<Count> at = grids_[v].coordinates(id);
  std::vector<hsize_t> offset;
  for (std::size_t d = 0; d < at.size(); ++d)
    offset.push_back(static_cast<hsize_t>(at[d] * datasets_[v]->form.chunk[d]));
  H5VL_native_dataset_optional_args_t native{};
  native.chunk_write = {offset.data(), skipped, static_cast<std::uint32_t>(bytes), dummy_.data()};
  dataset_optional(open_[v], H5VL_NATIVE_DATASET_CHUNK_WRITE, native, "placing a chunk");
}

// HDF5 keeps what it knows of the chunk that it was last asked for, with an old mask.
void ChunkedFile::look_elsewhere(VarId var, Count id) {
  const auto v = static_cast<std::size_t>(var);
  const ChunkedDataset& its = *datasets_[v];
  std::vector<Count> at = grids_[v].coordinates(id);
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (its.extents[d] <= its.form.chunk[d]) continue;
    at[d] = at[d] == 0 ? 1 : 0;
    std::vector<hsize_t> offset;
    for (std::size_t e = 0; e < at.size(); ++e)
      offset.push_back(static_cast<hsize_t>(at[e] * its.form.chunk[e]));
    const QuietErrors quiet;  // there may be no such chunk
    hsize_t bytes = 0;
    H5VL_native_dataset_optional_args_t native{};
    native.get_chunk_storage_size = {offset.data(), &bytes};
    H5VL_optional_args_t args{H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, &native};
    H5VLdataset_optional(open_[v].object, open_[v].connector, &args, H5P_DATASET_XFER_DEFAULT,
                         nullptr);
    return;
  }
}

Offset ChunkedFile::place_of(VarId var, Count id, const chunked::Entry& entry) {
  if (entry.bytes >= most_chunk_bytes)
    throw Error(Errc::enotsupport, "a chunk takes 4 GiB or more, which HDF5 cannot store");
  if (std::ssize(dummy_) <= entry.bytes) {
    dummy_.resize(static_cast<std::size_t>(std::max(entry.bytes + 1, 2 * std::ssize(dummy_))));
    held_back_->hold(dummy_.data());
  }
  // HDF5 does not note another mask for a chunk of the same size in the same place.
  const chunked::Entry& before = chunks_->store().table(var).get(id);
  if (before.present() && before.bytes == entry.bytes && before.skipped != entry.skipped)
    put_chunk(var, id, entry.bytes + 1, entry.skipped);
  put_chunk(var, id, entry.bytes, entry.skipped);
  if (before.present() && before.skipped != 0) look_elsewhere(var, id);
  const Offset place = held_back_->take_place();
  if (place < 0) throw Error(Errc::einternal, "HDF5 wrote a chunk past its driver");
  return place;
}

void ChunkedFile::forget() {
  chunks_.reset();
  for (const auto& dataset : datasets_) dataset->var = -1;
  datasets_.clear();
  grids_.clear();
  schema_ = {};
}

void ChunkedFile::write(std::span<const OpenDataset> filtered,
                        std::span<const PlacedVariable* const> placed,
                        const std::function<Groups()>& take) {
  const LibraryContext own;  // not part of the program's transfer
  std::optional<HeldBackWrite> held_back;
  Groups groups;
  auto failed = attempt_together(comm_, [&] {
    prepare(filtered);
    groups = take();
    if (filtered.empty()) return;
    if (dummy_.empty()) dummy_.resize(64 << 10);
    held_back.emplace(mpio_table(), dummy_.data());
    held_back_ = &*held_back;
  });
  for (std::vector<Request>& group : groups) {
    if (failed) break;
    const auto its_placed = std::stable_partition(group.begin(), group.end(),
                                                  [](const Request& r) { return r.var >= 0; });
    const std::span<Request> in_chunks(group.begin(), its_placed),
        in_place(its_placed, group.end());
    failed = attempt_together(comm_, [&] {
      if (!placed.empty()) {
        PlacedStream stream(in_place, variables(placed));
        transport_->write_all(stream);
      }
      if (!filtered.empty()) chunks_->carry_out(in_chunks, true, true);
    });
  }
  held_back_ = nullptr;
  open_.clear();
  if (failed) throw *failed;
}

bool ChunkedFile::goes_in_place(const Request& request, const PlacedVariable& var) const {
  if (transport_->answers_slowly()) return false;
  const Count bytes = request.elements * var.element_size;
  const auto* const runs = std::get_if<Runs>(&request.selection);
  if (runs && bytes / std::ssize(runs->list->runs) < least_in_place) return false;
  const auto stream =
      PlacedStream(std::span(&request, 1), [&](VarId) -> const PlacedVariable& { return var; });
  return bytes / stream.summary().pieces >= least_in_place;
}

void ChunkedFile::write_in_place(std::span<const Request> requests,
                                 std::span<const PlacedVariable* const> placed) {
  file_->note_written();
  PlacedStream stream(requests, variables(placed));
  if (!stream.summary().empty()) transport_->write(stream);
}

void ChunkedFile::close() {
  chunks_.reset();
  transport_->close();
  file_->close();
}

std::vector<std::string> ChunkedFile::reasons() const {
  std::vector<std::string> reasons{transport_->reasons()};
  if (chunks_) reasons.push_back(chunks_->reasons());
  std::erase(reasons, std::string());
  return reasons;
}

}  // namespace forebay::vol
