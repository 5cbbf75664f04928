// BP3 files as files of the classic model: files that ADIOS 1 may write, made by hand, and damaged
// ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/files/bp_source.h"
#include "groups/files/bp_source_testing.h"
#include "groups/format/bp3_testing.h"
#include "groups/format/bp_testing.h"
#include "support/cases.h"

namespace forebay {
namespace bp3_source_test {

namespace fs = std::filesystem;
using bp::Bp3File, bp::Bp3Printer;

constexpr std::uint8_t in_one_file = 2, in_subfiles = 3;
const Bp3File::Name grid_T{"restart", "/grid", "T", 1}, n{"restart", "", "n", 2};

class Bp3SourceTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_bp3_" + std::to_string(::getpid()) + ".bp");
    TearDown();
  }
  void TearDown() override {
    fs::remove_all(path_);
    fs::remove_all(folder());
  }
  fs::path folder() const { return path_.string() + ".dir"; }
  fs::path subfile(int number) const {
    return folder() / (path_.filename().string() + "." + std::to_string(number));
  }
  std::unique_ptr<Source> open() const { return open_bp(path_.string(), Strings::given); }

  /// Returns eight bytes, then 0, 1, 2, … as doubles.
  static Bp3Printer values(bool big_endian) {
    Bp3Printer printed(big_endian);
    printed.put(std::uint64_t{0});
    for (int value = 0; value < 24; ++value) printed.put(static_cast<double>(value));
    return printed;
  }
  static Bp3Printer block(const Bp3File& file, std::uint32_t time, std::uint32_t number,
                          const std::vector<std::array<std::uint64_t, 3>>& dimensions, int first) {
    Bp3Printer printed = file.print();
    printed.payload(8 + 8 * static_cast<std::uint64_t>(first)).file(number).time(time);
    printed.dimensions(dimensions);
    return printed;
  }

  /// Makes steps with the numbers 2 and 5. T is in both, with blocks in no order. `timed` is in
  /// both, with a time dimension. `own` is in the second.
  static Bp3File made(bool big_endian) {
    Bp3File file(big_endian);
    for (const std::uint32_t time : {2, 2, 5, 5}) file.group(time);
    std::vector<Bp3Printer> T;
    for (const std::uint32_t row : {0, 1})
      for (const std::uint32_t step : {0, 1})
        T.push_back(block(file, step == 0 ? 2 : 5, row, {{1, 2, row}, {3, 3, 0}},
                          static_cast<int>(6 * step + 3 * row)));
    file.variable(grid_T, bp::Type::float64, T);
    file.variable(
        n, bp::Type::int32,
        {file.print().time(2).value(std::int32_t{7}), file.print().time(5).value(std::int32_t{8})});
    file.variable({"other", "", "n", 2}, bp::Type::int32,
                  {file.print().time(5).value(std::int32_t{9})});
    file.variable({"restart", "", "timed", 3}, bp::Type::float64,
                  {block(file, 2, 0, {{1, 4, 0}, {4, 0, 0}}, 12),
                   block(file, 5, 1, {{1, 4, 0}, {4, 0, 0}}, 16)});
    file.variable({"restart", "", "own", 4}, bp::Type::float64,
                  {block(file, 5, 0, {{2, 0, 0}}, 20), block(file, 5, 1, {{1, 0, 0}}, 22)});
    file.variable({"restart", "", "title", 5}, bp::Type::string,
                  {file.print().time(2).value("a"), file.print().time(5).value("bcd")});
    file.variable({"restart", "/__adios__", "timers", 6}, bp::Type::int32,
                  {file.print().time(2).value(std::int32_t{1})});
    const auto attribute = [&](const char* name, bp::Type type, const Bp3Printer& set) {
      file.attribute({"restart", "/grid/T", name, 9}, type, {set, set});
    };
    attribute("units", bp::Type::string, file.print().value("K"));
    attribute("n", bp::Type::reference, file.print().variable(n.member));
    attribute("called", bp::Type::reference, file.print().variable(5));
    attribute("all", bp::Type::reference, file.print().variable(grid_T.member));
    file.attribute({"restart", "/__adios__", "version", 9}, bp::Type::string,
                   {file.print().value("1")});
    return file;
  }

