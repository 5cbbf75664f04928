// Where a group is written, and in which format: each of its methods writes one file (Lofstead et
// al. 2009, §III.B; docs/groups.md, "Methods").
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "method/method.h"

namespace forebay {

enum class GroupFormat { bp, netcdf, netcdf4, nothing };

/// Local, equal on all ranks. Decides the format by the method's layout and container, or by the
/// path's ending if these were not named, and sets them in `method`. Errc::enotsupport: groups are
/// not written in the format of that ending. Errc::enotbuilt: this build lacks it.
GroupFormat settle_format(Method& method, const std::string& path);

struct GroupTarget {
  std::string path;
  Method method;
};

/// Returns the method number `which` of the group for a path (method/method.h).
using ChooseMethod = std::function<Method(const std::string& path, std::size_t which)>;

/// Local, equal on all ranks. Returns the files that a group's methods write if the program names
/// `path`; those that write none are left out, unless all do so. One file has the program's path.
/// Of several each has it with an ending of its own format: those of other formats are replaced.
/// The key base_path puts a folder in front.
/// Errc::einval: a rule for the new path says another format.
std::vector<GroupTarget> group_targets(const std::string& path, std::size_t methods,
                                       const ChooseMethod& choose);

}  // namespace forebay
