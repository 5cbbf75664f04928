#include "files/hdf5/unfilter.h"

#include <atomic>

#include "base/error.h"

#if !H5_VERSION_GE(1, 10, 3)
#include <hdf5_hl.h>
#endif

namespace forebay {
namespace {

constexpr std::size_t file_increment = 1 << 20;

// Files in memory need different names all the same.
std::string unique_name() {
  static std::atomic<unsigned> counter = 0;
  return "forebay-chunk-" + std::to_string(counter++);
}

herr_t write_chunk(hid_t dataset, std::uint32_t mask, std::span<const std::byte> bytes) {
  const hsize_t first = 0;
#if H5_VERSION_GE(1, 10, 3)
  return H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, &first, bytes.size(), bytes.data());
#else
  return H5DOwrite_chunk(dataset, H5P_DEFAULT, mask, &first, bytes.size(), bytes.data());
#endif
}

// A chunk in another file cannot have a committed type.
Hdf5Id transient(hid_t type) {
  if (H5Tcommitted(type) <= 0) return owned(H5Tcopy(type), "its type");
  std::size_t bytes = 0;
  checked(H5Tencode(type, nullptr, &bytes), "its type");
  std::vector<std::byte> code(bytes);
  checked(H5Tencode(type, code.data(), &bytes), "its type");
#if H5_VERSION_GE(2, 0, 0)
  return owned(H5Tdecode2(code.data(), code.size()), "its type");
#else
  return owned(H5Tdecode(code.data()), "its type");
#endif
}

}  // namespace

void undo_hdf5_filters(hid_t creation, hid_t type, std::span<const std::byte> stored,
                       std::uint32_t mask, std::span<std::byte> values) {
  const Hdf5Id access = owned(H5Pcreate(H5P_FILE_ACCESS), "a file in memory");
  checked(H5Pset_fapl_core(access, file_increment, false), "a file in memory");
  const Hdf5Id file =
      owned(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "in memory");
  const Hdf5Id elements = transient(type);
  const hsize_t n = values.size() / H5Tget_size(elements);
  const Hdf5Id space = owned(H5Screate_simple(1, &n, nullptr), "a chunk in memory");
  const Hdf5Id chunk = owned(H5Pcopy(creation), "a chunk in memory");
  checked(H5Pset_chunk(chunk, 1, &n), "a chunk in memory");
  checked(H5Pset_alloc_time(chunk, H5D_ALLOC_TIME_INCR), "a chunk in memory");
  checked(H5Pset_fill_time(chunk, H5D_FILL_TIME_NEVER), "a chunk in memory");
  const Hdf5Id dataset =
      owned(H5Dcreate2(file, "chunk", elements, space, H5P_DEFAULT, chunk, H5P_DEFAULT),
            "a chunk in memory");
  if (write_chunk(dataset, mask, stored) >= 0 &&
      H5Dread(dataset, elements, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0)
    return;
  try {
    throw_hdf5("a filter failed to decode");
  } catch (const Error& error) {
    throw Error(Errc::efilter, error.message(),
                "filters that are no part of HDF5 are found in the folders of HDF5_PLUGIN_PATH");
  }
}

}  // namespace forebay
