#include "workloads/recorded_map.h"

#include <functional>
#include <numeric>
#include <stdexcept>

namespace forebay::bench {

Decomposition RecordedMaps::read(int number, MapShare share) const {
  const std::string map = "D" + std::to_string(number);
  Decomposition part;
  const std::vector<int> dims = attribute(map + ".dims");
  part.dims.assign(dims.begin(), dims.end());

  const std::vector<int> sizes = ints(map + ".nreqs", 0, map_ranks());
  const std::vector<int> fill_starts = ints(map + ".fill_starts", 0, map_ranks());
  const std::int64_t first =
      std::accumulate(sizes.begin(), sizes.begin() + share.first, std::int64_t{0});
  const std::int64_t count =
      std::accumulate(sizes.begin() + share.first, sizes.begin() + share.last, std::int64_t{0});
  const std::vector<int> offsets = ints(map + ".offsets", first, count);
  const std::vector<int> lengths = ints(map + ".lengths", first, count);
  std::size_t i = 0;
  for (int p = share.first; p < share.last; ++p) {
    const auto rank = static_cast<std::size_t>(p);
    for (int k = 0; k < sizes[rank]; ++k, ++i) {
      part.runs.push_back({offsets[i], lengths[i], k >= fill_starts[rank]});
    }
  }
  const std::int64_t elements =
      std::accumulate(part.dims.begin(), part.dims.end(), std::int64_t{1}, std::multiplies<>());
  for (const Run& run : part.runs) {
    if (run.offset < 0 || run.length < 0 || run.offset + run.length > elements) {
      throw std::runtime_error(map + " names elements beyond its dimensions");
    }
  }
  return part;
}

}  // namespace forebay::bench
