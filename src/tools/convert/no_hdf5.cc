// Stands in for hdf5/ in a build without HDF5.
#include "base/error.h"
#include "base/text_table.h"
#include "tools/convert/convert.h"

namespace forebay::tools {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* doing) {
  throw Error(Errc::enotsupport,
              printable(path) + ": this build " + doing + " HDF5 (netCDF-4) files",
              "build with libhdf5-dev installed, or with -DFOREBAY_HDF5_TOOLS_ROOT=DIRECTORY");
}

}  // namespace

std::unique_ptr<Output> create_hdf5(const Source&, const std::string& path, const ConvertOptions&) {
  refuse(path, "writes no");
}

ConvertResult copy_hdf5_file(const Comm&, const std::string& path, const std::string&,
                             const ConvertOptions&) {
  refuse(path, "reads no");
}

}  // namespace forebay::tools
