// Blocks that an encoder made smaller, in every way that ranks write steps
// (WriteOptions::encoder_of), and the index that recovery makes of them again.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/thread_ranks.h"
#include "groups/operators/encoder.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace coded_blocks_ranks_test {

namespace fs = std::filesystem;

constexpr int ranks = 3, steps = 6, parts = 2;
constexpr Count rows = 5, columns = 60;  // of each part

double value_of(int step, Count row, Count column) {
  return 100 * std::sin(static_cast<double>(row * columns + column) / 40 + step);
}

class CodedBlocksRanks : public StepFileTest {
 protected:
  static WriteOptions coded(const std::string& codec) {
    WriteOptions options;
    options.encoder_of = [codec](const std::string& variable) {
      return operators::make_encoder(variable == "plain" ? "none" : codec);
    };
    return options;
  }

  // Rank 1 has nothing, and rank 2 is late.
  void write(const WriteOptions& options) const {
    ranks_write(ranks, path_, options, [](const Comm& comm, StepWriter& file) {
      for (int step = 0; step < steps; ++step) {
        if (comm.rank() == 2 && step % 2 == 1)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        for (int part = 0; part < parts && comm.rank() != 1; ++part)
          for (const char* name : {"T", "plain"}) {
            const Count first = rows * (parts * (comm.rank() / 2) + part);
            std::vector<double> values;
            for (Count row = first; row < first + rows; ++row)
              for (Count column = 0; column < columns; ++column)
                values.push_back(value_of(step, row, column));
            file.add({name, bp::Type::float64},
                     {{2 * parts * rows, columns}, {first, 0}, {rows, columns}}, bytes(values),
                     false);
          }
        file.end_step();
      }
    });
  }

  void check(const std::string& operation, double bound) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), std::size_t{steps});
    for (const char* name : {"T", "plain"}) {
      const std::size_t v = file.find(name);
      const bool is_coded = std::string(name) == "T";
      for (int step = 0; step < steps; ++step) {
        const Count all = 2 * parts * rows;
        std::vector<double> values(static_cast<std::size_t>(all * columns));
        file.read(v, static_cast<std::size_t>(step), {{0, 0}, {all, columns}, {}},
                  reinterpret_cast<std::byte*>(values.data()));
        for (Count row = 0; row < all; ++row)
          for (Count column = 0; column < columns; ++column)
            ASSERT_LE(std::fabs(values[static_cast<std::size_t>(row * columns + column)] -
                                value_of(step, row, column)),
                      is_coded ? bound : 0);
        for (const bp::Block& block : file.blocks(v, static_cast<std::size_t>(step))) {
          EXPECT_EQ(block.operation, is_coded ? operation : "");
          // The range is that of the values that are read.
          std::vector<double> own(static_cast<std::size_t>(rows * columns));
          file.read_block(v, block, reinterpret_cast<std::byte*>(own.data()));
          const auto [least, greatest] = std::ranges::minmax(own);
          EXPECT_EQ(bp::number_of<double>(bp::Type::float64, block.min), least);
          EXPECT_EQ(bp::number_of<double>(bp::Type::float64, block.max), greatest);
        }
      }
    }
  }
};

TEST_F(CodedBlocksRanks, every_way_of_writing_gives_the_values_back) {
  for (const auto& [codec, operation, bound] :
       {std::tuple("shuffle,zstd:3", "blosc", 0.0), std::tuple("deflate:6", "blosc", 0.0),
        std::tuple("zfp:accuracy=1e-3", "zfp", 1e-3)}) {
    WriteOptions early = coded(codec), queued = coded(codec), one = coded(codec),
                 each = coded(codec);
    early.step_memory = 3000;  // a block or two
    queued.async_memory = 1 << 10;
    one.one_file = true;
    each.ranks_per_file = 1;
    for (const WriteOptions& options : {coded(codec), early, queued, one, each}) {
      SetUp();
      write(options);
      check(operation, bound);
    }
  }
}

