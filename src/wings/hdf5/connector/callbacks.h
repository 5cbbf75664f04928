// The connector's callbacks: one table for each family of H5VL_class_t, each in its own file.
//
// A callback unwraps its objects, asks the file's hooks if there are any, calls the connector
// below, and wraps the results. Callbacks that do no more than that are the templates here.
#pragma once

#include <hdf5.h>

#include "hdf5/connector/close_at_exit.h"
#include "hdf5/connector/hiding.h"
#include "hdf5/connector/object.h"

namespace forebay::vol {

H5VL_wrap_class_t wrap_callbacks() noexcept;
H5VL_attr_class_t attribute_callbacks() noexcept;
H5VL_dataset_class_t dataset_callbacks() noexcept;
H5VL_datatype_class_t datatype_callbacks() noexcept;
H5VL_file_class_t file_callbacks() noexcept;
H5VL_group_class_t group_callbacks() noexcept;
H5VL_link_class_t link_callbacks() noexcept;
H5VL_object_class_t object_callbacks() noexcept;
H5VL_introspect_class_t introspect_callbacks() noexcept;
H5VL_request_class_t request_callbacks() noexcept;
H5VL_blob_class_t blob_callbacks() noexcept;
H5VL_token_class_t token_callbacks() noexcept;

/// Returns the connector's class as it is registered.
const H5VL_class_t& connector_class() noexcept;

/// A get, specific or optional callback that passes its arguments below unchanged.
template <auto below, class Args>
herr_t forward(void* obj, Args* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    return pass(object_of(obj), req, [&](void* under, hid_t connector, void** request) {
      return below(under, connector, args, dxpl, request);
    });
  });
}

/// The same callback with a location.
template <auto below, class Args>
herr_t forward_at(void* obj, const H5VL_loc_params_t* location, Args* args, hid_t dxpl,
                  void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& at = object_of(obj);
    const VisibleLocation visible(at, *location, dxpl);
    return pass(at, req, [&](void* under, hid_t connector, void** request) {
      return below(under, visible, connector, args, dxpl, request);
    });
  });
}

/// A callback that creates a named object. `ids` are the types, spaces and lists before `dxpl`.
template <auto below, H5I_type_t type, class... Ids>
void* create_named(void* obj, const H5VL_loc_params_t* location, const char* name, Ids... ids,
                   hid_t dxpl, void** req) noexcept {
  return guarded<void*>(nullptr, [&] {
    Object& at = object_of(obj);
    refuse_reserved(at, name);
    if (type != H5I_ATTR) at.file->links_changed();
    const VisibleLocation visible(at, *location, dxpl);
    return pass_open(at, type, dxpl, req, [&](void* under, hid_t connector, void** request) {
      return below(under, visible, connector, name, ids..., dxpl, request);
    });
  });
}

/// A callback that opens a named object.
template <auto below, H5I_type_t type>
void* open_named(void* obj, const H5VL_loc_params_t* location, const char* name, hid_t access,
                 hid_t dxpl, void** req) noexcept {
  return guarded<void*>(nullptr, [&] {
    Object& at = object_of(obj);
    refuse_hidden(at, name);
    const VisibleLocation visible(at, *location, dxpl,
                                  type == H5I_ATTR ? IndexOf::attributes : IndexOf::links);
    return pass_open(at, type, dxpl, req, [&](void* under, hid_t connector, void** request) {
      return below(under, visible, connector, name, access, dxpl, request);
    });
  });
}

/// An optional callback. In a log file `iterate_old` is asked first.
template <auto below, auto iterate_old>
herr_t iterate_old_or_forward(void* obj, H5VL_optional_args_t* args, hid_t dxpl,
                              void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    const Object& at = object_of(obj);
    const auto done = at.log() ? iterate_old(at, *args, dxpl) : std::nullopt;
    return done ? *done : forward<below>(obj, args, dxpl, req);
  });
}

/// A close callback. The handle is deleted only after the connector below has closed it: HDF5 keeps
/// the identifier of an object that failed to close, and tries again, at the latest when the
/// program ends. If all else of a log file is closed, the connector below is asked only once,
/// because it has freed what it could not flush. When HDF5 ends, all that could be closed is closed
/// already; the rest is closed without the log, whose identifiers are gone.
template <auto below>
herr_t close(void* obj, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& object = object_of(obj);
    if (object.failed_to_close) {
      delete &object;
      return 0;
    }
    if (library_ends() && object.hooks()) {
      static_cast<void>(object.logged.release());  // it uses identifiers that are gone
      object.file->forget_log();
      pass(object, req, [&](void* under, hid_t connector, void** request) {
        return below(under, connector, dxpl, request);
      });
      delete &object;
      return 0;
    }
    bool all = false;
    if (FileHooks* hooks = object.hooks()) {
      const Closing closing = object.file->closing(object);
      all = closing == Closing::last;
      if (object.type == H5I_FILE || closing == Closing::last)
        hooks->before_close(object.below(), closing);
    }
    const herr_t result = pass(object, req, [&](void* under, hid_t connector, void** request) {
      return below(under, connector, dxpl, request);
    });
    if (result >= 0)
      delete &object;
    else
      object.failed_to_close = all;
    return result;
  });
}

/// An object is about to be flushed. A log file is flushed as a whole, because HDF5's part and the
/// log's part depend on each other.
inline void before_flush(const Object& at) {
  if (FileHooks* hooks = at.hooks()) hooks->flush(at.below(), H5F_SCOPE_LOCAL);
}

}  // namespace forebay::vol
