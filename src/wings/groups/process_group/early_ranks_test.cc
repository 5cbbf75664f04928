// Steps with more bytes than a rank keeps in memory (WriteOptions::step_memory).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/made_again_testing.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace early_ranks_test {

namespace fs = std::filesystem;

constexpr Count ranks = 3, blocks = 20;  // of each rank, of two elements
constexpr Count large = 40;              // elements of a block that no memory has room for

class EarlyRanks : public StepFileTest {
 protected:
  static std::unique_ptr<StepWriter> open(const Comm& comm, const fs::path& path, bool append,
                                          int per_file, Report& report, int per_node = 0) {
    WriteOptions options;
    options.ranks_per_node = per_node;
    options.ranks_per_file = per_file;
    options.step_memory = 100;  // six blocks
    return append ? StepWriter::append(comm, path, options, report)
                  : StepWriter::create(comm, path, options, report);
  }

  void write(int steps, bool append, int per_file) const {
    run_as_threads(static_cast<int>(ranks), [&](const Comm& comm) {
      Report report;
      const auto file = open(comm, path_, append, per_file, report);
      for (int n = 0; n < steps; ++n) write_step(comm, *file, static_cast<int>(file->steps()));
      EXPECT_EQ(report[Counter::flushes], comm.rank() == 0 ? 0 : 5 * steps);
      file->sync();
      file->close();
    });
  }

  // Rank 0 lends all its blocks, and stays within its memory. The variables of rank 2 come in
  // another order, and only rank 2 has "large".
  static void write_step(const Comm& comm, StepWriter& file, int step) {
    const bool lends = comm.is_root();
    std::vector<std::vector<double>> lent;
    const auto add = [&](const std::string& name, Count first, Count count, Count all) {
      auto& values = lent.emplace_back();
      for (Count i = first; i < first + count; ++i)
        values.push_back(static_cast<double>(1000 * step + i));
      file.add({name, bp::Type::float64}, {{all}, {first}, {count}},
               std::as_bytes(std::span(values)), lends);
      if (!lends) values = {};
    };
    for (Count b = 0; b < blocks; ++b) {
      if (comm.rank() == step % ranks && b == blocks / 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (const std::string name : {"a", "b"})
        if ((b % 2 == 0) == (name == (comm.rank() == 2 ? "b" : "a")))
          add(name, 2 * (b / 2 * ranks + comm.rank()), 2, blocks * ranks);
    }
    const std::vector<double> number(1, step);
    if (comm.rank() > 0) add("large", large * (comm.rank() - 1), large, large * (ranks - 1));
    if (comm.rank() == 1)
      file.add({"number", bp::Type::float64}, {}, std::as_bytes(std::span(number)), false);
    file.end_step();
  }

  void check(int steps) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), static_cast<std::size_t>(steps));
    for (int step = 0; step < steps; ++step) {
      for (const std::string name : {"a", "b", "large"}) {
        const std::size_t v = file.find(name);
        const auto s = static_cast<std::size_t>(step);
        const Count all = name == "large" ? large * (ranks - 1) : blocks * ranks;
        ASSERT_EQ(file.array(v, s).shape, std::vector<Count>{all});
        std::vector<double> values(static_cast<std::size_t>(all), -1);
        file.read(v, s, {{0}, {all}, {}}, reinterpret_cast<std::byte*>(values.data()));
        for (Count i = 0; i < all; ++i)
          ASSERT_EQ(values[static_cast<std::size_t>(i)], 1000 * step + i) << name << " " << step;
        EXPECT_EQ(file.blocks(v, s).size(),
                  static_cast<std::size_t>(name == "large" ? ranks - 1 : blocks / 2 * ranks));
      }
    }
  }

  bool is_there(const char* name) const { return fs::exists(path_ / name); }
};

TEST_F(EarlyRanks, what_is_beyond_memory_is_in_the_step_too) {
  write(4, false, WriteOptions::all_ranks);
  check(4);
  EXPECT_TRUE(is_there("data.1"));
  EXPECT_FALSE(is_there("data.2"));  // one for all ranks of the node
  // Each rank has a data file now, and the node's file is one of these. Blocks beyond the memory go
  // there, too.
  write(3, true, 1);
  check(7);
  EXPECT_FALSE(is_there("data.3"));
  write(2, true, WriteOptions::ranks_of_node);
  check(9);
}

