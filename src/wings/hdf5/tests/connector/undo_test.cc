// Flushes of log files that are one step, where the connector's own handles are not all there is:
// "killed" is a copy of the file and of what lies beside it at that instant.
#include <gtest/gtest.h>
#include <hdf5.h>
// hdf5.h first
#include <H5VLconnector.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string errors;  // all, also those of calls within calls

herr_t note_errors(hid_t stack, void*) {
  const auto add = [](unsigned, const H5E_error2_t* error, void*) -> herr_t {
    errors.append(error->desc).append("\n");
    return 0;
  };
  return H5Ewalk2(stack, H5E_WALK_UPWARD, add, nullptr);
}

class Undo : public testing::Test {
 protected:
  void SetUp() override {
    H5Eset_auto2(H5E_DEFAULT, note_errors, nullptr);
    connector = H5VLregister_connector_by_name("forebay", H5P_DEFAULT);
    ASSERT_GE(connector, 0) << "HDF5_PLUGIN_PATH must name the folder of libforebay_vol.so";
    for (const auto& entry : fs::directory_iterator("."))
      if (entry.path().filename().string().starts_with("undo_")) fs::remove_all(entry.path());
  }
  void TearDown() override {
    H5VLclose(connector);
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
  }

  hid_t access(const std::string& hints) const {
    const std::string text = "under_vol=0;under_info={};hints={" + hints + "}";
    void* info = nullptr;
    EXPECT_GE(H5VLconnector_str_to_info(text.c_str(), connector, &info), 0);
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    EXPECT_GE(H5Pset_vol(fapl, connector, info), 0);
    EXPECT_GE(H5Pset_fclose_degree(fapl, H5F_CLOSE_WEAK), 0);
    H5VLfree_connector_info(connector, info);
    return fapl;
  }
  hid_t create(const char* name, const std::string& hints = "layout=log") const {
    const hid_t fapl = access(hints);
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Pclose(fapl);
    return file;
  }
  hid_t open(const char* name, unsigned flags = H5F_ACC_RDONLY,
             const std::string& hints = "layout=log") const {
    const hid_t fapl = access(hints);
    const hid_t file = H5Fopen(name, flags, fapl);
    H5Pclose(fapl);
    return file;
  }

  static void write(hid_t dataset, int first) {
    std::vector<int> values;
    for (int k = 0; k < 1000; ++k) values.push_back(first + k);
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }

