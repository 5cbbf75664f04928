// The workloads of the benchmarks (bench/workloads) as `forebay plan` simulates them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/types.h"
#include "method/method.h"
#include "simulation/workload.h"

namespace forebay::tools {

/// What the command line says of a workload; nothing: what the benchmark does.
struct WorkloadChoice {
  std::string name;
  std::string e3sm_case = "F", history = "h0", data, generate;
  std::optional<Count> map_ranks, tiles, records;  // e3sm
  std::optional<Count> size, piece, iterations;    // blocks
  std::optional<Count> total, chunk;               // checkerboard2d
  std::string grid;                                ///< of points, or how chunks lie on blocks
};

/// Errc::einval for what cannot be.
std::unique_ptr<simulation::Workload> make_plan_workload(const WorkloadChoice& choice, int ranks,
                                                         bool write, const Method& method);

}  // namespace forebay::tools
