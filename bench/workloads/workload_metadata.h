#pragma once

// A file that is all header: the cost of defining, storing, and looking up many variables.
//
//     write   create, define `variables` variables with `attributes` attributes each, enddef, close
//     read    open, inquire every dimension, variable and attribute, get every value, close

#include <string>
#include <vector>

#include "workloads/workload.h"

namespace forebay::bench {

struct MetadataOptions {
  int variables = 1000;
  int attributes = 5;
};

class MetadataWorkload final : public Workload {
 public:
  MetadataWorkload(const MetadataOptions& options, const Team& team);

  std::string name() const override { return "metadata"; }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return {}; }

  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override { found_.clear(); }
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  struct Found {
    std::string name;
    int dims = 0;
    std::vector<double> numbers;
    std::vector<std::string> texts;
  };

  MetadataOptions options_;
  Team team_;
  std::vector<std::string> names_;
  std::vector<std::string> att_names_;
  std::vector<Found> found_;
};

}  // namespace forebay::bench
