// Steps that ranks write together, with an error on one of them. groups/tests/check_bp.py checks
// that adios2 reads correct steps as they were written.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace step_writer_ranks_test {

namespace fs = std::filesystem;

class StepWriterRanks : public StepFileTest {
 protected:
  std::size_t records() const { return bytes_of("md.idx").size() / 64 - 1; }
};

/// This rank's block of 4 elements.
void add_block(const Comm& comm, StepWriter& file, const std::string& name) {
  const std::vector<double> values(4, comm.rank());
  file.add({name, bp::Type::float64}, {{4 * comm.size()}, {4 * comm.rank()}, {4}}, bytes(values),
           false);
}

TEST_F(StepWriterRanks, a_wrong_block_is_the_error_of_its_rank_and_the_step_is_written) {
  ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
    add_block(comm, file, "v");
    file.end_step();
    if (comm.rank() == 1) {
      const std::vector<double> two(2);
      const auto add = [&](bp::Variable variable, bp::Shape at) {
        return code_of(attempt_to([&] { file.add(variable, at, bytes(two), false); }));
      };
      const auto real = bp::Type::float64;
      EXPECT_EQ(add({"v", bp::Type::int64}, {{2}, {0}, {2}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"v", real}, {{}, {}, {2}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"v", real}, {{2, 1}, {0, 0}, {2, 1}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"w", real}, {{3}, {2}, {2}}), Errc::eedge);
      EXPECT_EQ(add({"w", real}, {{3}, {-1}, {2}}), Errc::enegativecnt);
      EXPECT_EQ(add({"w", real}, {{3}, {}, {2}}), Errc::einval);
      EXPECT_EQ(add({"w", real}, {{3}, {0}, {3}}), Errc::edimsize);
      EXPECT_EQ(add({"w", real}, {{}, {}, {1LL << 40, 1LL << 40}}), Errc::eintoverflow);
      EXPECT_EQ(add({"w", real}, {{bp::joined, 3}, {}, {1, 2}}), Errc::eedge);
    } else {
      add_block(comm, file, "v");
    }
    file.end_step();
  });
  EXPECT_EQ(records(), 2U);
}

TEST_F(StepWriterRanks, a_name_with_two_types_fails_on_all_and_the_next_step_goes_on) {
  ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
    const std::vector<double> one(1);
    const auto type = comm.rank() == 1 ? bp::Type::int64 : bp::Type::float64;
    file.add({"v", type}, {}, bytes(one), false);
    EXPECT_EQ(code_of(attempt_to([&] { file.end_step(); })), Errc::emultidefine_var_type);
    add_block(comm, file, "v");
    file.end_step();
    EXPECT_EQ(file.steps(), 1U);
  });
  EXPECT_EQ(records(), 1U);
}

// Nothing remains of the failed step: the file is equal to one that never had it.
TEST_F(StepWriterRanks, a_disk_that_is_full_for_one_rank_fails_on_all_and_leaves_nothing) {
  std::string expected_data;
  for (const bool fails : {false, true}) {
    SetUp();
    ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
      if (comm.is_root()) add_block(comm, file, "v");
      file.end_step();
      if (fails) {
        // Rank 1 has not opened it yet; the others go on with the file itself.
        if (comm.is_root()) {
          fs::rename(path_ / "data.0", path_ / "real");
          fs::create_symlink("/dev/full", path_ / "data.0");
        }
        comm.barrier();
        const auto before = fs::file_size(path_ / "real");
        add_block(comm, file, "failing");
        file.add_attribute({"kept", bp::Type::string, {}, {"text"}});
        EXPECT_EQ(code_of(attempt_to([&] { file.end_step(); })), Errc::eno_space);
        EXPECT_EQ(file.steps(), 1U);
        comm.barrier();
        EXPECT_EQ(fs::file_size(path_ / "real"), before);
        comm.barrier();
        if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
        comm.barrier();
      } else {
        file.add_attribute({"kept", bp::Type::string, {}, {"text"}});
      }
      if (comm.is_root()) add_block(comm, file, "v");
      file.end_step();
    });
    EXPECT_EQ(records(), 2U);
    const std::string data = bytes_of("data.0"), metadata = bytes_of("md.0");
    EXPECT_NE(metadata.find("kept"), std::string::npos);
    EXPECT_EQ(metadata.find("failing"), std::string::npos);
    EXPECT_EQ(data.find("failing"), std::string::npos);
    if (!fails) expected_data = data;
    EXPECT_EQ(data.size(), expected_data.size());
  }
}

