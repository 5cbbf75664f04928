#include "base/error.h"
#include "tools/convert.h"

namespace forebay::tools {

std::unique_ptr<Output> create_hdf5(const Source&, const std::string&, const ConvertOptions&) {
  throw Error(Errc::enotsupport, "this build writes no HDF5 (netCDF-4) files",
              "convert to netcdf or zarr");
}

}  // namespace forebay::tools
