#include "files/classic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "base/byteorder.h"
#include "base/error.h"
#include "dataset/dataset.h"
#include "files/file_check.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace forebay {
namespace classic_file_test {

// A CDF-2 file with a fixed variable a(3,4), record variables r(t,2) and s(t), and a text c(4).
// Element i of a variable (counting records) has the value base + i, with base = 100 × the
// variable's id.
class ClassicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_reader_test_" + std::to_string(::getpid()) + ".nc";
    schema_.version = 2;
    schema_.add_dim({"t", 0});
    schema_.add_dim({"y", 3});
    schema_.add_dim({"x", 4});
    schema_.add_dim({"two", 2});
    add("a", Type::int32, {1, 2});
    add("r", Type::int16, {0, 3});
    add("s", Type::float64, {0});
    add("c", Type::chr, {2});
    schema_.numrecs = 5;
    Attribute units{"units", Type::chr, 1, {std::byte{'K'}}};
    schema_.vars[0].attributes.put(units);
    place_variables(schema_, nullptr, {}, classic::header_size(schema_));
    write();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  void add(const char* name, Type type, std::vector<DimId> dims) {
    Variable var;
    var.name = name;
    var.type = type;
    var.dimids = std::move(dims);
    schema_.add_var(std::move(var));
  }

  void write() {
    bytes_ = classic::print(schema_);
    Offset size = schema_.header_size;
    for (const Variable& var : schema_.vars) size = std::max(size, end_of(schema_, var));
    bytes_.resize(static_cast<std::size_t>(size));
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
      const Variable& var = schema_.vars[v];
      for (Count i = 0; i < schema_.elements(var); ++i)
        store(var, static_cast<int>(100 * v) + static_cast<int>(i), i);
    }
    save(bytes_);
  }

  void store(const Variable& var, int value, Count i) {
    const Count record = i / var.inner_elements, rest = i % var.inner_elements;
    std::byte* at = bytes_.data() + var.begin + (var.is_record ? record * schema_.recsize : 0) +
                    (var.is_record ? rest : i) * size_of(var.type);
    if (var.type == Type::int32) store_be<std::int32_t>(at, value);
    if (var.type == Type::int16) store_be<std::int16_t>(at, static_cast<std::int16_t>(value));
    if (var.type == Type::float64) store_be<double>(at, value);
    if (var.type == Type::byte) *at = static_cast<std::byte>(value);
    if (var.type == Type::chr) *at = static_cast<std::byte>('a' + i);
  }

  void save(std::span<const std::byte> bytes) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  std::vector<int> read(VarId var, const Subarray& selection) {
    std::vector<int> values;
    for (double value : ClassicFile(path_).read_doubles(var, selection))
      values.push_back(static_cast<int>(value));
    return values;
  }

  Errc fault(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      message_ = error.what();
      return error.code();
    }
    return Errc::ok;
  }

  Schema schema_;
  std::string path_, message_;
  std::vector<std::byte> bytes_;
};

using Ints = std::vector<int>;

TEST_F(ClassicFileTest, whole_variables_and_parts_are_read) {
  EXPECT_EQ(read(0, {{0, 0}, {3, 4}, {}}), (Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read(0, {{1, 1}, {2, 2}, {}}), (Ints{5, 6, 9, 10}));
  EXPECT_EQ(read(0, {{0, 3}, {3, 1}, {}}), (Ints{3, 7, 11}));
  EXPECT_EQ(read(0, {{0, 0}, {2, 2}, {2, 3}}), (Ints{0, 3, 8, 11}));
  EXPECT_EQ(read(0, {{2, 0}, {0, 4}, {}}), Ints{});
}

TEST_F(ClassicFileTest, records_are_read_across_other_variables) {
  EXPECT_EQ(read(1, {{0, 0}, {5, 2}, {}}),
            (Ints{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}));
  EXPECT_EQ(read(1, {{1, 1}, {2, 1}, {2, 1}}), (Ints{103, 107}));
  EXPECT_EQ(read(2, {{0}, {5}, {}}), (Ints{200, 201, 202, 203, 204}));
  EXPECT_EQ(read(2, {{0}, {3}, {2}}), (Ints{200, 202, 204}));
}

TEST_F(ClassicFileTest, random_selections_agree_with_an_array_in_memory) {
  std::mt19937 random(7);
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    const VarId var = static_cast<VarId>(pick(0, 2));
    const std::vector<Count> shape = ClassicFile(path_).shape(var);
    Subarray part;
    for (Count length : shape) {
      const Count start = pick(0, length - 1), stride = pick(1, 3);
      part.start.push_back(start);
      part.stride.push_back(stride);
      part.count.push_back(pick(1, (length - 1 - start) / stride + 1));
    }
    Ints expected;
    const Count rows = shape.size() == 2 ? part.count[0] : 1;
    const std::size_t last = shape.size() - 1;
    for (Count i = 0; i < rows; ++i) {
      const Count row = shape.size() == 2 ? (part.start[0] + i * part.stride[0]) * shape[1] : 0;
      for (Count j = 0; j < part.count[last]; ++j) {
        expected.push_back(
            static_cast<int>(100 * var + row + part.start[last] + j * part.stride[last]));
      }
    }
    EXPECT_EQ(read(var, part), expected) << "round " << round;
  }
}

