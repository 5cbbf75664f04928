#include "layout/chunked/region_files.h"

#include <algorithm>

#include "base/error.h"
#include "format/chunk_schema.h"
#include "layout/chunked/files_beside.h"
#include "layout/chunked/loaded_index.h"

namespace forebay::chunked {
namespace {

/// The chunks that a region touches lie in this box.
ChunkBox chunks_around(const Subarray& region, std::span<const Count> shape) {
  ChunkBox box;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Count stride = region.stride.empty() ? 1 : region.stride[d];
    const Count last = region.start[d] + (region.count[d] - 1) * stride;
    box.first.push_back(region.start[d] / shape[d]);
    box.last.push_back(last / shape[d]);
  }
  return box;
}

Subarray elements_of(const ChunkBox& box, std::span<const Count> shape,
                     std::span<const Count> lengths) {
  Subarray elements;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    // Along records a box may claim any length.
    Count first = 0, end = 0;
    if (!multiply_fits(box.first[d], shape[d], first)) first = INT64_MAX;
    if (box.last[d] == INT64_MAX || !multiply_fits(box.last[d] + 1, shape[d], end)) end = INT64_MAX;
    elements.start.push_back(first);
    elements.count.push_back((lengths[d] == 0 ? end : std::min(end, lengths[d])) - first);
  }
  return elements;
}

}  // namespace

std::vector<RegionFile> region_files(const std::string& path, const Schema& stored, VarId var,
                                     const Subarray& region, store::OpenState state,
                                     Report& report) {
  Offset root = 0;
  const Schema schema = from_stored(stored, root);
  const auto id = files_of(stored);
  const Variable& its = schema.vars[static_cast<std::size_t>(var)];
  if (!id || !its.chunking)
    throw Error(Errc::einval, "variable " + its.name + " has no chunks in data files",
                "all of it lies in the file itself");
  const auto file = open_index(path, *id, 0, report, data_files::caches_to_read(path));
  const ReadBytes read = [&](Offset offset, Count bytes) {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    out.resize(file->read_at(offset, out));
    return out;
  };
  const auto index = read_index(read, root, file->size(), state, true);
  check_records(index.directory.numrecs, schema);
  const auto tables = tables_without_pages(index, schema);
  const ChunkTable& table = tables[static_cast<std::size_t>(var)];
  if (!table.fault.empty()) throw Error(Errc::enotnc, "variable " + its.name + ": " + table.fault);
  auto lengths = its.shape;
  if (its.is_record) lengths[0] = index.directory.numrecs;
  if (region.start.size() != lengths.size())
    throw Error(Errc::einval,
                "variable " + its.name + " has " + std::to_string(lengths.size()) + " dimensions");
  if (const auto fault = fault_of(region, lengths)) throw Error(fault->code, fault->what);
  std::vector<RegionFile> files;
  if (!table.boxes.has_grid() || region.elements() == 0) return files;
  for (const std::uint32_t number : table.boxes.meeting(chunks_around(region, table.shape)))
    files.push_back(
        {number - 1, elements_of(table.boxes.boxes().at(number), table.shape, its.shape)});
  return files;
}

}  // namespace forebay::chunked
