// One workload a run, on the ranks of MPI_COMM_WORLD. Programs differ in the definition of
// add_workloads() that they link, and in the name of their backend.

#include <mpi.h>

#include <cstdlib>
#include <iostream>

#include "command.h"
#include "report.h"
#include "runner.h"
#include "workload_stage_out.h"

#ifndef FOREBAY_BENCH_BACKEND
#error "define FOREBAY_BENCH_BACKEND: the name of the library that this executable measures"
#endif

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

int measure(Command& c, const std::string& command_line) {
  const Team team(MPI_COMM_WORLD);
  c.run.backend = FOREBAY_BENCH_BACKEND;
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

int run_command(int argc, char** argv) {
  std::string command_line;
  for (int i = 0; i < argc; ++i) command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Command command;
  CLI::App app("Measures one workload with the library " FOREBAY_BENCH_BACKEND);
  add_common(app, command);
  add_workloads(app, command);
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
