// All workloads, on a library with PnetCDF's interface.

#include "backends/workload_e3sm_floor.h"
#include "backends/workload_e3sm_pnetcdf.h"
#include "driver/command.h"
#include "workloads/workload_arrays.h"

namespace forebay::bench {
namespace {

using Shape = BlockOptions::Shape;

struct Options {
  E3smCommand e3sm;
  BlockOptions contiguous = usual_blocks(Shape::Contiguous);
  BlockOptions strided = usual_blocks(Shape::Strided);
  BlockOptions checkerboard = usual_blocks(Shape::Checkerboard);
  BlockOptions ior_strided = usual_blocks(Shape::IorStrided);
  BlockOptions ior_contiguous = usual_blocks(Shape::IorContiguous);
  BlockOptions btio = usual_blocks(Shape::Btio);
  FlashIoCommand flash_io;
  MetadataOptions metadata;
  PosixOptions append, limit, log_limit, exchange_limit;
  ArrayCommand arrays;
};

void add_blocks(CLI::App& app, Command& c, const char* name, const char* what,
                BlockOptions& options) {
  add_block_workload(app, c, name, what, options, [](const BlockOptions& blocks, const Team& team) {
    return std::make_unique<BlockWorkload>(blocks, team);
  });
}

}  // namespace

void add_workloads(CLI::App& app, Command& c) {
  static Options o;
  add_pnetcdf_options(
      add_e3sm_workload(
          app, c, o.e3sm,
          [](const E3smOptions& options, const Team& team) -> std::unique_ptr<Workload> {
            if (o.e3sm.floor) return std::make_unique<E3smFloor>(options, team, o.e3sm.pass);
            const E3smWay way = o.e3sm.by_maps ? E3smWay::maps
                                : o.e3sm.blobs ? E3smWay::blobs
                                               : E3smWay::pieces;
            return std::make_unique<E3smPnetcdf>(options, team, way, o.e3sm.file_ranks);
          }),
      o.e3sm);
  add_array_workloads(app, c, o.arrays,
                      [](auto pattern, const ArrayCommand& arrays, const Team& team) {
                        return std::make_unique<ArrayWorkload>(std::move(pattern), arrays.storage,
                                                               team, arrays.read);
                      });
  add_blocks(app, c, "contiguous", "one large block a rank", o.contiguous);
  add_blocks(app, c, "strided", "small pieces interleaved over ranks", o.strided);
  add_blocks(app, c, "checkerboard", "2-D blocks, shifted from row to row", o.checkerboard);
  add_metadata_workload(app, c, o.metadata, [](const MetadataOptions& options, const Team& team) {
    return std::make_unique<MetadataWorkload>(options, team);
  });
  add_blocks(app, c, "ior-strided", "IOR, one segment: transfers fill a block", o.ior_strided);
  add_blocks(app, c, "ior-contiguous", "IOR, segments of one transfer a rank", o.ior_contiguous);
  add_blocks(app, c, "btio", "BTIO: cells of diagonal multi-partitioning", o.btio);
  add_flash_io_workload(app, c, o.flash_io);
  o.limit.way = PosixOptions::Way::OneProcess;
  o.log_limit.way = PosixOptions::Way::OwnFiles;
  o.exchange_limit.way = PosixOptions::Way::Exchange;
  add_posix_workload(app, c, "append", "no library: each rank pwrites one block", o.append);
  add_posix_workload(app, c, "limit", "no library: one process pwrites everything", o.limit);
  add_posix_workload(app, c, "log-limit", "no library: each rank writes a file of its own",
                     o.log_limit);
  add_posix_workload(app, c, "exchange-limit",
                     "no library: one MPI_Alltoall, then each rank pwrites one block",
                     o.exchange_limit);
}

}  // namespace forebay::bench
