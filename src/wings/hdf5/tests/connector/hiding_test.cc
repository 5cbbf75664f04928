// What is hidden in a log file never shows: two files with the same visible objects, one of them
// with hidden links and attributes in between, must look the same, natively and through the
// connector.
//
// The file with hidden things is written natively; hooks that log nothing make it a log file.
#include <gtest/gtest.h>
#include <hdf5.h>
// hdf5.h first
#include <H5VLconnector.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "forebay_vol.h"
#include "hdf5/connector/hooks.h"

namespace forebay::vol {

// A log layer that logs nothing: every file whose name has "log" in it is a log file.
class NoLog : public FileHooks {
 public:
  CreatedDataset create_dataset(const DatasetCreation&) override { return {}; }
  std::unique_ptr<LoggedDataset> open_dataset(const UnderObject&, hid_t) override {
    return nullptr;
  }
  void write(const UnderObject&, std::span<const DatasetWrite>, hid_t) override {}
  void read(const UnderObject&, std::span<const DatasetRead>, hid_t) override {}
  void flush(const UnderObject&, H5F_scope_t) override {}
  void before_close(const UnderObject&, Closing closing) override { closings().push_back(closing); }
  static std::vector<Closing>& closings() {
    static std::vector<Closing> all;
    return all;
  }
  void before_mount(const UnderObject&) override {}
  void object_copied(const ObjectCopy&) override {}
};

bool is_logged(const UnderObject&, hid_t) { return false; }

std::unique_ptr<FileHooks> reached_log(const UnderObject&) { return nullptr; }

Method method_for_new(const OpenedFile&) { return {}; }

void report_ordinary(const OpenedFile&) {}

std::unique_ptr<FileHooks> make_file_hooks(const OpenedFile& opened) {
  if (opened.name.find("log") == std::string::npos) return nullptr;
  return std::make_unique<NoLog>();
}

}  // namespace forebay::vol

