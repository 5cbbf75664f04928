#include "hdf5/connector/callbacks.h"

namespace forebay::vol {
namespace {

// H5Aread and H5Awrite.
template <auto below, class Buffer>
herr_t transfer(void* attr, hid_t memory_type, Buffer* buffer, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    return pass(object_of(attr), req, [&](void* under, hid_t connector, void** request) {
      return below(under, connector, memory_type, buffer, dxpl, request);
    });
  });
}

// H5Aget_info(_by_name, _by_idx) and H5Aget_name(_by_idx) in a log file. Their location is in the
// arguments.
herr_t get_in_log_file(Object& object, H5VL_attr_get_args_t args, hid_t dxpl) {
  const bool info = args.op_type == H5VL_ATTR_GET_INFO;
  if (info) refuse_hidden(object, args.args.get_info.attr_name);
  H5VL_loc_params_t& location =
      info ? args.args.get_info.loc_params : args.args.get_name.loc_params;
  const VisibleLocation visible(object, location, dxpl, IndexOf::attributes);
  const H5VL_loc_params_t asked = location;
  location = *visible;
  const herr_t result = H5VLattr_get(object.under, object.connector(), &args, dxpl, nullptr);
  if (result >= 0 && info) hide_in_number(object, asked, *args.args.get_info.ainfo, dxpl);
  return result;
}

herr_t get(void* obj, H5VL_attr_get_args_t* args, hid_t dxpl, void** req) noexcept {
  if (object_of(obj).log() &&
      (args->op_type == H5VL_ATTR_GET_INFO || args->op_type == H5VL_ATTR_GET_NAME)) {
    return guarded<herr_t>(-1, [&] { return get_in_log_file(object_of(obj), *args, dxpl); });
  }
  return forward<H5VLattr_get>(obj, args, dxpl, req);
}

// Carries out H5Aexists, H5Adelete(_by_idx), H5Arename and H5Aiterate in a log file.
herr_t specific_in_log_file(Object& at, const H5VL_loc_params_t& location,
                            H5VL_attr_specific_args_t args, hid_t dxpl) {
  switch (args.op_type) {
    case H5VL_ATTR_EXISTS:
      if (names_hidden(args.args.exists.name)) {
        *args.args.exists.exists = false;
        return 0;
      }
      break;
    case H5VL_ATTR_DELETE:
      refuse_hidden(at, args.args.del.name);
      break;
    case H5VL_ATTR_RENAME:
      refuse_hidden(at, args.args.rename.old_name);
      refuse_reserved(at, args.args.rename.new_name);
      break;
    case H5VL_ATTR_DELETE_BY_IDX: {
      auto& by = args.args.delete_by_idx;
      by.n = hidden_attributes(at.below(), location, by.idx_type, by.order, dxpl).to_raw(by.n);
      break;
    }
    case H5VL_ATTR_ITER:
      return iterate_attributes(at, location, args.args.iterate, dxpl);
  }
  return H5VLattr_specific(at.under, &location, at.connector(), &args, dxpl, nullptr);
}

herr_t specific(void* obj, const H5VL_loc_params_t* location, H5VL_attr_specific_args_t* args,
                hid_t dxpl, void** req) noexcept {
  if (!object_of(obj).log()) return forward_at<H5VLattr_specific>(obj, location, args, dxpl, req);
  return guarded<herr_t>(-1, [&] {
    const VisibleLocation visible(object_of(obj), *location, dxpl);
    return specific_in_log_file(object_of(obj), *visible, *args, dxpl);
  });
}

}  // namespace

H5VL_attr_class_t attribute_callbacks() noexcept {
  return {create_named<H5VLattr_create, H5I_ATTR, hid_t, hid_t, hid_t, hid_t>,
          open_named<H5VLattr_open, H5I_ATTR>,
          transfer<H5VLattr_read>,
          transfer<H5VLattr_write>,
          get,
          specific,
          iterate_old_or_forward<H5VLattr_optional, iterate_attributes_old>,
          close<H5VLattr_close>};
}

}  // namespace forebay::vol
