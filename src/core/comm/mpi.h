// Converts between Comm and MPI handles, for front ends whose callers use MPI, and for MPI-IO
// transports.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>

#include "comm/comm.h"

namespace forebay {

/// Collective over `comm`. Returns a duplicate that nobody else uses. Some duplicates stay with
/// `comm` for later calls and are freed with it. Others are freed with the last Comm that uses
/// them. After MPI_Finalize they are left to MPI. Throws Errc::einval for MPI_COMM_NULL and
/// intercommunicators.
Comm make_comm(MPI_Comm comm);
/// Does the same, and sets `maxima` (few) to the maxima over all ranks of what the local function
/// `tell(is_root)` puts there, usually in the reduction that is needed anyway. An error of `tell`
/// on one rank is thrown on all.
constexpr std::size_t most_maxima = 8;
Comm make_comm(MPI_Comm comm, std::span<std::int64_t> maxima,
               const std::function<void(bool is_root)>& tell);
/// Collective over `own`, a duplicate that nobody else uses. Takes ownership: it is freed with the
/// last Comm that uses it, or if this fails.
Comm adopt_comm(MPI_Comm own);

/// Returns the MPI communicator of a Comm; MPI_COMM_SELF for a single process. Throws Errc::empi if
/// ranks are threads.
MPI_Comm mpi_comm(const Comm& comm);

/// Throws Errc::empi (with MPI's own text) unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace forebay
