#include "workloads/made_by_ncgen.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "backends/backend.h"

extern char** environ;

namespace forebay::bench::cdl {
namespace {

void run_ncgen(std::string from, std::string to) {
  std::string words[] = {"ncgen", "-x", "-5", "-o", std::move(to), std::move(from)};
  char* arguments[std::size(words) + 1] = {};
  for (std::size_t i = 0; i < std::size(words); ++i) arguments[i] = words[i].data();
  pid_t child = 0;
  int status = 0;
  if (::posix_spawnp(&child, "ncgen", nullptr, nullptr, arguments, environ) != 0)
    throw std::runtime_error("cannot run ncgen, which reads CDL: Debian's netcdf-bin has it");
  if (::waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error("ncgen makes no netCDF file of " + words[5]);
}

}  // namespace

MadeByNcgen::MadeByNcgen(const std::string& cdl_path)
    : path_(std::filesystem::temp_directory_path() / "forebay-bench-XXXXXX") {
  const int fd = ::mkstemp(path_.data());
  if (fd < 0) throw std::runtime_error("cannot make " + path_);
  ::close(fd);
  try {
    run_ncgen(cdl_path, path_);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

MadeByNcgen::~MadeByNcgen() { ::unlink(path_.c_str()); }

}  // namespace forebay::bench::cdl
