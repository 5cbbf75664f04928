// Operations on the data of datasets. Ranks write disjoint slabs of a dataset; what others wrote is
// read, or written over, only after a flush and a barrier.
#include <algorithm>

#include "describe.h"
#include "player.h"

namespace forebay_test {

// What one rank moves of one dataset.
struct Player::Target {
  std::string path;
  Id type;           // in memory
  Id file;           // selection in the dataset
  Id memory;         // selection in memory
  bool all = false;  // H5S_ALL in place of both
  Rng values{0};     // makes the values
  size_t elements() const { return static_cast<size_t>(H5Sget_simple_extent_npoints(memory)); }
};

void Player::synchronise() {
  if (ranks_ == 1 || dirty_.empty()) return;
  both("H5Fflush", [](Side& side) {
    check(H5Fflush(side.file, H5F_SCOPE_GLOBAL), "H5Fflush");
    return std::string("ok");
  });
  MPI_Barrier(comm_);
  dirty_.clear();
}

std::vector<std::string> Player::referable() {
  std::vector<std::string> paths;
  for (const Found& found : find_objects(sides_[0].file)) {
    if (found.path != ".") paths.push_back(found.path);
  }
  return paths;
}

Id Player::transfer_list(bool collective) const {
  Id list = make_list(H5P_DATASET_XFER);
  if (!options_.serial) {
    check(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
          "H5Pset_dxpl_mpio");
  }
  return list;
}

// Parallel HDF5 writes filtered chunks by all ranks together only.
bool Player::must_be_collective(const std::string& path) {
  const Id dataset = open_object(sides_[0].file, path);
  const Id list(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
  return H5Pget_nfilters(list) > 0;
}

bool Player::is_chunked(const std::string& path) {
  const Id dataset = open_object(sides_[0].file, path);
  const Id list(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
  return H5Pget_layout(list) == H5D_CHUNKED;
}

// What --encoded stands for: ranks write elements of chunks where they lie, unless HDF5 has to. It
// tells wrong coordinates of chunks if only a later dimension has no limit.
bool Player::is_written_together(const std::string& path) {
  const Id dataset = open_object(sides_[0].file, path);
  const Id type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
  const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
  std::vector<hsize_t> dims = extent_of(space), most(dims.size());
  H5Sget_simple_extent_dims(space, nullptr, most.data());
  const bool grows_elsewhere =
      most[0] != H5S_UNLIMITED && std::count(most.begin(), most.end(), H5S_UNLIMITED) == 1;
  return H5Tdetect_class(type, H5T_COMPOUND) == 0 && !grows_elsewhere;
}

// Where there is no storage, HDF5 1.14.5 lets ranks with elements skip a collective read in which
// those without take part.
bool Player::has_storage(const std::string& path) {
  const Id dataset = open_object(sides_[0].file, path);
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  check(H5Dget_space_status(dataset, &status), "H5Dget_space_status");
  return status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

// HDF5 1.14.5 frees the chunk of a dataset that is all in one chunk, in the latest format, when an
// extent becomes 0, and leaves its place in the file's metadata: opened again, the dataset has for
// its chunk what other objects may have been given, reads their data, and writes over it.
bool Player::keeps_freed_chunk(const std::string& path) {
  const Id dataset = open_object(sides_[0].file, path);
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
  check(H5Dget_chunk_index_type(dataset, &index), "H5Dget_chunk_index_type");
  return index == H5D_CHUNK_IDX_SINGLE;
}

std::vector<std::string> Player::choose_datasets(int64_t most, bool plain) {
  std::vector<std::string> paths = paths_of(H5O_TYPE_DATASET);
  if (plain) {
    // HDF5 1.14.5 closes the file's identifier when it moves references in H5Dwrite_multi.
    std::erase_if(paths, [&](const std::string& path) {
      const Id dataset = open_object(sides_[0].file, path);
      const Id type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
      return holds_memory(type);
    });
  }
  while (static_cast<int64_t>(paths.size()) > most) {
    paths.erase(paths.begin() + rng_.below(static_cast<int64_t>(paths.size())));
  }
  return paths;
}

Player::Target Player::choose_target(const std::string& path, Rng& own, bool write, bool collective,
                                     bool plain) {
  const Id dataset = open_object(sides_[0].file, path);
  const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
  const Id type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
  const std::vector<hsize_t> dims = extent_of(space);
  const std::vector<Region> slabs = random_slabs(rng_, dims, ranks_);
  Target target;
  target.path = path;
  target.type = random_memory_type(rng_, type);
  // Parallel HDF5 does not convert on the way into filtered chunks.
  if (plain) target.type = copy_type(type);
  // Values that come twice in one collective write have no order among them. Where values lie in
  // the heap, HDF5 1.14.5 gives the place of the old value back twice, the second time with the new
  // one.
  const bool ordered = options_.serial || !collective;
  const Points points = ordered && !holds_memory(type) ? Points::Repeated : Points::Once;
  const Region region = write ? slabs[static_cast<size_t>(rank_)] : all_of(dims);
  target.file = random_selection(own, dims, region, points);
  target.memory = random_memory(own, static_cast<hsize_t>(H5Sget_select_npoints(target.file)));
  if (ranks_ == 1 && rng_.one_in(5)) {
    target.all = true;
    target.file = simple_space(dims);
    target.memory = simple_space(dims);
  }
  target.values = Rng(own.next());
  return target;
}

void Player::transfer(bool write, bool many) {
  const std::vector<std::string> paths = choose_datasets(many ? 3 : 1, many);
  if (paths.empty()) return;
  const bool again =
      std::ranges::any_of(paths, [&](const std::string& path) { return dirty_.count(path) > 0; });
  if (!write || again) synchronise();
  bool collective = rng_.one_in(2);
  bool filtered = false, chunked = false, together = hides_storage;
  for (const std::string& path : paths) {
    filtered = filtered || (write && must_be_collective(path));
    if (!write) collective = collective && has_storage(path);
    if (!write || options_.serial || !is_chunked(path)) continue;
    chunked = true;
    together = together && is_written_together(path);
  }
  // HDF5 1.14.5 puts points and unions of a collective write into other elements of chunks than
  // those selected: with blocks (3-4, 5-6) and (3-4, 10-11) of a 12 × 14 dataset in chunks of 4 ×
  // 5, row 4 lands in columns 0, 1, 5 and 6.
  const bool natively = (collective && !chunked) || filtered;
  collective = together ? collective || filtered : natively;
  const Id lists[2] = {transfer_list(natively), transfer_list(collective)};
  Rng own = own_rng();
  std::vector<Target> targets;
  std::string what = std::string(write ? "write" : "read") + (many ? " of many" : "") +
                     (collective ? ", collective:" : ", independent:");
  for (const std::string& path : paths) {
    targets.push_back(choose_target(path, own, write, collective, filtered && !options_.serial));
    what += " " + path + " as " + type_text(targets.back().type);
  }
  const std::vector<std::string> referred = referable();
  both(what, [&](Side& side) {
    const hid_t list = lists[&side == &sides_[1]];
    std::vector<Id> datasets;
    std::vector<std::unique_ptr<Values>> values;
    std::vector<hid_t> ids, types, memory, file;
    std::vector<void*> data;
    for (const Target& target : targets) {
      datasets.emplace_back(H5Dopen2(side.file, target.path.c_str(), H5P_DEFAULT), H5Dclose,
                            "H5Dopen2");
      values.push_back(std::make_unique<Values>(target.type, target.elements()));
      Rng rng = target.values;
      if (write) remember_referred(side, values.back()->fill(rng, side.file, referred));
      if (write && number_ >= options_.spoil && options_.spoil >= 0 && &side == &sides_[1])
        values.back()->spoil();
      ids.push_back(datasets.back());
      types.push_back(target.type);
      memory.push_back(target.all ? H5S_ALL : static_cast<hid_t>(target.memory));
      file.push_back(target.all ? H5S_ALL : static_cast<hid_t>(target.file));
      data.push_back(values.back()->data());
    }
    std::vector<const void*> sources(data.begin(), data.end());
    herr_t status = 0;
    if (many && write) {
      status = H5Dwrite_multi(ids.size(), ids.data(), types.data(), memory.data(), file.data(),
                              list, sources.data());
    } else if (many) {
      status = H5Dread_multi(ids.size(), ids.data(), types.data(), memory.data(), file.data(), list,
                             data.data());
    } else {
      status = write ? H5Dwrite(ids[0], types[0], memory[0], file[0], list, sources[0])
                     : H5Dread(ids[0], types[0], memory[0], file[0], list, data[0]);
    }
    for (const auto& each : values) {
      if (status < 0 && !write) each->forget();
    }
    check(status, write ? "H5Dwrite" : "H5Dread");
    std::string said;
    for (size_t k = 0; k < values.size() && !write; ++k) said += values[k]->text() + "\n";
    return said;
  });
  if (write) dirty_.insert(paths.begin(), paths.end());
}

void Player::write_dataset() { transfer(true, false); }
void Player::read_dataset() { transfer(false, false); }
void Player::write_many() { transfer(true, true); }
void Player::read_many() { transfer(false, true); }

// With MPI-IO, HDF5 1.14.5 keeps chunks that a smaller extent cuts in its cache, writes past the
// cache, and when the dataset is closed, writes the old chunks over the new values. Questions about
// chunks make it write the cache at once. If the dataset stays open, the next cut may still bring
// old values back, without a connector, too.
void Player::write_cut_chunks(hid_t dataset) {
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  check(H5Dget_space_status(dataset, &status), "H5Dget_space_status");
}

void Player::set_extent() {
  std::vector<std::string> paths;
  for (const std::string& path : paths_of(H5O_TYPE_DATASET)) {
    const Id dataset = open_object(sides_[0].file, path);
    const Id list(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    if (H5Pget_layout(list) == H5D_CHUNKED) paths.push_back(path);
  }
  if (paths.empty()) return;
  const std::string path =
      paths[static_cast<size_t>(rng_.below(static_cast<int64_t>(paths.size())))];
  const Id dataset = open_object(sides_[0].file, path);
  const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
  std::vector<hsize_t> dims = extent_of(space), most(dims.size());
  H5Sget_simple_extent_dims(space, nullptr, most.data());
  const std::vector<hsize_t> before = dims;
  const bool shrink = ranks_ == 1 || !(must_be_collective(path) || hides_storage);
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto high = static_cast<int64_t>(most[d] == H5S_UNLIMITED ? dims[d] + 5 : most[d]);
    if (rng_.one_in(2)) continue;
    dims[d] = static_cast<hsize_t>(
        rng_.between(shrink ? 0 : static_cast<int64_t>(dims[d]), std::min<int64_t>(high, 70)));
  }
  if (keeps_freed_chunk(path)) {
    for (hsize_t& length : dims) length = std::max<hsize_t>(length, 1);
  }
  if (rng_.one_in(15)) dims[0] = 1000000;  // mostly beyond what it may have
  hsize_t elements = 1;
  for (const hsize_t length : dims) elements *= length;
  if (elements > 4000 && most[0] == H5S_UNLIMITED) return;
  // A dataset may grow along its first dimension while writes to it wait.
  bool only_grows = dims[0] >= before[0];
  for (size_t d = 1; d < dims.size(); ++d) only_grows = only_grows && dims[d] == before[d];
  if (!hides_storage || !only_grows) synchronise();
  both("H5Dset_extent " + path, [&](Side& side) {
    const Id open(H5Dopen2(side.file, path.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    check(H5Dset_extent(open, dims.data()), "H5Dset_extent");
    write_cut_chunks(open);
    return describe_object(open, false);
  });
  dirty_.insert(path);
}

void Player::hold_dataset() {
  synchronise();
  const std::vector<std::string> paths = choose_datasets(1, false);
  if (paths.empty()) return;
  const bool enough = sides_[0].held.size() >= 3;
  both(enough ? "look at what is held" : "hold " + paths[0], [&](Side& side) {
    if (!enough) {
      side.held.emplace_back(H5Dopen2(side.file, paths[0].c_str(), H5P_DEFAULT), H5Dclose,
                             "H5Dopen2");
      return std::string("ok");
    }
    std::string said;
    for (const Id& dataset : side.held) said += describe_object(dataset, true);
    side.held.clear();
    return said;
  });
}

void Player::flush() {
  both("H5Fflush", [](Side& side) {
    check(H5Fflush(side.file, H5F_SCOPE_GLOBAL), "H5Fflush");
    return std::string("ok");
  });
  MPI_Barrier(comm_);
  dirty_.clear();
}

void Player::reopen() {
  close_files();
  if (!failed_anywhere()) open_files(false);
  if (!failed_anywhere() && rng_.one_in(3)) compare_files("after reopening");
}

}  // namespace forebay_test
