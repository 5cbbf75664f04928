// HDF5's MPI-IO driver. What only an HDF5 with MPI has is found when the connector is loaded, so
// that one without, of the same version, loads it too.
#pragma once

#include <hdf5.h>

#include <optional>

#include "comm/comm.h"
#include "core/method.h"

namespace forebay::vol {

/// What a program gave H5Pset_fapl_mpio.
struct MpiAccess {
  Comm comm;
  HintMap hints;
};

/// Collective over the list's communicator, which is duplicated. Nothing where the list chooses
/// another driver.
std::optional<MpiAccess> mpi_access(hid_t fapl);

/// Local. Makes a list choose that driver, for this process alone.
void use_mpio_alone(hid_t fapl);

/// Whether a transfer property list asks for collective transfers.
bool asks_collective(hid_t dxpl);
/// Makes it ask for them.
void set_collective(hid_t dxpl);

}  // namespace forebay::vol
