// The options of the workloads, which programs on several interfaces share.

#include <CLI/CLI.hpp>
#include <iostream>

#include "driver/command.h"
#include "workloads/workload_arrays.h"
#include "workloads/workload_series.h"

namespace forebay::bench {
namespace {

CLI::App* add_arrays(CLI::App& app, const char* name, const char* what, std::int64_t& bytes,
                     std::int64_t& chunk_bytes, const char* chunk_help) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--total", bytes, "bytes of all variables")->transform(size_validator());
  sub->add_option("--chunk", chunk_bytes, chunk_help)->transform(size_validator());
  return sub;
}

using MakePattern = std::function<std::unique_ptr<const ArrayPattern>(int ranks, const Team& team)>;

// Options that do not depend on the pattern, and the way from a pattern to the workload.
void finish(CLI::App* sub, Command& c, ArrayCommand& arrays, const MakeArrays& make,
            const MakePattern& pattern) {
  sub->add_flag("--chunked", arrays.storage.chunked, "store in the chunks of the workload");
  sub->add_option("--codec", arrays.storage.codec,
                  "filters asked for through the interface, for example deflate:6");
  add_read_options(sub, arrays.read);
  sub->callback([&c, &arrays, make, pattern] {
    c.make = [&arrays, make, pattern](const Team& team) {
      const int ranks = arrays.as_ranks > 0 ? arrays.as_ranks : team.size;
      return make(pattern(ranks, team), arrays, team);
    };
  });
}

std::shared_ptr<const RealField> real_of(const ArrayCommand& arrays, const Team& team) {
  return arrays.real.empty() ? nullptr : RealField::load(arrays.real, team);
}

void add_real(CLI::App* sub, ArrayCommand& arrays) {
  sub->add_option("--real", arrays.real,
                  "FILE:VARIABLE of a netCDF file, tiled to size, as values");
}

// What the options say, for the constructor of a workload.
E3smOptions options_of(const E3smCommand& command, const Team& team) {
  E3smOptions options = command.options;
  options.which = command.case_letter.front();
  if (command.wait != "usual") options.wait_each_record = command.wait == "record";
  options.merge_pieces = !command.no_merge;
  if (!command.generate.empty()) {
    options.data_dir.clear();
    options.ne = std::stoi(command.generate.substr(command.generate.find('=') + 1));
  } else if (options.data_dir.empty() && team.rank == 0 && options.which == 'F') {
    std::cerr << "no --data: the F pattern is generated, ne=" << options.ne << "\n";
  }
  return options;
}

std::unique_ptr<Workload> make_flash_io(const FlashIoCommand& command, const Team& team) {
  std::vector<SeriesWorkload::Part> parts;
  const auto add = [&](const char* suffix, FlashFile file) {
    FlashOptions options;
    options.file = file;
    options.blocks_of_rank = command.blocks;
    parts.push_back(
        {suffix, std::make_unique<ArrayWorkload>(std::make_unique<FlashPattern>(options, team.size),
                                                 command.storage, team, command.read)});
  };
  add("", FlashFile::Checkpoint);
  add(".plot0", FlashFile::Plot);
  add(".plot1", FlashFile::Plot);
  return std::make_unique<SeriesWorkload>("flash-io", std::move(parts));
}

}  // namespace

