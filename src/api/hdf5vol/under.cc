#include "api/hdf5vol/under.h"

namespace forebay::vol {

bool OwnedUnder::close() noexcept {
  if (!under_) return true;
  const auto [object, connector, type] = std::exchange(under_, {});
  switch (type) {
    case H5I_FILE:
      return H5VLfile_close(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    case H5I_GROUP:
      return H5VLgroup_close(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    case H5I_DATASET:
      return H5VLdataset_close(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    case H5I_DATATYPE:
      return H5VLdatatype_close(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    case H5I_ATTR:
      return H5VLattr_close(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    default:
      return false;
  }
}

}  // namespace forebay::vol
