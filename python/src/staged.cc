// Reading a file with the writes laid over that a job has staged for it: a Source of the wing
// burst.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "burst/files/staged_source.h"
#include "source_reader.h"
#include "stage/recovery.h"
#include "support.h"

namespace forebay::python {

void bind_staged(nb::module_& module) {
  bind_source_reader<open_overlaid>(module, "OverlayReader");
  bind_source_reader<open_overlaid_partially>(module, "PartialOverlayReader");
  module.def(
      "overlay_of",
      [](const nb::bytes& path, const std::string& recover) {
        const Recover found = overlay_of(std::string(path.c_str(), path.size()), recover);
        if (found == Recover::ignore) return "";
        return found == Recover::overlay ? "overlay" : "overlay-partial";
      },
      nb::arg("path"), nb::arg("recover"));
}

}  // namespace forebay::python
