// BP3 files: the same programs as for BP4, and the moves of the index at their end.
// groups/tests/check_bp3.py checks that stock adios2 and ADIOS 1 open them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace one_file_ranks_test {

namespace fs = std::filesystem;

class OneFileRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_one_file_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    path_ = folder_ / "three.bp";
    one_.one_file = true;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_, path_;
  WriteOptions one_;
};

/// Adds `n` elements of each rank to an array that all share.
void add_block(const Comm& comm, StepWriter& file, const std::string& name, int step, Count n) {
  std::vector<double> values(static_cast<std::size_t>(n), 100 * step + comm.rank());
  file.add({name, bp::Type::float64}, {{n * comm.size()}, {n * comm.rank()}, {n}}, bytes(values),
           false);
}

std::vector<std::byte> values_of(const BpReader& file, std::size_t v, std::size_t step,
                                 std::vector<Count>& shape) {
  shape = file.array(v, step).shape;
  Count size = bp::size_of(file.variables()[v].variable.type);
  const std::vector<std::byte> fill(static_cast<std::size_t>(size), std::byte{0x55});
  for (const Count n : shape) size *= n;
  std::vector<std::byte> values(static_cast<std::size_t>(size));
  file.read(v, step, {std::vector<Count>(shape.size()), shape, {}}, values.data(), fill);
  return values;
}

/// Checks that a reader gets the same contents from both.
void expect_same(const std::string& four_path, const std::string& three_path) {
  Report report;
  const BpReader four(Comm(), four_path, report), three(Comm(), three_path, report);
  EXPECT_STREQ(three.format(), "BP3");
  ASSERT_EQ(three.steps(), four.steps());
  ASSERT_EQ(three.variables().size(), four.variables().size());
  EXPECT_EQ(three.attributes(), four.attributes());
  for (std::size_t v = 0; v < four.variables().size(); ++v) {
    const StoredVariable& of_four = four.variables()[v];
    const std::size_t w = three.find(of_four.variable.name);
    const StoredVariable& of_three = three.variables()[w];
    ASSERT_EQ(of_three.variable, of_four.variable);
    ASSERT_TRUE(std::ranges::equal(of_three.steps.numbers(), of_four.steps.numbers()))
        << of_four.variable.name;
    for (const std::uint32_t step : of_four.steps.numbers()) {
      const auto blocks = four.blocks(v, step), others = three.blocks(w, step);
      ASSERT_EQ(blocks.size(), others.size()) << of_four.variable.name << " " << step;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        EXPECT_EQ(blocks[b].at.count, others[b].at.count);
        EXPECT_EQ(blocks[b].has_range, others[b].has_range);
        EXPECT_EQ(blocks[b].min, others[b].min);
        EXPECT_EQ(blocks[b].max, others[b].max);
        EXPECT_EQ(blocks[b].has_moments, others[b].has_moments);
        EXPECT_EQ(blocks[b].moments.sum, others[b].moments.sum);
      }
      if (of_four.variable.type == bp::Type::string) {
        EXPECT_EQ(four.text(v, step), three.text(w, step));
        continue;
      }
      std::vector<Count> shape, other;
      const auto values = values_of(four, v, step, shape);
      EXPECT_EQ(values_of(three, w, step, other), values) << of_four.variable.name << " " << step;
      EXPECT_EQ(other, shape);
    }
  }
}

/// Writes random steps, which are equal for equal seeds.
class RandomProgram {
 public:
  RandomProgram(const Comm& comm, unsigned seed)
      : comm_(comm), common_(seed), own_(1000 * seed + static_cast<unsigned>(comm.rank())) {}

  void write(StepWriter& file, int steps) {
    file.add_attribute({"title", bp::Type::string, {}, {"random"}});
    for (int s = 0; s < steps; ++s, ++step_) step(file);
  }

 private:
  unsigned common(unsigned n) { return common_() % n; }
  unsigned own(unsigned n) { return own_() % n; }

