// All writes of HDF5 to a file, whenever its metadata cache decides to write, go through an
// UndoFile.
//
// HDF5 keeps the functions of a file driver in a table (H5FD_class_t), to which every open file of
// that driver points. For sec2 and MPI-IO, the functions that write, truncate, flush and close are
// replaced in that table when the first file is watched. Files without an undo file pass through
// them. A driver of our own around HDF5's would not work: HDF5 compares tables to find whether two
// handles belong to one file, and a program may have opened one of them without the connector.
#pragma once

#include <memory>

#include "hdf5/connector/under.h"
#include "hdf5/log/undo_file.h"
#include "hdf5/shared/driver_table.h"

namespace forebay::vol {

/// Returns the end of an open file, or of its allocated space if that is longer. `file` must be a
/// file object.
Offset end_of_file(const UnderObject& file);

/// From now on, writes to an open file of the driver sec2 (or MPI-IO with `mpi_io`) go through
/// `undo`. This lasts until HDF5 closes the file, maybe long after the connector's last handle is
/// closed (mounted files, handles that the program opened natively). Whenever HDF5 has flushed the
/// whole file, whoever asked for it, the flush is committed; if the commit fails, the flush fails
/// on all ranks. `undo` is closed with the file.
void watch(const UnderObject& file, bool mpi_io, std::shared_ptr<UndoFile> undo);

/// Ends what watch() began; `undo` is not closed.
void unwatch(const UndoFile& undo) noexcept;

/// Returns HDF5's table of the driver MPI-IO, for a HeldBackWrite. Its functions stay replaced.
H5FD_class_t& mpio_table();

/// Restores HDF5's functions. The connector's terminate calls it.
void restore_drivers() noexcept;

}  // namespace forebay::vol