std::vector<double> values_of(const std::string& path, std::uint32_t step) {
  Report report;
  const BpReader file(Comm(), path, report);
  std::vector<double> all(12, -1);
  file.read(file.find("v"), step, {{0}, {12}, {}}, reinterpret_cast<std::byte*>(all.data()));
  return all;
}

// For any size of the queue, also with a late rank: when a step has ended, all steps but the last
// one are in the file. After sync() and close() all are, and lent bytes are the caller's again.
TEST_F(StepWriterRanks, asynchronous_steps_are_in_the_file_when_the_next_one_has_ended) {
  for (const Count memory : {1, 100, 1 << 20}) {
    for (const int ranks_per_file : {0, 2}) {
      SetUp();
      WriteOptions options;
      options.async_memory = memory;
      options.ranks_per_file = ranks_per_file;
      run_as_threads(3, [&](const Comm& comm) {
        Report report;
        auto file = StepWriter::create(comm, path_, options, report);
        const auto add = [&](int step) {
          if (comm.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          std::vector<double> mine(4, 100 * step + comm.rank());
          file->add({"v", bp::Type::float64}, {{12}, {4 * comm.rank()}, {4}}, bytes(mine), true);
          file->end_step();
          mine.assign(4, -7);  // the memory may be reused
        };
        for (int step = 0; step < 6; ++step) {
          add(step);
          comm.barrier();
          EXPECT_EQ(records(), static_cast<std::size_t>(step)) << memory;
          comm.barrier();
        }
        file->sync();
        EXPECT_EQ(records(), 6U);
        add(6);
        file->close();
        file = StepWriter::append(comm, path_, options, report);
        add(7);
        file->flush();
        add(8);
        file->close();
      });
      ASSERT_EQ(records(), 9U);
      for (std::uint32_t step = 0; step < 9; ++step)
        for (std::size_t i = 0; i < 12; ++i)
          EXPECT_EQ(values_of(path_, step)[i], 100 * step + static_cast<double>(i / 4)) << step;
    }
  }
}

// A failed write of the thread is reported by the next call, on all ranks. Later calls repeat it.
// The step that was not begun may be written again.
TEST_F(StepWriterRanks, an_asynchronous_step_that_cannot_be_written_is_kept) {
  WriteOptions options;
  options.async_memory = 1 << 20;
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, options, report);
    if (comm.is_root()) add_block(comm, *file, "v");
    file->end_step();
    file->sync();
    // Rank 1 has not opened it yet; the others go on with the file itself.
    if (comm.is_root()) {
      fs::rename(path_ / "data.0", path_ / "real");
      fs::create_symlink("/dev/full", path_ / "data.0");
    }
    comm.barrier();
    const auto add = [&](int step) {
      const std::vector<double> mine(4, 100 * step + comm.rank());
      file->add({"v", bp::Type::float64}, {{12}, {4 * comm.rank()}, {4}}, bytes(mine), false);
    };
    add(1);
    file->end_step();
    for (int time = 0; time < 3; ++time) {
      add(2);
      EXPECT_EQ(code_of(attempt_to([&] { file->end_step(); })), Errc::eno_space);
      EXPECT_EQ(records(), 1U);
    }
    EXPECT_EQ(code_of(attempt_to([&] { file->sync(); })), Errc::eno_space);
    EXPECT_EQ(file->steps(), 2U);
    EXPECT_EQ(code_of(attempt_to([&] { file->close(); })), Errc::eno_space);
    comm.barrier();
    if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
    comm.barrier();
    // No record refers to it, and another step overwrites it.
    const auto again = StepWriter::append(comm, path_, options, report);
    EXPECT_EQ(again->steps(), 1U);
    const std::vector<double> mine(4, 300 + comm.rank());
    again->add({"v", bp::Type::float64}, {{12}, {4 * comm.rank()}, {4}}, bytes(mine), false);
    again->end_step();
    again->close();
  });
  EXPECT_EQ(records(), 2U);
  EXPECT_EQ(values_of(path_, 1)[5], 301);
}