TEST_F(EarlyRanks, a_step_takes_no_more_memory_than_it_may) {
  constexpr Count most = 4 << 20, block = 40'000, number = 100;  // 32 MB of each rank
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    WriteOptions options;
    options.step_memory = most;
    const auto file = StepWriter::create(comm, path_, options, report);
    std::vector<double> values(block);
    for (int step = 0; step < 2; ++step) {
      for (Count b = 0; b < number; ++b) {
        values.assign(block, static_cast<double>(100 * b + comm.rank()));
        file->add({"v", bp::Type::float64}, {{}, {}, {block}}, std::as_bytes(std::span(values)),
                  false);
        EXPECT_LE(file->memory(), static_cast<std::size_t>(most + (8 << 20)));  // a piece of it
      }
      file->end_step();
    }
    file->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(file.blocks(0, 1).size(), static_cast<std::size_t>(2 * number));
}

// Small blocks are written together, large ones from the caller's memory, with lent blocks between
// them.
TEST_F(EarlyRanks, who_has_a_file_alone_writes_what_comes_at_once) {
  constexpr Count small = 5'000, small_blocks = 40, wide = 100'000;  // 40 KB, 800 KB
  constexpr Count all = 3 * (small_blocks * small + 2 * wide);
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    WriteOptions options;
    options.ranks_per_file = 1;
    options.step_memory = 64 << 20;
    const auto file = StepWriter::create(comm, path_, options, report);
    const std::vector<double> lent(wide, -1);
    for (int step = 0; step < 2; ++step) {
      Count at = comm.rank() * (all / 3);
      std::vector<double> values;
      const auto add = [&](Count count, bool lends) {
        values.clear();
        for (Count i = at; i < at + count; ++i)
          values.push_back(static_cast<double>(step * all + i));
        file->add({"v", bp::Type::float64}, {{all}, {at}, {count}},
                  std::as_bytes(std::span(lends ? lent : values)), lends);
        std::fill(values.begin(), values.end(), -2);
        at += count;
      };
      for (Count b = 0; b < small_blocks; ++b) {
        if (b == 20) add(wide, false);
        if (b == 30) add(wide, true);
        add(small, false);
      }
      EXPECT_LE(file->memory(), std::size_t{1} << 20);
      EXPECT_EQ(report[Counter::flushes], 4 * (step + 1));  // 13, then 7, then the large one; 13
      file->end_step();
    }
    file->close();
  });
  EXPECT_FALSE(is_there("data.3"));
  with_index_and_without(path_, 2, [&](const BpReader& file) {
    ASSERT_EQ(file.steps(), 2U);
    std::vector<double> values(all);
    for (std::size_t step = 0; step < 2; ++step) {
      file.read(0, step, {{0}, {all}, {}}, reinterpret_cast<std::byte*>(values.data()));
      Count lent = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        lent += values[i] == -1 ? 1 : 0;
        if (values[i] != -1)
          ASSERT_EQ(values[i], static_cast<double>(step * all + i)) << step << " " << i;
      }
      EXPECT_EQ(lent, 3 * wide);
    }
  });
}

