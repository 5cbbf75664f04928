#include "workloads/arrays_checkerboard.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "workloads/values.h"

namespace forebay::bench {
namespace {

constexpr std::int64_t kWidth = 4;

// The largest divisor of `ranks` that is no larger than its root.
int rows_of_ranks(int ranks) {
  int rows = static_cast<int>(std::sqrt(ranks));
  while (rows > 1 && ranks % rows != 0) --rows;
  return std::max(rows, 1);
}

// Chunk edge for a block edge, which may be shortened so that chunks fit.
MPI_Offset chunk_edge(CheckerboardOptions::Grid grid, double wanted, MPI_Offset& block) {
  const double chunks = static_cast<double>(block) / wanted;
  switch (grid) {
    case CheckerboardOptions::Grid::Aligned: {
      const auto n = std::clamp<MPI_Offset>(std::llround(chunks), 1, block);
      block -= block % n;
      return block / n;
    }
    case CheckerboardOptions::Grid::Shared: {
      const auto whole = std::max<MPI_Offset>(0, std::llround(chunks - 0.5));
      return (2 * block + 2 * whole) / (2 * whole + 1);  // block / (whole + 1/2), rounded up
    }
    default:
      return 2 * block;
  }
}

const char* name_of(CheckerboardOptions::Grid grid) {
  switch (grid) {
    case CheckerboardOptions::Grid::Aligned:
      return "aligned";
    case CheckerboardOptions::Grid::Shared:
      return "shared";
    default:
      return "d5";
  }
}

}  // namespace

CheckerboardPattern::CheckerboardPattern(const CheckerboardOptions& options, int ranks)
    : options_(options) {
  const int grid_rows = rows_of_ranks(ranks);
  grid_columns_ = ranks / grid_rows;
  const double side = std::sqrt(static_cast<double>(options_.bytes) / kWidth);
  const double wanted = std::sqrt(static_cast<double>(options_.chunk_bytes) / kWidth);
  const int grid[2] = {grid_rows, grid_columns_};
  variable_.name = "x";
  variable_.type = options_.real ? Element::Float : Element::Int;
  for (int d = 0; d < 2; ++d) {
    block_[d] = std::max<MPI_Offset>(1, static_cast<MPI_Offset>(side / grid[d]));
    const MPI_Offset edge = chunk_edge(options_.grid, wanted, block_[d]);
    variable_.shape.push_back(block_[d] * grid[d]);
    variable_.chunk.push_back(std::clamp<MPI_Offset>(edge, 1, variable_.shape.back()));
  }
  if (options_.real) return;
  const auto elements = static_cast<std::size_t>(variable_.chunk[0] * variable_.chunk[1]);
  chunk_data_.assign(elements, 0);
  const auto percent = static_cast<std::size_t>(options_.random_percent);
  for (std::size_t e = 0; e < elements; ++e) {
    const bool random = options_.scattered ? mixed_bits(elements + e) % 100 < percent
                                           : e < elements * percent / 100;
    if (random) chunk_data_[e] = mixed_bits(e);
  }
}

nlohmann::json CheckerboardPattern::parameters() const {
  nlohmann::json out{{"shape", variable_.shape},
                     {"chunk", variable_.chunk},
                     {"grid", name_of(options_.grid)},
                     {"block", {block_[0], block_[1]}}};
  if (options_.real) {
    out["data"] = "real: " + options_.real->name();
  } else {
    out["data"] = "random-" + std::to_string(options_.random_percent);
    out["scattered"] = options_.scattered;
  }
  return out;
}

Box CheckerboardPattern::block(std::size_t /*variable*/, int rank) const {
  return {{rank / grid_columns_ * block_[0], rank % grid_columns_ * block_[1]},
          {block_[0], block_[1]}};
}

void CheckerboardPattern::fill(std::size_t /*variable*/, const Box& box, std::byte* out) const {
  if (options_.real) {
    visit_rows(box, reinterpret_cast<float*>(out), [&](const auto& at, float* row, MPI_Offset n) {
      for (MPI_Offset k = 0; k < n; ++k) row[k] = options_.real->tiled(at[0], at[1] + k);
    });
    return;
  }
  const MPI_Offset height = variable_.chunk[0];
  const MPI_Offset width = variable_.chunk[1];
  visit_rows(box, reinterpret_cast<std::uint32_t*>(out),
             [&](const auto& at, std::uint32_t* row, MPI_Offset n) {
               const std::uint32_t* from = chunk_data_.data() + at[0] % height * width;
               for (MPI_Offset k = 0; k < n;) {
                 const MPI_Offset column = (at[1] + k) % width;
                 const MPI_Offset length = std::min(n - k, width - column);
                 std::memcpy(row + k, from + column, static_cast<std::size_t>(length * kWidth));
                 k += length;
               }
             });
}

}  // namespace forebay::bench
