#include "method/adios_methods.h"

#include <string_view>

#include "base/error.h"
#include "base/quoted.h"
#include "base/words.h"

namespace forebay {
namespace {

struct Known {
  const char* name;
  const char* keys;  ///< null: refused
  const char* instead = "";
};

constexpr const char* no_staging =
    "it hands data to another program; write a file, and let that program read each step of it";
constexpr Known all[] = {
    {"MPI", "layout=process-group;transport=independent"},
    {"MPI_CIO", "layout=process-group;transport=collective"},
    // Lustre has stripes of 1 MiB unless somebody says otherwise.
    {"MPI_LUSTRE", "layout=process-group;transport=independent;striping_unit=1MiB"},
    {"MPI_AGGREGATE", "layout=process-group;transport=posix;subfiling=node"},
    {"MPI_AMR", "layout=process-group;transport=posix;subfiling=node"},
    {"POSIX", "layout=process-group;transport=posix;subfiling=ranks;subfile_ranks=1"},
    {"PHDF5", "container=netcdf4"},
    {"NC4", "container=netcdf4"},
    {"NULL", "layout=null"},
    {"VAR_MERGE", nullptr,
     "layout=\"canonical\" and \"chunked\" put the blocks of a variable together, in netCDF files"},
    {"MPI_BGQ", nullptr, "choose MPI_AGGREGATE"},
    {"DATASPACES", nullptr, no_staging},
    {"DIMES", nullptr, no_staging},
    {"FLEXPATH", nullptr, no_staging},
    {"ICEE", nullptr, no_staging},
};

}  // namespace

std::vector<std::pair<std::string, std::string>> keys_of_adios_method(const std::string& name,
                                                                      const std::string& where) {
  std::vector<std::string_view> names;
  std::string accepted;
  for (const Known& known : all) {
    names.emplace_back(known.name);
    if (known.keys) accepted += (accepted.empty() ? "accepted: " : ", ") + std::string(known.name);
  }
  for (const Known& known : all) {
    if (lower_case(name) != lower_case(known.name)) continue;
    if (!known.keys)
      throw Error(Errc::enotsupport,
                  where + ": ADIOS's method " + known.name + " has nothing like it here",
                  std::string(known.instead) + "; " + accepted);
    std::vector<std::pair<std::string, std::string>> keys;
    for (const std::string_view one : items_of(known.keys, ';')) {
      const auto pair = key_and_value(one);
      keys.emplace_back(pair->first, pair->second);
    }
    return keys;
  }
  throw Error(Errc::einval, where + ": " + quoted(name) + " is no method of ADIOS",
              did_you_mean(name, names) + accepted +
                  "; methods in this library's words are keys, as transport=\"collective\"");
}

}  // namespace forebay