TEST_F(CodedBlocksRanks, recovery_makes_the_same_index_of_them) {
  for (const char* codec : {"shuffle,zstd:3", "zfp:accuracy=1e-3"}) {
    SetUp();
    write(coded(codec));
    const std::string metadata = bytes_of("md.0");
    fs::remove(path_ / "md.0");
    fs::remove(path_ / "md.idx");
    Report report;
    EXPECT_EQ(recover_index(path_, {}, 0, report).by_groups, std::uint64_t{steps});
    EXPECT_EQ(bytes_of("md.0"), metadata);
  }
}

TEST_F(CodedBlocksRanks, who_appends_knows_how_long_they_are) {
  for (const bool one_file : {false, true}) {
    SetUp();
    WriteOptions options = coded("shuffle,zstd:3");
    options.one_file = one_file;
    write(options);
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::append(comm, path_, options, report);
      EXPECT_EQ(file->steps(), std::uint64_t{steps});
      file->close();
    });
    check("blosc", 0);
  }
}

// In an index that someone forged, blocks may have the payload of others, and any extents.
TEST_F(CodedBlocksRanks, a_payload_of_two_sizes_is_refused_for_one_of_them) {
  for (const char* codec : {"shuffle,zstd:3", "zfp:accuracy=1e-3"}) {
    SetUp();
    write(coded(codec));
    Report report;
    const BpReader file(Comm(), path_, report);
    const std::size_t v = file.find("T");
    bp::Block block = file.blocks(v, 0).at(0);
    std::vector<double> values(static_cast<std::size_t>(2 * rows * columns));
    auto* const out = reinterpret_cast<std::byte*>(values.data());
    file.read_block(v, block, out);
    block.at.count[0] *= 2;
    block.bytes *= 2;
    EXPECT_EQ(code_of(attempt_to([&] { file.read_block(v, block, out); })), Errc::ebad_file);
  }
}

TEST_F(CodedBlocksRanks, sizes_that_no_operator_reaches_take_no_memory) {
  write(coded("zfp:accuracy=1e-3"));
  Report report;
  const BpReader file(Comm(), path_, report);
  const std::size_t v = file.find("T");
  bp::Block block = file.blocks(v, 0).at(0);
  block.bytes = Count{1} << 36;
  const auto failed = attempt_to([&] { file.read_block(v, block, nullptr); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::ebad_file);
  EXPECT_NE(failed->message().find("too many values"), std::string::npos) << failed->message();
}

TEST_F(CodedBlocksRanks, slices_that_meet_the_same_blocks_read_them_once) {
  write(coded("shuffle,zstd:3"));
  Report report;
  const BpReader file(Comm(), path_, report);
  const std::size_t v = file.find("T");
  Count stored = 0;
  for (const bp::Block& block : file.blocks(v, 0)) stored += block.stored;
  const Count all = 2 * parts * rows, before = report[Counter::bytes_read];
  std::vector<double> values(static_cast<std::size_t>(all));
  for (Count column = 0; column < columns; ++column) {
    file.read(v, 0, {{0, column}, {all, 1}, {}}, reinterpret_cast<std::byte*>(values.data()));
    for (Count row = 0; row < all; ++row)
      ASSERT_EQ(values[static_cast<std::size_t>(row)], value_of(0, row, column));
  }
  const Count read = report[Counter::bytes_read] - before;
  EXPECT_GE(read, stored);
  EXPECT_LT(read, 2 * stored + 10000);
}

TEST_F(CodedBlocksRanks, without_memory_for_the_encoder_blocks_stay_as_they_are) {
  class NoMemory final : public operators::Encoder {
    bool encode(bp::Type, const std::vector<Count>&, bool, std::span<const std::byte>,
                CodecWorkspace&, operators::CodedBlock&) const override {
      throw Error(Errc::enomem, "no memory to run it");
    }
  };
  WriteOptions options;
  options.encoder_of = [](const std::string&) { return std::make_shared<const NoMemory>(); };
  write(options);
  Report report;
  const BpReader file(Comm(), path_, report);
  ASSERT_EQ(file.steps(), std::size_t{steps});
  for (const bp::Block& block : file.blocks(file.find("T"), steps - 1))
    EXPECT_EQ(block.operation, "");
}

}  // namespace coded_blocks_ranks_test
}  // namespace forebay::process_group
