#include "hdf5/connector/hidden_links.h"

#include <algorithm>

#include "hdf5/connector/hooks.h"

namespace forebay::vol {
namespace {

// Records the reserved names and their positions during an iteration.
struct Notes {
  std::vector<hsize_t> positions;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
  hsize_t next = 0;

  template <class Info>
  static herr_t see(hid_t, const char* name, Info info, void* notes) noexcept {
    auto& self = *static_cast<Notes*>(notes);
    if (is_reserved(name)) {
      self.positions.push_back(self.next);
      if (info->corder_valid) self.numbers.push_back(static_cast<std::int64_t>(info->corder));
      self.names.emplace_back(name);
    }
    ++self.next;
    return H5_ITER_CONT;
  }
};

Notes note_links(const UnderObject& at, const H5VL_loc_params_t& location, H5_index_t index,
                 H5_iter_order_t order, hid_t dxpl) {
  Notes notes;
  hsize_t position = 0;
  H5VL_link_specific_args_t args;
  args.op_type = H5VL_LINK_ITER;
  args.args.iterate = {false, index, order, &position, &Notes::see<const H5L_info2_t*>, &notes};
  if (H5VLlink_specific(at.object, &location, at.connector, &args, dxpl, nullptr) < 0)
    throw UnderFailed{};
  return notes;
}

Notes note_attributes(const UnderObject& at, const H5VL_loc_params_t& location, H5_index_t index,
                      H5_iter_order_t order, hid_t dxpl) {
  Notes notes;
  hsize_t position = 0;
  H5VL_attr_specific_args_t args;
  args.op_type = H5VL_ATTR_ITER;
  args.args.iterate = {index, order, &position, &Notes::see<const H5A_info_t*>, &notes};
  if (H5VLattr_specific(at.object, &location, at.connector, &args, dxpl, nullptr) < 0)
    throw UnderFailed{};
  return notes;
}

}  // namespace

hsize_t HiddenPositions::to_raw(hsize_t visible) const noexcept {
  hsize_t raw = visible;
  for (const hsize_t hidden : raw_) {
    if (hidden > raw) break;
    ++raw;
  }
  return raw;
}

hsize_t HiddenPositions::to_visible(hsize_t raw) const noexcept {
  hsize_t before = 0;
  while (before < raw_.size() && raw_[before] < raw) ++before;
  return raw - before;
}

std::int64_t HiddenPositions::visible_number(std::int64_t raw) const noexcept {
  return raw - std::count_if(numbers_.begin(), numbers_.end(),
                             [&](std::int64_t number) { return number < raw; });
}

HiddenPositions hidden_attributes(const UnderObject& at, const H5VL_loc_params_t& location,
                                  H5_index_t index, H5_iter_order_t order, hid_t dxpl) {
  Notes notes = note_attributes(at, location, index, order, dxpl);
  return {std::move(notes.positions), std::move(notes.numbers)};
}

void remove_hidden(const UnderObject& at, const H5VL_loc_params_t& location, hid_t dxpl) {
  H5I_type_t type = H5I_BADID;
  void* const object = H5VLobject_open(at.object, &location, at.connector, &type, dxpl, nullptr);
  if (object == nullptr) throw UnderFailed{};
  const OwnedUnder opened(object, at.connector, type);
  const H5VL_loc_params_t self = self_location(type);
  for (const std::string& name :
       note_links(opened.get(), self, H5_INDEX_NAME, H5_ITER_NATIVE, dxpl).names) {
    H5VL_link_specific_args_t args;
    args.op_type = H5VL_LINK_DELETE;
    const H5VL_loc_params_t link = name_location(type, name.c_str());
    if (H5VLlink_specific(opened.object(), &link, opened.connector(), &args, dxpl, nullptr) < 0)
      throw UnderFailed{};
  }
  for (const std::string& name :
       note_attributes(opened.get(), self, H5_INDEX_NAME, H5_ITER_NATIVE, dxpl).names) {
    H5VL_attr_specific_args_t args;
    args.op_type = H5VL_ATTR_DELETE;
    args.args.del.name = name.c_str();
    if (H5VLattr_specific(opened.object(), &self, opened.connector(), &args, dxpl, nullptr) < 0)
      throw UnderFailed{};
  }
}

std::optional<HiddenLinks::Identity> HiddenLinks::identity(const UnderObject& at,
                                                           const H5VL_loc_params_t& location,
                                                           hid_t dxpl) {
  H5O_info2_t info;
  H5VL_object_get_args_t args;
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.fields = H5O_INFO_BASIC;
  args.args.get_info.oinfo = &info;
  if (H5VLobject_get(at.object, &location, at.connector, &args, dxpl, nullptr) < 0)
    return std::nullopt;
  return Identity{info.fileno, info.token};
}

HiddenLinks::HiddenLinks(const UnderObject& object) {
  const auto root = identity(object, name_location(object.type, "/"), H5P_DATASET_XFER_DEFAULT);
  if (!root) throw UnderFailed{};
  root_ = *root;
}

bool HiddenLinks::is_root(const UnderObject& at, const H5VL_loc_params_t& location,
                          hid_t dxpl) const {
  const auto is_roots = [&](const H5O_token_t& token) {
    int difference = 1;
    return H5VLtoken_cmp(at.object, at.connector, &token, &root_.token, &difference) >= 0 &&
           difference == 0;
  };
  if (location.type == H5VL_OBJECT_BY_NAME) {
    // For most names the token alone shows that it is another object, without reading its header.
    H5O_token_t token;
    H5VL_object_specific_args_t args;
    args.op_type = H5VL_OBJECT_LOOKUP;
    args.args.lookup.token_ptr = &token;
    if (H5VLobject_specific(at.object, &location, at.connector, &args, dxpl, nullptr) < 0)
      throw UnderFailed{};
    if (!is_roots(token)) return false;
  }
  // A path may lead into another file (external links, mounts), which has tokens of its own.
  const auto found = identity(at, location, dxpl);
  if (!found) throw UnderFailed{};
  return found->file == root_.file && is_roots(found->token);
}

HiddenPositions HiddenLinks::positions_if_root(const UnderObject& at,
                                               const H5VL_loc_params_t& location, H5_index_t index,
                                               H5_iter_order_t order, hid_t dxpl) {
  if (!is_root(at, location, dxpl)) return {};
  auto& known =
      known_.at(static_cast<std::size_t>(index) * H5_ITER_N + static_cast<std::size_t>(order));
  if (!known) {
    Notes notes = note_links(at, location, index, order, dxpl);
    known.emplace(std::move(notes.positions), std::move(notes.numbers));
  }
  return *known;
}

void HiddenLinks::forget() noexcept { known_.fill(std::nullopt); }

}  // namespace forebay::vol
