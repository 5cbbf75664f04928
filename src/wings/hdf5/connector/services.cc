// Wrapping, introspection, requests, blobs and tokens: other services for the HDF5 library.
#include "base/attempt.h"
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
    if (static_cast<const Handle*>(obj)->type == H5I_EVENTSET) {  // opens nothing to be wrapped
      *context = nullptr;
      return 0;
    }
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

/// A callback that passes its arguments below unchanged.
template <auto below, class... Args>
herr_t hand_on(void* ours, Args... args) noexcept {
  return below(object_of(ours).under, object_of(ours).connector(), args...);
}

/// The same for a request. For a write to a log `own` is called in its place.
template <auto below, auto own, class... Args>
herr_t hand_on_request(void* req, Args... args) noexcept {
  auto& request = *static_cast<Request*>(req);
  if (!request.write) return below(request.under, (*request.file)->connector(), args...);
  return guarded<herr_t>(-1, [&] {
    own(*request.write, args...);
    return 0;
  });
}

using Write = logged::WriteBehind::Progress;

void wait(Write& write, uint64_t ns, H5VL_request_status_t* status) {
  *status = H5VL_REQUEST_STATUS_FAIL;  // request_specific says why
  attempt_to([&] {
    *status = write.wait(ns) ? H5VL_REQUEST_STATUS_SUCCEED : H5VL_REQUEST_STATUS_IN_PROGRESS;
  });
  if (*status == H5VL_REQUEST_STATUS_FAIL) Request::failure_told = true;
}

// HDF5 must not be called by the thread that writes, so the write is waited for.
void notify(Write& write, H5VL_request_notify_t callback, void* context) {
  H5VL_request_status_t status;
  wait(write, UINT64_MAX, &status);
  if (callback(context, status) < 0) throw UnderFailed{};
}

void cancel(Write& write, H5VL_request_status_t* status) {
  wait(write, 0, status);
  if (*status == H5VL_REQUEST_STATUS_IN_PROGRESS) *status = H5VL_REQUEST_STATUS_CANT_CANCEL;
}

void request_specific(Write& write, H5VL_request_specific_args_t* args) {
  if (args->op_type == H5VL_REQUEST_GET_EXEC_TIME) {  // HDF5 takes the largest value as unknown
    *args->args.get_exec_time.exec_ts = *args->args.get_exec_time.exec_time = UINT64_MAX;
    return;
  }
  if (args->op_type != H5VL_REQUEST_GET_ERR_STACK)
    throw Error(Errc::enotsupport, "a request of a write to a log cannot do this", "leave it out");
  const ErrorStackSaver saver;
  H5Eclear2(H5E_DEFAULT);
  try {
    write.wait(0);
  } catch (...) {
    push_current_exception(Where::here());
  }
  args->args.get_err_stack.err_stack_id = H5Eget_current_stack();
}

void request_optional(Write&, H5VL_optional_args_t*) {
  throw Error(Errc::enotsupport, "a write to a log has no optional operations", "leave it out");
}

// The library ends each request with exactly one free. It frees one in progress if its event set
// refuses it. Then the call fails, and the program's memory must be free.
herr_t request_free(void* req) noexcept {
  auto* const request = static_cast<Request*>(req);
  if (request->write) attempt_to([&] { request->write->wait(UINT64_MAX); });
  const herr_t result =
      request->write ? 0 : H5VLrequest_free(request->under, (*request->file)->connector());
  if (result >= 0) delete request;
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
  return {get_conn_cls, get_cap_flags, hand_on<H5VLintrospect_opt_query>};
}

H5VL_request_class_t request_callbacks() noexcept {
  return {hand_on_request<H5VLrequest_wait, wait>,
          hand_on_request<H5VLrequest_notify, notify>,
          hand_on_request<H5VLrequest_cancel, cancel>,
          hand_on_request<H5VLrequest_specific, request_specific>,
          hand_on_request<H5VLrequest_optional, request_optional>,
          request_free};
}

H5VL_blob_class_t blob_callbacks() noexcept {
  return {hand_on<H5VLblob_put>, hand_on<H5VLblob_get>, hand_on<H5VLblob_specific>,
          hand_on<H5VLblob_optional>};
}

H5VL_token_class_t token_callbacks() noexcept {
  return {hand_on<H5VLtoken_cmp>, token_to_str, token_from_str};
}

}  // namespace forebay::vol
