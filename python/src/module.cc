// The extension module forebay._forebay. The package's own classes (python/forebay) stand on it;
// nothing in it is public. What reads HDF5 files is a second one (hdf5.cc).
#include "base/step.h"
#include "method/method.h"
#include "support.h"

NB_MODULE(_forebay, module) {
  namespace nb = nanobind;
  using namespace forebay;
  module.attr("version") = FOREBAY_VERSION;
  module.attr("mpi") = bool(FOREBAY_MPI);
#ifdef FOREBAY_PYTHON_HDF5
  module.attr("hdf5") = true;
#else
  module.attr("hdf5") = false;
#endif
  module.def("method_keys", [] {
    nb::list keys;
    for (const MethodKey& key : method_keys())
      keys.append(nb::make_tuple(key.name, key.accepted, key.standard, key.help));
    return keys;
  });
  nb::list steps;
  for (const char* const name : step_names) steps.append(name);
  module.attr("step_names") = nb::tuple(steps);  // of reports
  python::register_errors();
  python::bind_reader(module);
  python::bind_writer(module);
  // What a wing brings is not there without it; python/forebay/_wings.py says so.
  nb::list wings;
#if FOREBAY_PYTHON_BUNDLES
  wings.append("bundles");
#endif
#if FOREBAY_PYTHON_BURST
  wings.append("burst");
  python::bind_staged(module);
#endif
#if FOREBAY_PYTHON_CHECKPOINTS
  wings.append("checkpoints");
  python::bind_checkpoints(module);
#endif
#if FOREBAY_PYTHON_GROUPS
  wings.append("groups");
  python::bind_groups(module);
#endif
#if FOREBAY_PYTHON_PATCHES
  wings.append("patches");
#endif
  module.attr("wings") = nb::tuple(wings);
}
