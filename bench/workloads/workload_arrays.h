#pragma once

// A pattern of dense arrays, written and read through the library under test.
//
//     write   create, define all variables, write all blocks, close
//     read    open, look up all variables, read the same blocks, close; or whole variables or
//             hyperslabs (ReadOptions), of the variables that have them

#include <memory>
#include <string>
#include <vector>

#include "backends/array_file.h"
#include "workloads/read_back.h"
#include "workloads/workload.h"

namespace forebay::bench {

class ArrayWorkload final : public Workload {
 public:
  ArrayWorkload(std::unique_ptr<const ArrayPattern> pattern, const ArrayStorage& storage,
                const Team& team, const ReadOptions& read = {});

  std::string name() const override { return pattern_->name(); }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  // Blocks and the memory that they stand in, for one direction.
  struct Buffer {
    std::vector<ArrayVariable> variables;  // those that the blocks name
    std::vector<std::size_t> of_pattern;   // and what the pattern calls them
    std::vector<ArrayBlock> blocks;
    std::vector<std::byte> bytes;

    void add(const ArrayVariable& variable, std::size_t index, Box box);
    void place();
  };
  void choose_what_to_read();

  std::unique_ptr<const ArrayPattern> pattern_;
  ArrayStorage storage_;
  Team team_;
  ReadOptions read_;
  Buffer own_;    // one block a variable
  Buffer other_;  // what is read, if not the own blocks
  Amounts amounts_;
};

}  // namespace forebay::bench
