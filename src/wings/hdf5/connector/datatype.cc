#include "hdf5/connector/callbacks.h"

namespace forebay::vol {
namespace {

void* commit(void* obj, const H5VL_loc_params_t* location, const char* name, hid_t type, hid_t lcpl,
             hid_t tcpl, hid_t tapl, hid_t dxpl, void** req) noexcept {
  return guarded<void*>(nullptr, [&] {
    Object& at = object_of(obj);
    refuse_reserved(at, name);
    at.file->links_changed();
    const VisibleLocation visible(at, *location, dxpl);
    return pass_open(at, H5I_DATATYPE, dxpl, req,
                     [&](void* under, hid_t connector, void** request) {
                       return H5VLdatatype_commit(under, visible, connector, name, type, lcpl, tcpl,
                                                  tapl, dxpl, request);
                     });
  });
}

void* open(void* obj, const H5VL_loc_params_t* location, const char* name, hid_t tapl, hid_t dxpl,
           void** req) noexcept {
  return guarded<void*>(nullptr, [&] {
    Object& at = object_of(obj);
    refuse_hidden(at, name);
    const VisibleLocation visible(at, *location, dxpl);
    return pass_open(
        at, H5I_DATATYPE, dxpl, req, [&](void* under, hid_t connector, void** request) {
          return H5VLdatatype_open(under, visible, connector, name, tapl, dxpl, request);
        });
  });
}

herr_t specific(void* obj, H5VL_datatype_specific_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    if (args->op_type == H5VL_DATATYPE_FLUSH) before_flush(object_of(obj));
    return forward<H5VLdatatype_specific>(obj, args, dxpl, req);
  });
}

}  // namespace

H5VL_datatype_class_t datatype_callbacks() noexcept {
  return {commit,
          open,
          forward<H5VLdatatype_get, H5VL_datatype_get_args_t>,
          specific,
          forward<H5VLdatatype_optional, H5VL_optional_args_t>,
          close<H5VLdatatype_close>};
}

}  // namespace forebay::vol
