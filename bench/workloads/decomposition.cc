#include "workloads/decomposition.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace forebay::bench {
namespace {

std::int64_t extent_of(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

MapShare share_of(int rank, int ranks, int map_ranks) {
  const int each = map_ranks / ranks;
  const int extra = map_ranks % ranks;
  const int first = rank * each + std::min(rank, extra);
  return {first, first + each + (rank < extra ? 1 : 0)};
}

void sort_and_cut(Decomposition& part) {
  const std::int64_t row = part.dims.back();
  std::vector<Run> cut;
  cut.reserve(part.runs.size());
  for (Run run : part.runs) {
    while (run.length > 0) {
      const std::int64_t in_row = std::min(run.length, row - run.offset % row);
      cut.push_back({run.offset, in_row, run.fill});
      run.offset += in_row;
      run.length -= in_row;
    }
  }
  std::sort(cut.begin(), cut.end(), [](const Run& a, const Run& b) { return a.offset < b.offset; });
  part.runs = std::move(cut);
}

Decomposition tile(const Decomposition& part, int tiles, std::size_t axis) {
  Decomposition out;
  out.dims = part.dims;
  out.dims[axis] *= tiles;
  // One slab is everything at one index of the dimensions before the tiled one.
  const std::int64_t slab = extent_of(std::span(part.dims).subspan(axis));
  out.runs.reserve(part.runs.size() * static_cast<std::size_t>(tiles));
  for (int t = 0; t < tiles; ++t) {
    for (Run run : part.runs) {
      while (run.length > 0) {
        const std::int64_t within = run.offset % slab;
        const std::int64_t length = std::min(run.length, slab - within);
        const std::int64_t offset = run.offset / slab * slab * tiles + t * slab + within;
        out.runs.push_back({offset, length, run.fill});
        run.offset += length;
        run.length -= length;
      }
    }
  }
  return out;
}

Pieces::Pieces(const Decomposition& part, bool merge) : runs_(part.runs) {
  const std::int64_t row = part.dims.back();
  std::vector<Run> pieces;
  for (const Run& run : runs_) {
    elements_ += run.length;
    const bool touches = merge && !pieces.empty() && run.offset % row != 0 &&
                         pieces.back().offset + pieces.back().length == run.offset;
    if (touches) {
      pieces.back().length += run.length;
    } else {
      pieces.push_back(run);
    }
  }
  const std::size_t width = part.dims.size() + 1;
  starts_.assign(pieces.size() * width, 0);
  counts_.assign(pieces.size() * width, 1);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    MPI_Offset* start = &starts_[p * width];
    MPI_Offset* count = &counts_[p * width];
    std::int64_t rest = pieces[p].offset;
    for (std::size_t d = width - 1; d >= 1; --d) {
      start[d] = rest % part.dims[d - 1];
      rest /= part.dims[d - 1];
    }
    count[width - 1] = pieces[p].length;
    record_starts_.push_back(start);
    record_counts_.push_back(count);
    fixed_starts_.push_back(start + 1);
    fixed_counts_.push_back(count + 1);
  }
}

void Pieces::set_record(MPI_Offset record) {
  for (MPI_Offset* start : record_starts_) start[0] = record;
}

}  // namespace forebay::bench
