// HDF5's MPI-IO driver. Symbols that only an HDF5 with MPI has are resolved when the connector is
// loaded, so an HDF5 of the same version without MPI can load it, too.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <optional>
#include <utility>

#include "comm/comm.h"
#include "method/method.h"

namespace forebay::vol {

/// Copies of a program's arguments to H5Pset_fapl_mpio.
class MpiAccess {
 public:
  /// Collective over the communicator; succeeds on all ranks or on none. nullopt: the list chooses
  /// another driver.
  static std::optional<MpiAccess> of(hid_t fapl);
  MpiAccess(MpiAccess&& other) noexcept
      : ranks_(std::move(other.ranks_)), info_(std::exchange(other.info_, MPI_INFO_NULL)) {}
  MpiAccess& operator=(MpiAccess&&) = delete;
  ~MpiAccess();

  const Comm& ranks() const { return ranks_; }
  HintMap hints() const;

 private:
  MpiAccess(Comm ranks, MPI_Info info) : ranks_(std::move(ranks)), info_(info) {}
  Comm ranks_;
  MPI_Info info_;
};

/// Local. Makes a list choose that driver for this process alone.
void use_mpio_alone(hid_t fapl);

/// Returns whether a transfer property list asks for collective transfers.
bool asks_collective(hid_t dxpl);
/// Returns whether all ranks take part in a transfer with this property list.
inline bool is_collective(hid_t dxpl, const Comm& comm) {
  return comm.size() == 1 || asks_collective(dxpl);
}
/// These make a list ask for collective, or independent, transfers.
void set_collective(hid_t dxpl);
void set_independent(hid_t dxpl);

}  // namespace forebay::vol