  static std::vector<double> numbers(const Source& file, const char* name) {
    const auto v = file.schema().find_var(name);
    if (!v) return {-1};
    std::vector<double> read(static_cast<std::size_t>(whole(file.shape(*v)).elements()));
    file.read(*v, whole(file.shape(*v)), read.data());
    return read;
  }

  static void expect_values(const Source& file) {
    EXPECT_EQ(file.format(), "BP3");
    const Schema& schema = file.schema();
    EXPECT_EQ(schema.vars.size(), 6U);
    EXPECT_EQ(schema.numrecs, 2);
    EXPECT_EQ(file.shape(schema.find_var("grid.T").value()), (std::vector<Count>{2, 2, 3}));
    EXPECT_EQ(numbers(file, "grid.T"), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(numbers(file, "timed"), (std::vector<double>{12, 13, 14, 15, 16, 17, 18, 19}));
    EXPECT_EQ(numbers(file, "own"), (std::vector<double>{20, 21, 22}));
    std::vector<std::int32_t> two(2);
    file.read(schema.find_var("n").value(), {{0}, {2}, {}}, two.data());
    EXPECT_EQ(two, (std::vector<std::int32_t>{7, 8}));
    file.read(schema.find_var("other.n").value(), {{}, {}, {}}, two.data());
    EXPECT_EQ(two[0], 9);
    EXPECT_EQ(file.read_strings(schema.find_var("title").value(), {{0}, {2}, {}}),
              (std::vector<std::string>{"a", "bcd"}));
  }

  fs::path path_;
};

TEST_F(Bp3SourceTest, steps_of_one_index_are_records_in_either_byte_order) {
  for (const bool big : {false, true}) {
    bp::write_bytes(path_, made(big).print(values(big).bytes(), in_one_file));
    EXPECT_TRUE(is_bp(path_));
    const auto file = open();
    expect_values(*file);
    EXPECT_TRUE(is_bp(path_.string() + "//"));
    EXPECT_EQ(open_bp(path_.string() + "/", Strings::given)->format(), "BP3");
    EXPECT_TRUE(check_bp(path_, true).faults.empty());
    EXPECT_EQ(check_bp(path_, true).format, "BP3");
  }
}

TEST_F(Bp3SourceTest, subfiles_lie_in_a_folder_beside_the_index) {
  fs::create_directory(folder());
  bp::write_bytes(path_, made(false).print({}, in_subfiles));
  bp::write_bytes(subfile(0), values(false).bytes());
  fs::copy(subfile(0), subfile(1));
  expect_values(*open());
  EXPECT_TRUE(check_bp(path_, true).faults.empty());
  fs::resize_file(subfile(1), 100);
  EXPECT_EQ(check_bp(path_, true).faults.size(), 3U);  // T in the second step; timed; own
  fs::remove(subfile(1));
  const auto file = open();
  EXPECT_EQ(attempt_to([&] { numbers(*file, "grid.T"); })->code(), Errc::enoent);
}

TEST_F(Bp3SourceTest, attributes_may_have_the_value_of_a_variable) {
  bp::write_bytes(path_, made(false).print(values(false).bytes(), in_one_file));
  const auto file = open();
  const auto& list = file->schema().attributes_of(file->schema().find_var("grid.T").value());
  ASSERT_EQ(list.size(), 4);  // one is bp_name
  EXPECT_TRUE(list.find("units"));
  const Attribute& number = list[list.find("n").value()];
  EXPECT_EQ(number.type, Type::int32);
  EXPECT_EQ(number.value.back(), std::byte{7});  // the schema is big-endian
  EXPECT_EQ(list[list.find("called").value()].count, 1);
  ASSERT_EQ(file->left_out().size(), 1U);
  EXPECT_EQ(file->left_out()[0].name, "grid/T/all");
  EXPECT_EQ(file->left_out()[0].what, "the value of an array");
  EXPECT_EQ(file->schema().attributes.size(), 0);
}

TEST_F(Bp3SourceTest, blocks_are_found_with_a_slash_and_without) {
  bp::write_bytes(path_, made(false).print(values(false).bytes(), in_one_file));
  for (const char* what : {"grid/T > 10", "/grid/T > 10"}) {
    std::vector<FoundBlock> found;
    find_in_bp(path_, parse_search(what), true,
               [&](const FoundBlock& one) { found.push_back(one); });
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].step, 1U);
    EXPECT_EQ(found[0].block, 1);
    EXPECT_EQ(found[0].matches, 1);
  }
}

