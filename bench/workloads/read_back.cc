#include "workloads/read_back.h"

#include <algorithm>

namespace forebay::bench {

Box part_of(const Box& box, int rank, int ranks) {
  const auto& count = box.count;
  auto axis = std::find_if(count.begin(), count.end(), [&](MPI_Offset n) { return n >= ranks; });
  if (axis == count.end()) axis = std::max_element(count.begin(), count.end());
  Box part = box;
  if (count.empty()) return part;
  const auto d = static_cast<std::size_t>(axis - count.begin());
  const MPI_Offset first = *axis * rank / ranks;
  part.start[d] += first;
  part.count[d] = *axis * (rank + 1) / ranks - first;
  return part;
}

Box whole_of(std::span<const MPI_Offset> shape) {
  return {std::vector<MPI_Offset>(shape.size(), 0), {shape.begin(), shape.end()}};
}

Box random_box(std::span<const MPI_Offset> shape, std::mt19937_64& random) {
  Box box = whole_of(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    box.count[d] = std::max<MPI_Offset>(1, shape[d] / 2);
    const auto places = static_cast<std::uint64_t>(shape[d] - box.count[d] + 1);
    box.start[d] = static_cast<MPI_Offset>(random() % places);
  }
  return box;
}

}  // namespace forebay::bench
