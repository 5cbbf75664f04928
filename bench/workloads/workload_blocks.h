#pragma once

// Regular blocks of one variable (block_shape.h), in blocking calls, of which every rank makes as
// many.

#include <memory>
#include <string>
#include <vector>

#include "backends/array_file.h"
#include "workloads/block_shape.h"
#include "workloads/pattern.h"
#include "workloads/workload.h"

namespace forebay::bench {

/// Throws as BlockShape.
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
  void add_runs(const Box& box);
  void take_places(std::vector<ArrayBlock>& blocks);

  BlockOptions options_;
  Team team_;
  BlockShape shape_;
  ArrayVariable variable_;
  ArrayStorage storage_;
  std::vector<ArrayBlock> written_, read_;  // one call each
  std::vector<Run> runs_;                   // of all that is written, in buffer order
  std::int64_t elements_ = 0;
  std::vector<std::byte> buffer_;
  Amounts amounts_;
};

}  // namespace forebay::bench
