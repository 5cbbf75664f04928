#include "netcdf4/read_apart.h"

#include "base/companion.h"
#include "base/error.h"
#include "netcdf4/format/packed_structure.h"

namespace forebay::netcdf4 {

namespace {

Error naming_file(const Error& error, const std::string& path) {
  return error.message().find(path) == std::string::npos ? error.at(path) : error;
}

}  // namespace

ReadStructure read_here(const std::string& path) {
  ReadStructure structure;
  if (auto error = hdf5_side().read(path, structure)) throw naming_file(*error, path);
  return structure;
}

ReadStructure read_apart(const std::string& path) {
  const auto answer =
      ask_companion({"forebay_netcdf4_reader", path, {}, "HDF5", "the file's structure"});
  return answer ? parse_structure(*answer) : read_here(path);
}

}  // namespace forebay::netcdf4
