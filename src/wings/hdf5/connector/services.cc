// Wrapping, introspection, requests, blobs and tokens: other services for the HDF5 library.
#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/info.h"

namespace forebay::vol {
namespace {

// -- wrapping: the library unwraps objects for the last connector, and wraps what that returns

void* get_object(const void* obj) noexcept {
  const auto& object = *static_cast<const Object*>(obj);
  return object.file->under_wraps() ? H5VLget_object(object.under, object.connector())
                                    : object.under;
}

herr_t get_wrap_ctx(const void* obj, void** context) noexcept {
  return guarded<herr_t>(-1, [&] {
    const auto& object = *static_cast<const Object*>(obj);
    *context = object.file->get_wrap_context(object.under);
    return 0;
  });
}

void* wrap_object(void* obj, H5I_type_t type, void* wrap_context) noexcept {
  return guarded<void*>(nullptr, [&]() -> void* {
    const auto& context = *static_cast<WrapContext*>(wrap_context);
    const FileRef file(context.file);
    void* under =
        file->under_wraps() ? H5VLwrap_object(obj, type, file->connector(), context.under) : obj;
    if (under == nullptr) return nullptr;
    // Files that the native connector wraps for itself (each one once it is open, also behind
    // external links) are no handles of the program. It releases them after the close.
    if (type == H5I_FILE)
      return file->take_handed_out(under) ? std::make_unique<Object>(under, file, type).release()
                                          : file->wrap_for_library(under);
    return wrap(under, file, type, H5P_DATASET_XFER_DEFAULT);
  });
}

void* unwrap_object(void* obj) noexcept {
  Object& object = object_of(obj);
  void* under = object.file->under_wraps() ? H5VLunwrap_object(object.under, object.connector())
                                           : object.under;
  if (under) delete &object;
  return under;
}

herr_t free_wrap_ctx(void* context) noexcept {
  FileState::free_wrap_context(static_cast<WrapContext*>(context));
  return 0;
}

// -- introspection

herr_t get_conn_cls(void* obj, H5VL_get_conn_lvl_t level, const H5VL_class_t** cls) noexcept {
  if (level == H5VL_GET_CONN_LVL_CURR) {
    *cls = &connector_class();
    return 0;
  }
  return H5VLintrospect_get_conn_cls(object_of(obj).under, object_of(obj).connector(), level, cls);
}

herr_t get_cap_flags(const void* info, uint64_t* flags) noexcept {
  return guarded<herr_t>(-1, [&] {
    const auto below = under_connector(static_cast<const H5VL_forebay_info_t*>(info));
    const herr_t result = H5VLintrospect_get_cap_flags(below.info, below.id, flags);
    if (result >= 0) *flags |= connector_class().cap_flags;
    return result;
  });
}

// -- requests, blobs (variable-length data) and tokens

/// A callback that passes its arguments below unchanged, for an Object or a Request.
template <class Ours, auto below, class... Args>
herr_t hand_on(void* ours, Args... args) noexcept {
  const auto& it = *static_cast<const Ours*>(ours);
  return below(it.under, it.file->connector(), args...);
}

// The library ends each request with exactly one free.
herr_t request_free(void* req) noexcept {
  const herr_t result = hand_on<Request, H5VLrequest_free>(req);
  if (result >= 0) delete static_cast<Request*>(req);
  return result;
}

herr_t token_to_str(void* obj, H5I_type_t type, const H5O_token_t* token, char** text) noexcept {
  return H5VLtoken_to_str(object_of(obj).under, type, object_of(obj).connector(), token, text);
}

herr_t token_from_str(void* obj, H5I_type_t type, const char* text, H5O_token_t* token) noexcept {
  return H5VLtoken_from_str(object_of(obj).under, type, object_of(obj).connector(), text, token);
}

}  // namespace

H5VL_wrap_class_t wrap_callbacks() noexcept {
  return {get_object, get_wrap_ctx, wrap_object, unwrap_object, free_wrap_ctx};
}

H5VL_introspect_class_t introspect_callbacks() noexcept {
  return {get_conn_cls, get_cap_flags, hand_on<Object, H5VLintrospect_opt_query>};
}

H5VL_request_class_t request_callbacks() noexcept {
  return {hand_on<Request, H5VLrequest_wait>,     hand_on<Request, H5VLrequest_notify>,
          hand_on<Request, H5VLrequest_cancel>,   hand_on<Request, H5VLrequest_specific>,
          hand_on<Request, H5VLrequest_optional>, request_free};
}

H5VL_blob_class_t blob_callbacks() noexcept {
  return {hand_on<Object, H5VLblob_put>, hand_on<Object, H5VLblob_get>,
          hand_on<Object, H5VLblob_specific>, hand_on<Object, H5VLblob_optional>};
}

H5VL_token_class_t token_callbacks() noexcept {
  return {hand_on<Object, H5VLtoken_cmp>, token_to_str, token_from_str};
}

}  // namespace forebay::vol
