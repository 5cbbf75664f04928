// The workloads of dense arrays, for every backend.

#include "command.h"

namespace forebay::bench {
namespace {

CLI::App* add_one(CLI::App& app, const char* name, const char* what, std::int64_t& bytes,
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

}  // namespace

void add_array_workloads(CLI::App& app, Command& c, ArrayCommand& arrays, const MakeArrays& make) {
  using Grid = CheckerboardOptions::Grid;
  CLI::App* checkerboard = add_one(
      app, "checkerboard2d", "a grid of ranks on one 2-D variable (D5 §5.5.1)",
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

  CLI::App* flash = add_one(app, "flash", "nine variables of blocks of 16^3 cells (D5 §5.5.2)",
                            arrays.flash.bytes, arrays.flash.chunk_bytes,
                            "bytes of a chunk (default: the blocks of a rank)");
  add_real(flash, arrays);
  finish(flash, c, arrays, make, [&arrays](int ranks, const Team& team) {
    arrays.flash.real = real_of(arrays, team);
    return std::make_unique<FlashPattern>(arrays.flash, ranks);
  });

  CLI::App* pandana =
      add_one(app, "pandana", "108 1-D variables in 15 groups of unequal length (D5 §5.5.3)",
              arrays.pandana.bytes, arrays.pandana.chunk_bytes, "bytes of a chunk, at most");
  finish(pandana, c, arrays, make, [&arrays](int ranks, const Team&) {
    return std::make_unique<PandanaPattern>(arrays.pandana, ranks);
  });

  CLI::App* s3d = app.add_subcommand(
      "s3d", "four variables over space, which is cut into a block a rank (D6 §6.5)");
  s3d->add_option("--edge", arrays.s3d.edge, "points along an edge of a block")
      ->check(CLI::PositiveNumber);
  finish(s3d, c, arrays, make, [&arrays](int ranks, const Team&) {
    return std::make_unique<S3dPattern>(arrays.s3d, ranks);
  });
}

}  // namespace forebay::bench