// If a step fails while ranks pass it to the queue, nothing of it waits any more.
TEST_F(StepWriterRanks, an_asynchronous_step_that_is_given_up_leaves_the_queues) {
  WriteOptions options;
  options.async_memory = 64;
  ranks_write(3, path_, options, [&](const Comm& comm, StepWriter& file) {
    if (comm.is_root()) add_block(comm, file, "v");
    file.end_step();
    file.sync();
    if (comm.is_root()) {
      fs::rename(path_ / "data.0", path_ / "real");
      fs::create_symlink("/dev/full", path_ / "data.0");
    }
    comm.barrier();
    const std::vector<double> mine(400, comm.rank());
    file.add({"v", bp::Type::float64}, {{1200}, {400 * comm.rank()}, {400}}, bytes(mine), false);
    EXPECT_EQ(code_of(attempt_to([&] { file.end_step(); })), Errc::eno_space);
    comm.barrier();
    if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
    comm.barrier();
    const std::vector<double> all(12, 5);
    if (comm.is_root()) file.add({"v", bp::Type::float64}, {{12}, {0}, {12}}, bytes(all), false);
    file.end_step();
  });
  EXPECT_EQ(records(), 2U);
  EXPECT_EQ(values_of(path_, 1), std::vector<double>(12, 5));
}

// If the step before cannot be written, a flush of the next one, or its failure, does not change
// that step.
TEST_F(StepWriterRanks, what_a_failed_flush_gives_up_is_not_the_asynchronous_step_before) {
  for (const bool flush_fails : {false, true}) {
    SetUp();
    WriteOptions options;
    options.async_memory = 1 << 20;
    run_as_threads(3, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::create(comm, path_, options, report);
      if (comm.is_root()) add_block(comm, *file, "v");
      file->end_step();
      file->sync();
      // Ranks 1 and 2 have not opened it yet.
      if (comm.is_root()) {
        fs::rename(path_ / "data.0", path_ / "real");
        fs::create_symlink("/dev/full", path_ / "data.0");
      }
      comm.barrier();
      const auto add = [&](int step) {
        const std::vector<double> mine(4, 100 * step + comm.rank());
        file->add({"v", bp::Type::float64}, {{12}, {4 * comm.rank()}, {4}}, bytes(mine), false);
      };
      add(1);
      file->end_step();
      if (flush_fails || comm.is_root()) add(2);
      EXPECT_EQ(code_of(attempt_to([&] { file->flush(); })),
                flush_fails ? Errc::eno_space : Errc::ok);
      EXPECT_EQ(code_of(attempt_to([&] { file->end_step(); })), Errc::eno_space);
      EXPECT_EQ(records(), 1U);
      comm.barrier();
      EXPECT_EQ(code_of(attempt_to([&] { file->close(); })), Errc::eno_space);
      comm.barrier();
      if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
      comm.barrier();
      const auto again = StepWriter::append(comm, path_, options, report);
      EXPECT_EQ(again->steps(), 1U);
      const std::vector<double> mine(4, 300 + comm.rank());
      again->add({"v", bp::Type::float64}, {{12}, {4 * comm.rank()}, {4}}, bytes(mine), false);
      again->end_step();
      again->flush();
      again->close();
    });
    EXPECT_EQ(records(), 2U);
    EXPECT_EQ(values_of(path_, 1)[5], 301);
  }
}

