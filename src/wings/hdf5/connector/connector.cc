// The connector itself: its class, the exports of a plug-in, and the functions of forebay_vol.h.
#include <H5PLextern.h>
#include <H5VLnative.h>

#include "forebay_vol.h"
#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/close_at_exit.h"
#include "hdf5/connector/info.h"
#include "hdf5/connector/library_check.h"
#include "hdf5/connector/watched_driver.h"

namespace forebay::vol {
namespace {

herr_t initialize(hid_t) noexcept {
  const void* const caller = __builtin_return_address(0);
  return guarded<herr_t>(-1, [&] {
    if (const std::string wrong = other_library(caller); !wrong.empty()) {
      push_on_stack_of(caller, wrong);
      return -1;
    }
    register_error_class();
    watch_for_the_end();
    return 0;
  });
}

// HDF5 also terminates a connector whose text it could not parse. The parse error must stay on the
// stack.
herr_t terminate() noexcept {
  const ErrorStackSaver saver;
  restore_drivers();
  release_error_class();
  return 0;
}

}  // namespace

const H5VL_class_t& connector_class() noexcept {
  static const H5VL_class_t cls = {
      H5VL_VERSION,
      H5VL_FOREBAY_VALUE,
      H5VL_FOREBAY_NAME,
      H5VL_FOREBAY_VERSION,
      // get_cap_flags adds those of the connector below. H5VL_CAP_FLAG_ASYNC is not among them:
      // only writes to log files go on behind the program.
      0,
      initialize,
      terminate,
      {sizeof(H5VL_forebay_info_t), info_copy, info_cmp, info_free, info_to_str, info_from_str},
      wrap_callbacks(),
      attribute_callbacks(),
      dataset_callbacks(),
      datatype_callbacks(),
      file_callbacks(),
      group_callbacks(),
      link_callbacks(),
      object_callbacks(),
      introspect_callbacks(),
      request_callbacks(),
      blob_callbacks(),
      token_callbacks(),
      forward<H5VLoptional>,
  };
  return cls;
}

}  // namespace forebay::vol

extern "C" {

FOREBAY_VOL_EXPORT H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

FOREBAY_VOL_EXPORT const void* H5PLget_plugin_info(void) {
  return &forebay::vol::connector_class();
}

hid_t H5VL_forebay_register(void) {
  return H5VLregister_connector(&forebay::vol::connector_class(), H5P_DEFAULT);
}

herr_t H5Pset_fapl_forebay(hid_t fapl_id, hid_t under_vol_id, const void* under_vol_info,
                           const char* hints) {
  const hid_t connector = H5VL_forebay_register();
  if (connector < 0) return -1;
  const H5VL_forebay_info_t info = {under_vol_id > 0 ? under_vol_id : H5VL_NATIVE,
                                    const_cast<void*>(under_vol_info), const_cast<char*>(hints)};
  const herr_t result = H5Pset_vol(fapl_id, connector, &info);
  const forebay::vol::ErrorStackSaver saver;
  H5VLclose(connector);
  return result;
}

}  // extern "C"
