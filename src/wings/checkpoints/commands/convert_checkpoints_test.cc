// forebay convert of checkpoints: what netCDF files have of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/checkpoint_store.h"
#include "comm/thread_ranks.h"
#include "files/open_source.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace convert_checkpoints_test {

namespace fs = std::filesystem;
using checkpoint::Kind;
using checkpoint::Store;

class ConvertCheckpointsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("forebay_exported_" + std::to_string(getpid()));
    fs::create_directory(folder_);
    name_ = (folder_ / "run").string();
    out_ = (folder_ / "run.nc").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Returns what the command writes to standard error, and the exit code.
  static std::pair<std::string, int> run(const std::vector<std::string>& words) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const int status = run_application(words);
    ::testing::internal::GetCapturedStdout();
    return {::testing::internal::GetCapturedStderr(), status};
  }

  template <typename T>
  static std::vector<T> values(const Source& source, const std::string& name) {
    const auto var = source.schema().find_var(name);
    if (!var) throw Error(Errc::enotvar, "no " + name);
    const Subarray all = whole(source.shape(*var));
    std::vector<T> values(static_cast<std::size_t>(all.elements()));
    source.read(*var, all, values.data());
    return values;
  }

  static double value(Count step, int rank, std::size_t i) {
    return static_cast<double>(step) * 1000 + rank * 100 + static_cast<double>(i) / 8;
  }

  /// Each rank has theta(4, 50), and mine(rank + 1).
  void write(const Comm& comm) {
    Method method;
    method.checkpoint_memory = 0;
    Store store(comm, name_, method);
    std::vector<double> theta(200);
    std::vector<float> mine(static_cast<std::size_t>(comm.rank()) + 1);
    store.add_variable("theta", Type::float64, {4, 50}, "deflate:1", theta.data());
    store.add_variable("ice/mine", Type::float32, {std::ssize(mine)}, {}, mine.data());
    const auto fill = [&](Count step) {
      for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = value(step, comm.rank(), i);
      for (float& v : mine) v = static_cast<float>(step);
    };
    for (const Count step : {3, 5, 8, 11, 12}) {
      fill(step);
      store.push({Kind::state, step});
    }
    fill(40);
    store.push({Kind::adjoint, 40});
    store.close(true);
  }

  fs::path folder_;
  std::string name_, out_;
};

TEST_F(ConvertCheckpointsTest, states_are_records_with_a_dimension_of_ranks) {
  run_as_threads(3, [&](const Comm& comm) { write(comm); });
  const auto [text, status] = run({"convert", name_, out_, "--verify"});
  ASSERT_EQ(status, exit_done) << text;
  const auto made = open_source(out_);
  EXPECT_EQ(made->classic_version(), 2);
  EXPECT_EQ(made->schema().numrecs, 5);
  EXPECT_EQ(values<std::int32_t>(*made, "step"), (std::vector<std::int32_t>{3, 5, 8, 11, 12}));
  const auto theta = made->schema().find_var("theta");
  ASSERT_TRUE(theta);
  EXPECT_EQ(made->shape(*theta), (std::vector<Count>{5, 3, 4, 50}));
  const auto all = values<double>(*made, "theta");
  for (const auto& [record, step] : {std::pair{0, 3}, {4, 12}})
    for (int rank = 0; rank < 3; ++rank)
      for (std::size_t i = 0; i < 200; ++i)
        ASSERT_EQ(all[static_cast<std::size_t>(record * 3 + rank) * 200 + i], value(step, rank, i));
  // Shapes that differ between ranks are variables of their own.
  EXPECT_EQ(made->shape(*made->schema().find_var("ice.mine_rank2")), (std::vector<Count>{5, 3}));
  EXPECT_EQ(values<float>(*made, "ice.mine_rank0"), (std::vector<float>{3, 5, 8, 11, 12}));
  EXPECT_EQ(values<std::int32_t>(*made, "adjoint_step"), (std::vector<std::int32_t>{40}));
  EXPECT_EQ(values<double>(*made, "adjoint_theta")[201], value(40, 1, 1));
}

