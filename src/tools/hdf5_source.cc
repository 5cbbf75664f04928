#include "tools/hdf5_source.h"

#include "base/error.h"

namespace forebay::tools {

bool has_hdf5() { return false; }
std::unique_ptr<Source> open_hdf5(const std::string& path) { throw Error(Errc::enotsupport, path); }

}  // namespace forebay::tools
