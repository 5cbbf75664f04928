// Workloads on parallel HDF5.

#include <CLI/CLI.hpp>

#include "backends/workload_e3sm_hdf5.h"
#include "backends/workload_metadata_hdf5.h"
#include "driver/command.h"
#include "workloads/workload_arrays.h"
#include "workloads/workload_blocks.h"

namespace forebay::bench {
namespace {

using Shape = BlockOptions::Shape;

struct Options {
  bool one_call = false;
  bool independent = false;
  bool fixed = false;
  ArrayCommand arrays;
  E3smCommand e3sm;
  ReadOptions e3sm_read;
  BlockOptions ior_strided = usual_blocks(Shape::IorStrided);
  BlockOptions ior_contiguous = usual_blocks(Shape::IorContiguous);
  FlashIoCommand flash_io;
  MetadataHdf5Options metadata;
};

ArrayStorage with_transfer(ArrayStorage storage, const Options& o) {
  storage.one_call = o.one_call;
  storage.independent = o.independent;
  return storage;
}

void add_metadata(CLI::App& app, Command& c, MetadataHdf5Options& o) {
  CLI::App* sub =
      app.add_subcommand("metadata", "groups, attributes and small datasets, without data");
  sub->add_option("--groups", o.groups)->check(CLI::PositiveNumber);
  sub->add_option("--atts", o.attributes, "of each group")->check(CLI::NonNegativeNumber);
  sub->add_option("--datasets", o.datasets, "of each group")->check(CLI::NonNegativeNumber);
  sub->callback([&c, &o] {
    c.make = [&o](const Team& team) { return std::make_unique<MetadataHdf5Workload>(o, team); };
  });
}

}  // namespace

void add_workloads(CLI::App& app, Command& c) {
  static Options o;
  app.add_flag("--one-call", o.one_call,
               "H5Dwrite_multi and H5Dread_multi for all variables (of a record), not one call a "
               "variable");
  app.add_flag("--independent", o.independent, "independent transfers, not collective ones");
  add_array_workloads(
      app, c, o.arrays, [](auto pattern, const ArrayCommand& arrays, const Team& team) {
        return std::make_unique<ArrayWorkload>(std::move(pattern), with_transfer(arrays.storage, o),
                                               team, arrays.read);
      });
  const auto make_blocks = [](const BlockOptions& blocks, const Team& team) {
    return std::make_unique<BlockWorkload>(blocks, team);
  };
  add_block_workload(app, c, "ior-strided", "IOR, one segment: transfers fill a block",
                     o.ior_strided, make_blocks);
  add_block_workload(app, c, "ior-contiguous", "IOR, segments of one transfer a rank",
                     o.ior_contiguous, make_blocks);
  add_flash_io_workload(app, c, o.flash_io);
  CLI::App* e3sm =
      add_e3sm_workload(app, c, o.e3sm, [](const E3smOptions& options, const Team& team) {
        const E3smHdf5Options hdf5{o.one_call, o.independent, o.fixed, o.e3sm_read};
        return std::make_unique<E3smHdf5>(options, hdf5, team);
      });
  e3sm->add_flag("--fixed", o.fixed, "records: a dimension of fixed length, not an unlimited one");
  add_read_options(e3sm, o.e3sm_read);
  add_metadata(app, c, o.metadata);
  app.final_callback([] { o.flash_io.storage = with_transfer(o.flash_io.storage, o); });
}

}  // namespace forebay::bench