void add_array_workloads(CLI::App& app, Command& c, ArrayCommand& arrays, const MakeArrays& make) {
  using Grid = CheckerboardOptions::Grid;
  CLI::App* checkerboard = add_arrays(
      app, "checkerboard2d", "a grid of ranks on one 2-D variable (Hou 2023, §5.5.1)",
      arrays.checkerboard.bytes, arrays.checkerboard.chunk_bytes, "bytes of a chunk, about");
  checkerboard
      ->add_option("--random", arrays.checkerboard.random_percent,
                   "per cent of each chunk that are random bits; the rest is zero")
      ->check(CLI::Range(0, 100));
  checkerboard->add_flag("--scattered", arrays.checkerboard.scattered,
                         "random elements anywhere in a chunk, not at its begin");
  checkerboard
      ->add_option("--grid", arrays.checkerboard.grid,
                   "chunks: aligned with blocks, shared at their edges, or d5: twice a block")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Grid>{
          {"aligned", Grid::Aligned}, {"shared", Grid::Shared}, {"d5", Grid::D5}}));
  add_real(checkerboard, arrays);
  finish(checkerboard, c, arrays, make, [&arrays](int ranks, const Team& team) {
    arrays.checkerboard.real = real_of(arrays, team);
    return std::make_unique<CheckerboardPattern>(arrays.checkerboard, ranks);
  });

  CLI::App* field = app.add_subcommand(
      "field", "a field of numbers in a file, repeated to a cube; a slab a rank");
  field->add_option("numbers", arrays.field.file, "the file, of doubles")
      ->required()
      ->check(CLI::ExistingFile);
  field->add_flag("--float", arrays.field.is_float, "of floats");
  field->add_option("--shape", arrays.field.shape, "its lengths, slowest first: 256,128,128")
      ->required()
      ->delimiter(',');
  field->add_option("--edge", arrays.field.edge, "of the cube")->check(CLI::PositiveNumber);
  field->add_option("--chunk-edge", arrays.field.chunk_edge)->check(CLI::PositiveNumber);
  field->add_option("--bound", arrays.field.bound, "how far values that are read may be off")
      ->check(CLI::NonNegativeNumber);
  finish(field, c, arrays, make, [&arrays](int ranks, const Team&) {
    return std::make_unique<FieldPattern>(arrays.field, ranks);
  });

  CLI::App* flash = add_arrays(
      app, "flash", "nine variables of blocks of 16^3 cells (Hou 2023, §5.5.2)", arrays.flash.bytes,
      arrays.flash.chunk_bytes, "bytes of a chunk (default: the blocks of a rank)");
  add_real(flash, arrays);
  finish(flash, c, arrays, make, [&arrays](int ranks, const Team& team) {
    arrays.flash.real = real_of(arrays, team);
    return std::make_unique<FlashPattern>(arrays.flash, ranks);
  });

  CLI::App* pandana = add_arrays(
      app, "pandana", "108 1-D variables in 15 groups of unequal length (Hou 2023, §5.5.3)",
      arrays.pandana.bytes, arrays.pandana.chunk_bytes, "bytes of a chunk, at most");
  finish(pandana, c, arrays, make, [&arrays](int ranks, const Team&) {
    return std::make_unique<PandanaPattern>(arrays.pandana, ranks);
  });

  CLI::App* s3d = app.add_subcommand(
      "s3d", "four variables over space, which is cut into a block a rank (Hou 2023, §6.5)");
  s3d->add_option("--edge", arrays.s3d.edge, "points along an edge of a block")
      ->check(CLI::PositiveNumber);
  finish(s3d, c, arrays, make, [&arrays](int ranks, const Team&) {
    return std::make_unique<S3dPattern>(arrays.s3d, ranks);
  });

  CLI::App* small = app.add_subcommand("small", "many small variables, a blocking call for each");
  small->add_option("--variables", arrays.small.variables)->check(CLI::PositiveNumber);
  small->add_option("--elements", arrays.small.elements, "of a variable")
      ->check(CLI::PositiveNumber);
  finish(small, c, arrays, make, [&arrays](int ranks, const Team&) {
    arrays.storage.blocking = true;
    return std::make_unique<SmallPattern>(arrays.small, ranks);
  });
}

