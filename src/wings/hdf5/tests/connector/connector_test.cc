// The connector as a plug-in: its text, its info, what stands below, and files by name.
#include <gtest/gtest.h>
#include <hdf5.h>
// hdf5.h first
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "forebay_vol.h"

namespace {

std::string last_errors() {
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

// HDF5 2 has more than one identifier for a connector.
bool is_the_same(hid_t a, hid_t b) {
  int difference = 1;
  return H5VLcmp_connector_cls(&difference, a, b) >= 0 && difference == 0;
}

class Connector : public testing::Test {
 protected:
  void SetUp() override {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    id = H5VLregister_connector_by_name("forebay", H5P_DEFAULT);
    ASSERT_GE(id, 0) << "HDF5_PLUGIN_PATH must name the folder of libforebay_vol.so";
  }
  void TearDown() override {
    H5VLclose(id);
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
  }

  // The text that a text becomes when it is understood and written down again; "" when it is not.
  std::string there_and_back(const std::string& text) const {
    void* info = nullptr;
    char* again = nullptr;
    if (H5VLconnector_str_to_info(text.c_str(), id, &info) < 0) return "";
    EXPECT_GE(H5VLconnector_info_to_str(info, id, &again), 0);
    std::string result = again;
    H5free_memory(again);
    H5VLfree_connector_info(id, info);
    return result;
  }

  hid_t list(const std::string& text) const {
    void* info = nullptr;
    EXPECT_GE(H5VLconnector_str_to_info(text.c_str(), id, &info), 0);
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    EXPECT_GE(H5Pset_vol(fapl, id, info), 0);
    H5VLfree_connector_info(id, info);
    return fapl;
  }

  hid_t id = H5I_INVALID_HID;
};

TEST_F(Connector, has_the_name_and_value_of_the_header) {
  H5VL_class_value_t value = 0;
  EXPECT_GE(H5VLget_value(id, &value), 0);
  EXPECT_EQ(value, H5VL_FOREBAY_VALUE);
  const hid_t again = H5VL_forebay_register();
  EXPECT_TRUE(is_the_same(again, id));
  H5VLclose(again);
}

TEST_F(Connector, text_goes_there_and_back) {
  EXPECT_EQ(there_and_back("under_vol=0;under_info={}"), "under_vol=0;under_info={}");
  EXPECT_EQ(there_and_back(" under_vol = native ; "), "under_vol=0;under_info={}");
  EXPECT_EQ(there_and_back("hints={a=1;b={c}}"), "under_vol=0;under_info={};hints={a=1;b={c}}");
  const std::string nested =
      "under_vol=442;under_info={under_vol=0;under_info={};hints={x=y}};hints={z=1}";
  EXPECT_EQ(there_and_back(nested), nested);
  const std::string other = "under_vol=1;under_info={under_vol=0;under_info={}}";
  EXPECT_EQ(there_and_back(other), other);
}

TEST_F(Connector, mistakes_in_the_text_are_named) {
  for (const auto& [text, expected] :
       {std::pair{"undr_vol=0", "part that is not understood: \"undr_vol=0\""},
        {"under_vol=0;under_info={", "opens a brace that is not closed"},
        {"under_vol=0}", "closes a brace that was not opened"},
        {"under_vol=", "part that is not understood"},
        {"under_info=x", "gives under_info without braces"},
        {"under_vol=nosuch", "under_vol=nosuch names no connector"},
        {"under_vol=442;under_info={x}", "does not understand under_info={x}"}}) {
    EXPECT_EQ(there_and_back(text), "") << text;
    EXPECT_NE(last_errors().find(expected), std::string::npos) << text << ": " << last_errors();
  }
}

TEST_F(Connector, infos_compare) {
  void *one = nullptr, *same = nullptr, *other = nullptr;
  H5VLconnector_str_to_info("under_vol=0;hints={a=1}", id, &one);
  H5VLcopy_connector_info(id, &same, one);
  H5VLconnector_str_to_info("under_vol=0;hints={a=2}", id, &other);
  int result = 1;
  EXPECT_GE(H5VLcmp_connector_info(&result, id, one, same), 0);
  EXPECT_EQ(result, 0);
  EXPECT_GE(H5VLcmp_connector_info(&result, id, one, other), 0);
  EXPECT_NE(result, 0);
  for (void* info : {one, same, other}) H5VLfree_connector_info(id, info);
}

TEST_F(Connector, without_info_the_native_connector_stands_below) {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  ASSERT_GE(H5Pset_vol(fapl, id, nullptr), 0);
  uint64_t flags = 0;
  EXPECT_GE(H5Pget_vol_cap_flags(fapl, &flags), 0);
  EXPECT_NE(flags & H5VL_CAP_FLAG_NATIVE_FILES, 0U);
  const hid_t file = H5Fcreate("plain.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  ASSERT_GE(file, 0);
  char name[32] = "";
  H5VLget_connector_name(file, name, sizeof name);
  EXPECT_STREQ(name, "forebay");
  H5Fclose(file);
  EXPECT_GT(H5Fis_accessible("plain.h5", H5P_DEFAULT), 0);
  EXPECT_GT(H5Fis_accessible("plain.h5", fapl), 0);
  EXPECT_GE(H5Fdelete("plain.h5", fapl), 0);
  EXPECT_LE(H5Fis_accessible("plain.h5", fapl), 0);
  H5Pclose(fapl);
}

TEST_F(Connector, handles_of_one_file_in_any_order) {
  for (const char* text :
       {"under_vol=0", "under_vol=1;under_info={under_vol=0;under_info={}}", "under_vol=442"}) {
    const hid_t fapl = list(text);
    const hid_t first = H5Fcreate("handles.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    ASSERT_GE(first, 0) << text;
    const hid_t group = H5Gcreate2(first, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t second = H5Fopen("handles.h5", H5F_ACC_RDWR, fapl);
    const hid_t third = H5Freopen(first);
    ASSERT_GE(second, 0);
    ASSERT_GE(third, 0);
    EXPECT_EQ(H5Fget_obj_count(first, H5F_OBJ_ALL), 4);
    H5Fclose(first);
    EXPECT_GT(H5Lexists(second, "group", H5P_DEFAULT), 0);
    H5Fclose(second);
    const hid_t of_group = H5Iget_file_id(group);
    EXPECT_GE(of_group, 0);
    H5Fclose(of_group);
    H5Fclose(third);
    EXPECT_GE(H5Gclose(group), 0);
    EXPECT_GE(H5Pclose(fapl), 0);
  }
}

TEST_F(Connector, handles_with_lists_of_their_own_are_of_one_log) {
  const hid_t one = list("under_vol=0"), other = list("under_vol=0");
  const hid_t first = H5Fcreate("one_log.h5", H5F_ACC_TRUNC, H5P_DEFAULT, one);
  const hsize_t extent = 4;
  const hid_t space = H5Screate_simple(1, &extent, nullptr);
  const hid_t dataset =
      H5Dcreate2(first, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const int written[4] = {1, 2, 3, 4};
  EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, written), 0);
  const hid_t second = H5Fopen("one_log.h5", H5F_ACC_RDWR, other);
  ASSERT_GE(second, 0);
  const hid_t again = H5Dopen2(second, "x", H5P_DEFAULT);
  int read[4] = {};
  EXPECT_GE(H5Dread(again, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read), 0);
  EXPECT_EQ(read[3], 4);  // though nothing was flushed
  for (const hid_t handle : {dataset, again}) EXPECT_GE(H5Dclose(handle), 0);
  for (const hid_t handle : {first, second}) EXPECT_GE(H5Fclose(handle), 0);
  H5Sclose(space);
  for (const hid_t fapl : {one, other}) H5Pclose(fapl);
}

TEST_F(Connector, access_list_of_a_file_names_the_connector) {
  const hid_t fapl = list("under_vol=0;hints={layout=canonical}");
  const hid_t file = H5Fcreate("list.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  const hid_t of_file = H5Fget_access_plist(file);
  hid_t connector = H5I_INVALID_HID;
  EXPECT_GE(H5Pget_vol_id(of_file, &connector), 0);
  EXPECT_TRUE(is_the_same(connector, id));
  H5VLclose(connector);
  H5Pclose(of_file);
  H5Fclose(file);
  H5Pclose(fapl);
}

TEST_F(Connector, failures_below_are_passed_on_with_their_reasons) {
  const hid_t fapl = list("");
  EXPECT_LT(H5Fopen("/no/such/folder/file.h5", H5F_ACC_RDONLY, fapl), 0);
  EXPECT_NE(last_errors().find("No such file or directory"), std::string::npos) << last_errors();
  const hid_t file = H5Fcreate("fail.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  EXPECT_LT(H5Gopen2(file, "nosuch", H5P_DEFAULT), 0);
  EXPECT_NE(last_errors().find("object 'nosuch' doesn't exist"), std::string::npos)
      << last_errors();
  H5Fclose(file);
  H5Pclose(fapl);
}

}  // namespace
