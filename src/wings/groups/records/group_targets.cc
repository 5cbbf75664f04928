#include "groups/records/group_targets.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/path.h"
#include "method/front_end.h"
#include "method/method_keys.h"
#include "method/part.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

struct Ending {
  const char* text;
  GroupFormat format;
};
/// The first one of a format is given to paths that have none of its endings.
constexpr Ending endings[] = {{".bp", GroupFormat::bp},
                              {".nc", GroupFormat::netcdf},
                              {".h5", GroupFormat::netcdf4},
                              {".hdf5", GroupFormat::netcdf4},
                              {".nc4", GroupFormat::netcdf4}};

const Ending* ending_of(const std::string& path) {
  const auto found = std::find_if(std::begin(endings), std::end(endings),
                                  [&](const Ending& one) { return path.ends_with(one.text); });
  return found == std::end(endings) ? nullptr : found;
}

bool is_bp_by_ending(const std::string& path) {
  const Ending* const known = ending_of(path);
  return !known || known->format == GroupFormat::bp;
}

/// Returns whether no layout was named. Then the path's ending decides the format, and the first
/// step the rest.
bool chooses(const Method& method) {
  return !method.origin.contains("layout") || method.layout == "auto";
}

/// Returns whether somebody named netCDF-4 for this very file, or group.
bool names_netcdf4(const Method& method) {
  const auto said = method.origin.find("container");
  return said != method.origin.end() && said->second.names_file && method.container == "netcdf4";
}

/// Returns the path with an ending of that format.
std::string with_ending(std::string path, GroupFormat format) {
  const Ending* const known = ending_of(path);
  if (known ? known->format == format : format == GroupFormat::bp) return path;
  if (known) path.resize(path.size() - std::string_view(known->text).size());
  const auto own = std::ranges::find(endings, format, &Ending::format);
  return path + own->text;
}

std::string with_base(const std::string& path, const Method& method) {
  const std::string base = method_value(method, "base_path");
  if (base == "none") return path;
  const fs::path given(strip_prefix(path));
  return (fs::path(base) / (given.is_absolute() ? given.filename() : given)).string();
}

}  // namespace

GroupFormat settle_format(Method& method, const std::string& path) {
  const KeySpec& layout = *find_key_spec("layout");
  if (!honours(FrontEnd::groups, layout, method.layout) &&
      !honours(FrontEnd::group_records, layout, method.layout))
    keep_honoured(method, is_bp_by_ending(path) ? FrontEnd::groups : FrontEnd::group_records);
  if (chooses(method)) method.layout = "auto";
  if (method.layout == "null") return GroupFormat::nothing;
  if (method.layout == "process-group") return GroupFormat::bp;
  if (method.layout == "auto" && !names_netcdf4(method)) {
    // A BP directory with such a name would be noticed late.
    if (path.ends_with(".zarr"))
      throw Error(Errc::enotsupport, path + ": groups are not written in the format of that name",
                  "call it .bp, .nc or .h5, or choose a layout");
    if (is_bp_by_ending(path)) return GroupFormat::bp;
  }
  const Ending* const known = ending_of(path);
  if (known && known->format == GroupFormat::netcdf4 && !method.origin.contains("container")) {
    if (!find_part(PartKind::container, "netcdf4"))
      throw absent("container", "netcdf4", path).value();
    method.container = "netcdf4";
    method.origin["container"] = std::string("the path's ending ") + known->text;
  }
  return method.container == "netcdf4" ? GroupFormat::netcdf4 : GroupFormat::netcdf;
}

std::vector<GroupTarget> group_targets(const std::string& path, std::size_t methods,
                                       const ChooseMethod& choose) {
  struct Chosen {
    Method method;
    GroupFormat format;
    std::size_t which;
  };
  const auto format_for = [](Method method, const std::string& of) {
    return settle_format(method, of);
  };
  std::vector<Chosen> writing;
  for (std::size_t which = 0; which < std::max<std::size_t>(methods, 1); ++which) {
    Method method = choose(path, which);
    const GroupFormat format = format_for(method, path);
    if (format != GroupFormat::nothing)
      writing.push_back({std::move(method), format, which});
    else if (writing.empty() && which + 1 >= methods)
      return {{path, std::move(method)}};
  }
  std::vector<GroupTarget> targets;
  for (Chosen& one : writing) {
    const std::string own =
        with_base(writing.size() > 1 ? with_ending(path, one.format) : path, one.method);
    if (own != path) one.method = choose(own, one.which);
    if (format_for(one.method, own) != one.format)
      throw Error(Errc::einval,
                  own + ": the rules for this name make it another format than those for " + path,
                  "name the layout or the container in <method>");
    targets.push_back({own, std::move(one.method)});
  }
  return targets;
}

}  // namespace forebay
