#include "dataset/layouts.h"

#include <string_view>

#include "base/error.h"
#include "layout/classic_part.h"

namespace forebay {

void check_netcdf_layouts(const std::string& path, const Method& method) {
  const auto check_layout = [&](const std::string& name) {
    const auto* entry = find_part<LayoutEntry>(name);
    if (!entry || !entry->only_for) return;
    std::string others;
    for (const Part* part : parts(PartKind::layout)) {
      if (static_cast<const LayoutEntry*>(part)->only_for) continue;
      others += (others.empty() ? "" : " or ") + std::string(part->name);
    }
    throw Error(Errc::enotsupport,
                path + ": layout " + name + " is for " + entry->only_for + " files",
                "netCDF files can be " + others + "; " + entry->to_read);
  };
  check_layout(method.layout);
  for (const VariableRule& rule : method.variables)
    if (rule.keys.contains("layout")) check_layout(rule.keys.at("layout"));
}

void check_hdf5_layout(const Method& method) {
  const auto* entry = find_part<LayoutEntry>(method.layout);
  if (!entry || !entry->only_for || entry->only_for == std::string_view("HDF5")) return;
  throw Error(
      Errc::enotsupport,
      "layout " + method.layout + " is for " + entry->only_for + " files, not for HDF5 files",
      "HDF5 files can be log or canonical; " + std::string(entry->to_read));
}

}  // namespace forebay
