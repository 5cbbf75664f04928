#pragma once

#include <CLI/CLI.hpp>

namespace forebay::tools {

/// `forebay bench ARGS...` becomes the program forebay-bench, which stands beside the forebay
/// command or in PATH, with the same arguments and the same place among the ranks of an MPI job.
/// Returns only if that program cannot be started; then throws Error.
void add_bench_command(CLI::App& app, int& status);

}  // namespace forebay::tools
