// Transports over MPI-IO: mpiio_mpi.cc implements them, mpiio_serial.cc refuses them.
#pragma once

#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {

/// Collective. Throws Errc::enotbuilt in a build without MPI.
std::unique_ptr<Transport> make_mpiio_transport(const Comm& comm, std::shared_ptr<File> file,
                                                const TransportOptions& options, Report& report,
                                                bool collective);

}  // namespace forebay
