// Iterations over log files: H5Literate, H5Lvisit, H5Aiterate, H5Ovisit and the deprecated two.
#include <hdf5.h>
// after hdf5.h
#include <H5VLnative.h>

#include "hdf5/connector/hiding.h"

namespace forebay::vol {
namespace {

// The application's function and its argument, while the connector below iterates.
template <class Operator>
struct Filter {
  Operator op;
  void* data;

  // Calls the application's function unless `name` is hidden.
  template <class... Args>
  static herr_t call(hid_t location, const char* name, Args... args, void* filter) {
    const auto& self = *static_cast<const Filter*>(filter);
    return names_hidden(name) ? H5_ITER_CONT : self.op(location, name, args..., self.data);
  }
};

// For functions that get an entry's info: its creation-order number counts visible entries.
template <class Operator, class Info>
struct InfoFilter {
  Operator op;
  void* data;
  const HiddenPositions* hidden;

  static herr_t call(hid_t location, const char* name, const Info* info, void* filter) {
    const auto& self = *static_cast<const InfoFilter*>(filter);
    if (names_hidden(name)) return H5_ITER_CONT;
    // A visit also reaches the links of other groups.
    if (!info->corder_valid || std::string_view(name).find('/') != std::string_view::npos)
      return self.op(location, name, info, self.data);
    Info visible = *info;
    visible.corder = static_cast<decltype(visible.corder)>(
        self.hidden->visible_number(static_cast<std::int64_t>(info->corder)));
    return self.op(location, name, &visible, self.data);
  }
};

// Iterates from a visible position, and stores the visible position where it stopped.
template <class Position, class Iterate>
herr_t at_visible(Position* visible, const HiddenPositions& hidden, Iterate&& iterate) {
  // Position 0 stays 0: if all entries are hidden, HDF5 refuses to begin after the last one.
  hsize_t raw = visible && *visible > 0 ? hidden.to_raw(*visible) : 0;
  const herr_t result = iterate(&raw);
  if (visible) *visible = static_cast<Position>(hidden.to_visible(raw));
  return result;
}

struct VisitFilter {
  const Object* start;
  const H5VL_loc_params_t* location;  // of `start`
  H5VL_object_visit_args_t* asked;
  hid_t dxpl;

  // Returns how many attributes of the object reached by `name` are hidden.
  hsize_t hidden_attributes_of(const char* name) const {
    const bool is_start = std::string_view(name) == ".";
    if (is_start) return count_hidden_attributes(*start, *location, dxpl);
    std::string path = name;
    if (location->type == H5VL_OBJECT_BY_NAME) {
      path = std::string(location->loc_data.loc_by_name.name) + "/" + name;
    }
    return count_hidden_attributes(*start, name_location(location->obj_type, path.c_str()), dxpl);
  }

