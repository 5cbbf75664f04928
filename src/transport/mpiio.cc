// What the two transports over MPI-IO say of themselves, in builds with an MPI and without.
#include "transport/mpiio.h"

namespace forebay {
namespace {

constexpr const char* needs = "it opens the file by MPI";

std::unique_ptr<Transport> make_independent(const Comm& comm, std::shared_ptr<File> file,
                                            const TransportOptions& options, Report& report) {
  return make_mpiio_transport(comm, std::move(file), options, report, false);
}

std::unique_ptr<Transport> make_collective(const Comm& comm, std::shared_ptr<File> file,
                                           const TransportOptions& options, Report& report) {
  return make_mpiio_transport(comm, std::move(file), options, report, true);
}

}  // namespace

extern const TransportEntry independent_transport{
    {"independent", "MPI-IO without collective buffering", 20}, make_independent, needs};
extern const TransportEntry collective_transport{
    {"collective", "MPI-IO with it", 30}, make_collective, needs};

}  // namespace forebay
