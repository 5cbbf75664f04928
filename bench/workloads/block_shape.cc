#include "workloads/block_shape.h"

#include <algorithm>
#include <stdexcept>

namespace forebay::bench {
namespace {

constexpr MPI_Offset kBtioComponents = 5;

using Shape = BlockOptions::Shape;

// The n points of an axis in q parts that differ by one at most: where part p begins.
MPI_Offset cut(MPI_Offset n, MPI_Offset q, MPI_Offset p) { return n / q * p + std::min(n % q, p); }

MPI_Offset whole(std::int64_t bytes, MPI_Offset unit) {
  return std::max<MPI_Offset>(1, bytes / unit);
}

}  // namespace

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::Strided:
      return "strided";
    case Shape::Checkerboard:
      return "checkerboard";
    case Shape::IorStrided:
      return "ior-strided";
    case Shape::IorContiguous:
      return "ior-contiguous";
    case Shape::Btio:
      return "btio";
    default:
      return "contiguous";
  }
}

BlockOptions usual_blocks(Shape shape) {
  BlockOptions options;
  options.shape = shape;
  if (shape == Shape::Strided || shape == Shape::Checkerboard) options.bytes_per_rank = 16 << 20;
  if (shape == Shape::IorStrided || shape == Shape::IorContiguous) {
    options.bytes_per_rank = 8 << 20;
    options.piece_bytes = 64 << 10;
  }
  return options;
}

BlockShape::BlockShape(const BlockOptions& options, int ranks) : options_(options), ranks_(ranks) {
  is_double_ = options.shape != Shape::Strided && options.shape != Shape::Checkerboard;
  const MPI_Offset width = is_double_ ? sizeof(double) : sizeof(float);
  piece_ = whole(options.piece_bytes, width);
  switch (options.shape) {
    case Shape::Contiguous:
      piece_ = whole(options.bytes_per_rank, width);
      dims_ = {piece_ * ranks_};
      break;
    case Shape::Strided:
      height_ = whole(options.bytes_per_rank, piece_ * width);
      dims_ = {height_, ranks_, piece_};
      break;
    case Shape::Checkerboard:
      height_ = whole(options.bytes_per_rank, ranks_ * piece_ * width);
      dims_ = {ranks_ * height_, ranks_ * piece_};
      writes_ = ranks_;
      break;
    case Shape::IorStrided:
    case Shape::IorContiguous:
      writes_ = whole(options.bytes_per_rank, piece_ * width);
      dims_ = {writes_ * piece_ * ranks_};
      break;
    case Shape::Btio: {
      const MPI_Offset n = options.grid;
      while (edge_ * edge_ < ranks_) ++edge_;
      if (edge_ * edge_ != ranks_) throw std::runtime_error("btio takes a square number of ranks");
      if (n < edge_)
        throw std::runtime_error("btio: the grid has fewer points than cells along an edge");
      dims_ = {options.iterations, n, n, n, kBtioComponents};
      writes_ = options.iterations * edge_;
      break;
    }
  }
}

Box BlockShape::written(int rank, MPI_Offset call) const {
  switch (options_.shape) {
    case Shape::Strided:
      return {{0, rank, 0}, {height_, 1, piece_}};
    case Shape::Checkerboard:
      return {{call * height_, (rank + call) % ranks_ * piece_}, {height_, piece_}};
    case Shape::IorStrided:
      return {{(rank * writes_ + call) * piece_}, {piece_}};
    case Shape::IorContiguous:
      return {{(call * ranks_ + rank) * piece_}, {piece_}};
    case Shape::Btio:
      return cell(rank, call);
    default:
      return {{piece_ * rank}, {piece_}};
  }
}

Box BlockShape::read(int rank, MPI_Offset call) const {
  if (one_read()) return {{rank * writes_ * piece_}, {writes_ * piece_}};
  return written(rank, call);
}

Box BlockShape::cell(int rank, MPI_Offset call) const {
  const MPI_Offset q = edge_, n = options_.grid, i = rank % q, j = rank / q;
  const MPI_Offset step = call / q, c = call % q;
  const MPI_Offset x = (i + c) % q, y = (j - c + q) % q;
  const auto size = [&](MPI_Offset p) { return cut(n, q, p + 1) - cut(n, q, p); };
  return {{step, cut(n, q, c), cut(n, q, y), cut(n, q, x), 0},
          {1, size(c), size(y), size(x), kBtioComponents}};
}

}  // namespace forebay::bench
