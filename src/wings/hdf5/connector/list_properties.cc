#include "hdf5/connector/list_properties.h"

#include <cstdint>
#include <string>

#include "forebay_vol.h"
#include "hdf5/connector/errors.h"
#include "hdf5/shared/id.h"
#include "method/method.h"

namespace forebay::vol {
namespace {

struct Property {
  const char* name;
  const char* setter;
};
constexpr Property buffer = {"forebay_buffer", set_buffer};
constexpr Property copy = {"forebay_copy", set_copy};

[[noreturn]] void refuse(const Property& property, const std::string& what,
                         const char* advice = "") {
  throw Error(Errc::einval, std::string(property.setter) + ": " + what, advice);
}

/// Returns the value; nullopt if none is set. All values have 64 bits.
std::optional<std::uint64_t> value_of(hid_t list, const Property& property) {
  if (list == H5P_DEFAULT || checked(H5Pexist(list, property.name), "asking for a property") == 0)
    return std::nullopt;
  std::size_t bytes = 0;
  std::uint64_t value = 0;
  checked(H5Pget_size(list, property.name, &bytes), "asking for a property");
  if (bytes != sizeof value)
    refuse(property, std::string("the list has another property \"") + property.name + "\"",
           "give it another name");
  checked(H5Pget(list, property.name, &value), "asking for a property");
  return value;
}

void check_class(hid_t list, hid_t wanted, hid_t standard, const Property& property) {
  if (list == H5P_DEFAULT || list == standard)
    refuse(property, "a default list cannot be changed", "make one with H5Pcreate");
  const QuietErrors quiet;
  if (H5Pisa_class(list, wanted) <= 0)
    refuse(property, "this is no property list of that class",
           wanted == H5P_FILE_ACCESS ? "give one of the class H5P_FILE_ACCESS"
                                     : "give one of the class H5P_DATASET_XFER");
}

void set_value(hid_t list, const Property& property, std::uint64_t value) {
  if (value_of(list, property))
    checked(H5Pset(list, property.name, &value), "setting a property");
  else
    checked(H5Pinsert2(list, property.name, sizeof value, &value, nullptr, nullptr, nullptr,
                       nullptr, nullptr, nullptr),
            "setting a property");
}

}  // namespace

std::optional<Count> buffer_of(hid_t fapl) {
  const auto bytes = value_of(fapl, buffer);
  if (!bytes) return std::nullopt;
  Method trial;  // the key says which values there are
  set_method_key(trial, "buffer_limit", std::to_string(*bytes), buffer.setter, buffer.setter);
  return trial.buffer_limit;
}

bool must_copy(hid_t dxpl) { return value_of(dxpl, copy).value_or(1) != 0; }

}  // namespace forebay::vol

using namespace forebay::vol;

extern "C" {

herr_t H5Pset_fapl_forebay_buffer(hid_t fapl_id, hsize_t bytes) {
  return guarded<herr_t>(-1, [&] {
    check_class(fapl_id, H5P_FILE_ACCESS, H5P_FILE_ACCESS_DEFAULT, buffer);
    forebay::Method trial;
    forebay::set_method_key(trial, "buffer_limit", std::to_string(bytes), buffer.setter,
                            buffer.setter);
    set_value(fapl_id, buffer, bytes);
    return 0;
  });
}

herr_t H5Pget_fapl_forebay_buffer(hid_t fapl_id, hsize_t* bytes) {
  return guarded<herr_t>(-1, [&] {
    *bytes = static_cast<hsize_t>(buffer_of(fapl_id).value_or(0));
    return 0;
  });
}

herr_t H5Pset_dxpl_forebay_copy(hid_t dxpl_id, hbool_t copies) {
  return guarded<herr_t>(-1, [&] {
    check_class(dxpl_id, H5P_DATASET_XFER, H5P_DATASET_XFER_DEFAULT, copy);
    set_value(dxpl_id, copy, copies ? 1 : 0);
    return 0;
  });
}

herr_t H5Pget_dxpl_forebay_copy(hid_t dxpl_id, hbool_t* copies) {
  return guarded<herr_t>(-1, [&] {
    *copies = must_copy(dxpl_id);
    return 0;
  });
}

}  // extern "C"