// The order of the add() calls decides which of two overlapping blocks is valid, and where blocks
// of joined arrays lie. It does not matter whether they are lent or copied, nor where and when they
// are written.
TEST_F(EarlyRanks, blocks_of_a_variable_stand_in_the_order_that_they_came_in) {
  constexpr Count wide = 100'000, small = 100;  // 800 KB pass memory and what fits a cache
  const auto check = [&](const BpReader& file, const std::string& what) {
    std::vector<double> values(2 * wide);
    const auto read = [&](const std::string& name) {
      const std::size_t v = file.find(name);
      const Count all = file.array(v, 0).shape[0];
      values.assign(static_cast<std::size_t>(all), -1);
      file.read(v, 0, {{0}, {all}, {}}, reinterpret_cast<std::byte*>(values.data()));
    };
    read("overlapping");
    for (Count i = 0; i < 2 * wide; ++i)
      if (values[static_cast<std::size_t>(i)] != 10 * (i / wide) + 3) FAIL() << what << " " << i;
    for (const std::string name : {"joined", "local"}) {
      read(name);
      ASSERT_EQ(std::ssize(values), 2 * (3 * wide + small)) << what << " " << name;
      auto at = values.begin();
      for (const double rank : {0, 10})
        for (const double n : {1, 2, 3, 4}) {
          const auto end = at + (n == 2 ? small : wide);
          ASSERT_TRUE(std::all_of(at, end, [&](double v) { return v == rank + n; }))
              << what << " " << name << " " << rank + n << ": " << *at;
          at = end;
        }
    }
  };
  // The thread sanitizer takes minutes for all combinations of lent blocks; the collective steps of
  // threads do not differ.
#ifdef __SANITIZE_THREAD__
  constexpr int which_lent = 5;
#else
  constexpr int which_lent = 1;
#endif
  constexpr Count ample = 64 << 20;
  for (const Count memory : {ample, Count{2 << 20}, Count{4 << 10}})
    for (const int per_file : {static_cast<int>(WriteOptions::all_ranks), 1})
      for (int lent = 0; lent < 16; lent += which_lent) {
        TearDown();
        run_as_threads(2, [&](const Comm& comm) {
          Report report;
          WriteOptions options;
          options.ranks_per_file = per_file;
          options.step_memory = memory;
          const auto file = StepWriter::create(comm, path_, options, report);
          std::vector<std::vector<double>> all;
          for (int n = 1; n <= 4; ++n) {
            const auto& values = all.emplace_back(n == 2 ? small : wide, 10 * comm.rank() + n);
            const auto bytes = std::as_bytes(std::span(values));
            const bool lends = (lent >> (n - 1) & 1) != 0;
            const Count count = std::ssize(values);
            file->add({"joined", bp::Type::float64}, {{bp::joined}, {}, {count}}, bytes, lends);
            file->add({"local", bp::Type::float64}, {{}, {}, {count}}, bytes, lends);
            if (n < 4)
              file->add({"overlapping", bp::Type::float64},
                        {{2 * wide}, {comm.rank() * wide}, {count}}, bytes, lends);
          }
          file->end_step();
          file->close();
        });
        with_index_and_without(path_, 1, [&](const BpReader& file) {
          check(file, std::to_string(memory) + " " + std::to_string(per_file) + " " +
                          std::to_string(lent));
        });
        if (HasFatalFailure()) return;
      }
}

// Also with blocks that all ranks flushed in between.
TEST_F(EarlyRanks, blocks_that_were_flushed_stand_between_those_that_went_out_alone) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, path_, false, WriteOptions::all_ranks, report);
    for (double n = 0; n < 20; ++n) {
      const std::vector<double> values(5, n);
      file->add({"j", bp::Type::float64}, {{bp::joined}, {}, {5}}, std::as_bytes(std::span(values)),
                false);
      if (n == 6 || n == 13) file->flush();
    }
    file->end_step();
    file->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  std::vector<double> values(200, -1);
  ASSERT_EQ(file.array(0, 0).shape[0], 200);
  file.read(0, 0, {{0}, {200}, {}}, reinterpret_cast<std::byte*>(values.data()));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i % 100 / 5) << i;
}

TEST_F(EarlyRanks, nodes_have_files_of_their_own) {
  run_as_threads(4, [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, path_, false, WriteOptions::all_ranks, report, 2);
    for (int step = 0; step < 2; ++step) {
      for (Count b = 0; b < blocks; ++b) {
        const double values[2] = {static_cast<double>(b), static_cast<double>(step)};
        file->add({"v", bp::Type::float64}, {{}, {}, {2}}, std::as_bytes(std::span(values)), false);
      }
      file->end_step();
    }
    file->close();
  });
  EXPECT_TRUE(is_there("data.1"));
  EXPECT_TRUE(is_there("data.2"));
  EXPECT_FALSE(is_there("data.3"));
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(file.blocks(0, 1).size(), static_cast<std::size_t>(4 * blocks));
}

TEST_F(EarlyRanks, an_index_is_made_again_from_the_groups) {
  write(3, false, WriteOptions::all_ranks);
  write(2, true, WriteOptions::all_ranks);
  fs::remove(path_ / "md.0");
  fs::remove(path_ / "md.idx");
  Report report;
  const auto found = recover_index(path_, {}, 0, report);
  EXPECT_EQ(found.by_groups, 5U);
  check(5);
  EXPECT_FALSE(recover_index(path_, {}, 0, report).needed);
  write(1, true, WriteOptions::all_ranks);
  check(6);
}

TEST_F(EarlyRanks, all_is_done_but_writing_where_that_is_asked_for) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    WriteOptions options;
    options.step_memory = 100;
    options.drop_all = true;
    for (const bool append : {false, true}) {
      const auto file = append ? StepWriter::append(comm, path_, options, report)
                               : StepWriter::create(comm, path_, options, report);
      const std::vector<double> values(10);
      for (int b = 0; b < 10; ++b)
        file->add({"v", bp::Type::float64}, {{}, {}, {10}}, std::as_bytes(std::span(values)),
                  b > 5);
      file->end_step();
      file->sync();
      file->close();
      EXPECT_EQ(file->steps(), 1U);
    }
    EXPECT_EQ(report[Counter::write_calls], 0);
    EXPECT_GT(report[Counter::bytes_written], 2 * 800);
    EXPECT_FALSE(fs::exists(path_));
  });
}