TEST_F(ConvertCheckpointsTest, some_steps_and_the_journal_of_one_rank) {
  run_as_threads(2, [&](const Comm& comm) { write(comm); });
  ASSERT_EQ(run({"convert", name_ + "@3,8-11", out_}).second, exit_done);
  EXPECT_EQ(values<std::int32_t>(*open_source(out_), "step"),
            (std::vector<std::int32_t>{3, 8, 11}));
  const std::string one = (folder_ / "one.nc").string();
  ASSERT_EQ(run({"convert", name_ + ".1.journal", one}).second, exit_done);
  const auto made = open_source(one);
  EXPECT_EQ(made->shape(*made->schema().find_var("theta")), (std::vector<Count>{5, 4, 50}));
  EXPECT_EQ(values<double>(*made, "theta")[7], value(3, 1, 7));
  // A box with strides, of two states.
  const auto source = open_source(name_);
  std::vector<double> some(2 * 1 * 2 * 3);
  source->read(*source->schema().find_var("theta"), {{1, 1, 0, 10}, {2, 1, 2, 3}, {2, 1, 3, 7}},
               some.data());
  std::size_t at = 0;
  for (const Count step : {5, 11})
    for (const std::size_t row : {0, 3})
      for (const std::size_t column : {10, 17, 24})
        ASSERT_EQ(some[at++], value(step, 1, row * 50 + column));
  for (const auto& [steps, words] :
       {std::pair{"@4", "no state of step 4"}, {"@x", "no steps"}, {"@5-3", "no steps"}}) {
    const auto [text, status] = run({"convert", name_ + steps, one, "--force"});
    EXPECT_EQ(status, exit_failed);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
}

TEST_F(ConvertCheckpointsTest, what_states_lack_is_missing_and_what_differs_is_left_out) {
  {
    Store store({}, name_, Method());
    const std::vector<std::int16_t> k{1, 2};
    for (const Count step : {Count{1}, Count{2}, Count{1} << 40}) {
      store.begin_write({Kind::state, step});
      store.put("k", Type::int16, {2}, {}, k.data());
      if (step == 2) store.put("step", Type::int16, {2}, {}, k.data());
      store.put("grows", Type::int16, {step == 1 ? 1 : 2}, {}, k.data());
      store.put_bytes("tape", std::vector<std::byte>(3, std::byte{9}));
      store.put(".bool.k", Type::chr, {0}, {}, k.data());
      store.end();
    }
    store.close(true);
  }
  const auto refused = run({"convert", name_, out_});
  EXPECT_EQ(refused.second, exit_failed);
  EXPECT_NE(refused.first.find("grows is of another type or shape in some states"),
            std::string::npos)
      << refused.first;
  ASSERT_EQ(run({"convert", name_, out_, "--skip"}).second, exit_done);
  const auto made = open_source(out_);
  EXPECT_EQ(values<std::int64_t>(*made, "step"), (std::vector<std::int64_t>{1, 2, 1LL << 40}));
  EXPECT_EQ(values<std::int16_t>(*made, "k"), (std::vector<std::int16_t>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(values<std::int16_t>(*made, "step_"),
            (std::vector<std::int16_t>{-32767, -32767, 1, 2, -32767, -32767}));
  EXPECT_EQ(values<signed char>(*made, "tape").size(), 9U);
  const Variable& k = made->schema().vars[static_cast<std::size_t>(*made->schema().find_var("k"))];
  ASSERT_TRUE(k.attributes.find("dtype"));
  EXPECT_EQ(text_of(k.attributes[*k.attributes.find("dtype")]), "bool");
}

TEST_F(ConvertCheckpointsTest, damage_and_missing_files_are_told) {
  run_as_threads(2, [&](const Comm& comm) { write(comm); });
  std::FILE* data = std::fopen((name_ + ".1.data").c_str(), "r+");
  ASSERT_NE(data, nullptr);
  std::fputc(0x55, data);
  std::fclose(data);
  const auto damaged = run({"convert", name_, out_});
  EXPECT_EQ(damaged.second, exit_failed);
  EXPECT_NE(damaged.first.find("checksum"), std::string::npos) << damaged.first;
  EXPECT_FALSE(fs::exists(out_));
  fs::remove(name_ + ".1.journal");
  const auto missing = run({"convert", name_, out_});
  EXPECT_EQ(missing.second, exit_failed);
  EXPECT_NE(missing.first.find("rank 1 of 2 has no files"), std::string::npos) << missing.first;
}

TEST_F(ConvertCheckpointsTest, ncdump_reads_it) {
  if (std::system("ncdump > /dev/null 2>&1") == 127 << 8) GTEST_SKIP() << "there is no ncdump";
  run_as_threads(2, [&](const Comm& comm) { write(comm); });
  ASSERT_EQ(run({"convert", name_, out_}).second, exit_done);
  std::string text;
  std::FILE* dump = ::popen(("ncdump -v step,ice.mine_rank1 " + out_).c_str(), "r");
  ASSERT_NE(dump, nullptr);
  std::array<char, 4096> block{};
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), dump))
    text.append(block.data(), n);
  EXPECT_EQ(::pclose(dump), 0);
  for (const char* words : {"step = UNLIMITED ; // (5 currently)", "step = 3, 5, 8, 11, 12",
                            "double theta(step, rank, dim_4, dim_50)", "12, 12"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

}  // namespace convert_checkpoints_test
}  // namespace forebay::tools
