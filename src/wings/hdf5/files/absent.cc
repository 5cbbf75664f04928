// Replaces the other files of this folder in a build without HDF5.
#include "base/error.h"
#include "base/text_table.h"
#include "files/open_source.h"
#include "hdf5/files/hdf5_check.h"
#include "hdf5/files/hdf5_source.h"
#include "hdf5/files/log_report.h"

namespace forebay {

void refuse_without_hdf5(const std::string& path, const char* doing) {
  throw Error(Errc::enotsupport,
              printable(path) + ": this build " + doing + " HDF5 (netCDF-4) files",
              "build with libhdf5-dev installed, or with -DFOREBAY_HDF5_TOOLS_ROOT=DIRECTORY");
}

std::unique_ptr<Source> open_hdf5(const std::string& path, const std::string&, Strings) {
  refuse_without_hdf5(path, "reads no");
}

extern const FormatEntry hdf5_format{"hdf5", false, is_hdf5_file, open_hdf5};

std::vector<std::string> check_hdf5(const std::string& path, bool, Hdf5Checked&) {
  refuse_without_hdf5(path, "reads no");
}

std::optional<Hdf5LogFacts> hdf5_log_facts(const std::string&) { return std::nullopt; }

std::optional<Hdf5LogCheck> check_hdf5_log(const std::string&,
                                           const std::function<void(Count, Count)>&) {
  return std::nullopt;
}

}  // namespace forebay
