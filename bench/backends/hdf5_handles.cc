#include "backends/hdf5_handles.h"

namespace forebay::bench {
namespace {

// The first message of HDF5's error stack, which names the call that failed at the bottom.
herr_t take_message(unsigned /*n*/, const H5E_error2_t* entry, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (text.empty() && entry->desc) text = entry->desc;
  return 0;
}

}  // namespace

void hdf5_failed(const std::string& what) {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_message, &message);
  throw std::runtime_error(what + ": " + (message.empty() ? "HDF5 failed" : message));
}

Hdf5Id hdf5_access(MPI_Comm comm, MPI_Info info, bool independent) {
  Hdf5Id list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access");
  hdf5_check(H5Pset_fapl_mpio(list, comm, info), "MPI-IO");
  hdf5_check(H5Pset_coll_metadata_write(list, true), "collective metadata writes");
  hdf5_check(H5Pset_all_coll_metadata_ops(list, !independent), "collective metadata reads");
  // The later format has quicker chunk indexes for arrays of fixed size.
  hdf5_check(H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "format version");
  return list;
}

Hdf5Id hdf5_transfer(bool independent) {
  Hdf5Id list(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "transfer");
  hdf5_check(H5Pset_dxpl_mpio(list, independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE),
             "kind of transfer");
  return list;
}

Hdf5Id hdf5_create_file(const std::string& path, MPI_Comm comm, MPI_Info info, bool independent) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // messages go into exceptions
  const Hdf5Id access = hdf5_access(comm, info, independent);
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "create"};
}

Hdf5Id hdf5_open_file(const std::string& path, MPI_Comm comm, MPI_Info info, bool independent) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Hdf5Id access = hdf5_access(comm, info, independent);
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "open"};
}

}  // namespace forebay::bench
