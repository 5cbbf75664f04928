#pragma once

// A pattern of dense arrays, written and read through the library under test.
//
//     write   create, define all variables, write all blocks, close
//     read    open, look up all variables, read the same blocks, close

#include <memory>
#include <string>
#include <vector>

#include "array_file.h"
#include "workload.h"

namespace forebay::bench {

class ArrayWorkload final : public Workload {
 public:
  ArrayWorkload(std::unique_ptr<const ArrayPattern> pattern, const ArrayStorage& storage,
                const Team& team);

  std::string name() const override { return pattern_->name(); }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Timeline& timeline) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Timeline& timeline) override;
  std::int64_t verify() override;

 private:
  std::unique_ptr<const ArrayPattern> pattern_;
  ArrayStorage storage_;
  Team team_;
  std::vector<ArrayBlock> blocks_;  // one a variable
  std::vector<std::byte> buffer_;   // of all blocks
  Amounts amounts_;
};

}  // namespace forebay::bench