TEST_F(ClassicFileTest, selections_outside_are_refused) {
  const ClassicFile reader(path_);
  EXPECT_EQ(fault([&] { reader.read_doubles(0, {{3, 0}, {1, 1}, {}}); }), Errc::einvalcoords);
  EXPECT_EQ(fault([&] { reader.read_doubles(0, {{0, 0}, {1, 5}, {}}); }), Errc::eedge);
  EXPECT_EQ(fault([&] { reader.read_doubles(2, {{4}, {2}, {}}); }), Errc::eedge);
  EXPECT_EQ(fault([&] { reader.read_doubles(0, {{0, 0}, {1, 1}, {0, 1}}); }), Errc::estride);
  EXPECT_EQ(fault([&] { reader.read_doubles(0, {{0}, {1}, {}}); }), Errc::einval);
  double one = 0;
  EXPECT_EQ(fault([&] { reader.read(9, {}, Type::float64, &one); }), Errc::enotvar);
  EXPECT_EQ(fault([&] { reader.read(3, {{0}, {1}, {}}, Type::float64, &one); }), Errc::echar);
}

TEST_F(ClassicFileTest, values_that_do_not_fit_are_told) {
  std::int8_t small[2];
  EXPECT_TRUE(ClassicFile(path_).read(2, {{0}, {2}, {}}, Type::byte, small));
  EXPECT_FALSE(ClassicFile(path_).read(0, {{0, 0}, {1, 2}, {}}, Type::byte, small));
}

// CDF-1 and CDF-2 have no unsigned bytes, so bytes may be read as signed or unsigned.
TEST_F(ClassicFileTest, bytes_are_unsigned_to_who_asks_for_them_so) {
  for (const int version : {2, 5}) {
    schema_ = Schema();
    schema_.version = version;
    schema_.add_dim({"x", 200});
    add("b", Type::byte, {0});
    place_variables(schema_, nullptr, {}, classic::header_size(schema_));
    write();
    std::vector<std::uint8_t> values(200);
    EXPECT_EQ(ClassicFile(path_).read(0, {{0}, {200}, {}}, Type::uint8, values.data()),
              version == 5);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], version == 5 && i > 127 ? 255 : i) << version;
  }
}

TEST_F(ClassicFileTest, text_is_read) {
  const ClassicFile reader(path_);
  char text[4];
  reader.read(3, {{0}, {4}, {}}, Type::chr, text);
  EXPECT_EQ(std::string(text, 4), "abcd");
}

TEST_F(ClassicFileTest, data_cut_off_is_refused_but_the_rest_is_read) {
  save(std::span(bytes_).first(bytes_.size() - 1));
  EXPECT_EQ(read(2, {{0}, {4}, {}}), (Ints{200, 201, 202, 203}));
  EXPECT_EQ(fault([&] { read(2, {{4}, {1}, {}}); }), Errc::etrunc);
  EXPECT_NE(message_.find("before the end of what is asked of variable s"), std::string::npos)
      << message_;
}

