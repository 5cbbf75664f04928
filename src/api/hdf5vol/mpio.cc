#include "api/hdf5vol/mpio.h"

#include "api/hdf5vol/errors.h"
#include "api/hdf5vol/hid.h"
#include "comm/mpi.h"

// Null in an HDF5 without MPI.
#pragma weak H5Pget_fapl_mpio
#pragma weak H5Pset_fapl_mpio
#pragma weak H5Pget_dxpl_mpio
#pragma weak H5Pset_dxpl_mpio

namespace forebay::vol {
namespace {

HintMap hints_of(MPI_Info info) {
  HintMap hints;
  int keys = 0;
  if (info == MPI_INFO_NULL || MPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return hints;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {}, value[MPI_MAX_INFO_VAL + 1] = {};
    int there = 0;
    if (MPI_Info_get_nthkey(info, i, key) == MPI_SUCCESS &&
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &there) == MPI_SUCCESS && there != 0)
      hints[key] = value;
  }
  return hints;
}

/// The communicator and the info, copies of the list's, freed when they go.
struct Given {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  Given() = default;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  }
};

}  // namespace

std::optional<MpiAccess> mpi_access(hid_t fapl) {
  if (H5Pget_fapl_mpio == nullptr) return std::nullopt;
  Given given;
  {
    const QuietErrors quiet;  // a list of another driver is no error
    if (H5Pget_fapl_mpio(fapl, &given.comm, &given.info) < 0) return std::nullopt;
  }
  return MpiAccess{make_comm(given.comm), hints_of(given.info)};
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

}  // namespace forebay::vol