  // A dataset of 1000 numbers from `first` on, and as much metadata that an old state is visibly
  // not a new one.
  static void add(hid_t at, const std::string& name, int first) {
    const hsize_t n = 1000;
    const hid_t space = H5Screate_simple(1, &n, nullptr);
    const hid_t dataset =
        H5Dcreate2(at, name.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    write(dataset, first);
    H5Dclose(dataset);
    H5Sclose(space);
    for (int k = 0; k < 40; ++k)
      H5Gclose(H5Gcreate2(at, (name + ".group" + std::to_string(k)).c_str(), H5P_DEFAULT,
                          H5P_DEFAULT, H5P_DEFAULT));
  }
  static bool has(hid_t at, const std::string& name, int first) {
    if (H5Lexists(at, (name + ".group39").c_str(), H5P_DEFAULT) <= 0) return false;
    const hid_t dataset = H5Dopen2(at, name.c_str(), H5P_DEFAULT);
    std::vector<int> values(1000);
    const bool read =
        H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
    H5Dclose(dataset);
    for (int k = 0; k < 1000; ++k)
      if (values[static_cast<size_t>(k)] != first + k) return false;
    return read;
  }

  // What another process finds if this one is killed now.
  hid_t open_as_if_killed(const std::string& name) const {
    const std::string copy = "undo_copy.h5";
    fs::copy_file(name, copy, fs::copy_options::overwrite_existing);
    fs::remove(copy + ".undo");
    if (fs::exists(name + ".undo")) fs::copy_file(name + ".undo", copy + ".undo");
    return open(copy.c_str());
  }

  hid_t connector = H5I_INVALID_HID;
};

TEST_F(Undo, opening_that_fails_at_its_end_leaves_the_file_as_it_was) {
  hid_t file = create("undo_a.h5");
  ASSERT_GE(file, 0);
  add(file, "x", 5);
  ASSERT_GE(H5Fclose(file), 0);
  std::ofstream("undo_a.h5.subfiles") << "not a folder";
  std::ofstream("undo_b.h5.subfiles") << "not a folder";
  for (int time = 0; time < 5; ++time) {
    EXPECT_LT(open("undo_a.h5", H5F_ACC_RDWR, "layout=log;subfiling=ranks"), 0);
    EXPECT_EQ(errors.find("clos"), std::string::npos) << errors;
    EXPECT_LT(create("undo_b.h5", "layout=log;subfiling=ranks"), 0);
    EXPECT_EQ(errors.find("clos"), std::string::npos) << errors;
  }
  fs::remove("undo_a.h5.subfiles");
  EXPECT_FALSE(fs::exists("undo_a.h5.undo"));
  file = open("undo_a.h5");
  ASSERT_GE(file, 0);
  EXPECT_TRUE(has(file, "x", 5));
  H5Fclose(file);
}

TEST_F(Undo, undo_file_goes_where_the_folder_was_renamed) {
  fs::create_directory("undo_before");
  hid_t file = create("undo_before/a.h5");
  ASSERT_GE(file, 0);
  add(file, "x", 5);
  ASSERT_GE(H5Fflush(file, H5F_SCOPE_GLOBAL), 0);
  fs::rename("undo_before", "undo_after");
  add(file, "y", 6);
  ASSERT_GE(H5Fclose(file), 0);
  EXPECT_FALSE(fs::exists("undo_after/a.h5.undo"));
  file = open("undo_after/a.h5");
  ASSERT_GE(file, 0);
  EXPECT_TRUE(has(file, "x", 5));
  EXPECT_TRUE(has(file, "y", 6));
  H5Fclose(file);
}

TEST_F(Undo, writer_removes_what_a_killed_job_showed_and_nothing_else) {
  hid_t file = create("undo_a.h5");
  add(file, "x", 5);
  H5Fclose(file);
  for (const bool others : {true, false}) {
    fs::create_directory("undo_a.h5.pending");
    for (const char* name : {"shown", "0", "0.data", "12"})
      std::ofstream(std::string("undo_a.h5.pending/") + name) << "left";
    if (others) std::ofstream("undo_a.h5.pending/mine.data") << "the user's";
    file = open("undo_a.h5", H5F_ACC_RDWR);
    ASSERT_GE(file, 0);
    H5Fclose(file);
    for (const char* name : {"shown", "0", "0.data", "12"})
      EXPECT_FALSE(fs::exists(std::string("undo_a.h5.pending/") + name)) << name;
    EXPECT_EQ(fs::exists("undo_a.h5.pending/mine.data"), others);
    if (others) fs::remove("undo_a.h5.pending/mine.data");
  }
  EXPECT_FALSE(fs::exists("undo_a.h5.pending"));
}

void mount(hid_t parent, hid_t child) {
  H5Gclose(H5Gcreate2(parent, "here", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_GE(H5Fmount(parent, "here", child, H5P_DEFAULT), 0);
}

TEST_F(Undo, global_flush_takes_mounted_files_along) {
  for (const char* hints : {"layout=log", "layout=canonical"}) {
    const hid_t parent = create("undo_parent.h5", hints), child = create("undo_child.h5");
    ASSERT_GE(parent, 0);
    ASSERT_GE(child, 0);
    add(child, "x", 5);
    ASSERT_GE(H5Fflush(child, H5F_SCOPE_GLOBAL), 0);
    const hid_t log = H5Dopen2(child, "x", H5P_DEFAULT);
    mount(parent, child);
    add(parent, "here/y", 6);
    write(log, 7);
    EXPECT_GE(H5Fflush(parent, H5F_SCOPE_GLOBAL), 0);

    const hid_t found = open_as_if_killed("undo_child.h5");
    ASSERT_GE(found, 0);
    EXPECT_TRUE(has(found, "x", 7)) << hints;
    EXPECT_TRUE(has(found, "y", 6)) << hints;
    H5Fclose(found);

    EXPECT_GE(H5Dclose(log), 0);
    EXPECT_GE(H5Funmount(parent, "here"), 0);
    EXPECT_GE(H5Fclose(child), 0);
    EXPECT_GE(H5Fclose(parent), 0);
    EXPECT_FALSE(fs::exists("undo_child.h5.undo"));
  }
}

TEST_F(Undo, mounted_file_whose_handle_is_closed_is_whole_in_the_end) {
  const hid_t parent = create("undo_parent.h5"), child = create("undo_child.h5");
  add(child, "x", 5);
  ASSERT_GE(H5Fflush(child, H5F_SCOPE_GLOBAL), 0);
  mount(parent, child);
  add(parent, "here/y", 6);
  EXPECT_GE(H5Fclose(child), 0);
  EXPECT_GE(H5Gclose(H5Gcreate2(parent, "here/z", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), 0);
  EXPECT_GE(H5Fflush(parent, H5F_SCOPE_GLOBAL), 0);
  hid_t found = open_as_if_killed("undo_child.h5");
  ASSERT_GE(found, 0);
  EXPECT_TRUE(has(found, "y", 6));
  EXPECT_GT(H5Lexists(found, "z", H5P_DEFAULT), 0);
  H5Fclose(found);
  EXPECT_GE(H5Fclose(parent), 0);
  EXPECT_FALSE(fs::exists("undo_child.h5.undo"));
  found = open("undo_child.h5");
  ASSERT_GE(found, 0);
  EXPECT_TRUE(has(found, "x", 5));
  EXPECT_TRUE(has(found, "y", 6));
  EXPECT_GT(H5Lexists(found, "z", H5P_DEFAULT), 0);
  H5Fclose(found);
}

}  // namespace