TEST_F(ClassicFileTest, what_lies_beyond_the_end_may_be_taken_for_zeros) {
  save(std::span(bytes_).first(bytes_.size() - 10));  // the last value of s, and of r before it
  ClassicFile file(path_);
  EXPECT_EQ(file.zero_beyond_end(), 10);
  std::vector<double> s(5, 7);
  file.read(2, {{0}, {5}, {}}, Type::float64, s.data());
  EXPECT_EQ(s, (std::vector<double>{200, 201, 202, 203, 0}));
  std::vector<std::int16_t> r(10, 7);
  file.read(1, {{0, 0}, {5, 2}, {}}, Type::int16, r.data());
  EXPECT_EQ(r, (std::vector<std::int16_t>{100, 101, 102, 103, 104, 105, 106, 107, 108, 0}));
  std::vector<float> one(1, 7);
  file.read(2, {{4}, {1}, {}}, Type::float32, one.data());
  EXPECT_EQ(one[0], 0);
}

// PnetCDF leaves such files. netCDF-C and ncdump read zeros too.
TEST_F(ClassicFileTest, what_was_never_written_is_zeros_and_no_damage) {
  const auto last_of_s = static_cast<std::size_t>(schema_.vars[2].begin + 4 * schema_.recsize);
  save(std::span(bytes_).first(last_of_s));
  EXPECT_FALSE(ends_within_values(schema_, static_cast<Offset>(last_of_s)));
  EXPECT_EQ(read(2, {{3}, {2}, {}}), (Ints{203, 0}));
  EXPECT_EQ(read(1, {{4, 0}, {1, 2}, {}}), (Ints{108, 109}));
  // The file ends inside the last record's values, or in an earlier record.
  for (const Count bytes : {Count{1}, schema_.recsize}) {
    const auto size = static_cast<Offset>(last_of_s) - bytes;
    EXPECT_TRUE(ends_within_values(schema_, size)) << bytes;
  }
  EXPECT_FALSE(ends_within_values(schema_, std::ssize(bytes_)));
}

// Large enough for several threads: one long row, rows that are records, and every second element.
TEST_F(ClassicFileTest, large_reads_are_shared_by_threads) {
  schema_ = Schema();
  schema_.version = 5;
  constexpr Count records = 7, length = 700001;
  schema_.add_dim({"t", 0});
  schema_.add_dim({"x", length});
  add("s", Type::float64, {0});
  add("r", Type::int32, {0, 1});
  add("a", Type::int32, {1});
  schema_.numrecs = records;
  place_variables(schema_, nullptr, {}, classic::header_size(schema_));
  write();
  const ClassicFile file(path_);
  for (const int threads : {1, 2, 3, 64}) {
    std::vector<std::int32_t> all(records * length, -1);
    file.read(1, {{0, 0}, {records, length}, {}}, Type::int32, all.data(), threads);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 100 + static_cast<int>(i));
    std::vector<double> half(records * (length / 2), -1);
    file.read(1, {{0, 1}, {records, length / 2}, {1, 2}}, Type::float64, half.data(), threads);
    for (std::size_t i = 0; i < half.size(); ++i) {
      const auto row = static_cast<Count>(i) / (length / 2),
                 at = static_cast<Count>(i) % (length / 2);
      ASSERT_EQ(half[i], 100 + row * length + 1 + 2 * at) << threads;
    }
    std::vector<double> row(length, -1);
    file.read(2, {{0}, {length}, {}}, Type::float64, row.data(), threads);
    for (std::size_t i = 0; i < row.size(); ++i) ASSERT_EQ(row[i], 200 + static_cast<double>(i));
    // Memory at an odd address, for a part that begins and ends within rows.
    std::vector<std::byte> bytes((records - 2) * (length - 5) * sizeof(std::int32_t) + 1);
    file.read(1, {{1, 3}, {records - 2, length - 5}, {}}, Type::int32, bytes.data() + 1, threads);
    for (Count i = 0; i < (records - 2) * (length - 5); ++i) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + 1 + i * Count{sizeof value}, sizeof value);
      ASSERT_EQ(value, 100 + (1 + i / (length - 5)) * length + 3 + i % (length - 5)) << threads;
    }
  }
}