  void step(StepWriter& file) {
    const unsigned boxes = common(3);
    for (unsigned v = 0; v < 4; ++v) {
      const bool present = common(4) > 0;
      if (present && own(3) > 0) array(file, v);
      if (boxes == v) file.flush();
      if (v == 2 && common(2) == 0) joined(file);
    }
    if (const bool tells = common(2) == 0; tells && comm_.is_root()) {
      const std::string text = "step " + std::to_string(step_);
      file.add({"text", bp::Type::string}, {}, std::as_bytes(std::span(text)), false);
    }
    if (own(4) == 0)
      file.add_attribute({"of" + std::to_string(own(3)), bp::Type::string, {}, {"x"}});
    file.end_step();
  }
  void array(StepWriter& file, unsigned v) {
    const Count n = 1 + v, r = comm_.rank();
    const std::string name = "v" + std::to_string(v);
    const Measure measure = v == 1 ? Measure::moments : Measure::bounds;
    std::vector<double> values;
    for (Count i = 0; i < n * 3; ++i) values.push_back(static_cast<double>(own(1000)));
    if (v == 3)
      file.add({name, bp::Type::float64}, {{}, {}, {n * 3}}, bytes(values), false);
    else
      file.add({name, bp::Type::float64}, {{n * comm_.size(), 3}, {n * r, 0}, {n, 3}},
               bytes(values), false, measure);
  }
  // All blocks must be in the step's last part.
  void joined(StepWriter& file) {
    const auto n = static_cast<Count>(own(3));
    file.flush();
    std::vector<double> values(static_cast<std::size_t>(2 * n), step_ + comm_.rank());
    late_ = [&file, n, values] {
      file.add({"joined", bp::Type::float64}, {{2, bp::joined}, {}, {2, n}}, bytes(values), false);
    };
    file.flush();
    late_();
  }

  const Comm& comm_;
  std::mt19937 common_, own_;
  std::function<void()> late_;
  int step_ = 0;
};

TEST_F(OneFileRanks, random_programs_read_as_in_bp4) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const int ranks = std::vector{1, 2, 3, 4, 7}[seed % 5];
    const std::string four = folder_ / ("four" + std::to_string(seed) + ".bp");
    for (const bool one : {false, true})
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        WriteOptions options;
        options.one_file = one;
        options.alignment = seed % 2 == 0 ? 4096 : 64;
        const std::string path = one ? path_.string() : four;
        RandomProgram program(comm, seed);
        const auto first = StepWriter::create(comm, path, options, report);
        program.write(*first, 5);
        first->close();
        options.alignment = 512;
        const auto second = StepWriter::append(comm, path, options, report);
        EXPECT_EQ(second->steps(), 5U);
        program.write(*second, 3);
        second->sync();
        second->close();
      });
    SCOPED_TRACE(seed);
    expect_same(four, path_);
    // The same again after its footer is lost.
    fs::resize_file(path_, fs::file_size(path_) - 1);
    Report report;
    const BpRecovery found = recover_index(path_, {}, 0, report);
    EXPECT_TRUE(found.changed);
    EXPECT_EQ(found.steps, 8U);
    expect_same(four, path_);
  }
}

// The index lies behind the next step while that is written. Then the file is as short as before.
TEST_F(OneFileRanks, what_is_given_up_leaves_nothing) {
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, one_, report);
    add_block(comm, *file, "v", 0, 4);
    file->end_step();
    const auto before = fs::file_size(path_);
    comm.barrier();
    add_block(comm, *file, "v", 1, 5000);
    file->flush();
    EXPECT_GT(fs::file_size(path_), before + 3 * 40000);
    EXPECT_EQ(BpReader(Comm(), path_, report).steps(), 1U);  // unchanged so far
    comm.barrier();
    std::optional<Error> mine;
    if (comm.rank() == 2) mine = Error(Errc::eread, "it cannot be read");
    EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
    EXPECT_EQ(BpReader(Comm(), path_, report).steps(), 1U);
    comm.barrier();
    file->close();
    comm.barrier();
    EXPECT_EQ(fs::file_size(path_), before);
    EXPECT_FALSE(recover_index(path_, {.look_only = true}, 0, report).needed);
    const auto again = StepWriter::append(comm, path_, one_, report);
    add_block(comm, *again, "v", 1, 4);
    again->end_step();
    again->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  ASSERT_EQ(file.steps(), 2U);
  std::vector<Count> shape;
  EXPECT_EQ(values_of(file, 0, 1, shape).size(), 12 * sizeof(double));
}

