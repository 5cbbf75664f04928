// All workloads, on a library with PnetCDF's interface.

#include <iostream>

#include "command.h"
#include "workload_arrays.h"
#include "workload_blocks.h"
#include "workload_e3sm.h"
#include "workload_metadata.h"
#include "workload_posix.h"

namespace forebay::bench {
namespace {

struct Options {
  std::string case_letter = "F";
  std::string generate;
  std::string wait = "usual";
  bool no_merge = false;
  E3smOptions e3sm;
  BlockOptions contiguous, strided, checkerboard;
  MetadataOptions metadata;
  PosixOptions append, limit;
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
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--size", options.bytes_per_rank, "bytes of a rank")->transform(size_validator());
  if (options.shape != BlockOptions::Shape::Contiguous) {
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
  o.limit.one_process = true;
  add_posix(app, c, "append", "no library: each rank pwrites one block", o.append);
  add_posix(app, c, "limit", "no library: one process pwrites everything", o.limit);
}

}  // namespace forebay::bench
