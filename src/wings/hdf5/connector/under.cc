#include "hdf5/connector/under.h"

#include <H5VLnative.h>

#include "hdf5/shared/id.h"

namespace forebay::vol {

bool same_connector(hid_t a, hid_t b) noexcept {
  if (a == b) return true;
  int difference = 1;
  return H5VLcmp_connector_cls(&difference, a, b) >= 0 && difference == 0;
}

bool is_native(hid_t connector) noexcept {
  H5VL_class_value_t value = -1;
  return H5VLget_value(connector, &value) >= 0 && value == H5_VOL_NATIVE;
}

void OwnedUnder::close() noexcept {
  if (!under_) return;
  constexpr std::pair<H5I_type_t, decltype(&H5VLfile_close)> functions[] = {
      {H5I_FILE, H5VLfile_close},       {H5I_GROUP, H5VLgroup_close},
      {H5I_DATASET, H5VLdataset_close}, {H5I_DATATYPE, H5VLdatatype_close},
      {H5I_ATTR, H5VLattr_close},
  };
  const auto [object, connector, type] = std::exchange(under_, {});
  for (const auto& [of_type, close_below] : functions)
    if (of_type == type) close_below(object, connector, H5P_DATASET_XFER_DEFAULT, nullptr);
}

LibraryContext::LibraryContext() {
#if H5_VERSION_GE(2, 0, 0)
  const bool open = H5VLopen_lib_context(&context_) >= 0;
#else
  const bool open = H5VLstart_lib_state() >= 0;
#endif
  if (!open) throw_hdf5("opening a context");
}

LibraryContext::~LibraryContext() {
#if H5_VERSION_GE(2, 0, 0)
  H5VLclose_lib_context(context_);
#else
  H5VLfinish_lib_state();
#endif
}

}  // namespace forebay::vol