// With open_stagger, all ranks have opened their files when the opening returns.
TEST_F(StepWriterRanks, files_are_opened_in_turns_where_that_is_asked_for) {
  for (const int at_a_time : {1, 2, 7}) {
    SetUp();
    WriteOptions options;
    options.open_stagger = at_a_time;
    run_as_threads(5, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::create(comm, path_, options, report);
      if (comm.is_root()) {
        fs::rename(path_ / "data.0", path_ / "real");
        fs::create_symlink("/dev/full", path_ / "data.0");
      }
      comm.barrier();
      add_block(comm, *file, "v");
      file->end_step();
      file->close();
      comm.barrier();
      if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
    });
    EXPECT_EQ(records(), 1U);
  }
}

TEST_F(StepWriterRanks, lent_bytes_are_taken_when_the_step_ends_and_others_when_they_are_added) {
  ranks_write(2, path_, {}, [&](const Comm& comm, StepWriter& file) {
    std::string copied = "copied", lent = "lent..";
    const auto add = [&](const std::string& name, const std::string& text, bool is_lent) {
      const bp::Shape at{{2, 6}, {comm.rank(), 0}, {1, 6}};
      file.add({name, bp::Type::chr}, at, std::as_bytes(std::span(text)), is_lent);
    };
    add("a", copied, false);
    add("b", lent, true);
    copied = "CHANGE";
    lent = "change";
    file.end_step();
  });
  const std::string data = bytes_of("data.0"), metadata = bytes_of("md.0");
  EXPECT_NE(data.find("copied"), std::string::npos);
  EXPECT_NE(data.find("change"), std::string::npos);
  EXPECT_EQ(data.find("CHANGE"), std::string::npos);
  // The range is that of the written values: id 12, one part, least, largest.
  EXPECT_NE(metadata.find(std::string("\x0c\x01\0an", 5)), std::string::npos);
}

TEST_F(StepWriterRanks, only_bp_files_are_replaced) {
  fs::create_directory(path_);
  std::ofstream(path_ / "thesis.tex") << "text";
  const auto create = [&] {
    std::optional<Error> failed;
    run_as_threads(2, [&](const Comm& comm) {
      Report report;
      const auto mine = attempt_to([&] { StepWriter::create(comm, path_, {}, report)->close(); });
      if (comm.is_root()) failed = mine;
    });
    return code_of(failed);
  };
  EXPECT_EQ(create(), Errc::eexist);
  EXPECT_TRUE(fs::exists(path_ / "thesis.tex"));
  fs::remove(path_ / "thesis.tex");
  EXPECT_EQ(create(), Errc::ok);
  EXPECT_EQ(create(), Errc::ok);
  EXPECT_EQ(records(), 0U);
}

TEST_F(StepWriterRanks, files_of_others_are_not_replaced_whatever_they_are_called) {
  const auto create = [&](bool append) {
    Report report;
    return code_of(attempt_to([&] {
      (append ? StepWriter::append(Comm(), path_, {}, report)
              : StepWriter::create(Comm(), path_, {}, report))
          ->close();
    }));
  };
  for (const char* name : {"data.0", "data.7", "md.0", "profiling.json", "md.idx"}) {
    fs::create_directory(path_);
    std::ofstream(path_ / name)
        << "measured in the laboratory, never to be had again, of no format";
    for (const bool append : {false, true}) {
      EXPECT_EQ(create(append), Errc::eexist) << name;
      EXPECT_EQ(bytes_of(name).substr(0, 8), "measured") << name;
    }
    fs::remove_all(path_);
  }
}

