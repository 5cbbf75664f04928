#include "hdf5/shared/filters.h"

#include <atomic>
#include <string>
#include <utility>

#include "base/error.h"

namespace forebay {
namespace {

constexpr std::size_t core_increment = 1 << 20;
constexpr const char* name = "chunk";

// Call it while the objects of the attempt are open, since closing them clears HDF5's error stack.
[[noreturn]] void failed(const char* what) {
  try {
    throw_hdf5(what);
  } catch (const Error& error) {
    throw Error(Errc::efilter, error.message(),
                "filters that are no part of HDF5 are found in the folders of HDF5_PLUGIN_PATH");
  }
}

/// Files in memory need different names too.
std::string unique_name() {
  static std::atomic<unsigned> counter = 0;
  return "forebay-filter-" + std::to_string(counter++);
}

// In HDF5 2 these functions have versions that know the size of the buffer.
hid_t decoded_type(const std::vector<std::byte>& code) {
#if H5_VERSION_GE(2, 0, 0)
  return H5Tdecode2(code.data(), code.size());
#else
  return H5Tdecode(code.data());
#endif
}

herr_t read_chunk(hid_t dataset, const hsize_t* first, std::uint32_t* mask,
                  std::vector<std::byte>& bytes) {
#if H5_VERSION_GE(2, 0, 0)
  std::size_t size = bytes.size();
  return H5Dread_chunk2(dataset, H5P_DEFAULT, first, mask, bytes.data(), &size);
#else
  return H5Dread_chunk(dataset, H5P_DEFAULT, first, mask, bytes.data());
#endif
}

}  // namespace

Hdf5Id file_in_memory() {
  const Hdf5Id fapl = owned_list(H5Pcreate(H5P_FILE_ACCESS));
  checked(H5Pset_fapl_core(fapl, core_increment, false), "choosing memory for a file");
#if H5_VERSION_GE(1, 14, 0)
  checked(H5Pset_vol(fapl, H5VL_NATIVE, nullptr), "choosing the native connector");
  // HDF5 1.10 reads a directly written chunk in such a file without undoing its filters.
  checked(H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST), "choosing a version");
#endif
  return owned(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl),
               "making a file in memory");
}

Hdf5Id uncommitted(hid_t type) {
  if (H5Tcommitted(type) <= 0) return owned_type(H5Tcopy(type));
  std::size_t bytes = 0;
  checked(H5Tencode(type, nullptr, &bytes), "encoding a datatype");
  std::vector<std::byte> code(bytes);
  checked(H5Tencode(type, code.data(), &bytes), "encoding a datatype");
  return owned_type(decoded_type(code));
}

bool FilterPipeline::any(hid_t dcpl) { return H5Pget_nfilters(dcpl) > 0; }

FilterPipeline::FilterPipeline(hid_t dcpl, hid_t type)
    : dcpl_(owned_list(H5Pcopy(dcpl))), type_(uncommitted(type)), size_(H5Tget_size(type)) {}

Hdf5Id FilterPipeline::properties_of(hid_t space) const {
  const Hdf5Id file = file_in_memory();
  const Hdf5Id dataset =
      owned(H5Dcreate2(file, name, type_, space, H5P_DEFAULT, dcpl_, H5P_DEFAULT),
            "making a dataset in memory");
  return owned_list(H5Dget_create_plist(dataset));
}

FilterPipeline::Chunk FilterPipeline::make_chunks(const std::vector<Count>& shape,
                                                  Count chunks) const {
  Chunk chunk{file_in_memory(), {}};
  const std::vector<hsize_t> of_chunk(shape.begin(), shape.end());
  const auto ndims = static_cast<int>(of_chunk.size());
  std::vector<hsize_t> extents = of_chunk;
  extents[0] *= static_cast<hsize_t>(chunks);
  const Hdf5Id space = owned_space(H5Screate_simple(ndims, extents.data(), nullptr));
  const Hdf5Id dcpl = owned_list(H5Pcopy(dcpl_));
  checked(H5Pset_chunk(dcpl, ndims, of_chunk.data()), "setting the chunk of a filter pipeline");
  checked(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR), "setting the allocation time");
  checked(H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER), "setting the fill time");
  chunk.dataset = owned(H5Dcreate2(chunk.file, name, type_, space, H5P_DEFAULT, dcpl, H5P_DEFAULT),
                        "making a chunk in memory");
  return chunk;
}

FilterPipeline::Filtered FilterPipeline::apply(std::span<const std::byte> values) {
  return std::move(apply(values, {static_cast<Count>(values.size() / size_)}).front());
}

std::vector<FilterPipeline::Filtered> FilterPipeline::apply(std::span<const std::byte> values,
                                                            const std::vector<Count>& shape) {
  auto elements = static_cast<Count>(values.size() / size_);
  for (const Count length : shape) elements /= length;
  const Chunk chunk = make_chunks(shape, elements);
  if (H5Dwrite(chunk.dataset, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0 ||
      H5Dflush(chunk.dataset) < 0)
    failed("encoding by a filter");
  std::vector<hsize_t> first(shape.size(), 0);
  std::vector<Filtered> filtered(static_cast<std::size_t>(elements));
  for (Filtered& one : filtered) {
    hsize_t bytes = 0;
    if (H5Dget_chunk_storage_size(chunk.dataset, first.data(), &bytes) < 0)
      failed("encoding by a filter");
    one.bytes.resize(bytes);
    if (read_chunk(chunk.dataset, first.data(), &one.mask, one.bytes) < 0)
      failed("encoding by a filter");
    first[0] += static_cast<hsize_t>(shape[0]);
  }
  return filtered;
}

void FilterPipeline::undo(std::span<const std::byte> bytes, std::uint32_t mask,
                          std::span<std::byte> values) {
  const Chunk chunk = make_chunks({static_cast<Count>(values.size() / size_)}, 1);
  const hsize_t first = 0;
  if (H5Dwrite_chunk(chunk.dataset, H5P_DEFAULT, mask, &first, bytes.size(), bytes.data()) < 0 ||
      H5Dread(chunk.dataset, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    failed("decoding by a filter");
}

}  // namespace forebay
