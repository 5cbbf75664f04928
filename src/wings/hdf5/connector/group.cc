#include "hdf5/connector/callbacks.h"

namespace forebay::vol {
namespace {

// H5Gget_info in a log file: hidden links of the root group are not counted.
herr_t get_info_in_log_file(Object& at, H5VL_group_get_args_t args, hid_t dxpl) {
  H5VL_group_get_info_args_t& asked = args.args.get_info;
  const VisibleLocation visible(at, asked.loc_params, dxpl);
  asked.loc_params = *visible;
  if (H5VLgroup_get(at.under, at.connector(), &args, dxpl, nullptr) < 0) return -1;
  const HiddenPositions hidden = at.file->hidden_links().positions_if_root(
      at.below(), asked.loc_params, H5_INDEX_NAME, H5_ITER_NATIVE, dxpl);
  asked.ginfo->nlinks -= hidden.count();
  asked.ginfo->max_corder = hidden.visible_number(asked.ginfo->max_corder);
  return 0;
}

herr_t get(void* obj, H5VL_group_get_args_t* args, hid_t dxpl, void** req) noexcept {
  if (object_of(obj).log() && args->op_type == H5VL_GROUP_GET_INFO) {
    return guarded<herr_t>(-1, [&] { return get_info_in_log_file(object_of(obj), *args, dxpl); });
  }
  return forward<H5VLgroup_get>(obj, args, dxpl, req);
}

herr_t specific(void* obj, H5VL_group_specific_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    if (args->op_type == H5VL_GROUP_FLUSH) before_flush(object_of(obj));
    if (args->op_type != H5VL_GROUP_MOUNT) return forward<H5VLgroup_specific>(obj, args, dxpl, req);
    Object& child = object_of(args->args.mount.child_file);
    if (FileHooks* hooks = child.hooks()) hooks->before_mount(child.below());
    H5VL_group_specific_args_t below = *args;
    below.args.mount.child_file = child.under;
    const herr_t result = forward<H5VLgroup_specific>(obj, &below, dxpl, req);
    if (result >= 0) child.file->note_mount(*object_of(obj).file);
    return result;
  });
}

}  // namespace

H5VL_group_class_t group_callbacks() noexcept {
  return {create_named<H5VLgroup_create, H5I_GROUP, hid_t, hid_t, hid_t>,
          open_named<H5VLgroup_open, H5I_GROUP>,
          get,
          specific,
          iterate_old_or_forward<H5VLgroup_optional, iterate_groups_old>,
          close<H5VLgroup_close>};
}

}  // namespace forebay::vol
