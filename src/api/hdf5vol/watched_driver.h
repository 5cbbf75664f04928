// What HDF5 writes to a file, whenever its metadata cache decides to, goes by an UndoFile first.
//
// HDF5 keeps the functions of a file driver in a table (H5FD_class_t), which every open file of
// that driver points to. Of sec2 and MPI-IO those that write, truncate, flush and close are
// replaced in that table when the first file is watched; files without an undo file pass through
// them. A driver of our own around HDF5's would not do: HDF5 tells by the table whether two handles
// are of one file, and a program may have opened one of them without the connector.
#pragma once

#include <memory>

#include "api/hdf5vol/under.h"
#include "layout/logged/undo_file.h"

namespace forebay::vol {

/// Where an open file ends, or its allocated space if that is longer. `file` is one, no other
/// object.
Offset end_of_file(const UnderObject& file);

/// What is written to an open file of the driver sec2, or of MPI-IO where `mpi_io`, goes by `undo`
/// from now on, until HDF5 closes the file, which may be long after the connector's last handle of
/// it (mounted files, handles that the program has opened natively). Whenever HDF5 has flushed all
/// of the file, whoever asked for it, that is committed; a flush whose commit fails fails on all
/// ranks. When the file is closed `undo` is closed.
void watch(const UnderObject& file, bool mpi_io, std::shared_ptr<UndoFile> undo);

/// What watch() began ends; `undo` is not closed.
void unwatch(const UndoFile& undo) noexcept;

/// Puts HDF5's functions back; by the connector's terminate.
void restore_drivers() noexcept;

}  // namespace forebay::vol
