// All workloads, on a library with PnetCDF's interface.

#include "command.h"
#include "workload_arrays.h"
#include "workload_blocks.h"
#include "workload_e3sm_pnetcdf.h"
#include "workload_metadata.h"
#include "workload_posix.h"

namespace forebay::bench {
namespace {

struct Options {
  E3smCommand e3sm;
  BlockOptions contiguous, strided, checkerboard, ior_strided, ior_contiguous, btio;
  FlashIoCommand flash_io;
  MetadataOptions metadata;
  PosixOptions append, limit, log_limit;
  ArrayCommand arrays;
};

void add_blocks(CLI::App& app, Command& c, const char* name, const char* what,
                BlockOptions& options) {
  using Shape = BlockOptions::Shape;
  CLI::App* sub = app.add_subcommand(name, what);
  if (options.shape == Shape::Btio) {
    sub->add_option("--grid", options.grid, "points along an edge")->check(CLI::PositiveNumber);
    sub->add_option("--iterations", options.iterations)->check(CLI::PositiveNumber);
  } else {
    sub->add_option("--size", options.bytes_per_rank, "bytes of a rank")
        ->transform(size_validator());
  }
  if (options.shape == Shape::IorStrided || options.shape == Shape::IorContiguous) {
    sub->add_option("--transfer", options.piece_bytes, "bytes of a rank in one call")
        ->transform(size_validator());
  } else if (options.shape == Shape::Strided || options.shape == Shape::Checkerboard) {
    sub->add_option("--piece", options.piece_bytes, "contiguous bytes")
        ->transform(size_validator());
  }
  sub->callback([&c, &options] {
    c.make = [&options](const Team& team) {
      return std::make_unique<BlockWorkload>(options, team);
    };
  });
}

void add_posix(CLI::App& app, Command& c, const char* name, const char* what,
               PosixOptions& options) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--bytes", options.bytes, "bytes of all ranks")->transform(size_validator());
  sub->callback([&c, &options] {
    c.make = [&options](const Team& team) {
      return std::make_unique<PosixWorkload>(options, team);
    };
  });
}

void add_metadata(CLI::App& app, Command& c, MetadataOptions& options) {
  CLI::App* sub = app.add_subcommand("metadata", "many variables and attributes");
  sub->add_option("--vars", options.variables)->check(CLI::PositiveNumber);
  sub->add_option("--atts", options.attributes)->check(CLI::NonNegativeNumber);
  sub->callback([&c, &options] {
    c.make = [&options](const Team& team) {
      return std::make_unique<MetadataWorkload>(options, team);
    };
  });
}

}  // namespace

void add_workloads(CLI::App& app, Command& c) {
  static Options o;
  add_e3sm_workload(app, c, o.e3sm,
                    [](const E3smOptions& options, const Team& team) {
                      return std::make_unique<E3smPnetcdf>(options, team);
                    })
      ->add_option("--wait", o.e3sm.wait,
                   "wait_all after each record or once at the end (usual: I record, F and G end)")
      ->check(CLI::IsMember({"usual", "record", "end"}));
  add_array_workloads(app, c, o.arrays,
                      [](auto pattern, const ArrayCommand& arrays, const Team& team) {
                        return std::make_unique<ArrayWorkload>(std::move(pattern), arrays.storage,
                                                               team, arrays.read);
                      });
  o.strided.shape = BlockOptions::Shape::Strided;
  o.strided.bytes_per_rank = 16 << 20;
  o.checkerboard.shape = BlockOptions::Shape::Checkerboard;
  o.checkerboard.bytes_per_rank = 16 << 20;
  add_blocks(app, c, "contiguous", "one large block a rank", o.contiguous);
  add_blocks(app, c, "strided", "small pieces interleaved over ranks", o.strided);
  add_blocks(app, c, "checkerboard", "2-D blocks, shifted from row to row", o.checkerboard);
  add_metadata(app, c, o.metadata);
  using Shape = BlockOptions::Shape;
  o.ior_strided.shape = Shape::IorStrided;
  o.ior_contiguous.shape = Shape::IorContiguous;
  o.btio.shape = Shape::Btio;
  for (BlockOptions* ior : {&o.ior_strided, &o.ior_contiguous}) {
    ior->bytes_per_rank = 8 << 20;
    ior->piece_bytes = 64 << 10;
  }
  add_blocks(app, c, "ior-strided", "IOR, one segment: transfers fill a block", o.ior_strided);
  add_blocks(app, c, "ior-contiguous", "IOR, segments of one transfer a rank", o.ior_contiguous);
  add_blocks(app, c, "btio", "BTIO: cells of diagonal multi-partitioning", o.btio);
  add_flash_io_workload(app, c, o.flash_io);
  o.limit.way = PosixOptions::Way::OneProcess;
  o.log_limit.way = PosixOptions::Way::OwnFiles;
  add_posix(app, c, "append", "no library: each rank pwrites one block", o.append);
  add_posix(app, c, "limit", "no library: one process pwrites everything", o.limit);
  add_posix(app, c, "log-limit", "no library: each rank writes a file of its own", o.log_limit);
}

}  // namespace forebay::bench
