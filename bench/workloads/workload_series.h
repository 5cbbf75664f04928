#pragma once

// Several files, one after the other, as one workload: a code that writes a checkpoint and plot
// files. Phases of the same name are added up.

#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace forebay::bench {

class SeriesWorkload final : public Workload {
 public:
  struct Part {
    std::string suffix;  ///< of the file's name
    std::unique_ptr<Workload> workload;
  };
  SeriesWorkload(std::string name, std::vector<Part> parts);

  std::string name() const override { return name_; }
  nlohmann::json parameters() const override;
  Amounts amounts() const override;
  std::vector<std::string> files(const std::string& path) const override;

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  std::string name_;
  std::vector<Part> parts_;
};

}  // namespace forebay::bench
