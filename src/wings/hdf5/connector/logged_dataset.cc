#include "hdf5/connector/logged_dataset.h"

#include <array>
#include <cstring>
#include <utility>

#include "hdf5/connector/logged_memory.h"
#include "hdf5/connector/logged_selection.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

/// A chunk must have the dataset's rank, and fit into dimensions that cannot grow.
bool chunk_fits(hid_t dcpl, const Extents& extents) {
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  if (H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk.data()) != std::ssize(extents.now)) return false;
  for (std::size_t d = 0; d < extents.now.size(); ++d)
    if (extents.most[d] == extents.now[d] && std::cmp_greater(chunk[d], extents.most[d]))
      return false;
  return true;
}

/// Converts the fill value to the dataset's type, as H5Dcreate does. One of variable length would
/// be stored as a pointer of this process.
void convert_fill_value(hid_t dcpl, hid_t type) {
  if (fill_rule_of(dcpl).value != H5D_FILL_VALUE_USER_DEFINED) return;
  std::vector<std::byte> value(H5Tget_size(type));
  checked(H5Pget_fill_value(dcpl, type, value.data()), "converting the fill value");
  checked(H5Pset_fill_value(dcpl, type, value.data()), "setting the fill value");
}

bool filters_available(hid_t dcpl) {
  const int n = H5Pget_nfilters(dcpl);
  for (int i = 0; i < n; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, 0, nullptr, &config);
    if (filter < 0) return false;
    if ((flags & H5Z_FLAG_OPTIONAL) == 0 && H5Zfilter_avail(filter) <= 0) return false;
  }
  return true;
}

LoggedTransfer resolve(const DatasetState& dataset, hid_t memory_space, hid_t file_space,
                       const void* buffer) {
  return resolve_transfer(
      dataset.extents(), [&] { return dataset.make_space(); }, memory_space, file_space, buffer);
}

/// Returns memory for packed elements of the file's type.
std::vector<std::byte> room_for(const DatasetState& dataset, const Placed& selection) {
  return std::vector<std::byte>(static_cast<std::size_t>(selection.pattern.elements()) *
                                dataset.element_size());
}

std::vector<std::byte> in_program_order(std::span<const std::byte> values,
                                        std::span<const Count> order, std::size_t size) {
  std::vector<std::byte> out(order.size() * size);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(&out[i * size], &values[static_cast<std::size_t>(order[i]) * size], size);
  return out;
}

}  // namespace

bool read_present(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                  std::span<std::byte> values, std::vector<logged::NumberedEntry>* indexed) {
  dataset.fill(values);
  return file.read(dataset.shape(), selection, values, indexed);
}

std::vector<std::byte> present_values(LoggedFile& file, DatasetState& dataset,
                                      const Placed& selection) {
  std::vector<std::byte> values = room_for(dataset, selection);
  read_present(file, dataset, selection, values);
  return values;
}

void append_values(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                   std::span<const std::byte> values, bool lent) {
  auto* filters = dataset.filters();
  if (filters != nullptr && static_cast<Count>(values.size()) <= FilterPipeline::most_bytes) {
    StepTimer timer(file.report(), Step::encode);
    const auto filtered = filters->apply(values);
    file.writer().write(dataset.id(), selection, filtered.bytes, false, filtered.mask);
    return;
  }
  file.writer().write(dataset.id(), selection, values, lent);
}

std::string why_not_logged(hid_t type, hid_t space, hid_t dcpl) {
  if (H5Sget_simple_extent_type(space) != H5S_SIMPLE || H5Sget_simple_extent_ndims(space) < 1)
    return "it is a scalar";
  if (has_varying_parts(type) || has_references(type))
    return "its datatype is of variable length or refers to objects";
  const Extents extents = extents_of(space);
  const H5D_layout_t layout = H5Pget_layout(dcpl);
  if (layout == H5D_CHUNKED) {
    if (!chunk_fits(dcpl, extents)) return "its chunks do not fit";
    if (!filters_available(dcpl)) return "a filter is not installed";
    return {};
  }
  if (layout != H5D_CONTIGUOUS) return "its layout is compact or virtual";
  if (H5Pget_external_count(dcpl) > 0) return "its data is in external files";
  if (H5Pget_nfilters(dcpl) > 0) return "filters need chunks";
  if (extents.now != extents.most) return "what can grow needs chunks";
  return {};
}

Hdf5Id completed_properties(hid_t dcpl, hid_t type, hid_t space) {
  Hdf5Id list = owned_list(H5Pcopy(dcpl));
  convert_fill_value(list, type);
  return FilterPipeline::any(list) ? FilterPipeline(list, type).properties_of(space)
                                   : std::move(list);
}

