#include "hdf5/connector/mpio.h"

#include "comm/mpi.h"
#include "hdf5/connector/errors.h"
#include "hdf5/shared/id.h"

// These are null in an HDF5 without MPI.
#pragma weak H5Pget_fapl_mpio
#pragma weak H5Pset_fapl_mpio
#pragma weak H5Pget_dxpl_mpio
#pragma weak H5Pset_dxpl_mpio

namespace forebay::vol {
// A list of another driver is no error. One query gets both, because HDF5 duplicates the
// communicator each time.
std::optional<MpiAccess> MpiAccess::of(hid_t fapl) {
  if (H5Pget_fapl_mpio == nullptr) return std::nullopt;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  {
    const QuietErrors quiet;
    if (H5Pget_fapl_mpio(fapl, &comm, &info) < 0) return std::nullopt;
  }
  MpiAccess access(Comm(), info);
  access.ranks_ = adopt_comm(comm);
  return access;
}

MpiAccess::~MpiAccess() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

HintMap MpiAccess::hints() const {
  HintMap hints;
  int keys = 0;
  if (info_ == MPI_INFO_NULL || MPI_Info_get_nkeys(info_, &keys) != MPI_SUCCESS) return hints;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {}, value[MPI_MAX_INFO_VAL + 1] = {};
    int there = 0;
    if (MPI_Info_get_nthkey(info_, i, key) == MPI_SUCCESS &&
        MPI_Info_get(info_, key, MPI_MAX_INFO_VAL, value, &there) == MPI_SUCCESS && there != 0)
      hints[key] = value;
  }
  return hints;
}

void use_mpio_alone(hid_t fapl) {
  if (H5Pset_fapl_mpio != nullptr)
    checked(H5Pset_fapl_mpio(fapl, MPI_COMM_SELF, MPI_INFO_NULL), "choosing a file driver");
}

bool asks_collective(hid_t dxpl) {
  H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
  return H5Pget_dxpl_mpio != nullptr && H5Pget_dxpl_mpio(dxpl, &mode) >= 0 &&
         mode == H5FD_MPIO_COLLECTIVE;
}

void set_collective(hid_t dxpl) {
  if (H5Pset_dxpl_mpio != nullptr)
    checked(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE), "choosing collective transfers");
}

void set_independent(hid_t dxpl) {
  if (H5Pset_dxpl_mpio != nullptr)
    checked(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_INDEPENDENT), "choosing independent transfers");
}

}  // namespace forebay::vol
