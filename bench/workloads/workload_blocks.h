#pragma once

// Regular blocks of one variable, in blocking collective calls, of which every rank makes as many.
//
//     contiguous      double x(elements): rank r writes the r-th of P equal blocks
//     strided         float x(rows, ranks, piece): rank r writes x[:, r, :], so that pieces of all
//                     ranks interleave in the file
//     checkerboard    float x(P rows of blocks, P columns of blocks): rank r writes one column
//                     block of each row block, a different one in each row
//     ior-strided     double x(elements), as the IOR benchmark with one segment (D3 §3.3.1): rank r
//                     fills the r-th of P equal blocks with one transfer after another, so that a
//                     call of all ranks touches one piece in each block
//     ior-contiguous  double x(elements), IOR with a block as large as a transfer: in its i-th call
//                     rank r writes the r-th piece of the i-th segment, so that a call of all ranks
//                     covers a segment
//     btio            double x(iterations, n, n, n, 5), as BTIO of the NAS benchmarks (D3 §3.3.1):
//                     P = q² ranks and q³ cells; rank (i, j) has q of them, the c-th at column
//                     (i + c) mod q, row (j - c) mod q of layer c, and writes them in turn

#include <memory>
#include <string>
#include <vector>

#include "workloads/pattern.h"
#include "workloads/workload.h"

namespace forebay::bench {

struct BlockOptions {
  enum class Shape { Contiguous, Strided, Checkerboard, IorStrided, IorContiguous, Btio };
  Shape shape = Shape::Contiguous;
  std::int64_t bytes_per_rank = 64 << 20;  ///< of all but Btio
  std::int64_t piece_bytes = 4 << 10;      ///< contiguous bytes of a row; Ior*: of a transfer
  int grid = 64;                           ///< of Btio: points along an edge
  int iterations = 8;                      ///< of Btio
};

/// Sizes that do not fill whole elements, pieces or blocks are rounded down, to one at least.
/// Throws std::runtime_error if the ranks cannot have the shape.
class BlockWorkload final : public Workload {
 public:
  BlockWorkload(const BlockOptions& options, const Team& team);

  std::string name() const override;
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  struct Box {
    std::vector<MPI_Offset> start, count;
  };

  void shape_contiguous();
  void shape_strided();
  void shape_checkerboard();
  void shape_ior();
  void shape_btio();
  void add_runs(const Box& box);
  void transfer(int ncid, int varid, const std::vector<Box>& boxes, bool put);

  BlockOptions options_;
  Team team_;
  bool is_double_ = false;
  std::vector<MPI_Offset> dims_;
  std::vector<Box> boxes_;       // one call each, the same number on every rank
  std::vector<Box> read_boxes_;  // the same elements in the same order, in fewer calls
  std::vector<Run> runs_;        // of all boxes, in buffer order
  std::int64_t elements_ = 0;
  std::vector<std::byte> buffer_;
  Amounts amounts_;
};

}  // namespace forebay::bench
