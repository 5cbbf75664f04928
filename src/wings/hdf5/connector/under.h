// Objects of the connector below, as the log layer uses them.
//
// The connector is between the HDF5 library and another connector, usually the native one. An
// object of the connector below is a bare pointer, which has a meaning only together with that
// connector's identifier. Two types keep the pair together: UnderObject does not own it, OwnedUnder
// owns and closes it. Use them with the H5VL* functions of H5VLconnector_passthru.h, for example
// H5VLgroup_open(at.object, &self_location(at.type), at.connector, ...). Such objects have no
// hid_t, so H5Fget_obj_count and H5Fget_obj_ids never show them: do not register them.
#pragma once

#include <hdf5.h>
// after hdf5.h
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <utility>

namespace forebay::vol {

/// An object of the connector below, not owned.
struct UnderObject {
  void* object = nullptr;
  hid_t connector = H5I_INVALID_HID;  ///< the connector to which `object` belongs
  H5I_type_t type = H5I_BADID;        ///< H5I_FILE, H5I_GROUP, H5I_DATASET, H5I_DATATYPE, H5I_ATTR

  explicit operator bool() const noexcept { return object != nullptr; }
};

/// Returns whether two identifiers mean one connector: HDF5 2 gives a new one at each registration.
bool same_connector(hid_t a, hid_t b) noexcept;

/// Returns whether it is HDF5's own connector.
bool is_native(hid_t connector) noexcept;

/// Returns the location "this object itself" for H5VL* functions.
inline H5VL_loc_params_t self_location(H5I_type_t type) {
  H5VL_loc_params_t location{};
  location.obj_type = type;
  location.type = H5VL_OBJECT_BY_SELF;
  return location;
}

/// Returns the location "the object of that name, from this one on". `name` must outlive the
/// result.
inline H5VL_loc_params_t name_location(H5I_type_t type, const char* name) {
  H5VL_loc_params_t location{};
  location.obj_type = type;
  location.type = H5VL_OBJECT_BY_NAME;
  location.loc_data.loc_by_name.name = name;
  location.loc_data.loc_by_name.lapl_id = H5P_LINK_ACCESS_DEFAULT;
  return location;
}

/// An open object of the connector below, closed by the destructor. Closing is independent of other
/// ranks for groups, datasets, datatypes and attributes. The holder must release it before the file
/// is closed (FileHooks::before_close).
class OwnedUnder {
 public:
  OwnedUnder() = default;
  OwnedUnder(void* object, hid_t connector, H5I_type_t type) : under_{object, connector, type} {}
  OwnedUnder(OwnedUnder&& other) noexcept : under_(std::exchange(other.under_, {})) {}
  OwnedUnder& operator=(OwnedUnder&& other) noexcept {
    if (this != &other) {
      close();
      under_ = std::exchange(other.under_, {});
    }
    return *this;
  }
  ~OwnedUnder() { close(); }

  /// Passes the object to the caller.
  void* release() noexcept { return std::exchange(under_, {}).object; }

  const UnderObject& get() const noexcept { return under_; }
  void* object() const noexcept { return under_.object; }
  hid_t connector() const noexcept { return under_.connector; }
  explicit operator bool() const noexcept { return static_cast<bool>(under_); }

 private:
  void close() noexcept;  // if the connector below refuses, it counts as closed all the same

  UnderObject under_;
};

/// An HDF5 context for calls below that are not part of the program's present call.
class LibraryContext {
 public:
  LibraryContext();  ///< Errc::ehdferr
  ~LibraryContext();
  LibraryContext(const LibraryContext&) = delete;
  LibraryContext& operator=(const LibraryContext&) = delete;

 private:
  void* context_ = nullptr;
};

}  // namespace forebay::vol
