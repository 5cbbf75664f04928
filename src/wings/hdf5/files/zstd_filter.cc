#include "hdf5/files/zstd_filter.h"

#include <hdf5.h>
#include <zstd.h>

#include <cstddef>

namespace forebay {
namespace {

constexpr H5Z_filter_t zstd_id = 32015;
constexpr int usual_level = 3;
constexpr unsigned long long most_chunk_bytes = 0xffffffff;  // of a chunk of HDF5

// HDF5 gives a buffer of its own, and gets another one. 0 says that the filter failed.
std::size_t zstd_filter(unsigned flags, std::size_t count, const unsigned* values,
                        std::size_t bytes, std::size_t* room, void** buffer) {
  const bool decodes = (flags & H5Z_FLAG_REVERSE) != 0;
  const unsigned long long needed =
      decodes ? ZSTD_getFrameContentSize(*buffer, bytes) : ZSTD_compressBound(bytes);
  if (needed == 0 || needed > most_chunk_bytes) return 0;  // an unknown size is a very large one
  void* const made = H5allocate_memory(needed, false);
  if (made == nullptr) return 0;
  const int level = count > 0 ? static_cast<int>(values[0]) : usual_level;
  const std::size_t size = decodes ? ZSTD_decompress(made, needed, *buffer, bytes)
                                   : ZSTD_compress(made, needed, *buffer, bytes, level);
  if (ZSTD_isError(size) != 0) {
    H5free_memory(made);
    return 0;
  }
  H5free_memory(*buffer);
  *buffer = made;
  *room = needed;
  return size;
}

}  // namespace

void register_zstd_filter() {
  const H5Z_class2_t its{H5Z_CLASS_T_VERS, zstd_id, 1, 1, "zstd", nullptr, nullptr, zstd_filter};
  H5Zregister(&its);
}

}  // namespace forebay
