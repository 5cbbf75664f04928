// The connector's info: which connector is below, and hints for the log layer.
//
// As text (HDF5_VOL_CONNECTOR="forebay TEXT", H5VLconnector_str_to_info), with all parts optional:
//
//   under_vol=NUMBER|NAME ; under_info={TEXT OF THAT CONNECTOR} ; hints={name=value;name=value}
//
// Without under_vol the native connector is below. `under_vol` names a connector by its value or
// its name. A connector that is not registered yet is searched for among the plug-ins.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

#include "forebay_vol.h"

namespace forebay::vol {

/// The parts of the connector's text.
struct InfoText {
  std::string under_vol = "0";
  std::string under_info;
  std::string hints;
};

/// Parses the text; braces nest. Throws Errc::einval, which names the mistake and the correct form.
InfoText parse_info(std::string_view text);

/// A copy of a file access property list, closed with this object. Making it is collective if the
/// list chooses MPI-IO: HDF5 duplicates its communicator.
class Fapl {
 public:
  explicit Fapl(hid_t fapl) noexcept : id_(H5Pcopy(fapl)) {}
  ~Fapl();
  Fapl(const Fapl&) = delete;
  Fapl& operator=(const Fapl&) = delete;
  hid_t id() const noexcept { return id_; }

 private:
  hid_t id_;
};

/// The connector below and its info, which belongs to that connector. Not owned.
struct UnderConnector {
  hid_t id;
  void* info;
};
/// Returns the connector that a property list's info names; the native one for nullptr.
UnderConnector under_connector(const H5VL_forebay_info_t* info) noexcept;

/// A copy of the connector's info in a file access property list; empty if none was set.
class ListInfo {
 public:
  /// Throws if `fapl` is no such list.
  explicit ListInfo(hid_t fapl);
  ~ListInfo();
  ListInfo(const ListInfo&) = delete;
  ListInfo& operator=(const ListInfo&) = delete;

  /// Valid as long as this object.
  UnderConnector under() const noexcept { return under_connector(info_); }
  /// Makes a file access property list use the connector below.
  void put_under_into(const Fapl& list) const;
  std::string hints() const { return info_ && info_->hints ? info_->hints : ""; }

 private:
  H5VL_forebay_info_t* info_ = nullptr;
};

/// The callbacks of H5VL_info_class_t.
void* info_copy(const void* info) noexcept;
herr_t info_cmp(int* result, const void* left, const void* right) noexcept;
herr_t info_free(void* info) noexcept;
herr_t info_to_str(const void* info, char** text) noexcept;
herr_t info_from_str(const char* text, void** info) noexcept;

}  // namespace forebay::vol
