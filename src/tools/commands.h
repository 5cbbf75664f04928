// The subcommands of `forebay`. Each function adds one to the application; when the user chose it,
// it does its work while the command line is parsed, prints to stdout, and leaves its exit code in
// `status`: 0 done, 1 what was asked for failed. Errors of the library are thrown on to main.
#pragma once

#include <CLI/CLI.hpp>

namespace forebay::tools {

enum ExitCode { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_unreadable = 2 };

void add_info_command(CLI::App& app, int& status);
void add_check_command(CLI::App& app, int& status);
void add_config_command(CLI::App& app, int& status);
void add_plot_command(CLI::App& app, int& status);
void add_docs_command(CLI::App& app, int& status);
/// Under mpiexec every rank calls it; rank 0 prints.
void add_recover_command(CLI::App& app, int& status);
void add_log_command(CLI::App& app, int& status);

}  // namespace forebay::tools