  static herr_t call(hid_t object, const char* name, const H5O_info2_t* info,
                     void* filter) noexcept {
    return guarded<herr_t>(-1, [&]() -> herr_t {
      const auto& self = *static_cast<const VisitFilter*>(filter);
      if (names_hidden(name)) return H5_ITER_CONT;
      if (!(self.asked->fields & H5O_INFO_NUM_ATTRS) || info->num_attrs == 0) {
        return self.asked->op(object, name, info, self.asked->op_data);
      }
      H5O_info2_t visible = *info;
      visible.num_attrs -= self.hidden_attributes_of(name);
      return self.asked->op(object, name, &visible, self.asked->op_data);
    });
  }
};

}  // namespace

herr_t iterate_links(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_link_iterate_args_t& args, hid_t dxpl) {
  // A visit begins at the beginning, and goes by name if a group keeps no order.
  const HiddenPositions hidden = at.file->hidden_links().positions_if_root(
      at.below(), location, args.recursive ? H5_INDEX_NAME : args.idx_type,
      args.recursive ? H5_ITER_NATIVE : args.order, dxpl);
  using LinkFilter = InfoFilter<H5L_iterate2_t, H5L_info2_t>;
  LinkFilter filter{args.op, args.op_data, &hidden};
  H5VL_link_specific_args_t below;
  below.op_type = H5VL_LINK_ITER;
  below.args.iterate = args;
  below.args.iterate.op = &LinkFilter::call;
  below.args.iterate.op_data = &filter;
  const auto iterate = [&](hsize_t* raw) {
    below.args.iterate.idx_p = raw;
    return H5VLlink_specific(at.under, &location, at.connector(), &below, dxpl, nullptr);
  };
  if (args.recursive) return iterate(args.idx_p);
  return at_visible(args.idx_p, hidden, iterate);
}

herr_t iterate_attributes(const Object& at, const H5VL_loc_params_t& location,
                          H5VL_attr_iterate_args_t& args, hid_t dxpl) {
  const HiddenPositions hidden =
      hidden_attributes(at.below(), location, args.idx_type, args.order, dxpl);
  using AttributeFilter = InfoFilter<H5A_operator2_t, H5A_info_t>;
  AttributeFilter filter{args.op, args.op_data, &hidden};
  H5VL_attr_specific_args_t below;
  below.op_type = H5VL_ATTR_ITER;
  below.args.iterate = args;
  below.args.iterate.op = &AttributeFilter::call;
  below.args.iterate.op_data = &filter;
  return at_visible(args.idx, hidden, [&](hsize_t* raw) {
    below.args.iterate.idx = raw;
    return H5VLattr_specific(at.under, &location, at.connector(), &below, dxpl, nullptr);
  });
}

herr_t visit_objects(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_object_visit_args_t& args, hid_t dxpl) {
  VisitFilter filter{&at, &location, &args, dxpl};
  H5VL_object_specific_args_t below;
  below.op_type = H5VL_OBJECT_VISIT;
  below.args.visit = args;
  below.args.visit.op = &VisitFilter::call;
  below.args.visit.op_data = &filter;
  return H5VLobject_specific(at.under, &location, at.connector(), &below, dxpl, nullptr);
}

std::optional<herr_t> iterate_groups_old(const Object& at, H5VL_optional_args_t& args, hid_t dxpl) {
#ifndef H5_NO_DEPRECATED_SYMBOLS
  if (args.op_type != H5VL_NATIVE_GROUP_ITERATE_OLD) return std::nullopt;
  const auto& asked = static_cast<H5VL_native_group_optional_args_t*>(args.args)->iterate_old;
  refuse_hidden(at, asked.loc_params.loc_data.loc_by_name.name);
  Filter<H5G_iterate_t> filter{asked.op, asked.op_data};
  const HiddenPositions hidden = at.file->hidden_links().positions_if_root(
      at.below(), asked.loc_params, H5_INDEX_NAME, H5_ITER_INC, dxpl);
  hsize_t last = asked.last_obj ? *asked.last_obj : 0;
  H5VL_native_group_optional_args_t below_args;
  below_args.iterate_old = {asked.loc_params, hidden.to_raw(asked.idx), &last,
                            &Filter<H5G_iterate_t>::call<>, &filter};
  H5VL_optional_args_t below{args.op_type, &below_args};
  const herr_t result = H5VLgroup_optional(at.under, at.connector(), &below, dxpl, nullptr);
  if (asked.last_obj) *asked.last_obj = hidden.to_visible(last);
  return result;
#else
  return std::nullopt;
#endif
}

std::optional<herr_t> iterate_attributes_old(const Object& at, H5VL_optional_args_t& args,
                                             hid_t dxpl) {
#ifndef H5_NO_DEPRECATED_SYMBOLS
  if (args.op_type != H5VL_NATIVE_ATTR_ITERATE_OLD) return std::nullopt;
  const auto& asked = static_cast<H5VL_native_attr_optional_args_t*>(args.args)->iterate_old;
  Filter<H5A_operator1_t> filter{asked.op, asked.op_data};
  const HiddenPositions hidden =
      hidden_attributes(at.below(), self_location(at.type), H5_INDEX_CRT_ORDER, H5_ITER_INC, dxpl);
  return at_visible(asked.attr_num, hidden, [&](hsize_t* raw) {
    auto position = static_cast<unsigned>(*raw);
    H5VL_native_attr_optional_args_t below_args;
    below_args.iterate_old = {asked.loc_id, &position, &Filter<H5A_operator1_t>::call<>, &filter};
    H5VL_optional_args_t below{args.op_type, &below_args};
    const herr_t done = H5VLattr_optional(at.under, at.connector(), &below, dxpl, nullptr);
    *raw = position;
    return done;
  });
#else
  return std::nullopt;
#endif
}

}  // namespace forebay::vol
