// Stands in for the hdf5_*.cc files in a build without HDF5.
#include "base/error.h"
#include "tools/convert.h"
#include "tools/hdf5_log_report.h"
#include "tools/hdf5_source.h"
#include "tools/text_table.h"

namespace forebay::tools {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* doing) {
  throw Error(Errc::enotsupport,
              printable(path) + ": this build " + doing + " HDF5 (netCDF-4) files",
              "build with libhdf5-dev installed, or with -DFOREBAY_HDF5_TOOLS_ROOT=DIRECTORY");
}

}  // namespace

bool has_hdf5() { return false; }

std::unique_ptr<Source> open_hdf5(const std::string& path, const std::string&, Strings) {
  refuse(path, "reads no");
}

std::vector<std::string> check_hdf5(const std::string& path, bool, Count&, Count&) {
  refuse(path, "reads no");
}

std::unique_ptr<Output> create_hdf5(const Source&, const std::string& path, const ConvertOptions&) {
  refuse(path, "writes no");
}

std::optional<Hdf5LogFacts> hdf5_log_facts(const std::string&) { return std::nullopt; }

std::optional<Hdf5LogCheck> check_hdf5_log(const std::string&,
                                           const std::function<void(Count, Count)>&) {
  return std::nullopt;
}

ConvertResult copy_hdf5_file(const Comm&, const std::string& path, const std::string&,
                             const ConvertOptions&) {
  refuse(path, "reads no");
}

}  // namespace forebay::tools
