#include "workloads/arrays_flash.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/values.h"

namespace forebay::bench {
namespace {

constexpr MPI_Offset kEdge = 16;
constexpr MPI_Offset kCells = kEdge * kEdge * kEdge;
constexpr int kBits = 12;
// As FLASH names what a plot file of a cluster merger holds, and further quantities of a
// checkpoint.
constexpr std::array kNames{"dens", "pres", "temp", "velx", "vely", "velz", "gpot", "pden",
                            "eint", "ener", "gamc", "game", "enuc", "h1",   "he4",  "c12",
                            "n14",  "o16",  "ne20", "mg24", "si28", "s32",  "fe54", "ni56"};

std::size_t variables_of(FlashFile file) {
  switch (file) {
    case FlashFile::Checkpoint:
      return kNames.size();
    case FlashFile::Plot:
      return 4;
    default:
      return 9;
  }
}

// One block of one variable: a product of waves, each known by its 16 values along an axis.
class BlockField {
 public:
  BlockField(std::size_t variable, MPI_Offset block) {
    const auto key = static_cast<std::uint64_t>(block) * 16 + variable;
    // A block of the next level is half as wide.
    const double length = std::exp2(-static_cast<double>(mixed_bits(key * 8) % 6));
    scale_ = static_cast<float>(std::exp2(4.0 * static_cast<double>(variable) - 8));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double from = 6.3 * mixed_unit(key * 8 + axis + 1);
      for (std::size_t k = 0; k < kEdge; ++k) {
        const double at = from + length * (static_cast<double>(k) + 0.5) / kEdge;
        wave_[axis][k] = static_cast<float>(std::sin(at));
      }
    }
  }

  template <typename T>
  void fill_row(MPI_Offset z, MPI_Offset y, MPI_Offset x, MPI_Offset n, T* row) const {
    const float a = wave_[0][static_cast<std::size_t>(z)];
    const float b = wave_[1][static_cast<std::size_t>(y)];
    for (MPI_Offset k = 0; k < n; ++k) {
      const float c = wave_[2][static_cast<std::size_t>(x + k)];
      row[k] = keep_bits(scale_ * (3.0F + a + b * c) * (1.0F + 0.25F * c), kBits);
    }
  }

 private:
  float scale_ = 1;
  std::array<std::array<float, kEdge>, 3> wave_{};
};

// Block after block along the rows of the field; where its planes are too few for a depth of 16, a
// block's layers are further strips of rows.
template <typename T>
void fill_row_from(const RealField& field, std::size_t variable, const std::vector<MPI_Offset>& at,
                   MPI_Offset n, T* row) {
  const MPI_Offset across = std::max<MPI_Offset>(1, field.columns() / kEdge);
  const MPI_Offset column = at[0] % across * kEdge + at[3];
  const MPI_Offset strip = at[0] / across;
  const bool deep = field.planes() >= kEdge;
  const MPI_Offset own = static_cast<MPI_Offset>(variable) * 5;
  const MPI_Offset plane = deep ? at[1] + own : own;
  const MPI_Offset y = (deep ? strip : strip * kEdge + at[1]) * kEdge + at[2] + (deep ? 0 : own);
  for (MPI_Offset k = 0; k < n; ++k) row[k] = field.wrapped(plane, y, column + k);
}

}  // namespace

FlashPattern::FlashPattern(const FlashOptions& options, int ranks)
    : options_(options), ranks_(ranks) {
  const std::size_t count = variables_of(options_.file);
  const Element type = options_.file == FlashFile::Checkpoint ? Element::Double : Element::Float;
  const MPI_Offset block_bytes = kCells * static_cast<MPI_Offset>(size_of(type));
  blocks_ = options_.blocks_of_rank > 0
                ? first_block(ranks_)
                : std::max<MPI_Offset>(
                      1, options_.bytes / (static_cast<MPI_Offset>(count) * block_bytes));
  const MPI_Offset wanted =
      options_.chunk_bytes > 0 ? options_.chunk_bytes / block_bytes : (blocks_ + ranks - 1) / ranks;
  const MPI_Offset chunk = std::clamp<MPI_Offset>(wanted, 1, blocks_);
  for (std::size_t v = 0; v < count; ++v) {
    variables_.push_back(
        {kNames[v], type, {blocks_, kEdge, kEdge, kEdge}, {chunk, kEdge, kEdge, kEdge}});
  }
}

std::string FlashPattern::name() const {
  switch (options_.file) {
    case FlashFile::Checkpoint:
      return "flash checkpoint";
    case FlashFile::Plot:
      return "flash plot";
    default:
      return "flash";
  }
}

nlohmann::json FlashPattern::parameters() const {
  return {{"blocks", blocks_},
          {"variables", variables_.size()},
          {"chunk", variables_.front().chunk},
          {"data", options_.real ? "real: " + options_.real->name() : "smooth, 12 bits"}};
}

MPI_Offset FlashPattern::first_block(int rank) const {
  if (options_.blocks_of_rank == 0) return blocks_ * rank / ranks_;
  constexpr MPI_Offset more[] = {0, 0, 1};  // of the ranks before this one, in its three
  return options_.blocks_of_rank * rank + rank / 3 * 3 + more[rank % 3];
}

Box FlashPattern::block(std::size_t /*variable*/, int rank) const {
  const MPI_Offset first = first_block(rank);
  return {{first, 0, 0, 0}, {first_block(rank + 1) - first, kEdge, kEdge, kEdge}};
}

void FlashPattern::fill(std::size_t variable, const Box& box, std::byte* out) const {
  if (variables_[variable].type == Element::Double) {
    fill_as(variable, box, reinterpret_cast<double*>(out));
  } else {
    fill_as(variable, box, reinterpret_cast<float*>(out));
  }
}

template <typename T>
void FlashPattern::fill_as(std::size_t variable, const Box& box, T* out) const {
  MPI_Offset known = box.start[0];
  BlockField field(variable, known);
  visit_rows(box, out, [&](const auto& at, T* row, MPI_Offset n) {
    if (options_.real) return fill_row_from(*options_.real, variable, at, n, row);
    if (at[0] != known) field = BlockField(variable, known = at[0]);
    field.fill_row(at[1], at[2], at[3], n, row);
  });
}

}  // namespace forebay::bench
