#include "netcdf4/plugin/structure_driver.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "netcdf4/plugin/versions.h"

namespace forebay::netcdf4 {

namespace {

constexpr std::size_t superblock_room = 512;  // the superblock lies below this place
constexpr Count largest_block = 4 << 20;

struct StructureFile {
  H5FD_t of_hdf5;  // HDF5 knows the file by this
  std::shared_ptr<DriverState> state;
};

thread_local std::shared_ptr<DriverState> to_open;

DriverState& state_of(const H5FD_t* file) {
  return *reinterpret_cast<const StructureFile*>(file)->state;
}

H5FD_t* open_file(const char* /*name*/, unsigned /*flags*/, hid_t /*access*/, haddr_t /*most*/) {
  auto* const file = to_open ? new (std::nothrow) StructureFile{} : nullptr;
  if (file == nullptr) return nullptr;
  file->state = std::move(to_open);
  return &file->of_hdf5;
}

herr_t close_file(H5FD_t* file) {
  delete reinterpret_cast<StructureFile*>(file);
  return 0;
}

herr_t features(const H5FD_t* /*file*/, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_ACCUMULATE_METADATA;
  return 0;
}

/// Returns room for metadata. It comes in many small pieces, so that a block has several of them.
Offset room_for(DriverState& state, Count bytes) {
  auto its = state.blocks.find(state.block);
  if (its == state.blocks.end() || std::ssize(its->second.bytes) - its->second.used < bytes) {
    if (!state.allocate) throw Error(Errc::einternal);
    DriverState::Block block;
    block.bytes.resize(static_cast<std::size_t>(std::max(bytes, state.next_block)));
    state.next_block = std::min(2 * state.next_block, largest_block);
    state.block = state.allocate(std::ssize(block.bytes));
    its = state.blocks.insert_or_assign(state.block, std::move(block)).first;
  }
  const Offset place = its->first + its->second.used;
  its->second.used += bytes;
  return place;
}

haddr_t allocate(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, hsize_t size) {
  DriverState& state = state_of(file);
  const auto bytes = static_cast<Count>(size);
  Offset place = 0;
  if (type == H5FD_MEM_SUPER && state.end == 0) {
    place = 0;
  } else if (type == H5FD_MEM_DRAW && bytes == state.raw_bytes) {
    place = state.raw_place;
  } else if (state.error || !attempt_into(state.error, [&] { place = room_for(state, bytes); })) {
    place = state.end + 8;  // any, so that HDF5 gets to the end: nobody takes the structure
  }
  state.end = std::max(state.end, place + bytes);
  return static_cast<haddr_t>(place);
}

herr_t give_back(H5FD_t* /*file*/, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t /*place*/,
                 hsize_t /*size*/) {
  return 0;  // the structure is written once, so what it gives back is little
}

// No piece ends at the end of the file. HDF5 would make the last one longer without asking.
haddr_t get_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return static_cast<haddr_t>(state_of(file).file_end());
}

herr_t set_end(H5FD_t* /*file*/, H5FD_mem_t /*type*/, haddr_t /*end*/) { return 0; }

/// Calls f(bytes, done) for the parts of a range that blocks have; `done` is their place in it.
/// HDF5 may join what lies side by side in two blocks.
template <typename F>
void each_part(DriverState& state, Offset begin, std::size_t size, F&& f) {
  const Offset end = begin + static_cast<Offset>(size);
  auto its = state.blocks.upper_bound(begin);
  if (its != state.blocks.begin()) --its;
  for (; its != state.blocks.end() && its->first < end; ++its) {
    const Offset from = std::max(begin, its->first);
    const Offset to = std::min<Offset>(end, its->first + std::ssize(its->second.bytes));
    if (from < to)
      f(std::span(its->second.bytes)
            .subspan(static_cast<std::size_t>(from - its->first),
                     static_cast<std::size_t>(to - from)),
        static_cast<std::size_t>(from - begin));
  }
}

herr_t read_bytes(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t place,
                  std::size_t size, void* to) {
  DriverState& state = state_of(file);
  auto* const at = static_cast<std::byte*>(to);
  std::memset(at, 0, size);  // what was not written yet
  if (place < state.superblock.size())
    std::memcpy(at, state.superblock.data() + place,
                std::min(size, state.superblock.size() - static_cast<std::size_t>(place)));
  each_part(state, static_cast<Offset>(place), size, [&](auto bytes, std::size_t done) {
    std::memcpy(at + done, bytes.data(), bytes.size());
  });
  return 0;
}

// No error is told to HDF5, which might not close the file then. Writer::run() throws it.
herr_t write_bytes(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, haddr_t place,
                   std::size_t size, const void* from) {
  DriverState& state = state_of(file);
  const auto to = static_cast<Offset>(place);
  const auto* const at = static_cast<const std::byte*>(from);
  if (type == H5FD_MEM_DRAW && to >= state.raw_place && to < state.raw_place + state.raw_bytes)
    return 0;
  if (state.error) return 0;
  if (place < superblock_room) {
    const auto begin = static_cast<std::size_t>(place);
    const bool has_room = attempt_into(state.error, [&] {
      if (state.superblock.size() < begin + size) state.superblock.resize(begin + size);
    });
    if (!has_room) return 0;
    std::memcpy(state.superblock.data() + begin, at, size);
    return 0;
  }
  std::size_t placed = 0;
  each_part(state, to, size, [&](auto bytes, std::size_t done) {
    std::memcpy(bytes.data(), at + done, bytes.size());
    placed += bytes.size();
  });
  if (placed < size)
    keep_first(state.error, Error(Errc::einternal, "a structure lies where it has no room"));
  return 0;
}

herr_t truncate_file(H5FD_t* /*file*/, hid_t /*transfer*/, bool /*closing*/) { return 0; }

const H5FD_class_t& driver_class() {
  static const H5FD_class_t driver = [] {
    H5FD_class_t its;
    std::memset(&its, 0, sizeof its);
#if H5_VERSION_GE(1, 14, 0)
    its.version = H5FD_CLASS_VERSION;
    its.value = static_cast<H5FD_class_value_t>(463);  // of the range for drivers without a number
#endif
    its.name = "forebay_structure";
    its.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
    its.fc_degree = H5F_CLOSE_STRONG;
    its.open = open_file;
    its.close = close_file;
    its.query = features;
    its.alloc = allocate;
    its.free = give_back;
    its.get_eoa = get_end;
    its.set_eoa = set_end;
    its.get_eof = get_end;
    its.read = read_bytes;
    its.write = write_bytes;
    its.truncate = truncate_file;
    const H5FD_mem_t lists[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(lists), std::end(lists), std::begin(its.fl_map));
    return its;
  }();
  return driver;
}

}  // namespace

hid_t access_by_structure_driver(std::shared_ptr<DriverState> state) {
  const hid_t driver = H5FDregister(&driver_class());
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  to_open = std::move(state);
  const bool done = driver >= 0 && access >= 0 && use_native_connector(access) >= 0 &&
                    H5Pset_driver(access, driver, nullptr) >= 0 &&
                    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
                    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18) >= 0;
  if (driver >= 0) H5Idec_ref(driver);  // the list keeps it
  if (done) return access;
  if (access >= 0) H5Pclose(access);
  return H5I_INVALID_HID;
}

}  // namespace forebay::netcdf4
