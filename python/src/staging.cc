// What the wing burst tells of a file.
#include <optional>

#include "base/attempt.h"
#include "base/error.h"
#include "burst/staging_control.h"
#include "support.h"

namespace forebay::python {
namespace {

/// What there is to tell of writes that are staged for a file and that no job will bring in, or
/// None.
nb::object staged_writes(const nb::bytes& path) {
  const std::string name(path.c_str(), path.size());
  std::optional<Error> damaged;
  std::optional<FoundStaging> found;
  {
    const nb::gil_scoped_release unlocked;
    damaged = attempt_to([&] { found = StagingControl::read(StagingControl::path_of(name)); });
  }
  if (damaged) return to_text(damaged->what());
  if (!found || found->begun_only || found->info.closed || found->job == Liveness::alive)
    return nb::none();
  const char* const job =
      found->job == Liveness::dead
          ? "a job ended before all that it wrote was in the file"
          : "a job staged writes, and may have ended before all were in the file";
  return to_text(name + ": " + job + "; bring in the rest with: forebay recover " + name);
}

}  // namespace

void bind_staging(nb::module_& module) {
  module.def("staged_writes", staged_writes, nb::arg("path"));
}

}  // namespace forebay::python
