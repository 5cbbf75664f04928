#include "describe.h"

#include <algorithm>
#include <array>

#include "values.h"

namespace forebay_test {

bool hides_storage = false;

namespace {

std::string numbers(const std::vector<hsize_t>& values) {
  std::string out = "(";
  for (const hsize_t value : values) {
    out += value == H5S_UNLIMITED ? "* " : std::to_string(value) + " ";
  }
  return out + ")";
}

std::string space_text(hid_t space) {
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  if (kind != H5S_SIMPLE) return kind == H5S_SCALAR ? "scalar" : "null";
  const std::vector<hsize_t> dims = extent_of(space);
  std::vector<hsize_t> most(dims.size());
  check(H5Sget_simple_extent_dims(space, nullptr, most.data()), "H5Sget_simple_extent_dims");
  return numbers(dims) + " of " + numbers(most);
}

// Whether a path or a call works at all is part of what is compared, and so are failures.
template <typename Call>
std::string outcome(Call call) {
  try {
    return call();
  } catch (const std::exception&) {
    return "an error";
  }
}

// Numbers of the order of creation are not compared, only the order: what a connector hides may
// have taken some of them.
std::string attribute_text(hid_t object, const std::string& name) {
  const Id attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, "H5Aopen " + name);
  const Id type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
  const Id space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
  H5A_info_t info;
  check(H5Aget_info(attribute, &info), "H5Aget_info");
  std::string out = name + " " + type_text(type) + " " + space_text(space) + " order " +
                    (info.corder_valid ? "kept" : "none") + " cset " + std::to_string(info.cset);
  const Id memory(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
  const hssize_t count = check(H5Sget_simple_extent_npoints(space), "npoints");
  Values values(memory, static_cast<size_t>(count));
  const herr_t status = count > 0 ? H5Aread(attribute, memory, values.data()) : 0;
  if (status < 0) values.forget();
  check(status, "H5Aread");
  return out + " = " + values.text();
}

herr_t add_attribute_name(hid_t, const char* name, const H5A_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

herr_t add_link_name(hid_t, const char* name, const H5L_info2_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

herr_t add_found(hid_t, const char* name, const H5O_info2_t* info, void* out) {
  static_cast<std::vector<Found>*>(out)->push_back({name, info->type});
  return 0;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += " " + name;
  return out;
}

// Names of the links of a group in one of its two orders.
std::vector<std::string> link_names(hid_t group, H5_index_t index) {
  std::vector<std::string> names;
  check(H5Literate2(group, index, H5_ITER_INC, nullptr, add_link_name, &names), "H5Literate2");
  return names;
}

std::string link_text(hid_t group, const std::string& name) {
  H5L_info2_t info;
  check(H5Lget_info2(group, name.c_str(), &info, H5P_DEFAULT), "H5Lget_info2");
  std::string out = name + " kind " + std::to_string(info.type) + " order " +
                    (info.corder_valid ? "kept" : "none") + " cset " + std::to_string(info.cset);
  if (info.type == H5L_TYPE_HARD) return out;
  std::vector<char> value(info.u.val_size + 1);
  check(H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT), "H5Lget_val");
  if (info.type == H5L_TYPE_SOFT) return out + " -> " + value.data();
  const char* file = nullptr;
  const char* path = nullptr;
  check(H5Lunpack_elink_val(value.data(), info.u.val_size, nullptr, &file, &path),
        "H5Lunpack_elink_val");
  return out + " -> " + file + ":" + path;
}

// Layout, chunks and filters.
std::string storage_text(hid_t list) {
  if (hides_storage) return {};
  const H5D_layout_t layout = H5Pget_layout(list);
  std::string out = " layout " + std::to_string(layout);
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = H5Pget_chunk(list, H5S_MAX_RANK, chunk.data());
    out += " chunk " + numbers({chunk.begin(), chunk.begin() + rank});
  }
  for (int k = 0; k < H5Pget_nfilters(list); ++k) {
    unsigned flags = 0;
    std::array<unsigned, 32> values{};
    size_t count = values.size();
    const H5Z_filter_t filter = H5Pget_filter2(list, static_cast<unsigned>(k), &flags, &count,
                                               values.data(), 0, nullptr, nullptr);
    out += " filter " + std::to_string(filter);
  }
  return out;
}

std::string creation_text(hid_t dataset) {
  const Id list(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
  std::string out = storage_text(list);
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  check(H5Pfill_value_defined(list, &defined), "H5Pfill_value_defined");
  out += " fill " + std::to_string(defined);
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return out;
  const Id type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
  const Id memory(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
  Values value(memory, 1);
  check(H5Pget_fill_value(list, memory, value.data()), "H5Pget_fill_value");
  return out + " " + value.text();
}

std::string dataset_text(hid_t dataset, bool with_values) {
  const Id type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
  const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
  std::string out = " " + type_text(type) + (H5Tcommitted(type) > 0 ? " committed " : " ") +
                    space_text(space) + outcome([&] { return creation_text(dataset); });
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (!with_values || count <= 0) return out;
  const Id memory(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
  Values values(memory, static_cast<size_t>(count));
  const herr_t status = H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  if (status < 0) values.forget();
  check(status, "H5Dread");
  return out + " = " + values.text();
}

void describe_below(hid_t group, const std::string& path, bool values, std::string& out) {
  out += describe_links(group);
  for (const std::string& name : link_names(group, H5_INDEX_NAME)) {
    H5L_info2_t link;
    check(H5Lget_info2(group, name.c_str(), &link, H5P_DEFAULT), "H5Lget_info2");
    if (link.type != H5L_TYPE_HARD) continue;
    const std::string full = path + "/" + name;
    const Id object = open_object(group, name);
    out += full + ":" + outcome([&] { return describe_object(object, values); });
    if (H5Iget_type(object) == H5I_GROUP) describe_below(object, full, values, out);
  }
}

}  // namespace

std::vector<Found> find_objects(hid_t file) {
  std::vector<Found> found;
  check(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, add_found, &found, H5O_INFO_BASIC),
        "H5Ovisit3");
  return found;
}

std::vector<std::string> find_links(hid_t file) {
  std::vector<std::string> names;
  check(H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, add_link_name, &names), "H5Lvisit2");
  return names;
}

/// Whether the object keeps the order in which its attributes were made; in others it is that of
/// the header's messages, which depends on the gaps that they filled.
bool keeps_creation_order(hid_t object) {
  hid_t list = H5I_INVALID_HID;
  switch (H5Iget_type(object)) {
    case H5I_DATASET:
      list = H5Dget_create_plist(object);
      break;
    case H5I_DATATYPE:
      list = H5Tget_create_plist(object);
      break;
    default:
      list = H5Gget_create_plist(object);
  }
  if (list < 0) return false;
  unsigned flags = 0;
  const herr_t result = H5Pget_attr_creation_order(list, &flags);
  H5Pclose(list);
  return result >= 0 && (flags & H5P_CRT_ORDER_TRACKED) != 0;
}

std::string describe_attributes(hid_t object) {
  std::vector<std::string> names;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute_name, &names),
        "H5Aiterate2");
  std::string out;
  for (const std::string& name : names) {
    out += "  @" + outcome([&] { return attribute_text(object, name); }) + "\n";
  }
  if (!keeps_creation_order(object)) return out;
  out += "  attributes as created:" + outcome([&] {
           std::vector<std::string> created;
           check(H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, add_attribute_name,
                             &created),
                 "H5Aiterate2");
           return listed(created);
         });
  return out + "\n";
}