namespace {

using Lines = std::vector<std::string>;

struct File {
  hid_t id;
  explicit File(hid_t file) : id(file) { EXPECT_GE(id, 0); }
  ~File() { EXPECT_GE(H5Fclose(id), 0); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

// How both files store links and attributes: in a heap with an index by hash, or in the object
// header.
bool dense = false;

// The native order of a header is that of its messages, which what is hidden moves about.
std::vector<H5_iter_order_t> orders() {
  if (dense) return {H5_ITER_INC, H5_ITER_DEC, H5_ITER_NATIVE};
  return {H5_ITER_INC, H5_ITER_DEC};
}

// -- what an application can see
// ---------------------------------------------------------------------

std::string index_name(H5_index_t index, H5_iter_order_t order) {
  return (index == H5_INDEX_NAME ? "name" : "created") + std::to_string(order);
}

struct Collector {
  Lines* lines;
  int stop_after;  // <0: never
  herr_t add(const std::string& line) {
    lines->push_back(line);
    return stop_after > 0 && --stop_after == 0 ? 1 : 0;
  }
};

herr_t see_link(hid_t group, const char* name, const H5L_info2_t* info, void* to) {
  EXPECT_GE(H5Iis_valid(group), 0);
  return static_cast<Collector*>(to)->add("link " + std::string(name) + " type " +
                                          std::to_string(info->type) + " number " +
                                          std::to_string(info->corder_valid ? info->corder : -1));
}

herr_t see_attribute(hid_t object, const char* name, const H5A_info_t* info, void* to) {
  EXPECT_GT(H5Aexists(object, name), 0);
  return static_cast<Collector*>(to)->add("attribute " + std::string(name) + " bytes " +
                                          std::to_string(info->data_size) + " number " +
                                          std::to_string(info->corder_valid ? info->corder : 99));
}

herr_t see_object(hid_t, const char* name, const H5O_info2_t* info, void* to) {
  return static_cast<Collector*>(to)->add("object " + std::string(name) + " attributes " +
                                          std::to_string(info->num_attrs));
}

herr_t see_old_link(hid_t, const char* name, void* to) {
  return static_cast<Collector*>(to)->add("old link " + std::string(name));
}

herr_t see_old_attribute(hid_t, const char* name, void* to) {
  return static_cast<Collector*>(to)->add("old attribute " + std::string(name));
}

void see_links_by_index(hid_t group, H5_index_t index, H5_iter_order_t order, Lines& lines) {
  H5G_info_t info;
  ASSERT_GE(H5Gget_info(group, &info), 0);
  lines.push_back("links " + std::to_string(info.nlinks) + " up to number " +
                  std::to_string(info.max_corder));
  for (hsize_t n = 0; n <= info.nlinks; ++n) {
    char name[64] = "";
    H5L_info2_t link;
    H5O_info2_t object;
    const bool last = n == info.nlinks;  // one behind the end, which must fail
    const bool named =
        H5Lget_name_by_idx(group, ".", index, order, n, name, sizeof name, H5P_DEFAULT) >= 0;
    EXPECT_EQ(named, !last) << n;
    EXPECT_EQ(H5Lget_info_by_idx2(group, ".", index, order, n, &link, H5P_DEFAULT) >= 0, !last);
    EXPECT_EQ(
        H5Oget_info_by_idx3(group, ".", index, order, n, &object, H5O_INFO_ALL, H5P_DEFAULT) >= 0,
        !last);
    const hid_t opened = H5Oopen_by_idx(group, ".", index, order, n, H5P_DEFAULT);
    EXPECT_EQ(opened >= 0, !last);
    if (last) break;
    H5O_info2_t again;
    EXPECT_GE(H5Oget_info3(opened, &again, H5O_INFO_ALL), 0);
    EXPECT_EQ(object.num_attrs, again.num_attrs);
    char path[64] = "";
    H5Iget_name(opened, path, sizeof path);
    H5Oclose(opened);
    H5L_info2_t by_name;
    EXPECT_GE(H5Lget_info2(group, name, &by_name, H5P_DEFAULT), 0);
    EXPECT_EQ(link.corder, by_name.corder) << name;
    lines.push_back(index_name(index, order) + " " + std::to_string(n) + " " + name + " at " +
                    path + " attributes " + std::to_string(object.num_attrs) + " number " +
                    std::to_string(link.corder));
  }
}

void see_links(hid_t group, H5_index_t index, H5_iter_order_t order, Lines& lines) {
  see_links_by_index(group, index, order, lines);
  for (hsize_t from = 0; from < 7; ++from) {
    for (const int stop : {-1, 1, 2}) {
      Collector collector{&lines, stop};
      hsize_t position = from;
      const herr_t result = H5Literate2(group, index, order, &position, see_link, &collector);
      lines.push_back("iterated from " + std::to_string(from) + " to " + std::to_string(position) +
                      ": " + std::to_string(result));
    }
  }
  Collector collector{&lines, -1};
  EXPECT_GE(H5Lvisit2(group, index, order, see_link, &collector), 0);
  EXPECT_GE(H5Ovisit3(group, index, order, see_object, &collector, H5O_INFO_ALL), 0);
}

void see_attributes(hid_t object, H5_index_t index, H5_iter_order_t order, Lines& lines) {
  const int count = H5Aget_num_attrs(object);
  lines.push_back("attributes " + std::to_string(count));
  for (int n = 0; n <= count; ++n) {
    char name[64] = "", name_again[64] = "";
    const bool last = n == count;
    const hid_t opened = H5Aopen_by_idx(object, ".", index, order, static_cast<hsize_t>(n),
                                        H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_EQ(opened >= 0, !last) << n;
    EXPECT_EQ(H5Aget_name_by_idx(object, ".", index, order, static_cast<hsize_t>(n), name,
                                 sizeof name, H5P_DEFAULT) >= 0,
              !last);
    H5A_info_t info;
    EXPECT_EQ(H5Aget_info_by_idx(object, ".", index, order, static_cast<hsize_t>(n), &info,
                                 H5P_DEFAULT) >= 0,
              !last);
    if (last) break;
    H5Aget_name(opened, sizeof name_again, name_again);
    EXPECT_STREQ(name, name_again);
    H5A_info_t of_handle, by_name;
    EXPECT_GE(H5Aget_info(opened, &of_handle), 0);
    EXPECT_GE(H5Aget_info_by_name(object, ".", name, &by_name, H5P_DEFAULT), 0);
    EXPECT_EQ(info.corder, of_handle.corder) << name;
    EXPECT_EQ(info.corder, by_name.corder) << name;
    H5Aclose(opened);
    lines.push_back(index_name(index, order) + " " + std::to_string(n) + " " + name + " number " +
                    std::to_string(info.corder));
  }
  for (hsize_t from = 0; from < 4; ++from) {
    for (const int stop : {-1, 1}) {
      Collector collector{&lines, stop};
      hsize_t position = from;
      const herr_t result = H5Aiterate2(object, index, order, &position, see_attribute, &collector);
      lines.push_back("attributes from " + std::to_string(from) + " to " +
                      std::to_string(position) + ": " + std::to_string(result));
    }
  }
}

Lines see(hid_t file) {
  Lines lines;
  for (const char* path : {"/", "/Group", "/data"}) {
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    EXPECT_GE(object, 0) << path;
    for (const H5_index_t index : {H5_INDEX_NAME, H5_INDEX_CRT_ORDER}) {
      for (const H5_iter_order_t order : orders()) {
        if (H5Iget_type(object) == H5I_GROUP) see_links(object, index, order, lines);
        see_attributes(object, index, order, lines);
      }
    }
    H5Oclose(object);
  }
  Collector collector{&lines, -1};
  int position = 1;
  lines.push_back(
      "old: " + std::to_string(H5Giterate(file, "/", &position, see_old_link, &collector)) +
      " to " + std::to_string(position));
  const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  unsigned at = 1;
  lines.push_back("old: " + std::to_string(H5Aiterate1(root, &at, see_old_attribute, &collector)) +
                  " to " + std::to_string(at));
  H5Gclose(root);
  return lines;
}

// -- the two files
// -----------------------------------------------------------------------------------

void add_attribute(hid_t object, const std::string& name) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute =
      H5Acreate2(object, name.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_GE(attribute, 0) << name;
  H5Aclose(attribute);
  H5Sclose(space);
}

hid_t tracked(hid_t cls) {
  const hid_t list = H5Pcreate(cls);
  if (cls != H5P_DATASET_CREATE) H5Pset_link_phase_change(list, dense ? 0 : 100, 0);
  H5Pset_attr_phase_change(list, dense ? 0 : 100, 0);
  if (cls != H5P_DATASET_CREATE)
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  return list;
}

void add_group(hid_t at, const std::string& name) {
  const hid_t gcpl = tracked(H5P_GROUP_CREATE);
  const hid_t group = H5Gcreate2(at, name.c_str(), H5P_DEFAULT, gcpl, H5P_DEFAULT);
  EXPECT_GE(group, 0) << name;
  add_attribute(group, "units");
  H5Gclose(group);
  H5Pclose(gcpl);
}

void add_dataset(hid_t at, const std::string& name) {
  const hid_t dcpl = tracked(H5P_DATASET_CREATE), space = H5Screate(H5S_SCALAR);
  const hid_t dataset =
      H5Dcreate2(at, name.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  EXPECT_GE(dataset, 0) << name;
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(dcpl);
}

// `hidden`: with Forebay's own things among the rest, first, last and in the middle of each index.
void write_file(const std::string& path, bool hidden) {
  const hid_t fcpl = tracked(H5P_FILE_CREATE);
  const File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, fcpl, H5P_DEFAULT));
  H5Pclose(fcpl);
  if (hidden) add_group(file.id, "_forebay_log");
  for (const char* name : {"zeta", "Group", "alpha", "9", "beta"}) add_group(file.id, name);
  if (hidden) add_group(file.id, "_forebay_index");
  if (hidden) add_dataset(file.id, "/_forebay_log/data_0");
  add_dataset(file.id, "data");
  add_dataset(file.id, "/Group/inner");
  if (hidden) add_dataset(file.id, "_forebay_z");
  for (const char* path_of : {"/", "/data"}) {
    const hid_t object = H5Oopen(file.id, path_of, H5P_DEFAULT);
    if (hidden) add_attribute(object, "_forebay_id");
    for (const char* name : {"b", "Z", "a"}) add_attribute(object, name);
    if (hidden) add_attribute(object, "_forebay_extent");
    H5Oclose(object);
  }
}

hid_t forebay_list() {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  EXPECT_GE(H5Pset_fapl_forebay(fapl, 0, nullptr, nullptr), 0);
  return fapl;
}

class Hiding : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    dense = GetParam();
    write_file("plain.h5", false);
    write_file("log.h5", true);
    fapl = forebay_list();
  }
  void TearDown() override {
    H5Pclose(fapl);
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
  }
  hid_t fapl = H5I_INVALID_HID;
};

// Names the first line that differs.
void expect_same(const Lines& plain, const Lines& log) {
  for (std::size_t i = 0; i < std::max(plain.size(), log.size()); ++i) {
    const std::string a = i < plain.size() ? plain[i] : "(nothing)",
                      b = i < log.size() ? log[i] : "(nothing)";
    ASSERT_EQ(a, b) << "line " << i << (i > 0 ? " after " + plain[i - 1] : "");
  }
}

std::string last_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
        static_cast<std::string*>(to)->append(error->desc).append("\n");
        return 0;
      },
      &text);
  return text;
}