// Also space in files that a rank has alone.
TEST_F(EarlyRanks, a_step_that_is_given_up_gives_its_space_back) {
  for (const auto& [is_first, per_file] : {std::pair(true, WriteOptions::all_ranks),
                                           {false, WriteOptions::all_ranks},
                                           {true, 1},
                                           {false, 1}}) {
    SetUp();
    const char* const one = per_file == 1 ? "data.0" : "data.1";
    const char* const other = per_file == 1 ? "data.3" : "data.2";
    run_as_threads(4, [&](const Comm& comm) {
      Report report;
      const auto file = open(comm, path_, false, per_file, report, 2);
      const auto write = [&](int step, bool fails) {
        for (int b = 0; b < 20; ++b) {
          const double values[2] = {static_cast<double>(step), static_cast<double>(b)};
          file->add({"v", bp::Type::float64}, {{160}, {2 * (20 * comm.rank() + b)}, {2}},
                    std::as_bytes(std::span(values)), false);
        }
        std::optional<Error> mine;
        if (fails && comm.rank() == 3) mine = Error(Errc::eread, "it cannot be read");
        if (fails) {
          EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
          return;
        }
        file->end_step();
      };
      const auto bytes = [&](const char* name) {
        comm.barrier();
        const auto size = fs::file_size(path_ / name);
        comm.barrier();
        return size;
      };
      if (!is_first) write(1, false);
      std::uintmax_t before[2] = {4096, 4096};
      if (!is_first) before[0] = bytes(one), before[1] = bytes(other);
      for (int again = 0; again < 3; ++again) write(2, true);
      EXPECT_LE(bytes(one), before[0]);
      EXPECT_LE(bytes(other), before[1]);
      write(3, false);
      file->close();
    });
    with_index_and_without(path_, is_first ? 1 : 2, [&](const BpReader& file) {
      const std::size_t last = is_first ? 0 : 1;
      ASSERT_EQ(file.steps(), last + 1);
      ASSERT_EQ(file.blocks(0, last).size(), 80U);
      std::vector<double> values(160);
      file.read(0, last, {{0}, {160}, {}}, reinterpret_cast<std::byte*>(values.data()));
      for (std::size_t i = 0; i < values.size(); i += 2) EXPECT_EQ(values[i], 3);
    });
  }
}

// Groups of a step that is given up belong to no step, even if their space cannot be freed.
TEST_F(EarlyRanks, a_full_disk_is_the_error_of_the_block_and_a_step_that_fails_is_given_up) {
  run_as_threads(static_cast<int>(ranks), [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, path_, false, WriteOptions::all_ranks, report);
    if (comm.is_root()) fs::create_symlink("/dev/full", path_ / "data.1");
    comm.barrier();
    const std::vector<double> values(2, 7), many(large, 7);
    const auto add = [&](const std::string& name, const std::vector<double>& what) {
      const auto failed = attempt_to([&] {
        file->add({name, bp::Type::float64}, {{}, {}, {std::ssize(what)}},
                  std::as_bytes(std::span(what)), false);
      });
      return failed ? failed->code() : Errc::ok;
    };
    for (int b = 0; b < 6; ++b) EXPECT_EQ(add("v", values), Errc::ok);
    EXPECT_EQ(add("v", values), Errc::eno_space);
    EXPECT_EQ(add("w", many), Errc::eno_space);
    file->end_step();  // with the blocks that fitted
    comm.barrier();
    if (comm.is_root()) fs::remove(path_ / "data.1");
    comm.barrier();
    if (comm.rank() == 1) EXPECT_EQ(add("w", many), Errc::ok);
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(Errc::eread, "it cannot be read");
    EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
    EXPECT_EQ(add("w", many), Errc::ok);
    file->end_step();
    file->close();
  });
  with_index_and_without(path_, 2, [](const BpReader& file) {
    ASSERT_EQ(file.steps(), 2U);
    EXPECT_EQ(file.blocks(file.find("v"), 0).size(), static_cast<std::size_t>(6 * ranks));
    EXPECT_EQ(file.blocks(file.find("w"), 1).size(), static_cast<std::size_t>(ranks));
  });
}

}  // namespace early_ranks_test
}  // namespace forebay::process_group
