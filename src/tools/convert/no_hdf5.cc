// Stands in for hdf5/ in a build without HDF5.
#include "files/hdf5/source.h"
#include "tools/convert/convert.h"

namespace forebay::tools {

std::unique_ptr<Output> create_hdf5(const Comm&, const Source&, const std::string& path,
                                    const ConvertOptions&) {
  refuse_without_hdf5(path, "writes no");
}

ConvertResult copy_hdf5_file(const Comm&, const std::string& path, const std::string&,
                             const ConvertOptions&) {
  refuse_without_hdf5(path, "reads no");
}

}  // namespace forebay::tools