TEST_P(Hiding, log_file_looks_like_the_plain_one) {
  const File plain(H5Fopen("plain.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
  const File log(H5Fopen("log.h5", H5F_ACC_RDONLY, fapl));
  expect_same(see(plain.id), see(log.id));
}

TEST_P(Hiding, hooks_learn_what_a_close_leaves_open) {
  using forebay::vol::Closing;
  auto& closings = forebay::vol::NoLog::closings();
  const hid_t file = H5Fopen("log.h5", H5F_ACC_RDWR, fapl);
  const hid_t again = H5Fopen("log.h5", H5F_ACC_RDWR, fapl);
  const hid_t group = H5Gopen2(file, "Group", H5P_DEFAULT);
  closings.clear();
  H5Fclose(again);
  EXPECT_EQ(closings, std::vector{Closing::handle});
  H5Fclose(file);
  const hid_t of_group = H5Iget_file_id(group);
  ASSERT_GE(of_group, 0);
  H5Gclose(group);
  EXPECT_EQ(closings, (std::vector{Closing::handle, Closing::file}));
  H5Fclose(of_group);
  EXPECT_EQ(closings, (std::vector{Closing::handle, Closing::file, Closing::last}));
}

TEST_P(Hiding, root_group_of_another_file_behind_a_link_counts_all_its_links) {
  const File log(H5Fopen("log.h5", H5F_ACC_RDWR, fapl));
  ASSERT_GE(H5Lcreate_external("plain.h5", "/", log.id, "other", H5P_DEFAULT, H5P_DEFAULT), 0);
  const File plain(H5Fopen("plain.h5", H5F_ACC_RDWR, H5P_DEFAULT));
  H5G_info_t through, direct, own;
  ASSERT_GE(H5Gget_info(log.id, &own), 0);
  ASSERT_GE(H5Gget_info_by_name(log.id, "other", &through, H5P_DEFAULT), 0);
  ASSERT_GE(H5Gget_info(plain.id, &direct), 0);
  EXPECT_EQ(through.nlinks, direct.nlinks);
  // A second name of the root group is the root group all the same.
  ASSERT_GE(H5Lcreate_hard(log.id, "/", log.id, "Group/up", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(H5Gget_info_by_name(log.id, "Group/up", &own, H5P_DEFAULT), 0);
  EXPECT_EQ(own.nlinks, direct.nlinks + 1);
}

TEST_P(Hiding, natively_the_hidden_things_show) {
  const File plain(H5Fopen("plain.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
  const File log(H5Fopen("log.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
  H5G_info_t all, visible;
  H5Gget_info(log.id, &all);
  H5Gget_info(plain.id, &visible);
  EXPECT_EQ(all.nlinks, visible.nlinks + 3);
}

TEST_P(Hiding, ordinary_file_is_not_touched) {
  std::rename("log.h5", "ordinary.h5");
  const File native(H5Fopen("ordinary.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
  const Lines expected = see(native.id);
  const File through(H5Fopen("ordinary.h5", H5F_ACC_RDONLY, fapl));
  expect_same(expected, see(through.id));
}

TEST_P(Hiding, changes_by_index_meet_the_visible_entry) {
  const File plain(H5Fopen("plain.h5", H5F_ACC_RDWR, H5P_DEFAULT));
  const File log(H5Fopen("log.h5", H5F_ACC_RDWR, fapl));
  see(log.id);  // positions that are known must be found anew
  for (const File* file : {&plain, &log}) {
    EXPECT_GE(H5Ldelete_by_idx(file->id, "/", H5_INDEX_CRT_ORDER, H5_ITER_INC, 3, H5P_DEFAULT), 0);
    EXPECT_GE(H5Adelete_by_idx(file->id, "/data", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT), 0);
    EXPECT_GE(H5Lmove(file->id, "alpha", file->id, "Alpha", H5P_DEFAULT, H5P_DEFAULT), 0);
    EXPECT_GE(H5Arename_by_name(file->id, "/data", "a", "~", H5P_DEFAULT), 0);
    EXPECT_GE(H5Lcreate_soft("/Group", file->id, "_soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  }
  expect_same(see(plain.id), see(log.id));
}

TEST_P(Hiding, hidden_names_are_not_there) {
  const File log(H5Fopen("log.h5", H5F_ACC_RDWR, fapl));
  EXPECT_EQ(H5Lexists(log.id, "_forebay_log", H5P_DEFAULT), 0);
  EXPECT_EQ(H5Aexists(log.id, "_forebay_id"), 0);
  EXPECT_EQ(H5Aexists_by_name(log.id, "data", "_forebay_id", H5P_DEFAULT), 0);
  for (const char* name :
       {"_forebay_log", "/_forebay_log", "/Group/../_forebay_log", "./_forebay_log/data_0"}) {
    EXPECT_LT(H5Oopen(log.id, name, H5P_DEFAULT), 0) << name;
    EXPECT_LT(H5Gopen2(log.id, name, H5P_DEFAULT), 0) << name;
    H5O_info2_t object;
    H5L_info2_t link;
    EXPECT_LT(H5Oget_info_by_name3(log.id, name, &object, H5O_INFO_ALL, H5P_DEFAULT), 0) << name;
    EXPECT_LT(H5Lget_info2(log.id, name, &link, H5P_DEFAULT), 0) << name;
    EXPECT_LT(H5Ldelete(log.id, name, H5P_DEFAULT), 0) << name;
    EXPECT_LT(H5Ocopy(log.id, name, log.id, "copy", H5P_DEFAULT, H5P_DEFAULT), 0) << name;
  }
  EXPECT_LT(H5Aopen(log.id, "_forebay_id", H5P_DEFAULT), 0);
  EXPECT_LT(H5Adelete(log.id, "_forebay_id"), 0);
  EXPECT_LT(H5Arename(log.id, "_forebay_id", "mine"), 0);
  EXPECT_LT(H5Oopen(log.id, "_forebay_log", H5P_DEFAULT), 0);
  EXPECT_NE(last_error().find("nothing is named \"_forebay_log\""), std::string::npos)
      << last_error();
}

TEST_P(Hiding, reserved_names_cannot_be_made) {
  const File log(H5Fopen("log.h5", H5F_ACC_RDWR, fapl));
  const hid_t space = H5Screate(H5S_SCALAR);
  const char* name = "_forebay_mine";
  EXPECT_LT(H5Gcreate2(log.id, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_NE(last_error().find("belong to Forebay"), std::string::npos) << last_error();
  EXPECT_LT(H5Dcreate2(log.id, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
            0);
  EXPECT_LT(H5Acreate2(log.id, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Arename(log.id, "a", name), 0);
  EXPECT_LT(H5Lmove(log.id, "beta", log.id, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Lcopy(log.id, "beta", log.id, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Lcreate_hard(log.id, "beta", log.id, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Lcreate_hard(log.id, "_forebay_log", log.id, "seen", H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Lcreate_soft("/_forebay_log", log.id, "seen", H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_LT(H5Ocopy(log.id, "beta", log.id, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Sclose(space);
}

TEST_P(Hiding, copy_of_the_root_group_has_nothing_hidden) {
  const File log(H5Fopen("log.h5", H5F_ACC_RDONLY, fapl));
  const File target(H5Fcreate("target.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
  ASSERT_GE(H5Ocopy(log.id, "/", target.id, "copy", H5P_DEFAULT, H5P_DEFAULT), 0);
  const hid_t copy = H5Gopen2(target.id, "copy", H5P_DEFAULT);
  H5G_info_t info;
  H5Gget_info(copy, &info);
  EXPECT_EQ(info.nlinks, 6U);
  EXPECT_EQ(H5Lexists(copy, "_forebay_log", H5P_DEFAULT), 0);
  EXPECT_EQ(H5Aget_num_attrs(copy), 3);
  H5Gclose(copy);
}

INSTANTIATE_TEST_SUITE_P(Storage, Hiding, testing::Bool(),
                         [](const auto& info) { return info.param ? "dense" : "compact"; });

}  // namespace
