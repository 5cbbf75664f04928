#include "tools/application.h"

#include "tools/bench_command.h"
#include "tools/commands.h"

namespace forebay::tools {

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
  add_recover_command(app, status);
  add_log_command(app, status);
  add_refs_command(app, status);
  add_plot_command(app, status);
  add_config_command(app, status);
  add_bench_command(app, status);
  add_completion_command(app, status);
  add_docs_command(app, status);
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

}  // namespace forebay::tools
