// The workloads of the benchmarks (bench/workloads), to be simulated by `forebay plan`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/types.h"
#include "method/method.h"
#include "simulation/workload.h"

namespace forebay::tools {

/// A workload from the command line. An empty option has the benchmark's default.
struct WorkloadChoice {
  std::string name;
  std::string e3sm_case = "F", history = "h0", data, generate;
  std::optional<Count> map_ranks, tiles, records;  // e3sm
  std::optional<Count> size, piece, iterations;    // blocks
  std::optional<Count> total, chunk;               // checkerboard2d
  std::string grid;                                ///< of points, or of chunks on blocks
};

/// Errc::einval for impossible choices.
std::unique_ptr<simulation::Workload> make_plan_workload(const WorkloadChoice& choice, int ranks,
                                                         bool write, const Method& method);

}  // namespace forebay::tools
