#include "api/hdf5vol/watched_driver.h"

#include <H5FDdevelop.h>
#include <H5VLnative.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "api/hdf5vol/errors.h"
#include "api/hdf5vol/hid.h"
#include "api/hdf5vol/mpio.h"
#include "base/attempt.h"

namespace forebay::vol {
namespace {

enum Kind { sec2, mpio };

struct Driver {
  H5FD_class_t* table = nullptr;  ///< HDF5's; null while nothing is replaced in it
  H5FD_class_t own;               ///< what was in it
};
Driver drivers[2];

struct Watched {
  void* handle;  ///< as the driver tells it: where it keeps the file's descriptor
  UndoFile* undo;
  Kind kind;
  H5FD_t* file = nullptr;  ///< once HDF5 has written to it
  bool long_tail = false;  ///< the old file needs what HDF5 wanted to cut off
};
std::vector<Watched> watched;

template <Kind kind>
Watched* watched_as(H5FD_t* file) noexcept {
  void* handle = nullptr;
  if (watched.empty() || drivers[kind].own.get_handle(file, H5P_DEFAULT, &handle) < 0)
    return nullptr;
  const auto found = std::find_if(watched.begin(), watched.end(),
                                  [&](const Watched& w) { return w.handle == handle; });
  if (found == watched.end()) return nullptr;
  found->file = file;
  return &*found;
}

Offset end_of(Kind kind, const H5FD_t* file) {
  return static_cast<Offset>(drivers[kind].own.get_eoa(file, H5FD_MEM_DEFAULT));
}

/// Runs a write of HDF5's; one that fails must not become part of a flush.
template <Kind kind, class Save, class Write>
herr_t write_watched(H5FD_t* file, Save&& save, Write&& write) {
  Watched* const at = watched_as<kind>(file);
  if (at == nullptr) return write();
  const herr_t result = guarded<herr_t>(-1, [&] {
    save(*at->undo);
    return write();
  });
  if (result < 0) at->undo->fail();
  return result;
}

template <Kind kind>
herr_t write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
             const void* buffer) {
  return write_watched<kind>(
      file,
      [&](UndoFile& undo) {
        // In collective transfers of raw data `size` counts elements of a type that only HDF5
        // knows.
        if (kind == mpio && type == H5FD_MEM_DRAW && asks_collective(dxpl)) return;
        undo.save(static_cast<Offset>(address), static_cast<Count>(size));
      },
      [&] { return drivers[kind].own.write(file, type, dxpl, address, size, buffer); });
}

herr_t write_vector(H5FD_t* file, hid_t dxpl, uint32_t count, H5FD_mem_t types[],
                    haddr_t addresses[], size_t sizes[], const void* buffers[]) {
  std::optional<Error> failed;
  return write_watched<mpio>(
      file,
      [&](UndoFile& undo) {
        failed = attempt_to([&] {
          size_t size = 0;
          for (uint32_t i = 0, same = 0; i < count; ++i) {
            same |= i > 0 && sizes[i] == 0;  // from there on it is the one before
            if (same == 0) size = sizes[i];
            undo.save(static_cast<Offset>(addresses[i]), static_cast<Count>(size));
          }
        });
      },
      [&] {
        // Other ranks may be in this call as well: they must not wait for one that has failed.
        const herr_t result =
            drivers[mpio].own.write_vector(file, dxpl, count, types, addresses, sizes, buffers);
        return failed ? throw *failed : result;
      });
}

/// The old file needs its end until the new one holds.
template <Kind kind>
herr_t truncate(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  if (Watched* at = watched_as<kind>(file); at != nullptr && end_of(kind, file) < at->undo->end()) {
    at->long_tail = true;
    return 0;
  }
  return drivers[kind].own.truncate(file, dxpl, closing);
}

/// HDF5 has written all that it had.
template <Kind kind>
herr_t close(H5FD_t* file) {
  herr_t result = 0;
  if (Watched* at = watched_as<kind>(file)) {
    const Watched last = *at;
    watched.erase(watched.begin() + (at - watched.data()));
    result = guarded<herr_t>(-1, [&] {
      last.undo->close(end_of(kind, file));
      return last.long_tail ? drivers[kind].own.truncate(file, H5P_DATASET_XFER_DEFAULT, true) : 0;
    });
  }
  return drivers[kind].own.close(file) < 0 ? -1 : result;
}

/// HDF5 forgets the driver: its table goes.
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
  table.close = close<kind>;
  table.terminate = terminate<kind>;
  if (kind == mpio && table.write_vector != nullptr) table.write_vector = write_vector;
}

/// A file that HDF5 has open points to the table.
void find_and_replace(Kind kind) {
  if (drivers[kind].table != nullptr) return;
  const Hid list = owned_list(H5Pcreate(H5P_FILE_ACCESS));
  if (kind == mpio)
    use_mpio_alone(list);
  else
    checked(H5Pset_fapl_sec2(list), "choosing a file driver");
  H5FD_t* const file = H5FDopen("/dev/null", H5F_ACC_RDONLY, list, HADDR_UNDEF);
  if (file == nullptr) throw Error(Errc::ehdferr, "HDF5: looking at a file driver failed");
  auto* const table = const_cast<H5FD_class_t*>(file->cls);  // HDF5's copy, in its own memory
  checked(H5FDclose(file), "closing a file");
  if (kind == mpio)
    replace_in<mpio>(*table);
  else
    replace_in<sec2>(*table);
}

void file_optional(const UnderObject& file, int what, H5VL_native_file_optional_args_t& native) {
  H5VL_optional_args_t args{what, &native};
  if (H5VLfile_optional(file.object, file.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for what an open file is failed");
}

}  // namespace

Offset end_of_file(const UnderObject& file) {
  hsize_t end = 0;
  H5VL_native_file_optional_args_t args{};
  args.get_size.size = &end;
  file_optional(file, H5VL_NATIVE_FILE_GET_SIZE, args);
  return static_cast<Offset>(end);
}

void watch(const UnderObject& file, bool mpi_io, UndoFile& undo) {
  const Kind kind = mpi_io ? mpio : sec2;
  find_and_replace(kind);
  void* handle = nullptr;
  H5VL_native_file_optional_args_t args{};
  args.get_vfd_handle = {H5P_FILE_ACCESS_DEFAULT, &handle};
  file_optional(file, H5VL_NATIVE_FILE_GET_VFD_HANDLE, args);
  watched.push_back({handle, &undo, kind});
}

Offset flushed_end(const UndoFile& undo) {
  const auto found = std::find_if(watched.begin(), watched.end(),
                                  [&](const Watched& w) { return w.undo == &undo; });
  if (found == watched.end() || found->file == nullptr)
    throw Error(Errc::ehdferr, "HDF5 has flushed a file without a call of its driver");
  return end_of(found->kind, found->file);
}

void unwatch(const UndoFile& undo) noexcept {
  std::erase_if(watched, [&](const Watched& w) { return w.undo == &undo; });
}

void restore_drivers() noexcept {
  for (Driver& driver : drivers) {
    if (driver.table == nullptr) continue;
    driver.table->write = driver.own.write;
    driver.table->write_vector = driver.own.write_vector;
    driver.table->truncate = driver.own.truncate;
    driver.table->close = driver.own.close;
    driver.table->terminate = driver.own.terminate;
    driver.table = nullptr;
  }
}

}  // namespace forebay::vol
