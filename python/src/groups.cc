// Reading BP files, by the wing groups.
#include "groups/files/bp_source.h"
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

void bind_groups(nb::module_& module) {
  bind_source_reader<open_directory>(module, "BpReader");
  module.def(
      "is_bp", [](const nb::bytes& path) { return is_bp(std::string(path.c_str(), path.size())); },
      nb::arg("path"));
  module.def("find_in_bp", find_in_directory, nb::arg("path"), nb::arg("condition"),
             nb::arg("values"));
}

}  // namespace forebay::python
