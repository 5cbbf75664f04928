#include "hdf5/connector/watched_driver.h"

#include <H5VLnative.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/opener.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/shared/driver_table.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

enum Kind { sec2, mpio };

struct Driver {
  H5FD_class_t* table = nullptr;  ///< HDF5's table; null while nothing in it is replaced
  H5FD_class_t own;               ///< the original functions
};
Driver drivers[2];

struct Watched {
  void* handle;  ///< the driver's: the address of the file's descriptor
  std::shared_ptr<UndoFile> undo;
  Kind kind;
  Opener opener = {};
  bool whole = false;      ///< HDF5 flushes the whole file, not one object's metadata
  bool long_tail = false;  ///< the old file needs an end that HDF5 wanted to cut off
};
// Never destroyed: at exit HDF5 closes open files after this library's objects are destroyed.
std::vector<Watched>& watched = *new std::vector<Watched>;

template <Kind kind>
Watched* watched_as(H5FD_t* file) noexcept {
  void* handle = nullptr;
  if (watched.empty() || drivers[kind].own.get_handle(file, H5P_DEFAULT, &handle) < 0)
    return nullptr;
  const auto found = std::find_if(watched.begin(), watched.end(),
                                  [&](const Watched& w) { return w.handle == handle; });
  return found == watched.end() ? nullptr : &*found;
}

Offset end_of(Kind kind, const H5FD_t* file) {
  return static_cast<Offset>(drivers[kind].own.get_eoa(file, H5FD_MEM_DEFAULT));
}

/// Runs a write of HDF5's. A failed write must not become part of a flush. All ranks write metadata
/// at the same time, and HDF5 has a barrier after it, which a rank with an error would not reach.
/// So HDF5 gets success, and all ranks learn of the error at the next flush. What was not saved is
/// not overwritten: `skip` replaces the write. A child of the process that opened the file writes
/// nothing, because it would overwrite its parent's data.
template <class Save, class Write, class Skip>
herr_t write_watched(Watched& at, bool others_wait, Save&& save, Write&& write, Skip&& skip) {
  if (at.opener.is_another()) return 0;
  std::optional<Error> failed = attempt_to([&] { save(*at.undo); });
  const herr_t result = failed ? skip() : write();
  if (!failed && result >= 0) return result;
  if (!failed) failed.emplace(Errc::ewrite, "HDF5: writing to the file failed");
  if (others_wait && !at.undo->alone()) {
    at.undo->lose(std::move(*failed));
    return 0;
  }
  const herr_t told = guarded<herr_t>(-1, [&]() -> herr_t { throw *failed; });
  at.undo->fail(std::move(*failed));
  return told;
}

template <Kind kind>
herr_t write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
             const void* buffer) {
  const auto below = [&](size_t bytes) {
    return drivers[kind].own.write(file, type, dxpl, address, bytes, buffer);
  };
  Watched* const at = watched_as<kind>(file);
  // In collective transfers of raw data `size` counts elements of a type that only HDF5 knows.
  if (at == nullptr || (kind == mpio && type == H5FD_MEM_DRAW && asks_collective(dxpl)))
    return below(size);
  return write_watched(
      *at, kind == mpio && type != H5FD_MEM_DRAW,
      [&](UndoFile& undo) { undo.save(static_cast<Offset>(address), static_cast<Count>(size)); },
      [&] { return below(size); },
      [&] { return kind == mpio && asks_collective(dxpl) ? below(0) : 0; });
}

herr_t write_vector(H5FD_t* file, hid_t dxpl, uint32_t count, H5FD_mem_t types[],
                    haddr_t addresses[], size_t sizes[], const void* buffers[]) {
  const auto below = [&](uint32_t pieces) {
    return drivers[mpio].own.write_vector(file, dxpl, pieces, types, addresses, sizes, buffers);
  };
  Watched* const at = watched_as<mpio>(file);
  if (at == nullptr) return below(count);
  return write_watched(
      *at, count > 0 && types[0] != H5FD_MEM_DRAW,
      [&](UndoFile& undo) {
        size_t size = 0;
        for (uint32_t i = 0, same = 0; i < count; ++i) {
          same |= i > 0 && sizes[i] == 0;  // from there on sizes repeat
          if (same == 0) size = sizes[i];
          undo.save(static_cast<Offset>(addresses[i]), static_cast<Count>(size));
        }
      },
      [&] { return below(count); },
      // Other ranks may be in this call, too.
      [&] { return asks_collective(dxpl) ? below(0) : 0; });
}

