#include "base/error.h"
#include "transport/transport.h"

namespace forebay {

std::unique_ptr<Transport> make_transport(const Comm& comm, std::shared_ptr<File> file,
                                          const TransportOptions& options, Report& report) {
  if (options.kind == "auto" || options.kind == "aggregated") {
    return make_aggregated_transport(comm, std::move(file), options, report);
  }
  if (options.kind == "posix") return make_posix_transport(comm, std::move(file), options, report);
  if (options.kind == "independent")
    return make_mpiio_transport(comm, std::move(file), options, report, false);
  if (options.kind == "collective")
    return make_mpiio_transport(comm, std::move(file), options, report, true);
  throw Error(Errc::einval, "unknown transport " + options.kind,
              "use auto, posix, independent, collective or aggregated");
}

}  // namespace forebay
