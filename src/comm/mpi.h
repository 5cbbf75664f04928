// The bridge between Comm and MPI handles, for front ends whose callers speak MPI, and for MPI-IO
// transports.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>

#include "comm/comm.h"

namespace forebay {

/// Collective over `comm`: a duplicate of it, which nobody else uses. Some stay with `comm` for
/// later calls and are freed with it; others are freed with the last Comm that uses them; after
/// MPI_Finalize they are left to MPI. Throws Errc::einval for MPI_COMM_NULL and for
/// intercommunicators.
Comm make_comm(MPI_Comm comm);
/// The same. On the way, as a rule in the reduction that is needed in any case, `maxima`, a few,
/// become those over all ranks of what `tell(is_root)`, which is local, puts there; what it throws
/// on one rank all throw.
constexpr std::size_t most_maxima = 8;
Comm make_comm(MPI_Comm comm, std::span<std::int64_t> maxima,
               const std::function<void(bool is_root)>& tell);
/// Collective over `own`, a duplicate that nobody else uses. Takes it over: it is freed with the
/// last Comm that uses it, or where this fails.
Comm adopt_comm(MPI_Comm own);

/// The MPI communicator behind a Comm; MPI_COMM_SELF for a single process. Throws Errc::empi for
/// ranks that are threads.
MPI_Comm mpi_comm(const Comm& comm);

/// Throws Errc::empi (with MPI's own text) unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace forebay
