// All workloads, on a library with PnetCDF's interface.

#include <iostream>

#include "command.h"
#include "workload_arrays.h"
#include "workload_blocks.h"
#include "workload_e3sm.h"
#include "workload_metadata.h"
#include "workload_posix.h"
#include "workload_series.h"

namespace forebay::bench {
namespace {

struct Options {
  std::string case_letter = "F";
  std::string generate;
  std::string wait = "usual";
  bool no_merge = false;
  E3smOptions e3sm;
  BlockOptions contiguous, strided, checkerboard, ior_strided, ior_contiguous, btio;
  MPI_Offset flash_blocks = 20;
  MetadataOptions metadata;
  PosixOptions append, limit, log_limit;
  ArrayCommand arrays;
};

std::unique_ptr<Workload> make_e3sm(Options& o, const Team& team) {
  o.e3sm.which = o.case_letter.front();
  if (o.wait != "usual") o.e3sm.wait_each_record = o.wait == "record";
  o.e3sm.merge_pieces = !o.no_merge;
  if (!o.generate.empty()) {
    o.e3sm.data_dir.clear();
    o.e3sm.ne = std::stoi(o.generate.substr(o.generate.find('=') + 1));
  } else if (o.e3sm.data_dir.empty() && team.rank == 0 && o.e3sm.which == 'F') {
    std::cerr << "no --data: the F pattern is generated, ne=" << o.e3sm.ne << "\n";
  }
  return std::make_unique<E3smWorkload>(o.e3sm, team);
}

void add_e3sm(CLI::App& app, Command& c, Options& o) {
  CLI::App* sub = app.add_subcommand("e3sm", "history files of the E3SM climate model");
  sub->add_option("--case", o.case_letter, "F atmosphere, G ocean, I land")
      ->check(CLI::IsMember({"F", "G", "I"}));
  sub->add_option("--history", o.e3sm.history, "which history file of F and I")
      ->check(CLI::IsMember({"h0", "h1"}));
  sub->add_option("--data", o.e3sm.data_dir, "folder of maps and headers")
      ->envname("FOREBAY_E3SM_DATA");
  sub->add_option("--generate", o.generate, "generate the F pattern instead: ne=N");
  sub->add_option("--map-ranks", o.e3sm.generated_map_ranks,
                  "ranks that a generated map is made for")
      ->check(CLI::PositiveNumber);
  sub->add_option("--tile", o.e3sm.tiles, "repeat the horizontal dimensions N times")
      ->check(CLI::PositiveNumber);
  sub->add_option("--records", o.e3sm.records, "records (default: F 1, G 5, I 7)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--wait", o.wait,
                  "wait_all after each record or once at the end (usual: I record, F and G end)")
      ->check(CLI::IsMember({"usual", "record", "end"}));
  sub->add_flag("--no-merge", o.no_merge, "keep recorded pieces apart where they touch");
  sub->add_flag("--double", o.e3sm.double_memory, "hold float variables as double in memory");
  sub->add_option("--field", o.e3sm.field,
                  "values: sphere (F: coordinates and a field to be looked at; also without a "
                  "word), smooth (every case; such as codecs meet); default: noise")
      ->expected(0, 1)
      ->default_str("sphere")
      ->transform(CLI::CheckedTransformer(std::map<std::string, E3smField>{
          {"sphere", E3smField::Sphere}, {"smooth", E3smField::Smooth}}));
  sub->callback([&c, &o] { c.make = [&o](const Team& team) { return make_e3sm(o, team); }; });
}

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

// A checkpoint and two plot files by blocking collective calls, as the FLASH I/O benchmark.
std::unique_ptr<Workload> make_flash_io(MPI_Offset blocks, const Team& team) {
  std::vector<SeriesWorkload::Part> parts;
  const auto add = [&](const char* suffix, FlashFile file) {
    FlashOptions options;
    options.file = file;
    options.blocks_of_rank = blocks;
    ArrayStorage storage;
    storage.blocking = true;
    parts.push_back(
        {suffix, std::make_unique<ArrayWorkload>(std::make_unique<FlashPattern>(options, team.size),
                                                 storage, team)});
  };
  add("", FlashFile::Checkpoint);
  add(".plot0", FlashFile::Plot);
  add(".plot1", FlashFile::Plot);
  return std::make_unique<SeriesWorkload>("flash-io", std::move(parts));
}

void add_flash_io(CLI::App& app, Command& c, MPI_Offset& blocks) {
  CLI::App* sub = app.add_subcommand(
      "flash-io", "a checkpoint and two plot files of blocks of 16^3 cells (D3 §3.3.1)");
  sub->add_option("--blocks", blocks, "of a rank; every second and third rank has more")
      ->check(CLI::PositiveNumber);
  sub->callback([&c, &blocks] {
    c.make = [&blocks](const Team& team) { return make_flash_io(blocks, team); };
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
  add_e3sm(app, c, o);
  add_array_workloads(
      app, c, o.arrays, [](auto pattern, const ArrayCommand& arrays, const Team& team) {
        return std::make_unique<ArrayWorkload>(std::move(pattern), arrays.storage, team);
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
  add_flash_io(app, c, o.flash_blocks);
  o.limit.way = PosixOptions::Way::OneProcess;
  o.log_limit.way = PosixOptions::Way::OwnFiles;
  add_posix(app, c, "append", "no library: each rank pwrites one block", o.append);
  add_posix(app, c, "limit", "no library: one process pwrites everything", o.limit);
  add_posix(app, c, "log-limit", "no library: each rank writes a file of its own", o.log_limit);
}

}  // namespace forebay::bench
