// Files that a program leaves open. When HDF5 ends (H5close, exit, MPI_Finalize) it closes them,
// but it closes the whole library's datatypes and dataspaces first, so no log could be finished.
// Therefore all open objects are closed when HDF5 begins to end, in HDF5's own order: objects
// before files. Files with MPI-IO are closed when MPI_Finalize begins, because MPI-IO may have
// ended when HDF5 hears of it.
#pragma once

namespace forebay::vol {

/// Registers a function that HDF5 calls when it begins to end. The connector's initialize calls
/// this; it may be called again.
void watch_for_the_end();
/// Does the same for MPI_Finalize. To be called each time a file was opened with MPI-IO.
void watch_for_the_end_of_mpi();

/// Returns whether HDF5 has begun to end and all that could be closed is closed. From then on
/// HDF5's identifiers may be gone, and logs are not touched.
bool library_ends() noexcept;

}  // namespace forebay::vol
