#pragma once

// Regular blocks, one blocking collective call.
//
//     contiguous   double x(elements): rank r writes the r-th of P equal blocks
//     strided      float x(rows, ranks, piece): rank r writes x[:, r, :], so that pieces of all
//     ranks
//                  interleave in the file
//     checkerboard float x(P rows of blocks, P columns of blocks): rank r writes one column block
//     of
//                  each row block, a different one in each row

#include <memory>
#include <string>
#include <vector>

#include "pattern.h"
#include "workload.h"

namespace forebay::bench {

struct BlockOptions {
  enum class Shape { Contiguous, Strided, Checkerboard };
  Shape shape = Shape::Contiguous;
  std::int64_t bytes_per_rank = 64 << 20;
  std::int64_t piece_bytes = 4 << 10;  ///< of Strided and Checkerboard: contiguous bytes of a row
};

/// Sizes that do not fill whole elements, pieces or blocks are rounded down, to one at least.
class BlockWorkload final : public Workload {
 public:
  BlockWorkload(const BlockOptions& options, const Team& team);

  std::string name() const override;
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Timeline& timeline) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Timeline& timeline) override;
  std::int64_t verify() override;

 private:
  struct Box {
    std::vector<MPI_Offset> start, count;
  };

  void shape_contiguous();
  void shape_strided();
  void shape_checkerboard();
  void add_runs(const Box& box);
  void transfer(int ncid, int varid, bool put);

  BlockOptions options_;
  Team team_;
  bool is_double_ = false;
  std::vector<MPI_Offset> dims_;
  std::vector<Box> boxes_;  // one call each, the same number on every rank
  std::vector<Run> runs_;   // of all boxes, in buffer order
  std::int64_t elements_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  Amounts amounts_;
};

}  // namespace forebay::bench
