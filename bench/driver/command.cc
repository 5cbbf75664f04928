#include "driver/command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "driver/report.h"
#include "workloads/workload_stage_out.h"

namespace forebay::bench {
namespace {

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
  app.add_option("--stage-out", c.stage_out,
                 "write in this (fast) directory, then copy the files to --dir, timed");
  app.add_flag(
      "--apart", c.run.apart,
      "a barrier at the end of each phase (not with append and limit, whose ranks differ)");
  app.add_option("--die-after", c.run.die_after,
                 "kill all ranks after this phase of a write (open, define, data): leaves logs");
  app.add_flag("--no-verify", c.no_verify, "do not compare the values that are read");
  app.add_flag("--keep", c.run.keep, "leave the file");
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

int measure(Command& c, const char* backend, const std::string& command_line) {
  const Team team(MPI_COMM_WORLD);
  c.run.backend = backend;
  c.run.path = c.dir + "/" + c.file;
  c.run.write = c.op != "read";
  c.run.read = c.op != "write";
  c.run.verify = !c.no_verify;
  c.run.info = make_info(c.hints);
  std::unique_ptr<Workload> workload = c.make(team);
  if (!c.stage_out.empty()) {
    workload = std::make_unique<StageOutWorkload>(std::move(workload), c.stage_out, team);
  }
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

}  // namespace

CLI::Validator size_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
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
      },
      "SIZE");
}

void add_read_options(CLI::App* sub, ReadOptions& read) {
  sub->add_option("--read-back", read.mode,
                  "what is read: own (each rank what it wrote), whole (all variables, cut into a "
                  "slab a rank) or hyperslab (random boxes, cut likewise)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ReadBack>{
          {"own", ReadBack::Own}, {"whole", ReadBack::Whole}, {"hyperslab", ReadBack::Hyperslab}}));
  sub->add_option("--hyperslabs", read.hyperslabs, "how many of them")->check(CLI::PositiveNumber);
  sub->add_option("--seed", read.seed, "of their places");
}

int run_program(int argc, char** argv, const char* backend) {
  std::string command_line;
  for (int i = 0; i < argc; ++i) command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Command command;
  CLI::App app(std::string("Measures one workload with the library ") + backend);
  add_common(app, command);
  add_workloads(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return rank == 0 ? app.exit(e) : e.get_exit_code();
  }
  try {
    return measure(command, backend, command_line);
  } catch (const std::exception& e) {
    std::cerr << "rank " << rank << ": " << e.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    return EXIT_FAILURE;
  }
}

}  // namespace forebay::bench
