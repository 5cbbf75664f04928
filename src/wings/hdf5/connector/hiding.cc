#include "hdf5/connector/hiding.h"

#include <fmt/format.h>

#include <string_view>

namespace forebay::vol {
namespace {

// Returns the group (or, for attributes, the object) in which a location by index counts.
H5VL_loc_params_t counted_in(const H5VL_loc_params_t& by_index) {
  H5VL_loc_params_t location = name_location(by_index.obj_type, by_index.loc_data.loc_by_idx.name);
  location.loc_data.loc_by_name.lapl_id = by_index.loc_data.loc_by_idx.lapl_id;
  return location;
}

}  // namespace

bool names_hidden(const char* path) noexcept {
  if (!path) return false;
  std::string_view rest(path);
  while (!rest.empty()) {
    if (is_reserved(rest)) return true;
    const auto slash = rest.find('/');
    if (slash == std::string_view::npos) return false;
    rest.remove_prefix(slash + 1);
  }
  return false;
}

void refuse_reserved(const Object& at, const char* path) {
  if (!at.log() || !names_hidden(path)) return;
  throw Error(Errc::ebadname,
              fmt::format("\"{}\" is not free: names that begin with \"{}\" belong to Forebay "
                          "in a log file",
                          path, reserved_prefix),
              "choose another name");
}

void refuse_hidden(const Object& at, const char* path) {
  if (!at.log() || !names_hidden(path)) return;
  throw Error(Errc::enotfound, fmt::format("nothing is named \"{}\"", path));
}

void VisibleLocation::resolve(const Object& at, hid_t dxpl, IndexOf counted) {
  if (used_->type == H5VL_OBJECT_BY_NAME) {
    refuse_hidden(at, used_->loc_data.loc_by_name.name);
  } else if (used_->type == H5VL_OBJECT_BY_IDX) {
    changed_ = *used_;
    H5VL_loc_by_idx_t& by = changed_.loc_data.loc_by_idx;
    refuse_hidden(at, by.name);
    const H5VL_loc_params_t in = counted_in(changed_);
    const HiddenPositions hidden =
        counted == IndexOf::attributes
            ? hidden_attributes(at.below(), in, by.idx_type, by.order, dxpl)
            : at.file->hidden_links().positions_if_root(at.below(), in, by.idx_type, by.order,
                                                        dxpl);
    by.n = hidden.to_raw(by.n);
    used_ = &changed_;
  }
}

hsize_t count_hidden_attributes(const Object& at, const H5VL_loc_params_t& location, hid_t dxpl) {
  const auto count = [&](const UnderObject& object, const H5VL_loc_params_t& where) {
    return hidden_attributes(object, where, H5_INDEX_NAME, H5_ITER_NATIVE, dxpl).count();
  };
  if (location.type == H5VL_OBJECT_BY_SELF || location.type == H5VL_OBJECT_BY_NAME)
    return count(at.below(), location);
  // Attributes cannot be iterated by index or token, so the object is opened.
  H5I_type_t type = H5I_BADID;
  void* object = H5VLobject_open(at.under, &location, at.connector(), &type, dxpl, nullptr);
  if (!object) throw UnderFailed{};
  const OwnedUnder opened(object, at.connector(), type);
  return count(opened.get(), self_location(type));
}

void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5L_info2_t& info,
                    hid_t dxpl) {
  if (!info.corder_valid || info.corder == 0) return;
  std::string group = ".";
  if (asked.type == H5VL_OBJECT_BY_IDX) {
    group = asked.loc_data.loc_by_idx.name;
  } else if (asked.type == H5VL_OBJECT_BY_NAME) {
    const std::string_view path = asked.loc_data.loc_by_name.name;
    const auto last = path.find_last_not_of('/');
    const auto slash = path.find_last_of('/', last);
    if (slash != std::string_view::npos) group = path.substr(0, slash + 1);
  }
  info.corder = at.file->hidden_links()
                    .positions_if_root(at.below(), name_location(asked.obj_type, group.c_str()),
                                       H5_INDEX_NAME, H5_ITER_NATIVE, dxpl)
                    .visible_number(info.corder);
}

void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5A_info_t& info,
                    hid_t dxpl) {
  if (!info.corder_valid || info.corder == 0) return;
  const H5VL_loc_params_t in = asked.type == H5VL_OBJECT_BY_IDX ? counted_in(asked) : asked;
  const auto hidden = hidden_attributes(at.below(), in, H5_INDEX_NAME, H5_ITER_NATIVE, dxpl);
  info.corder = static_cast<H5O_msg_crt_idx_t>(hidden.visible_number(info.corder));
}

}  // namespace forebay::vol
