#include "tools/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "tools/commands.h"
#include "tools/other_program.h"

namespace forebay::tools {
namespace {

void add_bench_command(CLI::App& app, int& /*status*/) {
  CLI::App* sub = app.add_subcommand(
      "bench",
      "measure a workload; `mpiexec -n 4 forebay bench e3sm --case F`, `forebay bench --help`");
  sub->set_help_flag();  // --help belongs to the other program
  sub->prefix_command();
  sub->callback([sub] {
    std::vector<std::string> words = sub->remaining();
    words.insert(words.begin(), find_program("forebay-bench"));
    become(std::move(words),
           "build and install with -DFOREBAY_BENCH=ON, or put forebay-bench in PATH");
  });
}

}  // namespace

extern const CommandEntry bench_command{16, add_bench_command};

void build_application(CLI::App& app, int& status) {
  app.name("forebay");
  app.description("Forebay: parallel I/O for scientific computing");
  app.set_version_flag("--version", "forebay " FOREBAY_VERSION);
  app.require_subcommand(1);
  app.footer(exit_code_text);
  std::vector<const CommandEntry*> commands(built_in_commands().begin(), built_in_commands().end());
  std::sort(commands.begin(), commands.end(),
            [](const CommandEntry* a, const CommandEntry* b) { return a->place < b->place; });
  for (const CommandEntry* command : commands) command->add(app, status);
}

int run_application(std::vector<std::string> arguments) {
  int status = exit_usage;
  CLI::App app;
  build_application(app, status);
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;  // also for --help and --version
  }
  return status;
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

}  // namespace forebay::tools