// A restart loop that always appends continues.
TEST_F(StepWriterRanks, what_a_kill_left_while_a_file_was_made_is_begun_anew) {
  const auto append = [&](int steps) {
    run_as_threads(2, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::append(comm, path_, {}, report);
      for (int step = 0; step < steps; ++step) {
        add_block(comm, *file, "v");
        file->end_step();
      }
      file->close();
    });
  };
  fs::create_directory(path_);
  append(0);
  EXPECT_EQ(records(), 0U);
  fs::resize_file(path_ / "md.idx", 0);
  append(0);
  EXPECT_EQ(records(), 0U);
  fs::remove(path_ / "md.idx");
  append(1);
  EXPECT_EQ(records(), 1U);
}

TEST_F(StepWriterRanks, steps_whose_index_is_lost_are_not_replaced_by_who_appends) {
  const auto code = [&](bool append) {
    Report report;
    return code_of(attempt_to([&] {
      if (!append) return static_cast<void>(BpReader(Comm(), path_, report));
      StepWriter::append(Comm(), path_, {}, report)->close();
    }));
  };
  for (const std::vector<const char*>& lost :
       {std::vector{"md.idx"}, std::vector{"md.0"}, std::vector{"md.0", "md.idx"}}) {
    ranks_write(2, path_, {}, [&](const Comm& comm, StepWriter& file) {
      add_block(comm, file, "v");
      file.end_step();
    });
    const std::string data = bytes_of("data.0");
    for (const char* name : lost) fs::remove(path_ / name);
    EXPECT_EQ(code(true), Errc::ebad_file) << lost[0];
    EXPECT_TRUE(is_bp(path_)) << lost[0];
    EXPECT_EQ(code(false), Errc::ebad_file) << lost[0];
    EXPECT_EQ(bytes_of("data.0"), data) << lost[0];
    Report report;
    recover_index(path_, {}, 0, report);
    EXPECT_EQ(code(true), Errc::ok) << lost[0];
    EXPECT_EQ(records(), 1U) << lost[0];
  }
  fs::remove_all(path_);
  EXPECT_FALSE(is_bp(path_));
  EXPECT_EQ(code(false), Errc::enoent);
}

// Programs usually write the same names in the same order in each step, which makes the search
// fast. If they do not, the names of the file are found, too.
TEST_F(StepWriterRanks, names_that_come_back_in_later_steps_keep_type_kind_and_values) {
  ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
    const std::int64_t size = comm.size(), rank = comm.rank();
    const auto add = [&](const std::string& name, bp::Type type, const bp::Shape& at,
                         double value) {
      const std::vector<double> values(2, value);
      Count elements = 1;
      for (const Count count : at.count) elements *= count;
      const auto mine = bytes(values).first(static_cast<std::size_t>(elements) * bp::size_of(type));
      return code_of(attempt_to([&] { file.add({name, type}, at, mine, false); }));
    };
    const auto real = bp::Type::float64;
    const bp::Shape global{{2 * size}, {2 * rank}, {2}}, own{{}, {}, {2}}, scalar;
    const auto write = [&](const std::string& order, double value) {
      for (const char name : order)
        EXPECT_EQ(add({name}, real,
                      name == 'o'   ? own
                      : name == 's' ? scalar
                                    : global,
                      value + name),
                  Errc::ok)
            << order << name;
    };
    write("abos", 0);
    file.end_step();
    // Looks for each name where it is expected, and elsewhere.
    for (const char* const order : {"abos", "soba", "b", "abc"}) {
      for (const char* name : {"a", "b"}) {
        EXPECT_EQ(add(name, bp::Type::int64, global, 0), Errc::emultidefine_var_type);
        EXPECT_EQ(add(name, real, own, 0), Errc::emultidefine_var_type);
        EXPECT_EQ(add(name, real, scalar, 0), Errc::emultidefine_var_type);
        EXPECT_EQ(add(name, real, {{2 * size, 1}, {2 * rank, 0}, {2, 1}}, 0),
                  Errc::emultidefine_var_type);
      }
      write(order, static_cast<double>(file.steps()) * 1000);
      EXPECT_EQ(add("o", real, global, 0), Errc::emultidefine_var_type);
      EXPECT_EQ(add("s", bp::Type::float32, scalar, 0), Errc::emultidefine_var_type);
      file.end_step();
    }
    // A name that no step has yet may get another type if its step was not written.
    EXPECT_EQ(add("new", comm.is_root() ? bp::Type::int64 : real, scalar, 1), Errc::ok);
    EXPECT_EQ(code_of(attempt_to([&] { file.end_step(); })), Errc::emultidefine_var_type);
    EXPECT_EQ(add("new", real, global, 5), Errc::ok);
    file.end_step();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  ASSERT_EQ(file.steps(), 6U);
  const std::vector<std::string> orders{"abos", "abos", "soba", "b", "abc"};
  for (std::size_t step = 0; step < orders.size(); ++step)
    for (const char name : std::string("abcos")) {
      const std::size_t variable = file.find(std::string(1, name));
      if (orders[step].find(name) == std::string::npos) {
        EXPECT_TRUE(attempt_to([&] { file.blocks(variable, step); })) << name << step;
        continue;
      }
      const auto found = file.blocks(variable, step);
      EXPECT_EQ(found.size(), 3U) << name << step;
      for (const auto& block : found) {
        double least = 0;
        std::memcpy(&least, block.min.data(), sizeof least);
        EXPECT_EQ(least, static_cast<double>(step) * 1000 + name) << name << step;
      }
    }
}

