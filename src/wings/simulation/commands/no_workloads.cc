#include "base/error.h"
#include "simulation/commands/workloads.h"

namespace forebay::tools {

std::unique_ptr<simulation::Workload> make_plan_workload(const WorkloadChoice&, int, bool,
                                                         const Method&) {
  throw Error(Errc::enotsupport, "plan: this build has no workloads",
              "they come with a build on MPI: -DFOREBAY_MPI=ON");
}

}  // namespace forebay::tools
