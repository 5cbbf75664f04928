#include "hdf5/log/logged_store_text.h"

#include <algorithm>

#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {

void damaged_store(const std::string& what) {
  throw Error(Errc::ebadlog, "the log of this file is damaged: " + what,
              "the file was not written whole, or was changed by something else");
}

namespace {

constexpr std::uint64_t store_version = 1;
constexpr std::uint64_t most_dimensions = 32;  // H5S_MAX_RANK

void put(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// Reads the numbers of the attributes: eight bytes each, little-endian.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {
    check_version(get(), store_version, "the log of this file");
  }
  /// Begins at byte `at`.
  Numbers(std::span<const std::byte> bytes, std::size_t at) : bytes_(bytes.subspan(at)) {}
  std::uint64_t get() {
    if (bytes_.size() < 8) damaged_store("a hidden attribute ends too early");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i)
      value |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(8);
    return value;
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> print_stored_file(const StoredFile& stored) {
  std::vector<std::byte> bytes;
  put(bytes, store_version);
  put(bytes, stored.session);
  put(bytes, stored.index);
  return bytes;
}

StoredFile parse_stored_file(std::span<const std::byte> bytes) {
  Numbers numbers(bytes);
  StoredFile stored;
  stored.session = numbers.get();
  stored.index = numbers.get();
  return stored;
}

std::vector<std::byte> print_stored_dataset(const StoredDataset& stored) {
  std::vector<std::byte> bytes;
  put(bytes, store_version);
  put(bytes, stored.id);
  put(bytes, stored.extents.size());
  for (const Count extent : stored.extents) put(bytes, static_cast<std::uint64_t>(extent));
  for (const std::uint64_t most : stored.maximum) put(bytes, most);
  bytes.insert(bytes.end(), stored.dcpl.begin(), stored.dcpl.end());
  put(bytes, hash_of(bytes));
  return bytes;
}

StoredDataset parse_stored_dataset(std::span<const std::byte> bytes) {
  Numbers numbers(bytes);
  // HDF5 decodes property lists without bounds checks, so it must get only bytes that were written.
  const auto hashed = bytes.first(bytes.size() - 8);
  if (Numbers(bytes, hashed.size()).get() != hash_of(hashed))
    damaged_store("the checksum of a dataset's attribute does not hold");
  StoredDataset stored;
  stored.id = numbers.get();
  const std::uint64_t ndims = numbers.get();
  if (ndims == 0 || ndims > most_dimensions)
    damaged_store("a dataset of " + std::to_string(ndims) + " dimensions");
  Count elements = 1;
  for (std::uint64_t d = 0; d < ndims; ++d) {
    const std::uint64_t extent = numbers.get();
    if (extent > INT64_MAX ||
        !multiply_fits(elements, static_cast<Count>(std::max<std::uint64_t>(extent, 1)), elements))
      damaged_store("a dataset's extents");
    stored.extents.push_back(static_cast<Count>(extent));
  }
  for (std::uint64_t d = 0; d < ndims; ++d) stored.maximum.push_back(numbers.get());
  if (numbers.rest().size() < 8) damaged_store("a hidden attribute ends too early");
  stored.dcpl.assign(numbers.rest().begin(), numbers.rest().end() - 8);
  return stored;
}

}  // namespace forebay::logged
