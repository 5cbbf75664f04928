// The workloads of dense arrays on parallel HDF5. The others speak PnetCDF's interface.

#include "command.h"
#include "workload_arrays.h"

namespace forebay::bench {

void add_workloads(CLI::App& app, Command& c) {
  static ArrayCommand arrays;
  app.add_flag("--one-call", arrays.storage.one_call,
               "H5Dwrite_multi and H5Dread_multi for all variables, not one call a variable");
  add_array_workloads(
      app, c, arrays, [](auto pattern, const ArrayCommand& options, const Team& team) {
        return std::make_unique<ArrayWorkload>(std::move(pattern), options.storage, team);
      });
}

}  // namespace forebay::bench