// If a step has the same sizes as the one before, the sums are not added up again. They are if one
// rank has other sizes or another name, or if a step in between was given up.
TEST_F(StepWriterRanks, steps_that_differ_from_the_one_before_on_one_rank_have_their_own_places) {
  struct Write {
    int extra_of_last;  // further blocks of the last rank
    std::string text, name;
  };
  const std::vector<Write> steps{{0, "a", "v"},   {0, "a", "v"},   {3, "a", "v"}, {3, "a", "v"},
                                 {3, "abc", "v"}, {0, "abc", "w"}, {0, "a", "v"}, {0, "a", "v"}};
  constexpr std::size_t given_up = 6;
  for (const int ranks_per_file : {0, 1, 2}) {
    SetUp();
    WriteOptions options;
    options.ranks_per_file = ranks_per_file;
    const auto value = [](std::size_t step, Rank rank, int block) {
      return static_cast<double>(step) * 1000 + rank * 10 + block;
    };
    ranks_write(4, path_, options, [&](const Comm& comm, StepWriter& file) {
      const bool is_last = comm.rank() + 1 == comm.size();
      for (std::size_t n = 0; n < steps.size(); ++n) {
        const auto& [extra, text, name] = steps[n];
        for (int block = 0; block <= (is_last ? extra : 0); ++block) {
          const std::vector<double> values(4, value(n, comm.rank(), block));
          file.add({is_last ? name : "v", bp::Type::float64}, {{}, {}, {4}}, bytes(values), false);
        }
        if (is_last)
          file.add({"text", bp::Type::string}, {}, std::as_bytes(std::span(text)), false);
        if (n == given_up) {
          const std::vector<double> one(1);
          file.add({"odd", comm.is_root() ? bp::Type::int64 : bp::Type::float64}, {}, bytes(one),
                   false);
          EXPECT_EQ(code_of(attempt_to([&] { file.end_step(); })), Errc::emultidefine_var_type);
        } else {
          file.end_step();
        }
      }
      EXPECT_EQ(file.meetings().least, 3);
    });
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), steps.size() - 1);
    for (std::size_t step = 0; step < file.steps(); ++step) {
      const std::size_t n = step < given_up ? step : step + 1;
      std::vector<double> found, expected;
      for (Rank rank = 0; rank < 4; ++rank)
        for (int block = 0; block <= (rank == 3 ? steps[n].extra_of_last : 0); ++block)
          expected.push_back(value(n, rank, block));
      for (const char* name : {"v", "w"}) {
        if (std::string(name) == "w" && steps[n].name != "w") continue;
        for (const auto& block : file.blocks(file.find(name), step)) {
          std::ifstream data(path_ / ("data." + std::to_string(block.file)), std::ios::binary);
          data.seekg(block.payload);
          std::vector<double> values(4);
          data.read(reinterpret_cast<char*>(values.data()), 32);
          EXPECT_EQ(values.front(), values.back());
          found.push_back(values.front());
        }
      }
      EXPECT_EQ(found, expected) << step << " " << ranks_per_file;
      EXPECT_EQ(file.blocks(file.find("text"), step).at(0).text, steps[n].text);
    }
  }
}

