// Decomposed variables with encoded slabs, in the tools: facts, values, and reports of damage, with
// and without a codec.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "decomposed/data_file.h"
#include "files/classic_file.h"
#include "files/file_check.h"

namespace forebay {
namespace encoded_maps_test {

namespace fs = std::filesystem;

constexpr int ranks = 4;
constexpr Count columns = 8000;
constexpr VarId plain = 0, first = 1, second = 2;

std::int32_t value(VarId var, Count column) {
  return static_cast<std::int32_t>(1000 * var + column / 5);
}

class EncodedMaps : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_encoded_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file.nc";
    // Each data file has two ranks. Each slab has eight parts, encoded in several rounds.
    const HintMap hints = {{"layout", "decomposed"}, {"subfiling", "ranks"},
                           {"subfile_ranks", "2"},   {"codec", "shuffle,zstd:1"},
                           {"chunk_bytes", "2k"},    {"buffer_limit", "32k"}};
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto ds = Dataset::create(comm, path_, 5, false, hints);
      const DimId dim = ds->def_dim("x", columns);
      for (const char* name : {"plain", "first", "second"})
        ds->def_var(name, Type::int32, std::span(&dim, 1));
      ds->set_filter(plain, "none");
      ds->enddef();
      for (const VarId var : {plain, first, second}) put(*ds, comm, var);
      ds->close();
    });
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void put(Dataset& ds, const Comm& comm, VarId var) {
    const Count width = columns / ranks, begin = width * comm.rank();
    std::vector<std::int32_t> data;
    for (Count i = begin; i < begin + width; ++i) data.push_back(value(var, i));
    std::vector<Request> requests(1);
    Request& r = requests[0];
    r.var = var;
    r.write = true;
    r.elements = width;
    r.memory.data = reinterpret_cast<std::byte*>(data.data());
    r.memory.type = Type::int32;
    r.selection = Subarray{{begin}, {width}, {}};
    ds.execute(requests, true);
  }
  std::optional<Error> reading(VarId var) const {
    return attempt_to([&] {
      const ClassicFile file(path_);
      std::vector<std::int32_t> got(columns);
      file.read(var, {{0}, {columns}, {}}, Type::int32, got.data());
      for (Count i = 0; i < columns; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], value(var, i)) << i;
    });
  }
  void flip(std::uint32_t number, Offset at) const {
    std::fstream file(decomposed::data_path(path_, number),
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 4));
  }
  // Returns a place in the third part of a variable's slab.
  Offset place_in(std::uint32_t number, VarId var) const {
    const ClassicFile file(path_);
    Report report;
    Schema schema = file.schema();
    std::uint64_t id = 0;
    std::ifstream in(decomposed::data_path(path_, number), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    id = decomposed::parse_front(std::as_bytes(std::span(bytes)).first(512)).id;
    decomposed::DataFileReader reader(
        std::make_shared<File>(decomposed::data_path(path_, number), false, 0, report),
        {id, number});
    reader.load(UINT64_MAX);
    return reader.index().slabs(var, 0)[0].parts.at(2).offset + 9;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(EncodedMaps, facts_are_of_all_data_files) {
  const ClassicFile file(path_);
  const MapFacts facts = file.maps()->facts();
  EXPECT_EQ(facts.files, 2U);
  EXPECT_EQ(facts.slab_bytes, 3 * 4 * columns);
  const auto slabs = file.maps()->slab_facts();
  ASSERT_EQ(slabs.size(), 3U);
  EXPECT_EQ(slabs[plain].stored_bytes, 4 * columns);
  EXPECT_EQ(slabs[plain].parts, 0);
  EXPECT_EQ(file.schema().vars[plain].slab_codec.value_or("none"), "none");
  for (const VarId var : {first, second}) {
    const SlabFacts& its = slabs[static_cast<std::size_t>(var)];
    EXPECT_EQ(its.slabs, 2);
    EXPECT_GE(its.parts, 10);
    EXPECT_EQ(its.raw_parts, 0);
    EXPECT_EQ(its.bytes, 4 * columns);
    EXPECT_LT(its.stored_bytes, its.bytes / 2);
    EXPECT_EQ(file.schema().vars[static_cast<std::size_t>(var)].slab_codec, "shuffle,zstd:1");
  }
  EXPECT_EQ(facts.stored_bytes,
            slabs[plain].stored_bytes + slabs[first].stored_bytes + slabs[second].stored_bytes);
}

TEST_F(EncodedMaps, values_are_read_and_all_is_verified) {
  for (const VarId var : {plain, first, second}) EXPECT_FALSE(reading(var));
  Count told = 0, all = 0;
  for (const bool decode : {false, true}) {
    const FileCheck check = check_file(path_, {decode, [&](Count done, Count of) {
                                                 told = done;
                                                 all = of;
                                               }});
    EXPECT_EQ(check.status, CheckStatus::good);
    EXPECT_EQ(check.data_files, 2);
    EXPECT_EQ(check.maps, 2);
    EXPECT_EQ(check.patterns, 4);
    EXPECT_EQ(check.slabs, 6);
    EXPECT_EQ(check.slab_bytes, 3 * 4 * columns);
    EXPECT_GE(check.parts, 20);
    EXPECT_EQ(check.vars[plain].present, 0);
    EXPECT_EQ(told, check.bytes);
    EXPECT_EQ(told, all);
  }
}

TEST_F(EncodedMaps, a_damaged_part_is_told_of_and_other_variables_are_read) {
  flip(1, place_in(1, second));
  const auto failed = reading(second);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotnc);
  EXPECT_NE(failed->message().find("variable second"), std::string::npos) << failed->message();
  EXPECT_NE(failed->message().find(decomposed::data_path(path_, 1)), std::string::npos);
  EXPECT_FALSE(reading(plain));
  EXPECT_FALSE(reading(first));
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  ASSERT_EQ(check.damages.size(), 1U);
  EXPECT_EQ(check.damages[0].var, second);
  EXPECT_EQ(check.vars[second].damaged, 1);
  EXPECT_TRUE(check.vars[second].readable);
  EXPECT_EQ(check.vars[first].damaged, 0);
}

// Verifying checksums needs no codec. Reading values does.
TEST_F(EncodedMaps, a_codec_that_this_build_lacks_is_told_of) {
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const auto at = header.rfind("shuffle,zstd:1");
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file << "shuffle,xstd:1";  // `second` is the last variable
  file.close();
  EXPECT_FALSE(reading(first));
  const auto failed = reading(second);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotsupport);
  EXPECT_NE(failed->message().find("variable second"), std::string::npos) << failed->message();
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  EXPECT_EQ(check_file(path_, {true, {}}).status, CheckStatus::damaged);
  flip(0, place_in(0, second));
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::damaged);
}

}  // namespace encoded_maps_test
}  // namespace forebay
