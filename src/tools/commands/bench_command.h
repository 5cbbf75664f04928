#pragma once

#include <string>
#include <vector>

namespace forebay::tools {

/// `forebay bench ARGS...` becomes the program forebay-bench, which stands beside the forebay
/// command or in PATH, with the same arguments and the same place among the ranks of an MPI job.
/// Throws Error if that program cannot be started.
[[noreturn]] void become_bench(std::vector<std::string> arguments);

}  // namespace forebay::tools
