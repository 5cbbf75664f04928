#include "tools/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "tools/commands.h"
#include "tools/other_program.h"

namespace forebay::tools {
namespace {

void add_bench_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "bench",
      "measure a workload; `mpiexec -n 4 forebay bench e3sm --case F`, `forebay bench --help`");
  sub->set_help_flag();  // --help is the other program's
  sub->prefix_command();
  sub->callback([sub] {
    std::vector<std::string> words = sub->remaining();
    words.insert(words.begin(), find_program("forebay-bench"));
    become(std::move(words),
           "build and install with -DFOREBAY_BENCH=ON, or put forebay-bench in PATH");
  });
}

}  // namespace

void build_application(CLI::App& app, int& status) {
  app.name("forebay");
  app.description("Forebay: parallel I/O for scientific computing");
  app.set_version_flag("--version", "forebay " FOREBAY_VERSION);
  app.require_subcommand(1);
  app.footer(exit_code_text);
  add_info_command(app, status);
  add_ls_command(app, status);
  add_dump_command(app, status);
  add_check_command(app, status);
  add_convert_command(app, status);
  add_diff_command(app, status);
  add_find_command(app, status);
  add_recover_command(app, status);
  add_log_command(app, status);
  add_refs_command(app, status);
  add_plot_command(app, status);
  add_plan_command(app, status);
  add_bundle_command(app, status);
  add_checkpoint_command(app, status);
  add_config_command(app, status);
  add_generate_command(app, status);
  add_bench_command(app);
  add_completion_command(app, status);
  add_docs_command(app, status);
}

int run_application(std::vector<std::string> arguments) {
  int status = exit_usage;
  CLI::App app;
  build_application(app, status);
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;  // --help and --version end here too
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
