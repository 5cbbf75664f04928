// The subcommands of `forebay`. A command is one file that defines a CommandEntry, which the build
// finds and lists (cmake/list_parts.cmake).
#pragma once

#include <span>

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

struct CommandEntry {
  int place;  ///< in the order of the help text
  /// Adds the command to the application. When the user chose it, it does its work while the
  /// command line is parsed, prints to stdout, and leaves its exit code, an ExitCode, in `status`.
  /// Errors of the library are thrown on to main. Under mpiexec every rank calls it; rank 0 prints.
  void (*add)(CLI::App& app, int& status);
};

/// Returns all commands, in no order.
std::span<const CommandEntry* const> built_in_commands();

}  // namespace forebay::tools
