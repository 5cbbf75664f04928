#pragma once

// A program that moves no data: what a layer between it and HDF5 adds to work on metadata.
//
//     write   create; groups ("groups"); attributes of each ("attributes"); small datasets in each,
//             created and closed ("datasets"); close
//     read    open; iterate over the groups and open each; iterate over its attributes and read
//             them; open its datasets and ask for their types and extents; close

#include <cstdint>
#include <string>
#include <vector>

#include "backends/hdf5_handles.h"
#include "workloads/workload.h"

namespace forebay::bench {

struct MetadataHdf5Options {
  int groups = 200;
  int attributes = 8;  ///< of each group: texts and single numbers in turn
  int datasets = 4;    ///< of each group
};

class MetadataHdf5Workload final : public Workload {
 public:
  MetadataHdf5Workload(const MetadataHdf5Options& options, const Team& team)
      : options_(options), team_(team) {}

  std::string name() const override { return "metadata"; }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return {}; }
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override { found_ = {}; }
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  /// Objects that were not found or are not as they were written.
  std::int64_t verify() override;

 private:
  struct Found {
    std::int64_t groups = 0, attributes = 0, datasets = 0, wrong = 0;
  };
  void read_attributes(hid_t group, int number);
  void look_at_datasets(hid_t group);

  MetadataHdf5Options options_;
  Team team_;
  Found found_;
};

}  // namespace forebay::bench
