#include "base/error.h"
#include "transport/mpiio.h"

namespace forebay {

std::unique_ptr<Transport> make_mpiio_transport(const Comm&, std::shared_ptr<File>,
                                                const TransportOptions&, Report&, bool) {
  throw Error(Errc::enotbuilt, "this build has no MPI, so no MPI-IO transport",
              "use transport=posix or auto");
}

}  // namespace forebay
