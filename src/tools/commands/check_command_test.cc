// forebay info and forebay check on files with chunks, undamaged and damaged, and on others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dataset/decompositions.h"
#include "dataset/probe.h"
#include "files/classic_file.h"
#include "method/parts_testing.h"
#include "support/cases.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace check_command_test {

// T(t, x) float, 3 records of 2,000 in chunks of one record and 1,000, shuffle and zstd; m(x) byte.
class CheckCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_check_" + std::to_string(getpid()) + ".nc";
    auto ds = Dataset::create(Comm(), path_, 5, false, {});
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", 2000);
    const VarId field = ds->def_var("T", Type::float32, std::array{t, x});
    const VarId mask = ds->def_var("m", Type::byte, std::array{x});
    ds->set_chunk(field, std::array<Count, 2>{1, 1000});
    ds->set_filter(field, "shuffle,zstd:3");
    ds->enddef();
    std::vector<float> values(6000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 10);
    put(*ds, field, {{0, 0}, {3, 2000}, {}}, Type::float32, values.data());
    std::vector<std::int8_t> bytes(2000, 7);
    put(*ds, mask, {{0}, {2000}, {}}, Type::byte, bytes.data());
    ds->sync();
    ds->close();
    std::ifstream file(path_, std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(file), {}};
  }
  void TearDown() override { std::remove(path_.c_str()); }

  static void put(Dataset& ds, VarId var, Subarray part, Type type, void* values) {
    std::vector<Request> accesses(1);
    Request& access = accesses[0];
    access.var = var;
    access.write = true;
    access.elements = part.elements();
    if (ds.variable(var).is_record) access.last_record = part.count[0];
    access.selection = std::move(part);
    access.memory.data = static_cast<std::byte*>(values);
    access.memory.type = type;
    ds.execute(accesses, true);
  }

  void save() { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes_; }
  void damage_chunk(Count chunk) {
    const Offset at = ClassicFile(path_).chunks()->table(0).get(chunk).offset;
    bytes_[static_cast<std::size_t>(at)] ^= 1;
    save();
  }

  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    status_ = run_application(std::move(arguments));
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout();
  }

  std::string path_, bytes_;
  int status_ = -1;
};

