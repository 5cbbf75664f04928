#include "hdf5/files/log_view.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "base/error.h"
#include "base/fill_elements.h"

namespace forebay {
namespace {

constexpr Count log_memory = 256 << 20;  // of lookups and selections

[[noreturn]] void damaged_log(const std::string& what) {
  throw Error(Errc::ebadlog, "the log of this file is damaged: " + what,
              "forebay check FILE tells what can be read");
}

std::vector<std::byte> attribute_bytes(hid_t object, const char* name) {
  const std::string what = std::string("the attribute ") + name;
  const Hdf5Id attribute = owned(H5Aopen(object, name, H5P_DEFAULT), what);
  const Hdf5Id space = owned(H5Aget_space(attribute), what);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space), what)));
  checked(H5Aread(attribute, H5T_NATIVE_UCHAR, bytes.data()), what);
  return bytes;
}

// Returns where a block of the log lies. It is a contiguous dataset of bytes.
logged::MetadataBlock block_of(hid_t group, const std::string& name) {
  const Hdf5Id dataset = owned(H5Dopen2(group, name.c_str(), H5P_DEFAULT), name);
  const haddr_t place = H5Dget_offset(dataset);
  const hsize_t bytes = H5Dget_storage_size(dataset);
  if (place == HADDR_UNDEF || bytes == 0 || place > INT64_MAX || bytes > INT64_MAX)
    damaged_log(name + " has no place in the file");
  return {static_cast<Offset>(place), static_cast<Count>(bytes)};
}

bool link_exists(hid_t group, const std::string& name) {
  return checked(H5Lexists(group, name.c_str(), H5P_DEFAULT), name) > 0;
}

// HDF5 decodes without a length. Zeros after the bytes end the decoding of a damaged attribute.
Hdf5Id decoded_properties(const std::vector<std::byte>& bytes) {
  constexpr std::size_t margin = 64 << 10;
  std::vector<std::byte> padded(bytes.size() + margin);
  std::copy(bytes.begin(), bytes.end(), padded.begin());
  Hdf5Id creation = owned(H5Pdecode(padded.data()), "its creation properties");
  if (H5Pisa_class(creation, H5P_DATASET_CREATE) <= 0)
    damaged_log("creation properties of a dataset");
  return creation;
}

}  // namespace

bool has_hdf5_log(hid_t file) { return link_exists(file, logged::store_group); }

Hdf5Log open_hdf5_log(hid_t file, bool every_block) {
  const Hdf5Id group = owned(H5Gopen2(file, logged::store_group, H5P_DEFAULT), "the log");
  const auto stored =
      logged::parse_stored_file(attribute_bytes(group, logged::store_file_attribute));
  LoggedFileOptions options;
  options.path = path_of(file);
  options.session = stored.session;
  options.method.log_memory = log_memory;
  Hdf5Log log;
  log.file = std::make_unique<LoggedFile>(Comm(), options, nullptr);
  if (stored.index > 0) {
    const auto failed = attempt_to([&] {
      const auto index = block_of(group, logged::store_index + std::to_string(stored.index - 1));
      log.file->set_index(index);
      log.index_bytes = index.bytes;
    });
    if (failed) log.index_damage = failed->message();
  }
  const std::uint64_t blocks = logged::count_blocks([&](std::uint64_t n) {
    return link_exists(group, logged::store_metadata + std::to_string(n));
  });
  const std::uint64_t known = log.file->reader().directory().blocks;
  if (blocks < known) damaged_log("a block of metadata that the index names is missing");
  for (std::uint64_t n = 0; n < blocks; ++n) {
    const bool needed = every_block || n >= known;
    log.file->add_block(needed ? block_of(group, logged::store_metadata + std::to_string(n))
                               : logged::MetadataBlock{});
  }
  return log;
}

Hdf5LogView::Hdf5LogView(hid_t file) : log_(open_hdf5_log(file, false)) {}

bool Hdf5LogView::hides_link(const std::string& path, const std::string& link) const {
  return path == "/" && link.starts_with(logged::store_prefix);
}

bool Hdf5LogView::hides_attribute(hid_t, const std::string& attribute) const {
  return attribute.starts_with(logged::store_prefix);
}

DatasetState* Hdf5LogView::find(hid_t dataset) const {
  const auto [at, fresh] = datasets_.try_emplace(object_of(dataset).address);
  if (!fresh) return at->second.get();
  try {
    constexpr const char* name = logged::store_dataset_attribute;
    if (checked(H5Aexists(dataset, name), "its attributes") == 0) return nullptr;
    auto stored = logged::parse_stored_dataset(attribute_bytes(dataset, name));
    Hdf5Id creation = decoded_properties(stored.dcpl);
    at->second =
        std::make_unique<DatasetState>(std::move(stored), type(dataset), std::move(creation));
  } catch (...) {
    datasets_.erase(at);
    throw;
  }
  return at->second.get();
}

std::optional<std::uint64_t> Hdf5LogView::id_of(hid_t dataset) const {
  const DatasetState* found = find(dataset);
  return found == nullptr ? std::nullopt : std::optional(found->id());
}

Hdf5Id Hdf5LogView::space(hid_t dataset) const {
  const DatasetState* found = find(dataset);
  return found == nullptr ? Hdf5View::space(dataset) : found->make_space();
}

Hdf5Id Hdf5LogView::creation(hid_t dataset) const {
  const DatasetState* found = find(dataset);
  if (found == nullptr) return Hdf5View::creation(dataset);
  return owned(H5Pcopy(found->dcpl()), "the properties of a dataset");
}

Count Hdf5LogView::stored_bytes(hid_t dataset) const {
  const DatasetState* found = find(dataset);
  if (found == nullptr) return Hdf5View::stored_bytes(dataset);
  return log_.file->reader().stored_bytes(found->id(), found->ndims());
}

// Reads elements in the file's type. Elements never written get the fill value. Returns whether any
// of them may have been written.
bool Hdf5LogView::read_stored(DatasetState& dataset, const Subarray& part,
                              std::span<std::byte> out) const {
  fill_elements(out, dataset.fill_value());
  return log_.file->read(dataset.shape(), box_pattern(dataset.extents(), part), out);
}

void Hdf5LogView::read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const {
  DatasetState* found = find(dataset);
  if (found == nullptr) {
    Hdf5View::read(dataset, memory_type, part, out);
    return;
  }
  const auto n = static_cast<std::size_t>(part.elements());
  if (n == 0) return;
  auto* const bytes = static_cast<std::byte*>(out);
  const std::size_t wide = H5Tget_size(memory_type);
  if (checked(H5Tequal(memory_type, found->type()), "its type") > 0) {
    read_stored(*found, part, {bytes, n * wide});
    return;
  }
  // Conversion is in place, so there must be room for the larger type.
  std::vector<std::byte> values(n * std::max(wide, found->element_size()));
  const bool any = read_stored(*found, part, std::span(values).first(n * found->element_size()));
  if (!any && found->has_default_fill()) {  // zeros stay zeros, without conversion
    std::memset(bytes, 0, n * wide);
    return;
  }
  std::vector<std::byte> background;
  if (H5Tget_class(memory_type) == H5T_COMPOUND) background.resize(values.size());
  checked(H5Tconvert(found->type(), memory_type, n, values.data(),
                     background.empty() ? nullptr : background.data(), H5P_DEFAULT),
          "cannot be converted");
  std::memcpy(bytes, values.data(), n * wide);
}

}  // namespace forebay
