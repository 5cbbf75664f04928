#pragma once

// Regular blocks of one variable, in blocking calls, collective unless asked otherwise, of which
// every rank makes as many.
//
//     contiguous      double x(elements): rank r writes the r-th of P equal blocks
//     strided         float x(rows, ranks, piece): rank r writes x[:, r, :], so that pieces of all
//                     ranks interleave in the file
//     checkerboard    float x(P rows of blocks, P columns of blocks): rank r writes one column
//                     block of each row block, a different one in each row
//     ior-strided     double x(elements), as the IOR benchmark with one segment (Hou 2023, §3.3.1):
//     rank r
//                     fills the r-th of P equal blocks with one transfer after another, so that a
//                     call of all ranks touches one piece in each block
//     ior-contiguous  double x(elements), IOR with a block as large as a transfer: in its i-th call
//                     rank r writes the r-th piece of the i-th segment, so that a call of all ranks
//                     covers a segment
//     btio            double x(iterations, n, n, n, 5), as BTIO of the NAS benchmarks (Hou 2023,
//     §3.3.1):
//                     P = q² ranks and q³ cells; rank (i, j) has q of them, the c-th at column
//                     (i + c) mod q, row (j - c) mod q of layer c, and writes them in turn

#include <cstdint>
#include <string>

#include "workloads/array.h"

namespace forebay::bench {

struct BlockOptions {
  enum class Shape { Contiguous, Strided, Checkerboard, IorStrided, IorContiguous, Btio };
  Shape shape = Shape::Contiguous;
  std::int64_t bytes_per_rank = 64 << 20;  ///< of all but Btio
  std::int64_t piece_bytes = 4 << 10;      ///< contiguous bytes of a row; Ior*: of a transfer
  bool independent = false;                ///< calls of one rank
  int grid = 64;                           ///< of Btio: points along an edge
  int iterations = 8;                      ///< of Btio
};

const char* name_of(BlockOptions::Shape shape);

/// What a shape has where nothing else is said.
BlockOptions usual_blocks(BlockOptions::Shape shape);

/// Which elements each rank has in which call. Neither MPI nor data.
class BlockShape {
 public:
  /// Sizes that do not fill whole elements, pieces or blocks are rounded down, to one at least.
  /// Throws std::runtime_error if the ranks cannot have the shape.
  BlockShape(const BlockOptions& options, int ranks);

  bool is_double() const { return is_double_; }  ///< else float
  const std::vector<MPI_Offset>& dims() const { return dims_; }
  /// Calls that write, and that read the same elements in the same order.
  MPI_Offset writes() const { return writes_; }
  MPI_Offset reads() const { return one_read() ? 1 : writes_; }
  Box written(int rank, MPI_Offset call) const;
  Box read(int rank, MPI_Offset call) const;

 private:
  bool one_read() const { return options_.shape == BlockOptions::Shape::IorStrided; }
  Box cell(int rank, MPI_Offset call) const;

  BlockOptions options_;
  MPI_Offset ranks_;
  bool is_double_ = true;
  MPI_Offset piece_ = 1, height_ = 1;  // elements of a piece or block; rows of a block
  MPI_Offset edge_ = 1;                // Btio: cells
  MPI_Offset writes_ = 1;
  std::vector<MPI_Offset> dims_;
};

}  // namespace forebay::bench
