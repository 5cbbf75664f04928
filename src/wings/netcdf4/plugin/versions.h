// What the plug-in uses of HDF5 1.14 and older versions have by another name, or not at all.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::netcdf4 {

#if H5_VERSION_GE(1, 12, 0)

using ObjectInfo = H5O_info2_t;
using LinkInfo = H5L_info2_t;

inline herr_t get_object_info(hid_t object, ObjectInfo& info, unsigned fields) {
  return H5Oget_info3(object, &info, fields);
}
inline herr_t get_link_info(hid_t group, const char* name, LinkInfo& info) {
  return H5Lget_info2(group, name, &info, H5P_DEFAULT);
}
template <typename F>
herr_t each_link(hid_t group, H5_index_t index, F f, void* data) {
  return H5Literate2(group, index, H5_ITER_INC, nullptr, f, data);
}
inline void reclaim(hid_t type, hid_t space, void* values) {
  H5Treclaim(type, space, H5P_DEFAULT, values);
}
/// Returns what identifies an object in its file.
inline std::string key_of(const ObjectInfo& info) {
  return {reinterpret_cast<const char*>(info.token.__data), sizeof info.token.__data};
}
/// Values and structure are what HDF5 itself stores, whatever connector the environment names.
inline herr_t use_native_connector(hid_t access) {
  return H5Pset_vol(access, H5VL_NATIVE, nullptr);
}

#else

using ObjectInfo = H5O_info_t;
using LinkInfo = H5L_info_t;

inline herr_t get_object_info(hid_t object, ObjectInfo& info, unsigned fields) {
  return H5Oget_info2(object, &info, fields);
}
inline herr_t get_link_info(hid_t group, const char* name, LinkInfo& info) {
  return H5Lget_info(group, name, &info, H5P_DEFAULT);
}
template <typename F>
herr_t each_link(hid_t group, H5_index_t index, F f, void* data) {
  return H5Literate(group, index, H5_ITER_INC, nullptr, f, data);
}
inline void reclaim(hid_t type, hid_t space, void* values) {
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
}
inline std::string key_of(const ObjectInfo& info) { return std::to_string(info.addr); }
inline herr_t use_native_connector(hid_t /*access*/) { return 0; }  // there are no others

#endif

/// As H5Dchunk_iter calls it.
using OnChunk = int (*)(const hsize_t* first, unsigned skipped, haddr_t place, hsize_t bytes,
                        void* data);

#if H5_VERSION_GE(1, 14, 0)

inline herr_t each_chunk(hid_t dataset, const std::vector<hsize_t>& /*extents*/,
                         const std::vector<hsize_t>& /*chunk*/, OnChunk f, void* data) {
  return H5Dchunk_iter(dataset, H5P_DEFAULT, f, data);
}

#else

/// HDF5 finds a chunk by its number in a time that grows with the number, so that all of them take
/// the square of it. By their coordinates it finds them quickly, but those that are not there must
/// be asked for, too.
inline herr_t each_chunk(hid_t dataset, const std::vector<hsize_t>& extents,
                         const std::vector<hsize_t>& chunk, OnChunk f, void* data) {
  hsize_t chunks = 0, grid = 1;
  const hid_t space = H5Dget_space(dataset);
  const bool counted = space >= 0 && H5Dget_num_chunks(dataset, space, &chunks) >= 0;
  std::vector<hsize_t> first(extents.size());
  unsigned skipped = 0;
  haddr_t place = HADDR_UNDEF;
  hsize_t bytes = 0;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (__builtin_mul_overflow(grid, (extents[d] + chunk[d] - 1) / chunk[d], &grid))
      grid = UINT64_MAX;
  herr_t done = counted ? 0 : -1;
  if (chunks < UINT32_MAX && chunks * chunks < grid) {
    for (hsize_t i = 0; done == 0 && i < chunks; ++i) {
      done = H5Dget_chunk_info(dataset, space, i, first.data(), &skipped, &place, &bytes);
      if (done >= 0) done = f(first.data(), skipped, place, bytes, data);
    }
  } else {
    for (hsize_t i = 0; done == 0 && i < grid; ++i) {
      hsize_t left = i;
      for (std::size_t d = extents.size(); d-- > 0;) {
        const hsize_t along = (extents[d] + chunk[d] - 1) / chunk[d];
        first[d] = left % along * chunk[d];
        left /= along;
      }
      done = H5Dget_chunk_info_by_coord(dataset, first.data(), &skipped, &place, &bytes);
      if (done >= 0 && place != HADDR_UNDEF) done = f(first.data(), skipped, place, bytes, data);
    }
  }
  if (space >= 0) H5Sclose(space);
  return done;
}

#endif

}  // namespace forebay::netcdf4
