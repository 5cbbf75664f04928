// Steps that are written in several parts (StepWriter::flush), so that they need less memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace flush_ranks_test {

namespace fs = std::filesystem;

using FlushRanks = StepFileTest;

/// Element i of the whole array of a step is 1000 * step + i; block b of `blocks` of two elements.
void add_block(StepWriter& file, const std::string& name, int step, Count b, Count blocks) {
  const double first = static_cast<double>(1000 * step + 2 * b);
  std::vector<double> values{first, first + 1};
  file.add({name, bp::Type::float64}, {{2 * blocks}, {2 * b}, {2}}, bytes(values), false);
}

std::vector<double> all_of(const BpReader& file, const std::string& name, std::size_t step) {
  const std::size_t v = file.find(name);
  const std::vector<Count> shape = file.array(v, step).shape;
  std::vector<double> values(static_cast<std::size_t>(shape.at(0)));
  file.read(v, step, {{0}, shape, {}}, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<double> expected(int step, Count blocks) {
  std::vector<double> values;
  for (Count n = 0; n < 2 * blocks; ++n) values.push_back(static_cast<double>(1000 * step + n));
  return values;
}

TEST_F(FlushRanks, a_step_is_what_all_its_parts_have) {
  for (const int per_file : {0, 1}) {
    run_as_threads(3, [&](const Comm& comm) {
      Report report;
      WriteOptions options;
      options.ranks_per_file = per_file;
      const auto file = StepWriter::create(comm, path_, options, report);
      for (int step = 0; step < 3; ++step) {
        // Rank 2 has nothing in the first part, and rank 1 nothing in the last one. Names come in
        // another order on each rank, and "late" is only in the last part.
        if (comm.rank() < 2) add_block(*file, comm.rank() == 0 ? "b" : "a", step, 0, 3);
        if (step == 1 && comm.is_root()) file->add_attribute({"n", bp::Type::string, {}, {"t"}});
        file->flush();
        if (comm.rank() < 2) add_block(*file, comm.rank() == 0 ? "a" : "b", step, 1, 3);
        if (comm.rank() == 2) add_block(*file, "a", step, 2, 3);
        file->flush();
        if (comm.rank() == 2) add_block(*file, "b", step, 2, 3);
        if (comm.rank() == 0) add_block(*file, "late", step, 0, 1);
        if (step == 2) file->flush();  // nothing is left for end_step()
        file->end_step();
      }
      file->close();
    });
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), 3U);
    for (int step = 0; step < 3; ++step) {
      const auto s = static_cast<std::size_t>(step);
      EXPECT_EQ(all_of(file, "a", s), expected(step, 3)) << step;
      EXPECT_EQ(all_of(file, "b", s), expected(step, 3)) << step;
      EXPECT_EQ(all_of(file, "late", s), expected(step, 1)) << step;
      EXPECT_EQ(file.blocks(file.find("a"), s).size(), 3U);
    }
    ASSERT_EQ(file.attributes().size(), 1U);
  }
}

TEST_F(FlushRanks, memory_is_that_of_one_part) {
  Report report;
  const auto file = StepWriter::create(Comm(), path_, {}, report);
  const std::vector<double> values(std::size_t{1} << 19);
  const auto count = static_cast<Count>(values.size());
  for (Count part = 0; part < 8; ++part) {
    file->add({"v", bp::Type::float64}, {{8, count}, {part, 0}, {1, count}}, bytes(values), false);
    file->flush();
    EXPECT_LE(file->memory(), std::size_t{6} << 20);
  }
  file->end_step();
  file->close();
  EXPECT_EQ(BpReader(Comm(), path_, report).blocks(0, 0).size(), 8U);
}

// One rank cannot read its data. All ranks get the error, and the next step takes the place.
TEST_F(FlushRanks, a_step_that_fails_in_a_part_is_given_up_on_all) {
  ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
    const auto before = fs::file_size(path_ / "data.0");
    comm.barrier();
    add_block(file, "v", 7, comm.rank(), 3);
    file.flush();
    EXPECT_GT(fs::file_size(path_ / "data.0"), before);
    comm.barrier();
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(Errc::eread, "it cannot be read");
    const auto failed = attempt_to([&] { file.flush(mine); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::eread);
    comm.barrier();
    EXPECT_EQ(fs::file_size(path_ / "data.0"), before);
    comm.barrier();
    if (comm.rank() > 0) add_block(file, "v", 1, comm.rank() - 1, 2);
    file.end_step();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  ASSERT_EQ(file.steps(), 1U);
  EXPECT_EQ(all_of(file, "v", 0), expected(1, 2));
}

TEST_F(FlushRanks, announced_names_stand_in_their_order) {
  ranks_write(2, path_, {}, [&](const Comm& comm, StepWriter& file) {
    for (const char* name : {"z", "m", "a"})
      file.announce({name, bp::Type::float64}, Kind::global, 1);
    add_block(file, comm.is_root() ? "a" : "m", 0, 0, 1);
    file.flush();
    if (comm.is_root()) add_block(file, "z", 0, 0, 1);
    file.end_step();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  ASSERT_EQ(file.variables().size(), 3U);
  EXPECT_EQ(file.variables()[0].variable.name, "z");
  EXPECT_EQ(file.variables()[1].variable.name, "m");
  EXPECT_EQ(file.variables()[2].variable.name, "a");
}

}  // namespace flush_ranks_test
}  // namespace forebay::process_group
