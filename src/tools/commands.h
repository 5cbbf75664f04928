// The subcommands of `forebay`. Each function adds one to the application; when the user chose it,
// it does its work while the command line is parsed, prints to stdout, and leaves its exit code in
// `status`, an ExitCode. Errors of the library are thrown on to main.
#pragma once

#include "tools/command_line.h"

namespace forebay::tools {

enum ExitCode {
  exit_done = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_unreadable = 2,
  exit_different = 3
};

/// What they mean, for people.
constexpr const char* exit_code_text =
    "Exit codes: 0 done, 1 what was asked for failed, 2 the command line makes no sense (check: a "
    "file cannot be read at all), 3 diff found differences.";

void add_info_command(CLI::App& app, int& status);
void add_ls_command(CLI::App& app, int& status);
void add_dump_command(CLI::App& app, int& status);
/// Under mpiexec every rank calls it; rank 0 prints.
void add_convert_command(CLI::App& app, int& status);
void add_refs_command(CLI::App& app, int& status);
void add_diff_command(CLI::App& app, int& status);
void add_find_command(CLI::App& app, int& status);
void add_check_command(CLI::App& app, int& status);
void add_config_command(CLI::App& app, int& status);
void add_generate_command(CLI::App& app, int& status);
void add_plot_command(CLI::App& app, int& status);
void add_plan_command(CLI::App& app, int& status);
void add_bundle_command(CLI::App& app, int& status);
void add_checkpoint_command(CLI::App& app, int& status);
/// Both print what is generated from all of `app`, as it is when they run.
void add_completion_command(CLI::App& app, int& status);
void add_docs_command(CLI::App& app, int& status);
/// Under mpiexec every rank calls it; rank 0 prints.
void add_recover_command(CLI::App& app, int& status);
void add_log_command(CLI::App& app, int& status);

}  // namespace forebay::tools
