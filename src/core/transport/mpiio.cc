// The entries of the two transports over MPI-IO, in builds with an MPI and without.
#include "transport/mpiio.h"

#include "base/error.h"
#include "storage/file.h"

namespace forebay {
namespace {

constexpr const char* needs = "it opens the file by MPI";

std::shared_ptr<File> single(std::shared_ptr<ByteFile> file) {
  const std::string path = file->path();
  if (auto one = std::dynamic_pointer_cast<File>(std::move(file))) return one;
  throw Error(Errc::enotsupport, path + " is not one file, which MPI-IO needs",
              "use transport=auto, posix or aggregated");
}

std::unique_ptr<Transport> make_independent(const Comm& comm, std::shared_ptr<ByteFile> file,
                                            const TransportOptions& options, Report& report) {
  return make_mpiio_transport(comm, single(std::move(file)), options, report, false);
}

std::unique_ptr<Transport> make_collective(const Comm& comm, std::shared_ptr<ByteFile> file,
                                           const TransportOptions& options, Report& report) {
  return make_mpiio_transport(comm, single(std::move(file)), options, report, true);
}

}  // namespace

extern const TransportEntry independent_transport{
    {"independent", "MPI-IO without collective buffering", 20, {}, netcdf_files | FrontEnd::groups},
    make_independent,
    needs};
extern const TransportEntry collective_transport{
    {"collective", "MPI-IO with it", 30, {}, netcdf_files | FrontEnd::groups},
    make_collective,
    needs};

}  // namespace forebay
