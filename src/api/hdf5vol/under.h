// Objects of the connector below, as the log layer sees and holds them.
//
// The connector stands between the HDF5 library and another connector, mostly the native one. What
// the one below calls an object is a bare pointer that means something only together with the
// identifier of that connector. Two types keep the pair together: UnderObject looks, OwnedUnder
// holds and closes. Work on them with the H5VL* functions of H5VLconnector_passthru.h, for example
// H5VLgroup_open(at.object, &self_location(at.type), at.connector, ...). Objects held this way have
// no hid_t, and so never show in H5Fget_obj_count and H5Fget_obj_ids: do not register them.
#pragma once

#include <hdf5.h>
// hdf5.h first
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <utility>

namespace forebay::vol {

/// An object of the connector below, not owned.
struct UnderObject {
  void* object = nullptr;
  hid_t connector = H5I_INVALID_HID;  ///< of the connector that `object` belongs to
  H5I_type_t type = H5I_BADID;        ///< H5I_FILE, H5I_GROUP, H5I_DATASET, H5I_DATATYPE, H5I_ATTR

  explicit operator bool() const noexcept { return object != nullptr; }
};

/// Whether two identifiers are of one connector: HDF5 2 gives a new one at each registration.
bool same_connector(hid_t a, hid_t b) noexcept;

/// Whether it is HDF5's own.
bool is_native(hid_t connector) noexcept;

/// "This object itself", as H5VL* functions take it.
inline H5VL_loc_params_t self_location(H5I_type_t type) {
  H5VL_loc_params_t location{};
  location.obj_type = type;
  location.type = H5VL_OBJECT_BY_SELF;
  return location;
}

/// "The object of that name, from this one on". `name` must outlive the result.
inline H5VL_loc_params_t name_location(H5I_type_t type, const char* name) {
  H5VL_loc_params_t location{};
  location.obj_type = type;
  location.type = H5VL_OBJECT_BY_NAME;
  location.loc_data.loc_by_name.name = name;
  location.loc_data.loc_by_name.lapl_id = H5P_LINK_ACCESS_DEFAULT;
  return location;
}

/// An open object of the connector below, closed when it goes. Closing is independent of other
/// ranks for groups, datasets, datatypes and attributes; the holder must let go of it before the
/// file is closed (FileHooks::before_close).
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

  /// Closes now. False when the connector below refused; the object counts as closed all the same.
  bool close() noexcept;
  /// Hands the object over to the caller.
  void* release() noexcept { return std::exchange(under_, {}).object; }

  const UnderObject& get() const noexcept { return under_; }
  void* object() const noexcept { return under_.object; }
  hid_t connector() const noexcept { return under_.connector; }
  explicit operator bool() const noexcept { return static_cast<bool>(under_); }

 private:
  UnderObject under_;
};

/// A context of HDF5's for calls below that are not part of the program's present call.
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