TEST_F(StepWriterRanks, who_appends_knows_the_variables_that_are_there) {
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto open = [&](const WriteOptions& options) {
      return StepWriter::append(comm, path_, options, report);
    };
    const bp::Attribute units{"units", bp::Type::string, {}, {"K"}};
    {
      const auto file = open({});
      add_block(comm, *file, "v");
      file->add_attribute(units);
      file->end_step();
      file->close();
    }
    WriteOptions fortran;
    fortran.column_major = true;
    EXPECT_EQ(code_of(attempt_to([&] { open(fortran); })), Errc::ebad_file);
    const auto file = open({});
    const std::vector<double> four(4);
    const std::vector<float> floats(4);
    const auto add = [&](bp::Type type, const bp::Shape& at, std::span<const std::byte> data) {
      return code_of(attempt_to([&] { file->add({"v", type}, at, data, false); }));
    };
    const auto wrong = Errc::emultidefine_var_type;
    EXPECT_EQ(add(bp::Type::float32, {{4}, {0}, {4}}, std::as_bytes(std::span(floats))), wrong);
    EXPECT_EQ(add(bp::Type::float64, {{4, 1}, {0, 0}, {4, 1}}, bytes(four)), wrong);
    EXPECT_EQ(add(bp::Type::float64, {{}, {}, {4}}, bytes(four)), wrong);
    add_block(comm, *file, "v");
    file->add_attribute(units);
    file->end_step();
    file->close();
  });
  EXPECT_EQ(records(), 2U);
  const std::string metadata = bytes_of("md.0");
  EXPECT_EQ(metadata.find("units"), metadata.rfind("units"));  // once
}

// The file after the failure of a machine, or a truncated copy. Appending would drop data that
// recovery can use.
TEST_F(StepWriterRanks, a_data_file_that_ends_early_is_not_appended_to) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto write = [&](int steps) {
      const auto file = StepWriter::append(comm, path_, {}, report);
      for (int step = 0; step < steps; ++step) {
        add_block(comm, *file, "v");
        file->end_step();
      }
      file->close();
    };
    write(5);
    comm.barrier();
    if (comm.is_root()) {
      const BpReader file(Comm(), path_, report);
      const auto blocks = file.blocks(0, 2);
      fs::resize_file(path_ / "data.0",
                      static_cast<std::uintmax_t>(blocks[1].payload + blocks[1].bytes - 1));
    }
    comm.barrier();
    const auto failed = attempt_to([&] { write(1); });
    EXPECT_EQ(code_of(failed), Errc::ebad_file);
    if (comm.is_root() && failed) {
      EXPECT_NE(failed->message().find("data.0 ends before the values of v in step 2"),
                std::string::npos)
          << failed->message();
      EXPECT_NE(failed->advice().find("forebay recover"), std::string::npos);
    }
    comm.barrier();
    if (comm.is_root()) {
      EXPECT_EQ(records(), 5U);
      recover_index(path_, {.skip_damaged = true}, 0, report);
      EXPECT_EQ(records(), 2U);
    }
    comm.barrier();
    write(1);
  });
  EXPECT_EQ(records(), 3U);
  Report report;
  const BpReader file(Comm(), path_, report);
  for (std::size_t step = 0; step < 3; ++step) {
    std::vector<double> values(8);
    file.read(0, step, {{0}, {8}, {}}, reinterpret_cast<std::byte*>(values.data()));
    EXPECT_EQ(values, (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1})) << step;
  }
}

