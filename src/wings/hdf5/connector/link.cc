#include "hdf5/connector/callbacks.h"

namespace forebay::vol {
namespace {

void* under_of(void* obj) noexcept { return obj ? object_of(obj).under : nullptr; }

// Only the hard link's target, or only the place of the new link, may be given.
herr_t create(H5VL_link_create_args_t* args, void* obj, const H5VL_loc_params_t* location,
              hid_t lcpl, hid_t lapl, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    const bool hard = args->op_type == H5VL_LINK_CREATE_HARD;
    void* target = hard ? args->args.hard.curr_obj : nullptr;
    Object& at = object_of(obj ? obj : target);
    refuse_reserved_location(at, *location);
    at.file->links_changed();
    H5VL_link_create_args_t below = *args;
    if (args->op_type == H5VL_LINK_CREATE_SOFT) refuse_reserved(at, args->args.soft.target);
    if (hard) {
      const VisibleLocation from(target ? object_of(target) : at, args->args.hard.curr_loc_params,
                                 dxpl);
      below.args.hard.curr_loc_params = *from;
      below.args.hard.curr_obj = under_of(target);
    }
    return pass(at, req, [&](void*, hid_t connector, void** request) {
      return H5VLlink_create(&below, under_of(obj), location, connector, lcpl, lapl, dxpl, request);
    });
  });
}

// H5Lcopy and H5Lmove: one of the two objects may be missing, which means "the same".
template <auto below>
herr_t transfer(void* source, const H5VL_loc_params_t* source_location, void* destination,
                const H5VL_loc_params_t* destination_location, hid_t lcpl, hid_t lapl, hid_t dxpl,
                void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& from = object_of(source ? source : destination);
    Object& to = object_of(destination ? destination : source);
    refuse_reserved_location(to, *destination_location);
    const VisibleLocation visible(from, *source_location, dxpl);
    from.file->links_changed();
    to.file->links_changed();
    return pass(from, req, [&](void*, hid_t connector, void** request) {
      return below(under_of(source), visible, under_of(destination), destination_location,
                   connector, lcpl, lapl, dxpl, request);
    });
  });
}

herr_t specific(void* obj, const H5VL_loc_params_t* location, H5VL_link_specific_args_t* args,
                hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& at = object_of(obj);
    if (at.hooks() && args->op_type == H5VL_LINK_DELETE)
      at.hooks()->before_objects_change(at.below());
    if (at.log()) {
      if (args->op_type == H5VL_LINK_EXISTS && is_hidden(at, *location)) {
        *args->args.exists.exists = false;
        return 0;
      }
      const VisibleLocation visible(at, *location, dxpl);
      if (args->op_type == H5VL_LINK_ITER)
        return iterate_links(at, *visible, args->args.iterate, dxpl);
      const herr_t result =
          H5VLlink_specific(at.under, visible, at.connector(), args, dxpl, nullptr);
      if (args->op_type == H5VL_LINK_DELETE) at.file->links_changed();
      return result;
    }
    return forward_at<H5VLlink_specific>(obj, location, args, dxpl, req);
  });
}

herr_t get(void* obj, const H5VL_loc_params_t* location, H5VL_link_get_args_t* args, hid_t dxpl,
           void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    const herr_t result = forward_at<H5VLlink_get>(obj, location, args, dxpl, req);
    if (result >= 0 && object_of(obj).log() && args->op_type == H5VL_LINK_GET_INFO)
      hide_in_number(object_of(obj), *location, *args->args.get_info.linfo, dxpl);
    return result;
  });
}

}  // namespace

H5VL_link_class_t link_callbacks() noexcept {
  return {create,   transfer<H5VLlink_copy>,      transfer<H5VLlink_move>, get,
          specific, forward_at<H5VLlink_optional>};
}

}  // namespace forebay::vol
