// Groups in BP files: what a program has said once is there once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/group_file.h"
#include "dataset/group_program_testing.h"
#include "layout/process_group/bp_reader.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;
using process_group::BpReader;

class GroupFileRanks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_group_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  static std::int64_t count_of(const BpReader& file, const std::string& name) {
    std::int64_t sum = 0;
    for (const bp::Block& block : file.blocks(file.find(name), 0)) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(block.at.count[0]));
      file.read_block(file.find(name), block, std::as_writable_bytes(std::span(counts)).data());
      sum += std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    }
    return sum;
  }

  fs::path path_;
};

TEST_F(GroupFileRanks, a_block_whose_histogram_finds_no_room_counts_once) {
  constexpr std::int64_t elements = 10;
  run_as_threads(2, [&](const Comm& comm) {
    GroupDefinition group = define_group("g", "C");
    define_variable(group, {.name = "T",
                            .type = "double",
                            .dimensions = "10",
                            .characteristics = "mean,histogram:0,4,4"});
    Method method;
    method.buffer_limit = 100;  // a block, and no histogram beside it
    const auto file = GroupFile::create(comm, path_, group, method, false);
    if (comm.is_root()) fs::create_symlink("/dev/full", path_ / "data.1");
    comm.barrier();
    std::vector<double> values(elements);
    std::iota(values.begin(), values.end(), 0);
    const auto write = [&] { file->write("T", values.data(), false); };
    const auto refused = attempt_to(write);
    comm.barrier();
    if (comm.is_root()) fs::remove(path_ / "data.1");
    comm.barrier();
    if (refused) EXPECT_FALSE(attempt_to(write));  // as its documentation allows
    values.assign(elements, -1);                   // the program's again
    file->end_step();
    file->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(count_of(file, "T.histogram"), 2 * elements);
  std::int64_t counted = 0;
  for (const bp::Block& block : file.blocks(file.find("T"), 0)) {
    EXPECT_EQ(block.moments.count, elements);
    EXPECT_EQ(block.moments.sum, 45);
    counted += block.moments.count;
  }
  EXPECT_EQ(counted, 2 * elements);
}

}  // namespace
}  // namespace forebay