std::string describe_links(hid_t group) {
  std::string out;
  const std::vector<std::string> names = link_names(group, H5_INDEX_NAME);
  for (const std::string& name : names) {
    out += "  >" + outcome([&] { return link_text(group, name); }) + "\n";
  }
  H5G_info_t info;
  check(H5Gget_info(group, &info), "H5Gget_info");
  out += "  " + std::to_string(info.nlinks) + " links";
  return out +
         ", as created:" + outcome([&] { return listed(link_names(group, H5_INDEX_CRT_ORDER)); }) +
         "\n";
}

std::string describe_object(hid_t object, bool values) {
  H5O_info2_t info;
  check(H5Oget_info3(object, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS), "H5Oget_info3");
  std::string out = " kind " + std::to_string(info.type) + " links " + std::to_string(info.rc) +
                    " attributes " + std::to_string(info.num_attrs);
  if (info.type == H5O_TYPE_DATASET) {
    out += outcome([&] { return dataset_text(object, values); });
  } else if (info.type == H5O_TYPE_NAMED_DATATYPE) {
    out += " " + type_text(object);
  }
  return out + "\n" + describe_attributes(object);
}

std::string describe_file(hid_t file, bool values) {
  const Id root = open_object(file, "/");
  std::string out = "/:" + describe_object(root, values);
  describe_below(root, "", values, out);
  return out;
}

}  // namespace forebay_test
