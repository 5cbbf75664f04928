// forebay-bench and forebay-bench-pnetcdf: one workload a run, on the ranks of MPI_COMM_WORLD.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "runner.h"
#include "workload_blocks.h"
#include "workload_e3sm.h"
#include "workload_metadata.h"
#include "workload_posix.h"

namespace forebay::bench {
namespace {

using MakeWorkload = std::function<std::unique_ptr<Workload>(const Team&)>;

struct Command {
  std::string dir = ".";
  std::string file = "forebay-bench.nc";
  std::string op = "both";
  std::string json;
  std::vector<std::string> hints;
  std::string case_letter = "F";
  std::string generate;
  std::string wait = "usual";
  RunOptions run;
  E3smOptions e3sm;
  BlockOptions contiguous, strided, checkerboard;
  MetadataOptions metadata;
  PosixOptions append, limit;
  bool no_verify = false;
  bool no_merge = false;
  MakeWorkload make;
};

// "4096", "4KiB", "64MiB", "1G".
std::string parse_size(std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  std::int64_t factor = 1;
  if (unit == "K" || unit == "KiB") {
    factor = std::int64_t{1} << 10;
  } else if (unit == "M" || unit == "MiB") {
    factor = std::int64_t{1} << 20;
  } else if (unit == "G" || unit == "GiB") {
    factor = std::int64_t{1} << 30;
  } else if (!unit.empty() && unit != "B") {
    return "sizes are bytes, KiB, MiB or GiB";
  }
  if (number <= 0 || end == text.c_str()) return "a size must be a positive number";
  text = std::to_string(static_cast<std::int64_t>(number * static_cast<double>(factor)));
  return {};
}

void add_e3sm(CLI::App& app, Command& c) {
  CLI::App* sub = app.add_subcommand("e3sm", "history files of the E3SM climate model");
  sub->add_option("--case", c.case_letter, "F atmosphere, G ocean, I land")
      ->check(CLI::IsMember({"F", "G", "I"}));
  sub->add_option("--history", c.e3sm.history, "which history file of F and I")
      ->check(CLI::IsMember({"h0", "h1"}));
  sub->add_option("--data", c.e3sm.data_dir, "folder of maps and headers")
      ->envname("FOREBAY_E3SM_DATA");
  sub->add_option("--generate", c.generate, "generate the F pattern instead: ne=N");
  sub->add_option("--map-ranks", c.e3sm.generated_map_ranks,
                  "ranks that a generated map is made for")
      ->check(CLI::PositiveNumber);
  sub->add_option("--tile", c.e3sm.tiles, "repeat the horizontal dimensions N times")
      ->check(CLI::PositiveNumber);
  sub->add_option("--records", c.e3sm.records, "records (default: F 1, G 5, I 7)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--wait", c.wait,
                  "wait_all after each record or once at the end (usual: I record, F and G end)")
      ->check(CLI::IsMember({"usual", "record", "end"}));
  sub->add_flag("--no-merge", c.no_merge, "keep recorded pieces apart where they touch");
  sub->add_flag("--double", c.e3sm.double_memory, "hold float variables as double in memory");
  sub->add_flag("--field", c.e3sm.field,
                "F: write coordinates and a smooth field, to be looked at");
  sub->callback([&c] {
    c.make = [&c](const Team& team) {
      c.e3sm.which = c.case_letter.front();
      if (c.wait != "usual") c.e3sm.wait_each_record = c.wait == "record";
      c.e3sm.merge_pieces = !c.no_merge;
      if (!c.generate.empty()) {
        c.e3sm.data_dir.clear();
        c.e3sm.ne = std::stoi(c.generate.substr(c.generate.find('=') + 1));
      } else if (c.e3sm.data_dir.empty() && team.rank == 0 && c.e3sm.which == 'F') {
        std::cerr << "no --data: the F pattern is generated, ne=" << c.e3sm.ne << "\n";
      }
      return std::make_unique<E3smWorkload>(c.e3sm, team);
    };
  });
}

void add_blocks(CLI::App& app, Command& c, const char* name, const char* what,
                BlockOptions& options) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--size", options.bytes_per_rank, "bytes of a rank")
      ->transform(CLI::Validator(parse_size, "SIZE"));
  if (options.shape != BlockOptions::Shape::Contiguous) {
    sub->add_option("--piece", options.piece_bytes, "contiguous bytes")
        ->transform(CLI::Validator(parse_size, "SIZE"));
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
  sub->add_option("--bytes", options.bytes, "bytes of all ranks")
      ->transform(CLI::Validator(parse_size, "SIZE"));
  sub->callback([&c, &options] {
    c.make = [&options](const Team& team) {
      return std::make_unique<PosixWorkload>(options, team);
    };
  });
}

void add_common(CLI::App& app, Command& c) {
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--dir", c.dir, "directory of the file (must exist)");
  app.add_option("--file", c.file, "name of the file");
  app.add_option("--op", c.op, "write, read or both")
      ->check(CLI::IsMember({"write", "read", "both"}));
  app.add_option("--repeat", c.run.repeat, "samples")->check(CLI::PositiveNumber);
  app.add_option("--hint", c.hints, "key=value for the library, may be repeated");
  app.add_option("--json", c.json, "append records to the list in this file");
  app.add_flag("--no-verify", c.no_verify, "do not compare the values that are read");
  app.add_flag("--keep", c.run.keep, "leave the file");
}

void describe(CLI::App& app, Command& c) {
  add_common(app, c);
  add_e3sm(app, c);
  c.strided.shape = BlockOptions::Shape::Strided;
  c.strided.bytes_per_rank = 16 << 20;
  c.checkerboard.shape = BlockOptions::Shape::Checkerboard;
  c.checkerboard.bytes_per_rank = 16 << 20;
  add_blocks(app, c, "contiguous", "one large block a rank", c.contiguous);
  add_blocks(app, c, "strided", "small pieces interleaved over ranks", c.strided);
  add_blocks(app, c, "checkerboard", "2-D blocks, shifted from row to row", c.checkerboard);
  CLI::App* metadata = app.add_subcommand("metadata", "many variables and attributes");
  metadata->add_option("--vars", c.metadata.variables)->check(CLI::PositiveNumber);
  metadata->add_option("--atts", c.metadata.attributes)->check(CLI::NonNegativeNumber);
  metadata->callback([&c] {
    c.make = [&c](const Team& team) {
      return std::make_unique<MetadataWorkload>(c.metadata, team);
    };
  });
  c.limit.one_process = true;
  add_posix(app, c, "append", "no library: each rank pwrites one block", c.append);
  add_posix(app, c, "limit", "no library: one process pwrites everything", c.limit);
}

MPI_Info make_info(const std::vector<std::string>& hints) {
  if (hints.empty()) return MPI_INFO_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const std::string& hint : hints) {
    const std::size_t equals = hint.find('=');
    if (equals == std::string::npos) throw std::runtime_error("a hint is key=value, not " + hint);
    MPI_Info_set(info, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
  }
  return info;
}

int measure(Command& c, const std::string& command_line) {
  const Team team(MPI_COMM_WORLD);
  c.run.path = c.dir + "/" + c.file;
  c.run.write = c.op != "read";
  c.run.read = c.op != "write";
  c.run.verify = !c.no_verify;
  c.run.info = make_info(c.hints);
  const std::unique_ptr<Workload> workload = c.make(team);
  const std::vector<Record> records = run(*workload, c.run, team);
  if (c.run.info != MPI_INFO_NULL) MPI_Info_free(&c.run.info);
  bool right = true;
  std::vector<nlohmann::json> objects;
  for (const Record& record : records) {
    right = right && record.wrong_values == 0;
    objects.push_back(to_json(record, command_line));
  }
  if (team.rank == 0) {
    std::cout << to_table(records) << std::flush;
    if (!c.json.empty()) append_json(c.json, objects);
  }
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_command(int argc, char** argv) {
  std::string command_line;
  for (int i = 0; i < argc; ++i) command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Command command;
  CLI::App app(std::string("Measures one workload with the library ") + kBackendName);
  describe(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return rank == 0 ? app.exit(e) : e.get_exit_code();
  }
  try {
    return measure(command, command_line);
  } catch (const std::exception& e) {
    std::cerr << "rank " << rank << ": " << e.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = forebay::bench::run_command(argc, argv);
  MPI_Finalize();
  return status;
}