// Otherwise recovery could make a whole step of the remains of a step and of groups that overwrite
// a part of it.
TEST_F(OneFileRanks, groups_of_a_step_that_failed_or_was_killed_go_before_others_come) {
  const std::string killed = folder_ / "killed.bp";
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, one_, report);
    add_block(comm, *file, "v", 0, 4);
    file->end_step();
    comm.barrier();
    const auto before = fs::file_size(path_);
    add_block(comm, *file, "v", 1, 5000);
    file->flush();
    comm.barrier();
    if (comm.is_root()) fs::copy_file(path_, killed);
    comm.barrier();
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(Errc::eread, "it cannot be read");
    EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
    comm.barrier();
    EXPECT_EQ(fs::file_size(path_), before);
    comm.barrier();
    file->close();

    EXPECT_GT(fs::file_size(killed), before + 3 * 40000);
    comm.barrier();
    const auto again = StepWriter::append(comm, killed, one_, report);
    EXPECT_LE(fs::file_size(killed), before + 256);
    EXPECT_EQ(BpReader(Comm(), killed, report).steps(), 1U);
    comm.barrier();
    add_block(comm, *again, "v", 1, 4);
    again->end_step();
    again->close();
  });
  Report report;
  EXPECT_EQ(BpReader(Comm(), killed, report).steps(), 2U);
}

// The file after a kill while the index is copied behind the next step.
TEST_F(OneFileRanks, a_footer_far_behind_its_index_serves) {
  const auto step = [&](const Comm& comm, StepWriter& file, int n) {
    add_block(comm, file, "v", n, 4);
    file.end_step();
    file.close();
  };
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, one_, report);
    file->add_attribute({"title", bp::Type::string, {}, {"kept"}});
    step(comm, *file, 0);
  });
  std::ifstream in(path_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto save = [&](std::size_t gap) {
    std::ofstream(path_, std::ios::binary)
        << whole << std::string(gap, 'x') << whole.substr(whole.size() - bp::whole_footer_bytes);
  };
  Report report;
  save(10000);
  EXPECT_EQ(BpReader(Comm(), path_, report).steps(), 1U);
  run_as_threads(3, [&](const Comm& comm) {
    Report its;
    const auto file = StepWriter::append(comm, path_, one_, its);
    EXPECT_EQ(fs::file_size(path_), whole.size());
    comm.barrier();
    step(comm, *file, 1);
  });
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(file.steps(), 2U);
  EXPECT_EQ(file.attributes().size(), 1U);
  EXPECT_LT(fs::file_size(path_), whole.size() + std::size_t{4} * 4096) << "no room is lost";
}

