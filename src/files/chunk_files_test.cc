// Reading chunks that lie in data files (layout/chunked/files_beside.h), whole and damaged ones,
// without MPI.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/byteorder.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "files/references.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

constexpr Count records = 3, nx = 2000;

// T(t, x) float in chunks of one record, zstd; c(t, x) double, classic.
class ChunkFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_chunk_files_" + std::to_string(::getpid());
    auto ds = Dataset::create(Comm(), path_, 5, false, {{"container", "directory"}});
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", nx);
    const VarId chunked = ds->def_var("T", Type::float32, std::array{t, x});
    const VarId classic = ds->def_var("c", Type::float64, std::array{t, x});
    ds->set_chunk(chunked, std::array<Count, 2>{1, nx});
    ds->set_filter(chunked, "shuffle,zstd:3");
    ds->enddef();
    for (const VarId var : {chunked, classic}) put(*ds, var);
    ds->sync();
    ds->close();
  }
  void TearDown() override { fs::remove_all(path_); }

  static double value_of(VarId var, std::size_t element) {
    return static_cast<double>(element) + 1000 * var;
  }

  static void put(Dataset& ds, VarId var) {
    std::vector<double> values(records * nx);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(var, i);
    Request access;
    access.var = var;
    access.write = true;
    access.elements = records * nx;
    access.last_record = records;
    access.selection = Subarray{{0, 0}, {records, nx}, {}};
    access.memory.data = reinterpret_cast<std::byte*>(values.data());
    access.memory.type = Type::float64;
    std::vector<Request> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }

  void expect_values(VarId var) const {
    const auto found = ClassicFile(path_).read_doubles(var, {{0, 0}, {records, nx}, {}});
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], value_of(var, i)) << i;
  }

  /// Reading T fails with words about file and variable, reading c does not, and a check tells.
  void expect_told(const std::string& about) const {
    std::string message;
    try {
      ClassicFile(path_).read_doubles(0, {{0, 0}, {records, nx}, {}});
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_NE(message.find(about), std::string::npos) << message;
    EXPECT_NE(message.find("variable T"), std::string::npos) << message;
    expect_values(1);
    EXPECT_EQ(check_file(path_, {}).status, CheckStatus::damaged);
  }

  std::string bytes_of(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void save(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }

  /// Makes the first entry of the index name a data file, with checksums that are right.
  void name_file(std::uint32_t word) const {
    std::string index = bytes_of("index");
    const auto at = [&](Offset offset) { return reinterpret_cast<std::byte*>(&index[0]) + offset; };
    chunked::Root root;
    Offset slot = 0;
    for (int s = 0; s < chunked::slots; ++s) {
      const Offset place = 512 + s * chunked::slot_stride;
      const auto one =
          chunked::parse_root({at(place), static_cast<std::size_t>(chunked::slot_bytes)});
      if (!one || one->generation < root.generation) continue;
      root = *one;
      slot = place;
    }
    const std::span<std::byte> printed(at(root.directory.offset),
                                       static_cast<std::size_t>(root.directory.bytes));
    auto directory = chunked::parse_directory(printed, INT64_MAX);
    auto& page = directory.items.at(0).pages.at(0);
    store_be(at(page.offset + chunked::entry_bytes - 4), word);
    page.hash = hash_of({at(page.offset), static_cast<std::size_t>(page.bytes)});
    const auto again = chunked::print_directory(directory);
    std::copy(again.begin(), again.end(), printed.begin());
    root.directory.hash = hash_of(again);
    const auto bytes = chunked::print_root(root);
    std::copy(bytes.begin(), bytes.end(), at(slot));
    save("index", index);
  }

  std::string path_;
};

TEST_F(ChunkFilesTest, chunks_are_read_from_data_files_and_referred_to_there) {
  expect_values(0);
  expect_values(1);
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  const auto refs = nlohmann::json::parse(make_references(ClassicFile(path_), {}).json)["refs"];
  const auto& place = refs["T/1.0"];
  EXPECT_EQ(place[0], path_ + "/0");
  EXPECT_EQ(refs["c/1.0"][0], path_ + "/header.nc");
  const std::string stored =
      bytes_of("0").substr(place[1].get<std::size_t>(), place[2].get<std::size_t>());
  const ClassicFile file(path_);
  const chunked::Entry& entry = file.chunks()->table(0).get(1);
  EXPECT_EQ(hash_of(std::as_bytes(std::span(stored))), entry.hash);
}

TEST_F(ChunkFilesTest, damaged_data_files_are_named_with_the_variable) {
  const std::string whole = bytes_of("0");
  save("0", whole.substr(0, 4100));
  expect_told("/0 ends before its bytes do");
  save("0", whole.substr(0, 100));
  expect_told("/0: it ends within its front");
  std::string other = whole;
  other[12] ^= 1;
  save("0", other);
  expect_told("/0: ");
  save("0", bytes_of("index"));
  expect_told("/0: it is data file");
  fs::remove(path_ + "/0");
  expect_told("/0");
  save("0", whole);
  expect_values(0);
}

TEST_F(ChunkFilesTest, an_index_that_is_missing_or_another_files_is_named) {
  const std::string index = bytes_of("index");
  fs::remove(path_ + "/index");
  expect_told("/index, which tells where chunks are, is not there");
  std::string other = index;
  other[12] ^= 1;
  save("index", other);
  expect_told("/index: ");
  save("index", bytes_of("0"));
  expect_told("/index: it is data file 0");
  save("index", index);
  expect_values(0);
}

TEST_F(ChunkFilesTest, entries_that_name_files_that_there_are_not_are_refused) {
  name_file(1);
  expect_values(0);
  name_file(0);
  expect_told("its table names no data file");
  for (const std::uint32_t word : {2u, 0x7fffffffu, 0xffffffffu}) {
    name_file(word);
    expect_told("/" + std::to_string(word - 1));
  }
}

TEST_F(ChunkFilesTest, what_was_written_since_is_noticed) {
  const ClassicFile file(path_);
  EXPECT_FALSE(file.changed());
  auto ds = Dataset::open(Comm(), path_, true, {});
  put(*ds, 0);
  ds->close();
  EXPECT_TRUE(file.changed());
}

}  // namespace
}  // namespace forebay