TEST_F(CheckCommandTest, info_tells_how_variables_are_chunked) {
  const std::string text = run({"info", path_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(text.find("\n  records  3 along t\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  chunks   6 chunks of 23.4 KiB stored in "), std::string::npos) << text;
  EXPECT_NE(text.find(", synced; "), std::string::npos) << text;
  EXPECT_NE(text.find("\nchunked variables\n"), std::string::npos);
  EXPECT_NE(text.find("  T     shuffle,zstd:3  1 × 1,000"), std::string::npos) << text;
  EXPECT_NE(text.find("3 × 2"), std::string::npos) << text;
  EXPECT_NE(text.find("set by the program\n"), std::string::npos) << text;
}

TEST_F(CheckCommandTest, info_as_json_has_chunks) {
  const auto json = nlohmann::json::parse(run({"info", "--json", path_}));
  const auto& chunking = json["variables"][0]["chunking"];
  EXPECT_EQ(chunking["codec"], "shuffle,zstd:3");
  EXPECT_EQ(chunking["shape"], (std::vector<int>{1, 1000}));
  EXPECT_EQ(chunking["grid"], (std::vector<int>{3, 2}));
  EXPECT_EQ(chunking["stored"], 6);
  EXPECT_EQ(chunking["raw_bytes"], 24000);
  EXPECT_GT(chunking["ratio"], 2.0);
  EXPECT_FALSE(json["variables"][1].contains("chunking"));
  EXPECT_EQ(json["chunks"]["stored_bytes"], chunking["stored_bytes"]);
  EXPECT_EQ(json["chunks"]["index"]["synced"], true);
  EXPECT_EQ(json["chunks"]["index"]["slots"].size(), 3u);
  EXPECT_LE(json["expected_size"], json["file_size"]);
}

TEST_F(CheckCommandTest, info_of_a_file_whose_index_is_damaged_shows_the_rest) {
  bytes_.resize(static_cast<std::size_t>(ClassicFile(path_).chunks()->index().root) + 100);
  save();
  const std::string text = run({"info", path_});
  EXPECT_NE(text.find("  chunks   cannot be read: chunk index damaged: "), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  m     byte   x"), std::string::npos) << text;
  EXPECT_TRUE(
      nlohmann::json::parse(run({"info", "--json", path_}))["chunks"]["index"].contains("damage"));
}

TEST_F(CheckCommandTest, a_good_file_is_ok) {
  const std::string text = run({"check", "--decode", path_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_EQ(text.find(path_ + ": ok\n  verified 6 chunks of "), 0u) << text;
  EXPECT_NE(text.find(", 1 page; all decoded\n"), std::string::npos) << text;
}

TEST_F(CheckCommandTest, what_is_verified_of_decomposed_variables_is_said) {
  if (!is_built("layout=decomposed")) GTEST_SKIP() << "it is of a wing";
  const std::string path = path_ + ".slabs";
  auto ds = Dataset::create(Comm(), path, 5, false, {{"layout", "decomposed"}});
  const DimId x = ds->def_dim("x", 2000);
  ds->def_var("a", Type::float32, std::array{x});
  // A map that defines a variable is not a slab of it.
  const Count start = 0, count = 2000;
  const Count *const starts = &start, *const counts = &count;
  ds->def_decomposition(make_decomposition(*ds, std::array{x}, {1, &starts, &counts}));
  ds->def_var_by("b", Type::float32, {}, 0);
  ds->enddef();
  std::vector<float> values(2000, 1);
  for (const VarId var : {0, 1}) put(*ds, var, {{0}, {2000}, {}}, Type::float32, values.data());
  ds->close();
  const std::string text = run({"check", path});
  EXPECT_EQ(text.find(path + ": ok\n  verified 1 data file: state, roots, 1 map of 1 pattern, "
                             "2 slabs of 15.6 KiB\n"),
            0u)
      << text;
  const auto json = nlohmann::json::parse(run({"check", "--json", path}))["files"][0];
  EXPECT_EQ(json["verified"]["data_files"]["slabs"], 2);
  EXPECT_EQ(json["verified"]["data_files"]["bytes"], 16000);
  delete_file(path);
}

TEST_F(CheckCommandTest, damaged_chunks_are_all_listed) {
  damage_chunk(1);
  damage_chunk(4);
  const std::string text = run({"check", path_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_EQ(text.find(path_ + ": damaged\n  chunk 1 of T, T[0, 1000:2000]: the checksum of its "),
            0u)
      << text;
  EXPECT_NE(text.find("\n  chunk 4 of T, T[2, 0:1000]: the checksum of its "), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  can be read:      m\n  can in part:      T (2 of 6 chunks damaged)\n"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(run({"check", "--json", path_}))["files"][0];
  EXPECT_EQ(json["status"], "damaged");
  ASSERT_EQ(json["damages"].size(), 2u);
  EXPECT_EQ(json["damages"][1]["part"], "chunk");
  EXPECT_EQ(json["damages"][1]["variable"], "T");
  EXPECT_EQ(json["damages"][1]["chunk"], 4);
  EXPECT_EQ(json["damages"][1]["first"], (std::vector<int>{2, 0}));
  EXPECT_EQ(json["damages"][1]["extent"], (std::vector<int>{1, 1000}));
  EXPECT_EQ(json["variables"][0]["damaged"], 2);
}

TEST_F(CheckCommandTest, the_worst_file_decides_and_none_is_left_out) {
  const std::string text = run({"check", "/nonexistent.nc", path_});
  EXPECT_EQ(status_, exit_unreadable);
  EXPECT_EQ(text.find("/nonexistent.nc: unreadable\n"), 0u) << text;
  EXPECT_NE(text.find(path_ + ": ok\n"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(run({"check", "--json", "/nonexistent.nc", path_}));
  EXPECT_EQ(json["files"][0]["status"], "unreadable");
  EXPECT_EQ(json["files"][1]["status"], "ok");
}

TEST_F(CheckCommandTest, no_damage_keeps_the_commands_from_their_work) {
  const std::string good = bytes_;
  int reported = 0;
  const auto run_all = [&] {
    save();
    run({"check", "--decode", path_});
    if (status_ == exit_done) return;
    ++reported;
    for (const bool json : {false, true}) {
      try {
        const std::string text = json ? run({"info", "--json", path_}) : run({"info", path_});
        EXPECT_NE(text.find(path_), std::string::npos);
      } catch (const Error& error) {
        ::testing::internal::GetCapturedStdout();
        EXPECT_EQ(std::string(error.message()).find(path_), 0u) << error.message();
      }
    }
  };
  for (std::size_t at = 0; at < good.size();
       at = forebay_test::next_place<std::size_t>(at, at < 800 ? 1 : 17, good.size())) {
    bytes_ = good;
    bytes_[at] ^= static_cast<char>(1 << at % 8);
    run_all();
  }
  for (std::size_t size = 0; size < good.size();
       size = forebay_test::next_place<std::size_t>(size, 53, good.size())) {
    bytes_ = good.substr(0, size);
    run_all();
  }
  EXPECT_GT(reported, forebay_test::few_of(300));
}

TEST_F(CheckCommandTest, a_file_without_chunks_is_as_long_as_its_header_says) {
  auto ds = Dataset::create(Comm(), path_, 2, false, {});
  const VarId v = ds->def_var("v", Type::int32, std::array{ds->def_dim("x", 10)});
  ds->enddef();
  std::vector<int> values(10, 3);
  put(*ds, v, {{0}, {10}, {}}, Type::int32, values.data());
  ds->close();
  EXPECT_NE(run({"check", path_}).find(": ok\n  header and length of 1 variable; "),
            std::string::npos);
  EXPECT_EQ(status_, exit_done);
  std::ifstream file(path_, std::ios::binary);
  bytes_ = {std::istreambuf_iterator<char>(file), {}};
  bytes_.pop_back();
  save();
  const std::string text = run({"check", path_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("\n  variable v: the file ends 1 byte before it does\n"), std::string::npos)
      << text;
}

TEST_F(CheckCommandTest, a_variable_that_was_never_written_is_no_damage) {
  auto ds = Dataset::create(Comm(), path_, 2, false, {});
  const DimId x = ds->def_dim("x", 3);
  const VarId v = ds->def_var("v", Type::int16, std::array{x});
  ds->def_var("last", Type::float64, std::array{x});
  ds->enddef();
  std::vector<std::int16_t> values(3, 3);
  put(*ds, v, {{0}, {3}, {}}, Type::int16, values.data());
  ds->close();
  // Like a file of PnetCDF: the last values are missing, and then the padding after v too.
  std::ifstream file(path_, std::ios::binary);
  const std::string whole = {std::istreambuf_iterator<char>(file), {}};
  for (const std::size_t less : {24, 26}) {
    bytes_ = whole.substr(0, whole.size() - less);
    save();
    const std::string text = run({"check", path_});
    EXPECT_EQ(status_, exit_done) << text;
    EXPECT_NE(text.find("variable last was never written, and reads as zeros"), std::string::npos)
        << text;
  }
}

}  // namespace check_command_test
}  // namespace forebay::tools