/// Keeps the old file's end, which is needed until the new file is committed. HDF5 calls this in
/// flushes of the whole file, and when it closes it.
template <Kind kind>
herr_t truncate(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  if (Watched* at = watched_as<kind>(file)) {
    if (at->opener.is_another()) return 0;
    at->whole = true;
    if (end_of(kind, file) < at->undo->end()) {
      at->long_tail = true;
      return 0;
    }
  }
  return drivers[kind].own.truncate(file, dxpl, closing);
}

/// The last call of a flush, on all ranks, even if an earlier step failed.
template <Kind kind>
herr_t flush(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  const auto own = drivers[kind].own.flush;  // sec2 has none
  herr_t result = own != nullptr ? own(file, dxpl, closing) : 0;
  Watched* const at = watched_as<kind>(file);
  if (at == nullptr || at->opener.is_another() || !std::exchange(at->whole, false)) return result;
  if (result < 0) at->undo->fail(Error(Errc::ewrite, "HDF5: flushing the file failed"));
  const auto undo = at->undo;
  return guarded<herr_t>(-1, [&] {
    undo->commit(end_of(kind, file));
    return result;
  });
}

/// Called when HDF5 has written all its data.
template <Kind kind>
herr_t close(H5FD_t* file) {
  herr_t result = 0;
  if (Watched* at = watched_as<kind>(file)) {
    const Watched last = std::move(*at);
    watched.erase(watched.begin() + (at - watched.data()));
    if (last.opener.is_another()) return drivers[kind].own.close(file);
    result = guarded<herr_t>(-1, [&] {
      last.undo->close(end_of(kind, file));
      return last.long_tail ? drivers[kind].own.truncate(file, H5P_DATASET_XFER_DEFAULT, true) : 0;
    });
  }
  return drivers[kind].own.close(file) < 0 ? -1 : result;
}

/// HDF5 forgets the driver: its table goes away.
template <Kind kind>
herr_t terminate() {
  drivers[kind].table = nullptr;
  return drivers[kind].own.terminate != nullptr ? drivers[kind].own.terminate() : 0;
}

template <Kind kind>
void replace_in(H5FD_class_t& table) {
  drivers[kind] = {&table, table};
  table.write = write<kind>;
  table.truncate = truncate<kind>;
  table.flush = flush<kind>;
  table.close = close<kind>;
  table.terminate = terminate<kind>;
  if (kind == mpio && table.write_vector != nullptr) table.write_vector = write_vector;
}

/// Finds the table to which open files of a driver point, and replaces its functions.
void find_and_replace(Kind kind) {
  if (drivers[kind].table != nullptr) return;
  const Hdf5Id list = owned_list(H5Pcreate(H5P_FILE_ACCESS));
  if (kind == mpio)
    use_mpio_alone(list);
  else
    checked(H5Pset_fapl_sec2(list), "choosing a file driver");
  H5FD_class_t& table = driver_table(list);
  if (kind == mpio)
    replace_in<mpio>(table);
  else
    replace_in<sec2>(table);
}

void file_optional(const UnderObject& file, int what, H5VL_native_file_optional_args_t& native) {
  H5VL_optional_args_t args{what, &native};
  if (H5VLfile_optional(file.object, file.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw_hdf5("asking for what an open file is");
}

}  // namespace

Offset end_of_file(const UnderObject& file) {
  hsize_t end = 0;
  H5VL_native_file_optional_args_t args{};
  args.get_size.size = &end;
  file_optional(file, H5VL_NATIVE_FILE_GET_SIZE, args);
  return static_cast<Offset>(end);
}

void watch(const UnderObject& file, bool mpi_io, std::shared_ptr<UndoFile> undo) {
  const Kind kind = mpi_io ? mpio : sec2;
  find_and_replace(kind);
  void* handle = nullptr;
  H5VL_native_file_optional_args_t args{};
  args.get_vfd_handle = {H5P_FILE_ACCESS_DEFAULT, &handle};
  file_optional(file, H5VL_NATIVE_FILE_GET_VFD_HANDLE, args);
  watched.push_back({handle, std::move(undo), kind});
}

void unwatch(const UndoFile& undo) noexcept {
  std::erase_if(watched, [&](const Watched& at) { return at.undo.get() == &undo; });
}

H5FD_class_t& mpio_table() {
  find_and_replace(mpio);
  return *drivers[mpio].table;
}

void restore_drivers() noexcept {
  for (Driver& driver : drivers) {
    if (driver.table == nullptr) continue;
    *std::exchange(driver.table, nullptr) = driver.own;
  }
}

}  // namespace forebay::vol
