// Operations on what a file is made of: groups, links, named types, attributes, datasets without
// their data.
#include <algorithm>

#include "player.h"

namespace forebay_test {
namespace {

constexpr size_t kManyObjects = 40;

// Sets the order of creation of attributes, where asked for.
void keep_attribute_order(hid_t list, int64_t how) {
  if (how == 0) return;
  const unsigned flags = H5P_CRT_ORDER_TRACKED | (how == 2 ? H5P_CRT_ORDER_INDEXED : 0);
  check(H5Pset_attr_creation_order(list, flags), "H5Pset_attr_creation_order");
}

Id group_list(bool tracked, int64_t attribute_order) {
  Id list = make_list(H5P_GROUP_CREATE);
  if (tracked) {
    check(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
          "H5Pset_link_creation_order");
  }
  keep_attribute_order(list, attribute_order);
  return list;
}

std::string token_text(const H5O_token_t& token) {
  return {reinterpret_cast<const char*>(&token), sizeof token};
}

std::string attribute_name(Rng& rng) {
  static const char* const names[] = {"units", "a", "zeta", "long_name", "m1",  "_FillValue",
                                      "b b",   "Z", "y9",   "title",     "k/k", "scale"};
  return names[rng.below(std::size(names))];
}

}  // namespace

void Player::create_group() {
  const std::string path = new_path();
  const Id list = group_list(rng_.one_in(2), rng_.below(3));
  both("H5Gcreate2 " + path, [&](Side& side) {
    Id group(H5Gcreate2(side.file, path.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), H5Gclose,
             "H5Gcreate2");
    return describe_object(group, false);
  });
}

void Player::create_type() {
  const std::string path = new_path();
  const Id type = random_type(rng_, options_.serial);
  both("H5Tcommit2 " + path, [&](Side& side) {
    const Id copy = copy_type(type);
    check(H5Tcommit2(side.file, path.c_str(), copy, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          "H5Tcommit2");
    return "committed " + std::to_string(H5Tcommitted(copy)) + describe_object(copy, false);
  });
}

Id Player::dataset_list(const std::vector<hsize_t>& dims, bool grows, hid_t type) {
  Id list = make_list(H5P_DATASET_CREATE);
  keep_attribute_order(list, rng_.below(3));
  check(H5Pset_obj_track_times(list, false), "H5Pset_obj_track_times");
  const bool zero = std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end();
  if (!dims.empty() && (grows || (!zero && rng_.one_in(3)))) {
    std::vector<hsize_t> chunk;
    for (const hsize_t length : dims) {
      const auto most = static_cast<int64_t>(std::clamp<hsize_t>(length, 1, 6));
      chunk.push_back(static_cast<hsize_t>(rng_.between(1, most)));
    }
    check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
    // Filtered chunks are for --serial: parallel HDF5 1.14.5 puts elements of irregular selections
    // into other places of them than those selected.
    if (rng_.one_in(2) && options_.serial) {
      if (H5Tget_class(type) == H5T_INTEGER && rng_.one_in(4)) {
        check(H5Pset_scaleoffset(list, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT), "scaleoffset");
      }
      if (rng_.one_in(2)) check(H5Pset_shuffle(list), "H5Pset_shuffle");
      if (rng_.one_in(2)) check(H5Pset_deflate(list, 4), "H5Pset_deflate");
      if (rng_.one_in(3)) check(H5Pset_fletcher32(list), "H5Pset_fletcher32");
    }
  } else if (options_.serial && rng_.one_in(6)) {
    check(H5Pset_layout(list, H5D_COMPACT), "H5Pset_layout");
  }
  if (!holds_memory(type) && rng_.one_in(2)) {
    const Id memory(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
    Values value(memory, 1);
    value.fill(rng_, H5I_INVALID_HID, {});
    check(H5Pset_fill_value(list, memory, value.data()), "H5Pset_fill_value");
  }
  // Without chunks, or allocated early as with MPI-IO, storage is not filled by default: what was
  // never written would read as whatever the file has there.
  if (!options_.serial || H5Pget_layout(list) != H5D_CHUNKED) {
    check(H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC), "H5Pset_fill_time");
  }
  return list;
}

void Player::create_dataset() {
  const std::string path = new_path();
  Id type = random_type(rng_, options_.serial);
  const std::vector<std::string> types = paths_of(H5O_TYPE_NAMED_DATATYPE);
  std::string named;
  if (!types.empty() && rng_.one_in(4)) {
    named = types[static_cast<size_t>(rng_.below(static_cast<int64_t>(types.size())))];
    const Id committed = open_object(sides_[0].file, named);
    type = copy_type(committed);
  }
  std::vector<hsize_t> dims, most;
  bool grows = false;
  const int64_t rank = rng_.below(5);
  const int64_t longest = rank < 2 ? 60 : rank == 2 ? 14 : 7;
  for (int64_t d = 0; d < rank; ++d) {
    const bool unlimited = rng_.one_in(d == 0 ? 3 : 8);
    const bool bounded = !unlimited && rng_.one_in(8);
    dims.push_back(static_cast<hsize_t>(rng_.between(unlimited ? 0 : 1, longest)));
    most.push_back(unlimited ? H5S_UNLIMITED : dims.back() + (bounded ? 4 : 0));
    grows = grows || unlimited || bounded;
  }
  const Id list = dataset_list(dims, grows, type);
  const Id space = simple_space(dims, most.data());
  both("H5Dcreate2 " + path + " of " + type_text(type), [&](Side& side) {
    const Id committed = named.empty() ? Id() : open_object(side.file, named);
    const hid_t use = named.empty() ? static_cast<hid_t>(type) : static_cast<hid_t>(committed);
    const Id dataset(
        H5Dcreate2(side.file, path.c_str(), use, space, H5P_DEFAULT, list, H5P_DEFAULT), H5Dclose,
        "H5Dcreate2");
    // In parallel, others may not have written the fill value yet.
    return describe_object(dataset, options_.serial);
  });
  dirty_.insert(path);
}

void Player::put_attribute() {
  const std::string path = any_object(), name = attribute_name(rng_);
  const Id type = random_type(rng_, options_.serial);
  const Id memory = random_memory_type(rng_, type);
  const bool null = rng_.one_in(10);
  std::vector<hsize_t> dims;
  for (int64_t d = rng_.below(3); d > 0; --d) {
    dims.push_back(static_cast<hsize_t>(rng_.between(1, 5)));
  }
  const Id space = null ? Id(H5Screate(H5S_NULL), H5Sclose, "H5Screate") : simple_space(dims);
  const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
  const Rng values_rng = rng_;
  const std::vector<std::string> paths = referable();
  both("H5Acreate2 " + name + " of " + path, [&](Side& side) {
    Rng rng = values_rng;
    Values values(memory, count);
    remember_referred(side, values.fill(rng, side.file, paths));
    const Id object = open_object(side.file, path);
    const Id attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                       H5Aclose, "H5Acreate2");
    if (count > 0) check(H5Awrite(attribute, memory, values.data()), "H5Awrite");
    return describe_attributes(object);
  });
  rng_.next();
}

void Player::change_attribute() {
  const std::string path = any_object(), name = attribute_name(rng_), other = attribute_name(rng_);
  const int64_t how = rng_.below(4);
  const Rng values_rng(rng_.next());
  both("change " + std::to_string(how) + " of attribute " + name + " of " + path, [&](Side& side) {
    const Id object = open_object(side.file, path);
    std::string said;
    if (how == 0) {
      check(H5Arename(object, name.c_str(), other.c_str()), "H5Arename");
    } else if (how == 1) {
      check(H5Adelete_by_name(side.file, path.c_str(), name.c_str(), H5P_DEFAULT),
            "H5Adelete_by_name");
    } else if (how == 2) {
      said = std::to_string(H5Aexists_by_name(side.file, path.c_str(), name.c_str(), H5P_DEFAULT));
    } else {
      const Id attribute(
          H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose, "H5Aopen_by_idx");
      const Id type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
      const Id space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
      const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
      const Id memory(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
      Values values(memory, count);
      Rng rng = values_rng;
      values.fill(rng, side.file, {});
      if (count > 0) check(H5Awrite(attribute, memory, values.data()), "H5Awrite");
    }
    return said + describe_attributes(object);
  });
}

void Player::create_link() {
  synchronise();
  const std::string path = new_path(), target = any_object();
  const int64_t kind = rng_.below(4);
  // A second way to a group could make a circle, which a path does not come out of.
  std::vector<std::string> files = paths_of(H5O_TYPE_DATASET);
  for (std::string& type : paths_of(H5O_TYPE_NAMED_DATATYPE)) files.push_back(std::move(type));
  both("link " + path, [&](Side& side) {
    if (kind == 0 && !files.empty()) {
      const std::string& to = files[static_cast<size_t>(number_) % files.size()];
      check(
          H5Lcreate_hard(side.file, to.c_str(), side.file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
          "H5Lcreate_hard");
    } else if (kind == 1) {
      check(H5Lcreate_external("outside.h5", number_ % 2 ? "/data" : "/nothing", side.file,
                               path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            "H5Lcreate_external");
    } else {
      const std::string to = kind == 2 ? "/" + target : "nowhere";
      check(H5Lcreate_soft(to.c_str(), side.file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            "H5Lcreate_soft");
    }
    return std::to_string(H5Lexists(side.file, path.c_str(), H5P_DEFAULT));
  });
}

void Player::move_link() {
  synchronise();
  const std::vector<std::string> links = find_links(sides_[0].file);
  if (links.empty()) return;
  const std::string from =
      links[static_cast<size_t>(rng_.below(static_cast<int64_t>(links.size())))];
  const std::string to = new_path();
  if (to.starts_with(from + "/")) return;  // a group does not go into itself
  const bool copy = rng_.one_in(4) && std::ranges::count(paths_of(H5O_TYPE_GROUP), from) == 0;
  both((copy ? "H5Lcopy " : "H5Lmove ") + from + " to " + to, [&](Side& side) {
    check((copy ? H5Lcopy : H5Lmove)(side.file, from.c_str(), side.file, to.c_str(), H5P_DEFAULT,
                                     H5P_DEFAULT),
          "H5Lmove");
    return describe_file(side.file, false);
  });
}

// What stands where a deleted object stood is what references to it lead to then: another object,
// or none. No two files need be alike in that.
bool Player::holds_referred(const std::string& path) {
  H5L_info2_t link;
  check(H5Lget_info2(sides_[0].file, path.c_str(), &link, H5P_DEFAULT), "H5Lget_info2");
  if (link.type != H5L_TYPE_HARD) return false;
  const Id object = open_object(sides_[0].file, path);
  const auto see = [](hid_t, const char*, const H5O_info2_t* info, void* referred) -> herr_t {
    return static_cast<const std::set<std::string>*>(referred)->count(token_text(info->token)) > 0;
  };
  return check(H5Ovisit3(object, H5_INDEX_NAME, H5_ITER_INC, see, &referred_, H5O_INFO_BASIC),
               "H5Ovisit3") > 0;
}

void Player::remember_referred(Side& side, const std::set<std::string>& paths) {
  if (&side != &sides_[0]) return;
  for (const std::string& path : paths) {
    H5O_info2_t info;
    check(H5Oget_info_by_name3(side.file, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT),
          "H5Oget_info_by_name3");
    referred_.insert(token_text(info.token));
  }
}

void Player::remove_link() {
  synchronise();
  const std::vector<std::string> links = find_links(sides_[0].file);
  if (links.empty()) return;
  const std::string path =
      links[static_cast<size_t>(rng_.below(static_cast<int64_t>(links.size())))];
  if (holds_referred(path)) return;
  both("H5Ldelete " + path, [&](Side& side) {
    check(H5Ldelete(side.file, path.c_str(), H5P_DEFAULT), "H5Ldelete");
    return describe_file(side.file, false);
  });
}

void Player::copy_object() {
  if (find_objects(sides_[0].file).size() > kManyObjects) return remove_link();
  synchronise();
  const std::string from = any_object(), to = new_path();
  if (from == ".") return;
  const Id list = make_list(H5P_OBJECT_COPY);
  unsigned flags = 0;
  if (rng_.one_in(3)) flags |= H5O_COPY_SHALLOW_HIERARCHY_FLAG;
  if (rng_.one_in(3)) flags |= H5O_COPY_WITHOUT_ATTR_FLAG;
  check(H5Pset_copy_object(list, flags), "H5Pset_copy_object");
  both("H5Ocopy " + from + " to " + to, [&](Side& side) {
    check(H5Ocopy(side.file, from.c_str(), side.file, to.c_str(), list, H5P_DEFAULT), "H5Ocopy");
    check(H5Fflush(side.file, H5F_SCOPE_GLOBAL), "H5Fflush");
    const Id object = open_object(side.file, to);
    return describe_object(object, true);
  });
}

void Player::look_at_group() {
  const std::string path = any_group();
  const auto index = rng_.one_in(2) ? H5_INDEX_NAME : H5_INDEX_CRT_ORDER;
  const auto order = rng_.one_in(2) ? H5_ITER_DEC : H5_ITER_INC;
  const auto place = static_cast<hsize_t>(rng_.below(4));
  both("look at group " + path, [&](Side& side) {
    const Id group = open_object(side.file, path);
    std::string said = describe_links(group);
    char name[256] = "";
    const ssize_t length = H5Lget_name_by_idx(side.file, path.c_str(), index, order, place, name,
                                              sizeof name, H5P_DEFAULT);
    said += std::to_string(length) + (length < 0 ? "" : name);
    char own[256] = "";
    said += " " + std::to_string(H5Iget_name(group, own, sizeof own)) + own;
    const Id list(H5Gget_create_plist(group), H5Pclose, "H5Gget_create_plist");
    unsigned tracked = 0, attributes = 0;
    check(H5Pget_link_creation_order(list, &tracked), "H5Pget_link_creation_order");
    check(H5Pget_attr_creation_order(list, &attributes), "H5Pget_attr_creation_order");
    return said + " " + std::to_string(tracked) + " " + std::to_string(attributes);
  });
}

void Player::look_at_object() {
  synchronise();
  const std::vector<std::string> links = find_links(sides_[0].file);
  if (links.empty()) return;
  // Also through soft and external links, which may lead nowhere.
  const std::string path =
      links[static_cast<size_t>(rng_.below(static_cast<int64_t>(links.size())))];
  both("look at " + path, [&](Side& side) {
    const Id object = open_object(side.file, path);
    return describe_object(object, true);
  });
}

void Player::compare_tokens() {
  const std::string first = any_object(), second = any_object();
  both("tokens of " + first + " and " + second, [&](Side& side) {
    H5O_info2_t a, b;
    check(H5Oget_info_by_name3(side.file, first.c_str(), &a, H5O_INFO_BASIC, H5P_DEFAULT), "info");
    check(H5Oget_info_by_name3(side.file, second.c_str(), &b, H5O_INFO_BASIC, H5P_DEFAULT), "info");
    int order = 0;
    check(H5Otoken_cmp(side.file, &a.token, &b.token, &order), "H5Otoken_cmp");
    const Id object(H5Oopen_by_token(side.file, a.token), H5Oclose, "H5Oopen_by_token");
    return std::string(order == 0 ? "same " : "different ") + std::to_string(H5Iget_type(object));
  });
}

void Player::count_open() {
  both("H5Fget_obj_count", [](Side& side) {
    std::string said;
    for (const unsigned kind : {H5F_OBJ_FILE, H5F_OBJ_DATASET, H5F_OBJ_GROUP, H5F_OBJ_DATATYPE,
                                H5F_OBJ_ATTR, H5F_OBJ_ALL}) {
      said += std::to_string(H5Fget_obj_count(side.file, kind)) + " ";
    }
    return said;
  });
}

}  // namespace forebay_test
