// The extension module forebay._forebay. The package's own classes (python/forebay) stand on it;
// nothing in it is public. What reads HDF5 files is a second one (hdf5.cc).
#include "base/step.h"
#include "groups/files/bp_source.h"
#include "method/method.h"
#include "source_reader.h"
#include "support.h"

namespace forebay::python {
namespace {

std::unique_ptr<Source> open_directory(const std::string& path) {
  return open_bp(path, Strings::given);
}

/// [(step, block, start, count, least, greatest, certain, matches)]; least and greatest None where
/// the index has none, matches None where values were not read. And how many steps were not
/// searched.
nb::tuple find_in_directory(const nb::bytes& name, const std::string& condition, bool values) {
  const std::string path(name.c_str(), name.size());
  std::vector<FoundBlock> all;
  Searched searched;
  {
    const nb::gil_scoped_release unlocked;
    searched = find_in_bp(path, parse_search(condition), values,
                          [&](const FoundBlock& found) { all.push_back(found); });
  }
  const auto bound = [](const FoundBlock& found, long double value) -> nb::object {
    return found.known ? nb::cast(static_cast<double>(value)) : nb::none();
  };
  nb::list list;
  for (const FoundBlock& found : all)
    list.append(nb::make_tuple(found.step, found.block, nb::tuple(nb::cast(found.start)),
                               nb::tuple(nb::cast(found.count)), bound(found, found.least),
                               bound(found, found.greatest), found.certain,
                               found.matches ? nb::cast(*found.matches) : nb::none()));
  return nb::make_tuple(list, searched.unread);
}

}  // namespace
}  // namespace forebay::python

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
  python::bind_source_reader<python::open_directory>(module, "BpReader");
  module.def(
      "is_bp", [](const nb::bytes& path) { return is_bp(std::string(path.c_str(), path.size())); },
      nb::arg("path"));
  module.def("find_in_bp", python::find_in_directory, nb::arg("path"), nb::arg("condition"),
             nb::arg("values"));
  python::bind_writer(module);
  python::bind_checkpoints(module);
}
