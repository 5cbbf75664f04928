// The hidden attributes of a log file in HDF5 (docs/formats.md, "The log layout in an HDF5 file"):
// the names of hidden objects, and the printing and parsing of the attributes. Needs no HDF5. The
// connector writes such files, and the tools read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace forebay::logged {

/// The prefix of links and attributes that users do not see.
inline constexpr std::string_view store_prefix = "_forebay_";
inline constexpr const char* store_group = "/_forebay_log";
inline constexpr const char* store_file_attribute = "_forebay_file";        ///< of the group
inline constexpr const char* store_dataset_attribute = "_forebay_dataset";  ///< of stand-ins
inline constexpr const char* store_witness = "session";                     ///< in the group
/// The name of the external file in stand-ins. It does not exist.
inline constexpr const char* store_external = "in-a-forebay-log";
/// Names in the group, before their numbers.
inline constexpr const char* store_data = "data.";
inline constexpr const char* store_metadata = "metadata.";
inline constexpr const char* store_index = "index.";

/// Returns the number of blocks of a kind, for which exists(n) says whether there is the nth one.
/// They are numbered from 0 without gaps, so the first missing number is found by bisection.
template <typename Exists>
std::uint64_t count_blocks(Exists&& exists) {
  std::uint64_t have = 0, step = 1;
  while (exists(have + step - 1)) have += step, step *= 2;
  for (; step > 0; step /= 2)
    if (exists(have + step - 1)) have += step;
  return have;
}

/// Throws Errc::ebadlog.
[[noreturn]] void damaged_store(const std::string& what);

/// The attribute of the group.
struct StoredFile {
  std::uint64_t session = 0;
  std::uint64_t index = 0;  ///< 0: none; n + 1: index.n
};

/// The attribute of a stand-in.
struct StoredDataset {
  std::uint64_t id = 0;
  std::vector<Count> extents;
  std::vector<std::uint64_t> maximum;  ///< all ones: unlimited (H5S_UNLIMITED)
  std::vector<std::byte> dcpl;         ///< H5Pencode2 of the creation property list
};

std::vector<std::byte> print_stored_file(const StoredFile& stored);
/// Errc::ebadlog if the bytes end too early, and for a newer version.
StoredFile parse_stored_file(std::span<const std::byte> bytes);

std::vector<std::byte> print_stored_dataset(const StoredDataset& stored);
/// Errc::ebadlog as above, for more than 32 dimensions, and for a product of extents over 63 bits.
StoredDataset parse_stored_dataset(std::span<const std::byte> bytes);

}  // namespace forebay::logged