TEST_F(StepWriterRanks, memory_of_steps_is_that_of_the_last_however_their_sizes_change) {
  Report report;
  const auto file = StepWriter::create(Comm(), path_, {}, report);
  std::size_t most = 0, first = 0;
  for (int step = 0; step < 24; ++step) {
    const std::vector<double> values((std::size_t{1} << 19) +
                                     1000 * static_cast<std::size_t>(step));
    const auto count = static_cast<Count>(values.size());
    const std::vector<double> one(1);
    file->add({"n", bp::Type::float64}, {}, bytes(one), false);
    file->add({"v", bp::Type::float64}, {{}, {}, {count}}, bytes(values), false);
    file->end_step();
    most = std::max(most, file->memory());
    if (step == 0) first = file->memory();
  }
  file->close();
  EXPECT_GE(first, std::size_t{4} << 20);
  EXPECT_LE(most, std::size_t{7} << 20);
}

TEST_F(StepWriterRanks, room_made_before_the_first_block_is_all_that_a_step_takes) {
  Report report;
  const auto file = StepWriter::create(Comm(), path_, {}, report);
  const std::vector<double> values(160000);
  const std::size_t all = 5 * values.size() * sizeof(double);
  file->make_room(all);
  for (int block = 0; block < 5; ++block)
    file->add({"v", bp::Type::float64}, {{}, {}, {160000}}, bytes(values), false);
  EXPECT_EQ(file->memory(), all);
  file->end_step();
  file->close();
}

TEST_F(StepWriterRanks, local_arrays_without_elements_leave_nothing) {
  ranks_write(3, path_, {}, [&](const Comm& comm, StepWriter& file) {
    const Count many = comm.rank() == 1 ? 0 : 2;
    const std::vector<double> values(static_cast<std::size_t>(5 * many));
    file.add({"a", bp::Type::float64}, {{}, {}, {many, 5}}, bytes(values), false);
    file.add({"b", bp::Type::float64}, {{}, {}, {5, many}}, bytes(values), false);
    file.end_step();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  for (const char* name : {"a", "b"}) EXPECT_EQ(file.blocks(file.find(name), 0).size(), 2U);
}

TEST_F(StepWriterRanks, what_cannot_be_appended_to_is_refused_and_left_alone) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    StepWriter::create(comm, path_, {}, report)->close();
    const auto append = [&] {
      comm.barrier();
      const auto code =
          code_of(attempt_to([&] { StepWriter::append(comm, path_, {}, report)->close(); }));
      comm.barrier();
      return code;
    };
    EXPECT_EQ(append(), Errc::ok);
    const auto overwrite = [&](std::streamoff at, char byte) {
      if (!comm.is_root()) return;
      std::fstream file(path_ / "md.idx", std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put(byte);
    };
    overwrite(36, 1);  // big-endian
    EXPECT_EQ(append(), Errc::ebad_file);
    overwrite(36, 0);
    overwrite(37, 3);
    EXPECT_EQ(append(), Errc::ebad_file);
    overwrite(37, 4);
    if (comm.is_root()) std::ofstream(path_ / "mmd.0") << "BP5";
    EXPECT_EQ(append(), Errc::ebad_file);
  });
}

TEST_F(StepWriterRanks, options_that_no_file_can_have_are_refused) {
  const Comm alone;
  Report report;
  for (const Count alignment : {0, 32, 100}) {
    WriteOptions options;
    options.alignment = alignment;
    const auto failed = attempt_to([&] { StepWriter::create(alone, path_, options, report); });
    EXPECT_EQ(code_of(failed), Errc::einval) << alignment;
  }
}

}  // namespace step_writer_ranks_test
}  // namespace forebay::process_group
