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

// The numbers of the attributes have eight bytes each, little-endian.
void put(Printer& out, std::uint64_t value) { out.fixed(byte_swapped(value)); }
std::uint64_t get(Parser& in) { return byte_swapped(in.fixed<std::uint64_t>()); }

Parser parser_of(std::span<const std::byte> bytes) {
  Parser in(bytes, [](const std::string&) { damaged_store("a hidden attribute ends too early"); });
  check_version(get(in), store_version, "the log of this file");
  return in;
}

}  // namespace

std::vector<std::byte> print_stored_file(const StoredFile& stored) {
  Printer out;
  put(out, store_version);
  put(out, stored.session);
  put(out, stored.index);
  return std::move(out.bytes());
}

StoredFile parse_stored_file(std::span<const std::byte> bytes) {
  Parser in = parser_of(bytes);
  StoredFile stored;
  stored.session = get(in);
  stored.index = get(in);
  return stored;
}

std::vector<std::byte> print_stored_dataset(const StoredDataset& stored) {
  Printer out;
  put(out, store_version);
  put(out, stored.id);
  put(out, stored.extents.size());
  for (const Count extent : stored.extents) put(out, static_cast<std::uint64_t>(extent));
  for (const std::uint64_t most : stored.maximum) put(out, most);
  out.raw(stored.dcpl);
  put(out, hash_of(out.bytes()));
  return std::move(out.bytes());
}

StoredDataset parse_stored_dataset(std::span<const std::byte> bytes) {
  Parser in = parser_of(bytes);
  // HDF5 decodes property lists without bounds checks, so it must get only bytes that were written.
  const auto hashed = bytes.first(bytes.size() - 8);
  if (byte_swapped(load_be<std::uint64_t>(&bytes[hashed.size()])) != hash_of(hashed))
    damaged_store("the checksum of a dataset's attribute does not hold");
  StoredDataset stored;
  stored.id = get(in);
  const std::uint64_t ndims = get(in);
  if (ndims == 0 || ndims > most_dimensions)
    damaged_store("a dataset of " + std::to_string(ndims) + " dimensions");
  Count elements = 1;
  for (std::uint64_t d = 0; d < ndims; ++d) {
    const std::uint64_t extent = get(in);
    if (extent > INT64_MAX ||
        !multiply_fits(elements, static_cast<Count>(std::max<std::uint64_t>(extent, 1)), elements))
      damaged_store("a dataset's extents");
    stored.extents.push_back(static_cast<Count>(extent));
  }
  for (std::uint64_t d = 0; d < ndims; ++d) stored.maximum.push_back(get(in));
  if (in.left() < 8) damaged_store("a hidden attribute ends too early");
  const auto dcpl = in.take(in.left() - 8);
  stored.dcpl.assign(dcpl.begin(), dcpl.end());
  return stored;
}

}  // namespace forebay::logged
