// Replaces the other files of this folder in a build without HDF5.
#include "hdf5/commands/hdf5_commands.h"
#include "hdf5/files/hdf5_source.h"

namespace forebay::tools {

ConvertResult copy_hdf5_file(const Comm&, const std::string& path, const std::string&,
                             const ConvertOptions&) {
  refuse_without_hdf5(path, "reads no");
}

}  // namespace forebay::tools