TEST_F(ClassicFileTest, a_change_of_the_file_is_seen) {
  const ClassicFile file(path_);
  EXPECT_FALSE(file.changed());
  const std::string other = path_ + ".other";
  std::filesystem::rename(path_, other);
  EXPECT_FALSE(file.changed()) << "it only has another name";
  save(bytes_);
  EXPECT_TRUE(file.changed()) << "another file has its name";
  std::filesystem::rename(other, path_);
  const ClassicFile again(path_);
  EXPECT_FALSE(again.changed());
  std::ofstream(path_, std::ios::app) << 'x';
  EXPECT_TRUE(again.changed());
}

TEST_F(ClassicFileTest, files_without_chunks_need_no_reader_of_ours) {
  EXPECT_FALSE(shows_anchors(path_));
  EXPECT_FALSE(shows_anchors(path_ + ".none"));
  EXPECT_FALSE(shows_anchors(::testing::TempDir()));
  save(std::span(bytes_).first(10));
  EXPECT_FALSE(shows_anchors(path_));
}

// In a build without a wing, the anchors of its layout are left as they lie in the header.
TEST_F(ClassicFileTest, anchors_of_an_unknown_layout_are_no_values) {
  add("m", Type::int32, {});
  schema_.vars.back().attributes.put(text_attribute("__mist_dims", "y x"));
  place_variables(schema_, nullptr, {}, classic::header_size(schema_));
  write();
  EXPECT_EQ(read(4, {}), Ints{400}) << "the header does not tell of such a layout";
  EXPECT_FALSE(shows_anchors(path_));
  schema_.attributes.put(text_attribute("__mist_root", "17"));
  place_variables(schema_, nullptr, {}, classic::header_size(schema_));
  write();
  const std::string why = path_ +
                          ": variable m stands for values that lie elsewhere, in a layout " +
                          "that this build lacks (attribute __mist_dims)";
  EXPECT_EQ(fault([&] { read(4, {}); }), Errc::enotbuilt);
  EXPECT_EQ(message_.find(why), 0u) << message_;
  EXPECT_EQ(read(0, {{0, 0}, {1, 2}, {}}), (Ints{0, 1}));
  EXPECT_FALSE(check_file(path_, {}).vars[4].readable);
  EXPECT_EQ(fault([&] { Dataset::open(Comm(), path_, false, {}); }), Errc::enotbuilt);
  EXPECT_EQ(message_.find(why), 0u) << message_;
  EXPECT_TRUE(shows_anchors(path_));
}

TEST_F(ClassicFileTest, attributes_that_only_look_like_those_of_anchors_are_a_programs) {
  add("m", Type::int32, {});
  for (const char* name : {"__dims", "__mist_dims"})
    schema_.vars.back().attributes.put(text_attribute(name, "y x"));
  for (const char* name : {"_NCProperties", "__mistral"})
    schema_.attributes.put(text_attribute(name, "17"));
  place_variables(schema_, nullptr, {}, classic::header_size(schema_));
  write();
  EXPECT_EQ(read(4, {}), Ints{400});
  EXPECT_FALSE(shows_anchors(path_));
  Dataset::open(Comm(), path_, false, {})->close();
}

TEST_F(ClassicFileTest, other_files_are_refused_with_what_they_are) {
  const auto open = [&] { ClassicFile reader(path_); };
  save(std::span(bytes_).first(40));
  EXPECT_EQ(fault(open), Errc::enotnc);
  EXPECT_EQ(message_.find(path_), 0u) << message_;
  const char hdf5[] = "\x89HDF\r\n\x1a\n and more";
  save(std::as_bytes(std::span(hdf5)));
  EXPECT_EQ(fault(open), Errc::enotnc3);
  EXPECT_NE(message_.find("this is an HDF5 file, as netCDF-4 writes them"), std::string::npos);
  save(std::as_bytes(std::span("text of no kind")));
  EXPECT_EQ(fault(open), Errc::enotnc);
  EXPECT_NE(message_.find("this is no netCDF file"), std::string::npos);
  save({});
  EXPECT_EQ(fault(open), Errc::enotnc);
  EXPECT_EQ(fault([] { ClassicFile reader("/nonexistent/file.nc"); }), Errc::enoent);
  EXPECT_EQ(fault([] { ClassicFile reader("/"); }), Errc::enotnc);
}

}  // namespace classic_file_test
}  // namespace forebay
