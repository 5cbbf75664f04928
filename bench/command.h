#pragma once

// The command line: options that all programs share, and workloads, which each program adds as it
// has them.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "array_file.h"
#include "arrays_checkerboard.h"
#include "arrays_flash.h"
#include "arrays_pandana.h"
#include "runner.h"
#include "workload.h"

namespace forebay::bench {

struct Command {
  std::string dir = ".";
  std::string file = "forebay-bench.nc";
  std::string op = "both";
  std::string json;
  std::string stage_out;  ///< write in this directory and copy to `dir`; empty: write in `dir`
  std::vector<std::string> hints;
  RunOptions run;
  bool no_verify = false;
  /// Set by the subcommand that was given. Collective.
  std::function<std::unique_ptr<Workload>(const Team&)> make;
};

/// Options of the workloads of dense arrays.
struct ArrayCommand {
  CheckerboardOptions checkerboard;
  FlashOptions flash;
  PandanaOptions pandana;
  std::string real;  ///< FILE:VARIABLE
  ArrayStorage storage;
  int as_ranks = 0;  ///< the pattern of so many ranks; 0: of those that run
};

/// For options that are sizes: "4096", "4KiB", "64MiB", "1G" become bytes.
CLI::Validator size_validator();

/// Adds a program's workloads to `app`; what they set lives as long as the process. Each program
/// links one definition.
void add_workloads(CLI::App& app, Command& command);

/// Makes a workload of a pattern, as the backend measures it.
using MakeArrays = std::function<std::unique_ptr<Workload>(std::unique_ptr<const ArrayPattern>,
                                                           const ArrayCommand&, const Team&)>;

/// Adds checkerboard2d, flash and pandana.
void add_array_workloads(CLI::App& app, Command& command, ArrayCommand& arrays,
                         const MakeArrays& make);

}  // namespace forebay::bench