Hdf5Id stand_in_properties(hid_t dcpl) {
  Hdf5Id list = owned_list(H5Pcopy(dcpl));
  checked(H5Premove_filter(list, H5Z_FILTER_ALL), "removing filters");
  checked(H5Pset_layout(list, H5D_CONTIGUOUS), "choosing a layout");
  checked(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "choosing a fill time");
  checked(H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE), "choosing an allocation time");
  return list;
}

Hdf5Id stand_in_space(hid_t space, hid_t dcpl, hid_t stand_in) {
  checked(H5Pset_external(stand_in, logged::store_external, 0, H5F_UNLIMITED),
          "saying where the values are");
  if (H5Pget_layout(dcpl) != H5D_CONTIGUOUS) return owned_space(H5Screate(H5S_SCALAR));
  return owned_space(H5Scopy(space));
}

StoredDataset stored_from(std::uint64_t id, hid_t space, hid_t dcpl) {
  const Extents extents = extents_of(space);
  StoredDataset stored{id, extents.now, {extents.most.begin(), extents.most.end()}, {}};
  std::size_t bytes = 0;
  checked(H5Pencode2(dcpl, nullptr, &bytes, H5P_DEFAULT), "encoding creation properties");
  stored.dcpl.resize(bytes);
  checked(H5Pencode2(dcpl, stored.dcpl.data(), &bytes, H5P_DEFAULT),
          "encoding creation properties");
  return stored;
}

void write_logged(LoggedFile& file, DatasetState& dataset, const DatasetWrite& write, hid_t dxpl) {
  const LoggedTransfer transfer =
      resolve(dataset, write.memory_space, write.file_space, write.buffer);
  const FileSelection& file_part = transfer.file;
  if (file_part.elements == 0) return;
  const MemoryElements memory{write.memory_type, dataset.type(), transfer.memory_space,
                              file_part.elements, dxpl};
  const std::size_t size = dataset.element_size();
  const auto whole = as_they_are(memory, write.buffer);
  if (!whole.empty() && file_part.order.empty()) {
    append_values(file, dataset, file_part.placed, whole, true);
    return;
  }
  std::vector<std::byte> present;
  if (needs_present(write.memory_type, dataset.type())) {
    present = present_values(file, dataset, file_part.placed);
    if (!file_part.order.empty()) present = in_program_order(present, file_part.order, size);
  }
  const auto bytes = static_cast<Count>(size) * file_part.elements;
  if (file_part.order.empty() && dataset.filters() == nullptr) {
    pack(memory, write.buffer, present, file.writer().reserve(bytes));
    file.writer().commit(dataset.id(), file_part.placed);
    return;
  }
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  pack(memory, write.buffer, present, values);
  if (!file_part.order.empty()) {
    auto sorted = room_for(dataset, file_part.placed);
    put_in_order(values, file_part.order, size, sorted);
    values = std::move(sorted);
  }
  append_values(file, dataset, file_part.placed, values, false);
}

LoggedTransfer transfer_of(const DatasetState& dataset, const DatasetRead& read) {
  return resolve(dataset, read.memory_space, read.file_space, read.buffer);
}

void read_logged(LoggedFile& file, DatasetState& dataset, const DatasetRead& read,
                 const LoggedTransfer& transfer, hid_t dxpl,
                 std::vector<logged::NumberedEntry>* indexed) {
  const FileSelection& file_part = transfer.file;
  if (file_part.elements == 0) return;
  const MemoryElements memory{read.memory_type, dataset.type(), transfer.memory_space,
                              file_part.elements, dxpl};
  // Reads directly into the program's memory if elements lie there as in the file.
  const auto whole = as_they_are(memory, read.buffer);
  if (!whole.empty() && file_part.order.empty()) {
    const std::span out(const_cast<std::byte*>(whole.data()), whole.size());
    read_present(file, dataset, file_part.placed, out, indexed);
    return;
  }
  auto values = room_for(dataset, file_part.placed);
  const bool any = read_present(file, dataset, file_part.placed, values, indexed);
  if (!any && dataset.zeros_unwritten()) {  // zeros are not converted
    values.assign(H5Tget_size(memory.type) * static_cast<std::size_t>(memory.elements),
                  std::byte{0});
    scatter(values, memory.space, H5Tget_size(memory.type), read.buffer);
    return;
  }
  if (!file_part.order.empty())
    values = in_program_order(values, file_part.order, dataset.element_size());
  unpack(memory, values, read.buffer);
}

}  // namespace forebay::vol
