// The extension module forebay._hdf5: netCDF-4 and other HDF5 files, for reading, through the
// readers that the command has.
#include "files/open_source.h"
#include "source_reader.h"

namespace forebay::python {
namespace {

std::unique_ptr<Source> open_any(const std::string& path) {
  return open_source(path, {}, Strings::given);
}

}  // namespace
}  // namespace forebay::python

NB_MODULE(_hdf5, module) {
  using namespace forebay::python;
  register_errors();
  bind_source_reader<open_any>(module, "Reader");
}
