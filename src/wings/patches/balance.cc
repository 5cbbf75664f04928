#include "patches/balance.h"

#include <algorithm>
#include <map>

#include "patches/plan/balanced_files.h"
#include "patches/plan/morton.h"

namespace forebay::patches {
namespace {

using chunked::SizedChunk;

/// The dimensions of a grid that are spatial: the last three besides records, as for patches.
std::size_t first_of_space(const Variable& var) {
  const auto n = static_cast<std::size_t>(var.ndims()), records = std::size_t{var.is_record};
  return n - std::min<std::size_t>(n - records, 3);
}

std::vector<Count> grid_in_space(const SizedChunk& chunk) {
  std::vector<Count> lengths;
  for (std::size_t d = first_of_space(*chunk.var); d < chunk.grid->lengths().size(); ++d)
    lengths.push_back(chunk.grid->grid_length(static_cast<int>(d)));
  return lengths;
}

/// A place in one of the grids, which are in sequence.
struct Place {
  std::size_t grid = 0;
  Count number = 0;  // in Morton order
  std::size_t chunk = 0;

  bool before(const Place& other) const {
    return grid != other.grid ? grid < other.grid : number < other.number;
  }
};

std::vector<Place> in_order(std::span<const SizedChunk> chunks) {
  struct Grid {
    std::size_t number;
    MortonOrder order;
  };
  std::map<std::vector<Count>, Grid> grids;
  std::map<const ChunkGrid*, const Grid*> known;
  std::vector<Place> places;
  places.reserve(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Grid*& grid = known[chunks[i].grid];
    if (grid == nullptr) {
      auto lengths = grid_in_space(chunks[i]);
      MortonOrder order(lengths);
      const std::size_t number = grids.size();
      grid = &grids.try_emplace(std::move(lengths), Grid{number, std::move(order)}).first->second;
    }
    const auto at = chunks[i].grid->coordinates(chunks[i].id);
    const auto in_space = std::span(at).subspan(first_of_space(*chunks[i].var));
    places.push_back({grid->number, grid->order.number_of(in_space), i});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.before(b); });
  return places;
}

}  // namespace

std::vector<std::uint32_t> share_out(std::span<const SizedChunk> chunks, Count files) {
  Count total = 0, before = 0;
  for (const SizedChunk& chunk : chunks) total += chunk.bytes;
  const std::vector<Place> places = in_order(chunks);
  std::vector<std::uint32_t> found(chunks.size());
  for (auto first = places.begin(); first != places.end();) {
    Count bytes = 0;
    auto last = first;
    for (; last != places.end() && !first->before(*last); ++last)
      bytes += chunks[last->chunk].bytes;
    const auto file = static_cast<std::uint32_t>(file_of(before, bytes, total, files));
    for (; first != last; ++first) found[first->chunk] = file;
    before += bytes;
  }
  return found;
}

}  // namespace forebay::patches
