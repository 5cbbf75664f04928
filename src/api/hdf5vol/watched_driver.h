// What HDF5 writes to a file, whenever its metadata cache decides to, goes by an UndoFile first.
//
// HDF5 keeps the functions of a file driver in a table (H5FD_class_t), which every open file of
// that driver points to. Of sec2 and MPI-IO those that write, truncate and close are replaced in
// that table when the first file is watched; files without an undo file pass through them. A driver
// of our own around HDF5's would not do: HDF5 tells by the table whether two handles are of one
// file, and a program may have opened one of them without the connector.
#pragma once

#include "api/hdf5vol/under.h"
#include "core/undo_file.h"

namespace forebay::vol {

/// Where an open file ends, or its allocated space if that is longer. `file` is one, no other
/// object.
Offset end_of_file(const UnderObject& file);

/// What is written to an open file of the driver sec2, or of MPI-IO where `mpi_io`, goes by `undo`
/// from now on, until the file is closed: then all that it holds is committed, and `undo` closed.
/// `undo` outlives the file or is unwatched.
void watch(const UnderObject& file, bool mpi_io, UndoFile& undo);
/// Where the allocated space of a file ends that goes by `undo` and was flushed.
Offset flushed_end(const UndoFile& undo);
void unwatch(const UndoFile& undo) noexcept;

/// Puts HDF5's functions back; by the connector's terminate.
void restore_drivers() noexcept;

}  // namespace forebay::vol
