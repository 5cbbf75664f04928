// HDF5 and netCDF-4 files in ls, dump, diff, check and convert, and copying of whole files through
// a view.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dataset/dataset.h"
#include "files/open_source.h"
#include "hdf5/convert/copy.h"
#include "hdf5/files/attributes.h"
#include "method/parts_testing.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace hdf5_files_test {

namespace fs = std::filesystem;

class Hdf5FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    start_hdf5();
    folder_ = ::testing::TempDir() + "forebay_hdf5_" + std::to_string(::getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    std::string text;
    try {
      status_ = run_application(std::move(arguments));
    } catch (const Error& error) {
      text = error.what();
      status_ = exit_failed;
    }
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr() +
           text;
  }

  // Writes a classic file: T(t, y, x) of floats with a NaN, t as its own coordinate, words of text,
  // one number, attributes of several types.
  std::string classic() {
    auto ds = Dataset::create(Comm(), at("a.nc"), 5, false, {});
    const DimId t = ds->def_dim("t", 0), y = ds->def_dim("y", 5), x = ds->def_dim("x", 7);
    const VarId time = ds->def_var("t", Type::float64, std::array{t});
    const VarId T = ds->def_var("T", Type::float32, std::array{t, y, x});
    const VarId word = ds->def_var("word", Type::chr, std::array{x});
    const VarId y_of_x = ds->def_var("y", Type::int64, std::array{x});  // no coordinate of y
    const float fill = -9;
    ds->def_var_fill(T, false, &fill);
    put_text(*ds, T, "units", "°C");
    put_text(*ds, T, "empty", "");
    put_text(*ds, T, "closed", std::string("as in C", 8));
    put_text(*ds, global_id, "title", "a file");
    ds->enddef();
    std::vector<double> values(3 * 35);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 4;
    put(*ds, time, {{0}, {3}, {}}, Type::float64, values.data());
    put(*ds, y_of_x, {{0}, {7}, {}}, Type::float64, values.data());
    values[9] = std::nan("");
    put(*ds, T, {{0, 0, 0}, {3, 5, 7}, {}}, Type::float64, values.data());
    std::string text("abc\0efg", 7);
    put(*ds, word, {{0}, {7}, {}}, Type::chr, text.data());
    ds->close();
    return at("a.nc");
  }

  static void put_text(Dataset& ds, VarId var, const std::string& name, const std::string& text) {
    Attribute attribute{name, Type::chr, std::ssize(text), {}};
    attribute.value.resize(text.size());
    std::transform(text.begin(), text.end(), attribute.value.begin(),
                   [](char c) { return std::byte(c); });
    ds.put_attribute(var, attribute);
  }

  static void put(Dataset& ds, VarId var, Subarray part, Type type, void* values) {
    Request access;
    access.var = var;
    access.write = true;
    access.elements = part.elements();
    if (ds.variable(var).is_record) access.last_record = part.start[0] + part.count[0];
    access.selection = std::move(part);
    access.memory.data = static_cast<std::byte*>(values);
    access.memory.type = type;
    std::vector<Request> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }

  Hdf5Id create(const std::string& name) const {
    return owned(H5Fcreate(at(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), name);
  }

  static void write_text_attribute(hid_t object, const char* name, const std::string& text) {
    const Hdf5Id type = owned(H5Tcopy(H5T_C_S1), name);
    checked(H5Tset_size(type, text.size()), name);
    const Hdf5Id space = owned(H5Screate(H5S_SCALAR), name);
    const Hdf5Id attribute =
        owned(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), name);
    checked(H5Awrite(attribute, type, text.data()), name);
  }

  static void write_integers(hid_t object, const char* name, const std::vector<int>& values,
                             bool scalar = false) {
    const hsize_t n = values.size();
    const Hdf5Id space =
        owned(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr), name);
    const Hdf5Id attribute =
        owned(H5Acreate2(object, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT), name);
    checked(H5Awrite(attribute, H5T_NATIVE_INT, values.data()), name);
  }

  // Makes a dataset of ints 0, 1, 2, ...
  static Hdf5Id dataset(hid_t where, const char* name, const std::vector<Count>& shape,
                        hid_t creation = H5P_DEFAULT, const std::vector<hsize_t>& most = {}) {
    const std::vector<hsize_t> n(shape.begin(), shape.end());
    const Hdf5Id space = owned(H5Screate_simple(static_cast<int>(n.size()), n.data(),
                                                most.empty() ? nullptr : most.data()),
                               name);
    Hdf5Id made = owned(
        H5Dcreate2(where, name, H5T_STD_I32BE, space, H5P_DEFAULT, creation, H5P_DEFAULT), name);
    Count elements = 1;
    for (const Count c : shape) elements *= c;
    std::vector<int> values(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
    checked(H5Dwrite(made, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
    return made;
  }

  std::string folder_;
  int status_ = exit_usage;
};

TEST_F(Hdf5FilesTest, classic_to_netcdf4_and_back_keeps_all) {
  if (!is_built("container=netcdf4")) GTEST_SKIP() << "it is of a wing";
  const std::string a = classic();
  run({"convert", a, at("b.nc4"), "--to", "hdf5", "--verify"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_EQ(run({"diff", a, at("b.nc4")}), "same: 4 variables, 122 values\n");
  const auto source = open_source(at("b.nc4"));
  EXPECT_EQ(source->format(), "netCDF-4");
  EXPECT_TRUE(source->unlimited(0));
  EXPECT_EQ(source->schema().numrecs, 3);
  EXPECT_TRUE(source->schema().vars[1].chunking.has_value());
  EXPECT_FALSE(source->schema().vars[2].chunking.has_value());
  run({"convert", at("b.nc4"), at("c.nc"), "--to", "netcdf", "--verify"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_EQ(run({"diff", a, at("c.nc")}), "same: 4 variables, 122 values\n");
  EXPECT_EQ(ClassicFile(at("c.nc")).schema().version, 5);
  EXPECT_EQ(ClassicFile(at("c.nc")).schema().numrecs, 3);
}

TEST_F(Hdf5FilesTest, bp_has_texts_with_the_nuls_at_their_ends) {
  if (!is_built("layout=process-group")) GTEST_SKIP() << "it is of a wing";
  run({"convert", classic(), at("d.bp")});
  ASSERT_EQ(status_, exit_done);
  const auto source = open_source(at("d.bp"));
  const Variable& T =
      source->schema().vars[static_cast<std::size_t>(find_variable(source->schema(), "", "T"))];
  const auto closed = T.attributes.find("closed");
  ASSERT_TRUE(closed);
  EXPECT_EQ(T.attributes[*closed].count, 8);
}

TEST_F(Hdf5FilesTest, dump_is_the_same_for_both_formats) {
  if (!is_built("container=netcdf4")) GTEST_SKIP() << "it is of a wing";
  const std::string a = classic();
  fs::create_directory(at("x"));
  run({"convert", a, at("x/a.nc"), "--to", "hdf5"});
  EXPECT_EQ(run({"dump", a}), run({"dump", at("x/a.nc")}));
}

// Has 2 × 3 chunks. One row was never written, and one chunk was stored without its filter.
TEST_F(Hdf5FilesTest, chunks_are_drawn_with_sizes_and_places) {
  const hsize_t chunk[2] = {4, 8};
  {
    const Hdf5Id file = create("a.h5"), creation = owned(H5Pcreate(H5P_DATASET_CREATE), "");
    checked(H5Pset_chunk(creation, 2, chunk), "");
    checked(H5Pset_shuffle(creation), "");
    checked(H5Pset_deflate(creation, 4), "");
    const Hdf5Id T = dataset(file, "T", {4, 20}, creation, {H5S_UNLIMITED, 20});
    const hsize_t more[2] = {8, 20}, second[2] = {0, 8};
    checked(H5Dset_extent(T, more), "");
    const std::vector<char> raw(4 * 8 * 4, 1);
    checked(H5Dwrite_chunk(T, H5P_DEFAULT, 3, second, raw.size(), raw.data()), "");
    dataset(file, "plain", {5});
  }
  const auto source = open_source(at("a.h5"));
  Count bytes = 0, chunks = 0;
  const VarId T = find_variable(source->schema(), at("a.h5"), "T");
  source->each_stored_chunk(T, [&](const ChunkPlace& one) {
    EXPECT_EQ(one.at[0], 0);
    EXPECT_EQ(one.at[1], chunks);
    EXPECT_EQ(one.filtered, chunks != 1);
    EXPECT_EQ(one.bytes == 128, chunks == 1);
    ASSERT_TRUE(one.place.has_value());
    EXPECT_LE(*one.place + one.bytes, static_cast<Offset>(fs::file_size(at("a.h5"))));
    bytes += one.bytes;
    ++chunks;
  });
  EXPECT_EQ(chunks, 3);
  EXPECT_EQ(bytes, source->stored_bytes(T));
  EXPECT_THROW(source->each_stored_chunk(find_variable(source->schema(), at("a.h5"), "plain"), {}),
               Error);
}

// An older HDF5 takes too long to find the places of so many chunks.
TEST_F(Hdf5FilesTest, sizes_of_very_many_chunks_are_told) {
  constexpr Count length = 20000;
  {
    const hsize_t chunk[1] = {1};
    const Hdf5Id file = create("a.h5"), creation = owned(H5Pcreate(H5P_DATASET_CREATE), "");
    checked(H5Pset_chunk(creation, 1, chunk), "");
    dataset(file, "T", {length}, creation);
  }
  const auto source = open_source(at("a.h5"));
  Count chunks = 0, bytes = 0;
  source->each_stored_chunk(0, [&](const ChunkPlace& one) {
    ++chunks;
    bytes += one.bytes;
  });
  EXPECT_EQ(chunks, length);
  EXPECT_EQ(bytes, 4 * length);
}

TEST_F(Hdf5FilesTest, methods_choose_chunks_and_filters) {
  if (!is_built("container=netcdf4")) GTEST_SKIP() << "it is of a wing";
  const std::string a = classic();
  run({"convert", a, at("b.nc4"), "--to", "hdf5", "-m", "codec=shuffle,deflate:4;chunk_bytes=64"});
  const auto json = nlohmann::json::parse(run({"ls", "--json", at("b.nc4")}));
  EXPECT_EQ(json["variables"][1]["codec"], "shuffle,deflate:4");
  EXPECT_LT(json["variables"][1]["chunk_shape"][0].get<int>() *
                json["variables"][1]["chunk_shape"][1].get<int>() *
                json["variables"][1]["chunk_shape"][2].get<int>(),
            100);
  EXPECT_EQ(run({"diff", a, at("b.nc4")}), "same: 4 variables, 122 values\n");
  run({"convert", at("b.nc4"), at("c.nc4"), "-m", "codec=none"});
  EXPECT_EQ(nlohmann::json::parse(run({"ls", "--json", at("c.nc4")}))["variables"][1]["codec"],
            "none");
  EXPECT_EQ(run({"diff", a, at("c.nc4")}), "same: 4 variables, 122 values\n");
  std::string refused =
      run({"convert", a, at("d.nc4"), "--to", "hdf5", "-m", "codec=zfp:relative=0.1"});
  EXPECT_NE(refused.find("has no mode relative"), std::string::npos) << refused;
  refused = run({"convert", at("b.nc4"), at("d.nc4"), "-m", "codec=zstd"});
  EXPECT_NE(refused.find("conversions to HDF5 have no codec=zstd"), std::string::npos) << refused;
  EXPECT_FALSE(fs::exists(at("d.nc4")));
}

// The filter zstd needs no plug-in of HDF5, in a file that is read and in a copy of it.
TEST_F(Hdf5FilesTest, values_behind_zstd_are_read_and_copied) {
  if (!is_built("container=netcdf4")) GTEST_SKIP() << "it is of a wing";
  const std::string a = classic();
  run({"convert", a, at("b.nc4"), "--to", "netcdf4", "-m", "codec=shuffle,zstd:3;chunk_bytes=64"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_EQ(run({"diff", a, at("b.nc4")}), "same: 4 variables, 122 values\n");
  EXPECT_NE(run({"info", at("b.nc4")}).find("shuffle,zstd:3"), std::string::npos);
  run({"convert", at("b.nc4"), at("c.nc4"), "--verify"});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(run({"info", at("c.nc4")}).find("shuffle,zstd:3"), std::string::npos);
  run({"convert", at("c.nc4"), at("d.nc4"), "--to", "netcdf4", "--verify"});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(run({"info", at("d.nc4")}).find("shuffle,zstd:3"), std::string::npos);
}

// A check says which values have checksums, and finds a chunk that does not have its own.
TEST_F(Hdf5FilesTest, checksums_of_chunks_are_verified) {
  if (!is_built("container=netcdf4")) GTEST_SKIP() << "it is of a wing";
  const std::string a = classic();
  run({"convert", a, at("b.nc4"), "--to", "netcdf4", "-m", "codec=fletcher32;chunk_bytes=64"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_EQ(run({"check", "--decode", at("b.nc4")}).find("damaged"), std::string::npos);
  EXPECT_NE(run({"check", "--decode", at("b.nc4")}).find(", all with checksums (fletcher32)"),
            std::string::npos);
  const auto json =
      nlohmann::json::parse(run({"check", "--decode", "--json", at("b.nc4")}))["files"][0];
  EXPECT_EQ(json["verified"]["bytes"], json["verified"]["bytes_with_checksums"]);
  const auto bytes = [&] {
    std::ifstream in(at("b.nc4"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  const float value = 5.5;  // element 22 of T
  const auto place = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  ASSERT_NE(place, std::string::npos);
  std::fstream(at("b.nc4"), std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(place))
      .put('\1');
  EXPECT_NE(run({"check", "--decode", at("b.nc4")}).find("/T: cannot be read"), std::string::npos);
  EXPECT_EQ(status_, exit_failed);
}

TEST_F(Hdf5FilesTest, plain_files_get_dimensions_by_length) {
  {
    const Hdf5Id file = create("p.h5");
    dataset(file, "a", {3, 3});
    dataset(file, "b", {3, 4});
  }
  const auto source = open_source(at("p.h5"));
  ASSERT_EQ(source->schema().dims.size(), 3u);
  EXPECT_EQ(source->schema().vars[0].dimids, (std::vector<DimId>{0, 1}));
  EXPECT_EQ(source->schema().vars[1].dimids, (std::vector<DimId>{0, 2}));
  EXPECT_EQ(source->schema().dims[2].name, "phony_dim_2");
  std::vector<int> values(4);
  source->read(1, {{1, 0}, {2, 2}, {1, 3}}, values.data());
  EXPECT_EQ(values, (std::vector<int>{4, 7, 8, 11}));
  EXPECT_THROW(source->read(1, {{1, 0}, {3, 2}, {}}, values.data()), Error);
}

TEST_F(Hdf5FilesTest, elements_beyond_a_short_dataset_are_fill_values) {
  {
    const Hdf5Id file = create("p.h5");
    const Hdf5Id creation = owned(H5Pcreate(H5P_DATASET_CREATE), "");
    const std::array<hsize_t, 2> chunk = {2, 2};
    checked(H5Pset_chunk(creation, 2, chunk.data()), "");
    const std::vector<hsize_t> most = {H5S_UNLIMITED, 2};
    const Hdf5Id scale = dataset(file, "t", {4, 2}, creation, most);
    write_text_attribute(scale, "CLASS", "DIMENSION_SCALE");
    write_integers(scale, "_Netcdf4Dimid", {0}, true);
    const Hdf5Id shorter = dataset(file, "v", {2, 2}, creation, most);
    write_integers(shorter, "_Netcdf4Coordinates", {0, 1});  // 1 is made up
  }
  const auto source = open_source(at("p.h5"));
  const VarId v = *source->schema().find_var("v");
  EXPECT_EQ(source->shape(v), (std::vector<Count>{4, 2}));
  std::vector<int> values(6);
  source->read(v, {{1, 0}, {3, 2}, {}}, values.data());
  const int fill = -2147483647;
  EXPECT_EQ(values, (std::vector<int>{2, 3, fill, fill, fill, fill}));
}

TEST_F(Hdf5FilesTest, what_the_classic_model_lacks_is_named) {
  {
    const Hdf5Id file = create("p.h5");
    dataset(file, "a", {3});
    const Hdf5Id text = owned(H5Tcopy(H5T_C_S1), "");
    checked(H5Tset_size(text, 12), "");
    const Hdf5Id space = simple_space({2});
    owned(H5Dcreate2(file, "names", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "");
  }
  const std::string refused = run({"convert", at("p.h5"), at("p.nc"), "--to", "netcdf"});
  EXPECT_NE(refused.find("names is strings"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--skip"), std::string::npos) << refused;
  const std::string done = run({"convert", at("p.h5"), at("p.nc"), "--to", "netcdf", "--skip"});
  EXPECT_NE(done.find("left out: names"), std::string::npos) << done;
  EXPECT_NE(run({"ls", at("p.h5")}).find("left out: names (strings)"), std::string::npos);
}

TEST_F(Hdf5FilesTest, groups_need_a_choice_unless_the_output_has_them) {
  {
    const Hdf5Id file = create("p.h5");
    dataset(file, "a", {3});
    const Hdf5Id group = owned(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "");
    dataset(group, "b", {4});
    checked(H5Lcreate_hard(file, "/", group, "up", H5P_DEFAULT, H5P_DEFAULT), "");  // a circle
  }
  EXPECT_NE(run({"ls", at("p.h5")}).find("g/b"), std::string::npos);
  EXPECT_NE(run({"convert", at("p.h5"), at("p.nc"), "--to", "netcdf"}).find("--group GROUP"),
            std::string::npos);
  run({"convert", at("p.h5"), at("p.nc"), "--to", "netcdf", "--group", "g", "--skip"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_NE(run({"dump", at("p.nc")}).find(" b = 0, 1, 2, 3 ;"), std::string::npos);
  EXPECT_NE(run({"convert", at("p.h5"), at("q.nc"), "--to", "netcdf", "--group", "h"}).find("/g"),
            std::string::npos);
  run({"convert", at("p.h5"), at("q.h5"), "--verify"});
  EXPECT_EQ(status_, exit_done);
  EXPECT_EQ(run({"diff", at("p.h5"), at("q.h5")}), "same: 2 variables, 7 values\n");
}

TEST_F(Hdf5FilesTest, damage_is_told_and_leaves_no_output) {
  {
    const Hdf5Id file = create("p.h5");
    const Hdf5Id creation = owned(H5Pcreate(H5P_DATASET_CREATE), "");
    const hsize_t chunk = 100;
    checked(H5Pset_chunk(creation, 1, &chunk), "");
    checked(H5Pset_fletcher32(creation), "");
    dataset(file, "a", {1000}, creation);
  }
  EXPECT_NE(run({"check", "--decode", at("p.h5")}).find("p.h5: ok"), std::string::npos);
  std::fstream file(at("p.h5"), std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::string element("\0\0\3\0", 4);  // 768
  const std::size_t place = bytes.find(element + std::string("\0\0\3\1", 4));
  ASSERT_NE(place, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(place));
  file.put('\x55');
  file.close();
  const std::string text = run({"check", "--decode", at("p.h5")});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("/a: cannot be read"), std::string::npos) << text;
  run({"convert", at("p.h5"), at("q.h5")});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  fs::resize_file(at("p.h5"), 700);
  EXPECT_NE(run({"ls", at("p.h5")}).find(at("p.h5")), std::string::npos);
  EXPECT_EQ(status_, exit_failed);
}

TEST_F(Hdf5FilesTest, references_name_the_same_objects_in_a_copy) {
  {
    const Hdf5Id file = create("p.h5");
    const Hdf5Id first = dataset(file, "z", {30});
    const Hdf5Id group = owned(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "");
    const Hdf5Id target = dataset(group, "b", {4});
    hobj_ref_t references[2];
    checked(H5Rcreate(&references[0], file, "/g/b", H5R_OBJECT, H5I_INVALID_HID), "");
    checked(H5Rcreate(&references[1], file, "/z", H5R_OBJECT, H5I_INVALID_HID), "");
    hvl_t list{2, references};
    const Hdf5Id type = owned(H5Tvlen_create(H5T_STD_REF_OBJ), "");
    const Hdf5Id attribute = owned(
        H5Acreate2(first, "to", type, owned(H5Screate(H5S_SCALAR), ""), H5P_DEFAULT, H5P_DEFAULT),
        "");
    checked(H5Awrite(attribute, type, &list), "");
  }
  run({"convert", at("p.h5"), at("q.h5"), "--verify"});
  ASSERT_EQ(status_, exit_done);
  const Hdf5Id file = open_hdf5_file(at("q.h5"));
  const Hdf5Id first = owned(H5Dopen2(file, "/z", H5P_DEFAULT), "");
  const Hdf5Id attribute = owned(H5Aopen(first, "to", H5P_DEFAULT), "");
  const Hdf5Id type = owned(H5Aget_type(attribute), "");
  hvl_t list{};
  checked(H5Aread(attribute, type, &list), "");
  ASSERT_EQ(list.len, 2u);
  const char* names[] = {"/g/b", "/z"};
  for (std::size_t i = 0; i < 2; ++i) {
    const Hdf5Id object = owned(
        H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, static_cast<hobj_ref_t*>(list.p) + i), "");
    const Hdf5Id named = owned(H5Oopen(file, names[i], H5P_DEFAULT), "");
    EXPECT_EQ(object_of(object).address, object_of(named).address) << i;
  }
  H5Dvlen_reclaim(type, owned(H5Aget_space(attribute), ""), H5P_DEFAULT, &list);
}

// A view in which each scalar stands for 100 × 30 numbers elsewhere.
class StandIns : public Hdf5View {
 public:
  bool hides_link(const std::string& path, const std::string& link) const override {
    return path == "/" && link == "_log";
  }
  bool hides_attribute(hid_t, const std::string& attribute) const override {
    return attribute == "_id";
  }
  Hdf5Id space(hid_t) const override { return simple_space({100, 30}); }
  Hdf5Id creation(hid_t) const override {
    Hdf5Id creation = owned(H5Pcreate(H5P_DATASET_CREATE), "");
    const std::array<hsize_t, 2> chunk = {7, 8};
    checked(H5Pset_chunk(creation, 2, chunk.data()), "");
    return creation;
  }
  void read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const override {
    ASSERT_GT(H5Tequal(memory_type, H5T_STD_I32BE), 0);
    const int id = integer_attribute(dataset, "_id").value();
    auto* at = static_cast<std::uint8_t*>(out);
    for (Count i = 0; i < part.count[0]; ++i) {
      for (Count j = 0; j < part.count[1]; ++j, at += 4) {
        const Count value = id * 100000 + (part.start[0] + i) * 30 + part.start[1] + j;
        for (int b = 0; b < 4; ++b) at[b] = static_cast<std::uint8_t>(value >> (24 - 8 * b));
      }
    }
  }
};

TEST_F(Hdf5FilesTest, a_view_turns_stand_ins_into_ordinary_datasets) {
  {
    const Hdf5Id file = create("log.h5");
    const Hdf5Id log = owned(H5Gcreate2(file, "_log", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "");
    const Hdf5Id group = owned(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "");
    const Hdf5Id a = owned(H5Dcreate2(file, "a", H5T_STD_I32BE, owned(H5Screate(H5S_SCALAR), ""),
                                      H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           "");
    const Hdf5Id b = owned(H5Dcreate2(group, "b", H5T_STD_I32BE, owned(H5Screate(H5S_SCALAR), ""),
                                      H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           "");
    write_integers(a, "_id", {1}, true);
    write_integers(a, "kept", {5, 6});
    write_integers(b, "_id", {2}, true);
  }
  const Hdf5Id file = open_hdf5_file(at("log.h5"));
  Hdf5CopyOptions options;
  options.verify = true;
  options.block_bytes = 1000;  // many blocks
  const ConvertResult result = copy_hdf5(Comm(), file, StandIns(), at("out.h5"), options);
  EXPECT_EQ(result.variables, 2);
  EXPECT_EQ(result.verified, 2);
  EXPECT_EQ(result.bytes, 2 * 3000 * 4);
  const auto source = open_source(at("out.h5"));
  ASSERT_EQ(source->schema().vars.size(), 2u);
  EXPECT_EQ(source->schema().vars[0].attributes.size(), 1);
  const Hdf5Id copy = open_hdf5_file(at("out.h5"));
  EXPECT_EQ(H5Lexists(copy, "_log", H5P_DEFAULT), 0);
  EXPECT_EQ(H5Aexists_by_name(copy, "/g/b", "_id", H5P_DEFAULT), 0);
  for (VarId v = 0; v < 2; ++v) {
    std::vector<int> values(3000);
    source->read(v, whole(source->shape(v)), values.data());
    for (int i = 0; i < 3000; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(i)], (v + 1) * 100000 + i);
  }
}

}  // namespace hdf5_files_test
}  // namespace forebay::tools