CLI::App* add_e3sm_workload(CLI::App& app, Command& c, E3smCommand& o, const MakeE3sm& make) {
  CLI::App* sub = app.add_subcommand("e3sm", "history files of the E3SM climate model");
  sub->add_option("--case", o.case_letter, "F atmosphere, G ocean, I land")
      ->check(CLI::IsMember({"F", "G", "I"}));
  sub->add_option("--history", o.options.history, "which history file of F and I")
      ->check(CLI::IsMember({"h0", "h1"}));
  sub->add_option("--data", o.options.data_dir, "folder of maps and headers")
      ->envname("FOREBAY_E3SM_DATA");
  sub->add_option("--generate", o.generate, "generate the F pattern instead: ne=N");
  sub->add_option("--map-ranks", o.options.generated_map_ranks,
                  "ranks that a generated map is made for")
      ->check(CLI::PositiveNumber);
  sub->add_option("--tile", o.options.tiles, "repeat the horizontal dimensions N times")
      ->check(CLI::PositiveNumber);
  sub->add_option("--records", o.options.records, "records (default: F 1, G 5, I 7)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--no-merge", o.no_merge, "keep recorded pieces apart where they touch");
  sub->add_flag("--double", o.options.double_memory, "hold float variables as double in memory");
  sub->add_option("--field", o.options.field,
                  "values: sphere (F: coordinates and a field to be looked at; also without a "
                  "word), smooth (every case; such as codecs meet); default: noise")
      ->expected(0, 1)
      ->default_str("sphere")
      ->transform(CLI::CheckedTransformer(std::map<std::string, E3smField>{
          {"sphere", E3smField::Sphere}, {"smooth", E3smField::Smooth}}));
  sub->callback([&c, &o, make] {
    c.make = [&o, make](const Team& team) { return make(options_of(o, team), team); };
  });
  return sub;
}

void add_flash_io_workload(CLI::App& app, Command& c, FlashIoCommand& o) {
  CLI::App* sub = app.add_subcommand(
      "flash-io", "a checkpoint and two plot files of blocks of 16^3 cells (Hou 2023, §3.3.1)");
  sub->add_option("--blocks", o.blocks, "of a rank; every second and third rank has more")
      ->check(CLI::PositiveNumber);
  add_read_options(sub, o.read);
  sub->callback([&c, &o] { c.make = [&o](const Team& team) { return make_flash_io(o, team); }; });
}

void add_pnetcdf_options(CLI::App* sub, E3smCommand& o) {
  sub->add_option("--wait", o.wait,
                  "wait_all after each record or once at the end (usual: I record, F and G end)")
      ->check(CLI::IsMember({"usual", "record", "end"}));
  sub->add_option("--compute", o.options.compute,
                  "seconds that ranks compute after each wait_all of a write; they are not counted")
      ->check(CLI::NonNegativeNumber);
  auto* by_maps = sub->add_flag("--by-maps", o.by_maps,
                                "define maps and write by them (Forebay's ncmpi_def_decom)");
  auto* blobs = sub->add_flag("--blobs", o.blobs,
                              "one contiguous piece a rank and variable, in a file of each node")
                    ->excludes(by_maps);
  sub->add_option("--file-ranks", o.file_ranks, "ranks that share a file of blobs (0: a node's)")
      ->check(CLI::NonNegativeNumber)
      ->needs(blobs);
  auto* floor =
      sub->add_flag("--floor", o.floor, "the header without data, and each rank appends its bytes")
          ->excludes(by_maps, blobs);
  sub->add_flag("--pass", o.pass, "of a write, and one pass over starts and counts")->needs(floor);
}

void add_block_workload(CLI::App& app, Command& c, const char* name, const char* what,
                        BlockOptions& options, const MakeBlocks& make) {
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
    sub->add_flag("--independent", options.independent, "independent calls, not collective ones");
  } else if (options.shape == Shape::Strided || options.shape == Shape::Checkerboard) {
    sub->add_option("--piece", options.piece_bytes, "contiguous bytes")
        ->transform(size_validator());
  }
  sub->callback([&c, &options, make] {
    c.make = [&options, make](const Team& team) { return make(options, team); };
  });
}

void add_posix_workload(CLI::App& app, Command& c, const char* name, const char* what,
                        PosixOptions& options) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--bytes", options.bytes, "bytes of all ranks")->transform(size_validator());
  sub->callback([&c, &options] {
    c.make = [&options](const Team& team) {
      return std::make_unique<PosixWorkload>(options, team);
    };
  });
}

void add_metadata_workload(CLI::App& app, Command& c, MetadataOptions& options,
                           const MakeMetadata& make) {
  CLI::App* sub = app.add_subcommand("metadata", "many variables and attributes");
  sub->add_option("--vars", options.variables)->check(CLI::PositiveNumber);
  sub->add_option("--atts", options.attributes)->check(CLI::NonNegativeNumber);
  sub->callback([&c, &options, make] {
    c.make = [&options, make](const Team& team) { return make(options, team); };
  });
}

}  // namespace forebay::bench
