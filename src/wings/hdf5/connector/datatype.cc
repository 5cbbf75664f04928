#include "hdf5/connector/callbacks.h"

namespace forebay::vol {
namespace {

herr_t specific(void* obj, H5VL_datatype_specific_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    if (args->op_type == H5VL_DATATYPE_FLUSH) before_flush(object_of(obj));
    return forward<H5VLdatatype_specific>(obj, args, dxpl, req);
  });
}

}  // namespace

H5VL_datatype_class_t datatype_callbacks() noexcept {
  return {create_named<H5VLdatatype_commit, H5I_DATATYPE, hid_t, hid_t, hid_t, hid_t>,
          open_named<H5VLdatatype_open, H5I_DATATYPE>,
          forward<H5VLdatatype_get>,
          specific,
          forward<H5VLdatatype_optional>,
          close<H5VLdatatype_close>};
}

}  // namespace forebay::vol