// adios2 would take an extent of 0 for a scalar.
TEST_F(OneFileRanks, joined_arrays_without_elements_are_not_in_the_step) {
  ranks_write(3, path_, one_, [&](const Comm& comm, StepWriter& file) {
    for (int step = 0; step < 3; ++step) {
      const std::vector<double> values(step == 1 ? static_cast<std::size_t>(comm.rank()) : 0, 7.0);
      file.add({"j", bp::Type::float64}, {{bp::joined}, {}, {std::ssize(values)}}, bytes(values),
               false);
      file.end_step();
    }
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(file.steps(), 3U);
  ASSERT_EQ(file.variables().size(), 1U);
  EXPECT_TRUE(std::ranges::equal(file.variables()[0].steps.numbers(), std::vector{1}));
  EXPECT_EQ(file.array(0, 1).shape, std::vector<Count>{3});
}

TEST_F(OneFileRanks, what_it_cannot_do_is_refused) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto code = [&](const WriteOptions& options) {
      const auto failed = attempt_to([&] { StepWriter::create(comm, path_, options, report); });
      return failed ? failed->code() : Errc::ok;
    };
    WriteOptions options = one_;
    options.ranks_per_file = WriteOptions::ranks_of_node;
    EXPECT_EQ(code(options), Errc::enotsupport);
    options = one_;
    options.async_memory = 4096;
    EXPECT_EQ(code(options), Errc::enotsupport);
    EXPECT_FALSE(fs::exists(path_));
    const auto file = StepWriter::create(comm, path_, one_, report);
    const std::vector<double> values(3);
    const bp::Shape joined{{bp::joined}, {}, {3}};
    file->add({"j", bp::Type::float64}, joined, bytes(values), false);
    const auto failed = attempt_to([&] { file->flush(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enotsupport);
    file->close();
    options = {};
    EXPECT_TRUE(attempt_to([&] { StepWriter::append(comm, path_, options, report); }));
    comm.barrier();
    options = one_;
    options.drop_all = true;
    const auto nothing = StepWriter::create(comm, folder_ / "none.bp", options, report);
    for (int step = 0; step < 3; ++step) {
      add_block(comm, *nothing, "v", step, 4);
      nothing->end_step();
    }
    nothing->close();
    EXPECT_FALSE(fs::exists(folder_ / "none.bp"));
  });
}

// A restart loop that always appends continues after a kill left an empty file. A damaged file
// stays unchanged.
TEST_F(OneFileRanks, who_appends_looks_at_what_is_there) {
  Report report;
  std::ofstream(path_).close();
  const auto write = [&] {
    const auto file = StepWriter::append(Comm(), path_, one_, report);
    file->add_attribute({"units", bp::Type::string, {}, {"K"}});
    add_block(Comm(), *file, "v", 0, 40);
    file->end_step();
    file->close();
  };
  write();
  write();
  EXPECT_EQ(BpReader(Comm(), path_, report).steps(), 2U);
  std::string whole(fs::file_size(path_), ' ');
  std::ifstream(path_, std::ios::binary).read(whole.data(), std::ssize(whole));
  const std::size_t footer = whole.size() - bp::whole_footer_bytes;
  std::int64_t begin = 0;
  std::memcpy(&begin, whole.data() + footer + 28, sizeof begin);
  int refused = 0;
  for (auto at = static_cast<std::size_t>(begin); at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    std::ofstream(path_, std::ios::binary) << damaged;
    const auto failed = attempt_to([&] { StepWriter::append(Comm(), path_, one_, report); });
    if (!failed) continue;
    ++refused;
    EXPECT_EQ(failed->code(), Errc::ebad_file) << at << ": " << failed->message();
    std::string after(fs::file_size(path_), ' ');
    std::ifstream(path_, std::ios::binary).read(after.data(), std::ssize(after));
    EXPECT_EQ(after, damaged) << at;
  }
  EXPECT_GT(refused, 100);
}

// The index takes several shares and pieces of 1 MiB.
TEST_F(OneFileRanks, an_index_of_megabytes_is_carried_over) {
  constexpr int steps = 4, blocks = 9000;
  ranks_write(3, path_, one_, [&](const Comm& comm, StepWriter& file) {
    for (int step = 0; step < steps; ++step) {
      for (Count b = 0; b < blocks; ++b) {
        const std::vector<double> one{static_cast<double>(step + comm.rank() * blocks + b)};
        const std::string name = b % 3 == 0 ? "a" : "b";
        file.add({name, bp::Type::float64},
                 {{comm.size() * blocks}, {comm.rank() * blocks + b}, {1}}, bytes(one), false);
      }
      file.end_step();
    }
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  for (std::size_t step = 0; step < steps; ++step)
    for (const std::size_t v : {0, 1}) {
      std::vector<Count> shape;
      const auto raw = values_of(file, v, step, shape);
      std::vector<double> values(raw.size() / sizeof(double));
      std::memcpy(values.data(), raw.data(), raw.size());
      ASSERT_EQ(std::ssize(values), 3 * blocks);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_of_a = i % blocks % 3 == 0;
        if (is_of_a == (file.variables()[v].variable.name == "a"))
          ASSERT_EQ(values[i], static_cast<double>(step + i));
      }
    }
  EXPECT_GT(fs::file_size(path_), std::size_t{8} << 20);
}

}  // namespace one_file_ranks_test
}  // namespace forebay::process_group