TEST_F(Bp3SourceTest, column_major_arrays_are_turned_round) {
  Bp3File file;
  file.group(1, true);
  file.variable(grid_T, bp::Type::float64, {block(file, 1, 0, {{3, 3, 0}, {2, 2, 0}}, 1)});
  bp::write_bytes(path_, file.print(values(false).bytes()));
  const auto source = open();
  EXPECT_EQ(source->shape(0), (std::vector<Count>{2, 3}));
  EXPECT_EQ(numbers(*source, "grid.T"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Bp3SourceTest, shapes_may_differ_between_steps) {
  Bp3File file;
  std::vector<Bp3Printer> blocks;
  int first = 0;
  for (const std::uint32_t time : {1, 2, 3, 4}) {
    const std::uint64_t extent = time == 3 ? 2 : 1;
    file.group(time);
    blocks.push_back(block(file, time, 0, {{extent, extent, 0}}, first));
    first += static_cast<int>(extent);
  }
  file.variable(grid_T, bp::Type::float64, blocks);
  bp::write_bytes(path_, file.print(values(false).bytes()));
  const auto source = open();
  EXPECT_EQ(numbers(*source, "grid.T"), (std::vector<double>{0, 1, 2, 3, 4}));
  std::vector<std::int64_t> counts(4);
  source->read(source->schema().find_var("grid.T_count").value(), {{0}, {4}, {}}, counts.data());
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 1, 2, 1}));
}

TEST_F(Bp3SourceTest, blocks_tell_their_step) {
  Bp3File file;
  file.group(1);
  file.variable(n, bp::Type::int32, {file.print().value(std::int32_t{7})});
  bp::write_bytes(path_, file.print({}));
  EXPECT_EQ(attempt_to([&] { open(); })->code(), Errc::enotsupport);
}

TEST_F(Bp3SourceTest, one_name_is_one_variable) {
  Bp3File file;
  file.group(1);
  for (int twice = 0; twice < 2; ++twice)
    file.variable(n, bp::Type::int32, {file.print().time(1).value(std::int32_t{7})});
  bp::write_bytes(path_, file.print({}));
  EXPECT_EQ(attempt_to([&] { open(); })->code(), Errc::ebad_file);
}

TEST_F(Bp3SourceTest, what_only_ends_like_one_is_none) {
  bp::Bytes bytes = made(false).print(values(false).bytes());
  bp::write_bytes(path_, bytes);
  EXPECT_TRUE(is_bp(path_));
  for (const std::string_view other : {"CDF\5", "\x89HDF"}) {
    std::memcpy(bytes.data(), other.data(), other.size());
    bp::write_bytes(path_, bytes);
    EXPECT_FALSE(is_bp(path_));
  }
  bp::write_bytes(path_, std::span(bytes).first(bytes.size() - 1));
  EXPECT_FALSE(is_bp(path_));
  EXPECT_EQ(attempt_to([&] { open(); })->code(), Errc::ebad_file);
  bp::write_bytes(path_, std::span(bytes).first(20));
  EXPECT_FALSE(is_bp(path_));
  EXPECT_EQ(attempt_to([&] { open(); })->code(), Errc::ebad_file);
}

// Changes each byte of the index in turn, or each fifth, and removes each. The result is an error,
// or values, but no crash.
TEST_F(Bp3SourceTest, damage_is_an_error_or_shows_in_what_is_read) {
  const bp::Bytes values_alone = values(false).bytes();
  const bp::Bytes good = made(false).print(values_alone);
  ReadAll all;
  for (std::size_t at = values_alone.size(); at < good.size();
       at = forebay_test::next_place<std::size_t>(at, 1, good.size())) {
    for (const int by : {0x01, 0x0f, 0x80, 0xff}) {
      bp::Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(by);
      bp::write_bytes(path_, bytes);
      read_all(path_, "byte " + std::to_string(at), all);
    }
    bp::Bytes shorter = good;  // the footer stays
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at));
    bp::write_bytes(path_, shorter);
    read_all(path_, "without byte " + std::to_string(at), all);
  }
  EXPECT_GT(all.refused, forebay_test::few_of(1000));
  EXPECT_GT(all.read, forebay_test::few_of(1000));
}

}  // namespace bp3_source_test
}  // namespace forebay
