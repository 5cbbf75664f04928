#include "netcdf4/hdf5_reads.h"

#include <functional>
#include <vector>

#include "array/chunk_grid.h"
#include "base/byteorder.h"
#include "layout/chunked/coder.h"
#include "plan/chunk_shape.h"

namespace forebay::netcdf4 {

namespace {

/// Reads a box of the variable's elements.
using ReadBox = std::function<void(const ChunkGrid::Box& box, std::span<std::byte> to)>;

// The variable is read as if it were stored in chunks.
void read_boxes(const Variable& var, Request& request, const ReadBox& read) {
  if (request.elements == 0) return;
  if (var.ndims() == 0) {
    std::vector<std::byte> one(static_cast<std::size_t>(size_of(var.type)));
    read({}, one);
    return store_swapped_range(request.packed, 0, one.data(), std::ssize(one), request.swap);
  }
  const ChunkGrid grid(var, default_chunk_shape(var, "").shape);
  std::vector<Offset> positions;
  if (const auto* runs = std::get_if<Runs>(&request.selection))
    positions = run_positions(*runs->list);
  std::vector<std::byte> raw;
  for (const ChunkTouch& touch : touched_chunks(grid, request)) {
    raw.resize(static_cast<std::size_t>(grid.bytes(touch.chunk)));
    read(grid.box(touch.chunk), raw);
    ChunkPieces(grid, request, touch.chunk, positions).for_each([&](const ChunkPiece& piece) {
      store_swapped_range(request.packed, piece.memory, raw.data() + piece.position, piece.length,
                          request.swap);
    });
  }
}

}  // namespace

void read_by_hdf5(Hdf5Values& values, const Variable& var, const StoredVariable& stored,
                  Request& request) {
  read_boxes(var, request, [&](const ChunkGrid::Box& box, std::span<std::byte> to) {
    ChunkGrid::Box part = box;
    // The last box of records may reach beyond those that there are.
    if (var.is_record && request.last_record > 0)
      part.extent[0] = std::min(part.extent[0], request.last_record - part.first[0]);
    // A dataset may have fewer records than the file.
    if (var.is_record) chunked::fill_chunk(stored.fill, to);
    if (auto error = values.read(stored, part.first, part.extent, to.data())) throw *error;
  });
}

void read_fill(const Variable& var, const StoredVariable& stored, Request& request) {
  read_boxes(var, request, [&](const ChunkGrid::Box&, std::span<std::byte> to) {
    chunked::fill_chunk(stored.fill, to);
  });
}

}  // namespace forebay::netcdf4
