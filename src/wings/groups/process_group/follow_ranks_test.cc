// Readers that follow a BP4 directory while ranks write it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/single_file.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace follow_ranks_test {

constexpr int steps = 12;

WriteOptions followed() {
  WriteOptions options;
  options.follow = true;
  return options;
}

/// Step n has v, whose elements are 100 n + i, and each third step one more variable.
void write_step(const Comm& comm, StepWriter& file, int step) {
  const Count first = 2 * comm.rank(), all = 2 * Count{comm.size()};
  const std::vector<double> values{100.0 * step + static_cast<double>(first),
                                   100.0 * step + static_cast<double>(first) + 1};
  file.add({"v", bp::Type::float64}, {{all}, {first}, {2}}, bytes(values), false);
  if (step % 3 == 2)
    file.add({"extra" + std::to_string(step), bp::Type::float64}, {{all}, {first}, {2}},
             bytes(values), false);
  file.end_step();
}

void expect_step(const BpReader& file, std::size_t step, int ranks) {
  const std::size_t v = file.find("v");
  const Count all = 2 * Count{ranks};
  ASSERT_EQ(file.array(v, step).shape, std::vector<Count>{all});
  std::vector<double> values(static_cast<std::size_t>(all));
  file.read(v, step, {{0}, {all}, {}}, reinterpret_cast<std::byte*>(values.data()));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], 100.0 * static_cast<double>(step) + static_cast<double>(i));
}

class FollowRanks : public StepFileTest {};

TEST_F(FollowRanks, each_step_is_found_once_and_whole_and_then_the_end) {
  for (const int ranks : {1, 3}) {
    std::filesystem::remove_all(path_);
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report, of_reader;
      const auto file = StepWriter::create(comm, path_, followed(), report);
      BpReader reader(comm, path_, of_reader);
      std::vector<std::string> names;
      EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::not_ready);
      for (int step = 0; step < steps; ++step) {
        write_step(comm, *file, step);
        comm.meet();
        EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::ok);
        ASSERT_EQ(reader.steps(), static_cast<std::size_t>(step) + 1);
        EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::not_ready);
        for (int earlier = 0; earlier <= step; ++earlier)
          expect_step(reader, static_cast<std::size_t>(earlier), ranks);
      }
      file->close();
      EXPECT_EQ(reader.find_steps(comm, 1000), StepStatus::end);
      EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::end);
      // What was found step by step is what is found at once.
      Report once;
      const BpReader whole(comm, path_, once);
      ASSERT_EQ(reader.variables().size(), whole.variables().size());
      for (std::size_t v = 0; v < whole.variables().size(); ++v) {
        const StoredVariable &one = reader.variables()[v], &other = whole.variables()[v];
        EXPECT_EQ(one.variable, other.variable);
        EXPECT_EQ(one.steps.numbers(), other.steps.numbers());
        EXPECT_EQ(one.steps.stretches().size(), other.steps.stretches().size());
        EXPECT_EQ(one.shape, other.shape);
        EXPECT_EQ(one.varies, other.varies);
      }
    });
  }
}

TEST_F(FollowRanks, several_steps_are_found_at_once_and_appending_goes_on) {
  Report report;
  BpReader* reader = nullptr;
  std::unique_ptr<BpReader> made;
  for (int opening = 0; opening < 5; ++opening) {
    run_as_threads(2, [&](const Comm& comm) {
      Report of_writer;
      const auto file = opening == 0 ? StepWriter::create(comm, path_, followed(), of_writer)
                                     : StepWriter::append(comm, path_, followed(), of_writer);
      if (comm.is_root() && !reader) {
        made = std::make_unique<BpReader>(Comm(), path_, report);
        reader = made.get();
      }
      if (comm.is_root()) {
        EXPECT_EQ(reader->find_steps(Comm(), 0), StepStatus::not_ready);
      }
      for (int n = 0; n < 3; ++n) write_step(comm, *file, 3 * opening + n);
      if (comm.is_root()) {
        EXPECT_EQ(reader->find_steps(Comm(), 0), StepStatus::ok);
        EXPECT_EQ(reader->steps(), static_cast<std::size_t>(3 * opening + 3));
      }
      file->close();
    });
    EXPECT_EQ(reader->find_steps(Comm(), 0), StepStatus::end);
  }
  for (std::size_t step = 0; step < 15; ++step) expect_step(*reader, step, 2);
}

TEST_F(FollowRanks, half_a_record_and_an_index_that_is_not_there_yet_are_no_step) {
  ranks_write(1, path_, followed(), [](const Comm& comm, StepWriter& file) {
    for (int step = 0; step < steps; ++step) write_step(comm, file, step);
  });
  const std::string index = bytes_of("md.idx"), metadata = bytes_of("md.0");
  const auto put = [&](const char* name, std::string bytes) {
    if (std::string(name) == "md.idx") bytes[bp::head_active_at] = 1;
    std::ofstream(path_ / name, std::ios::binary | std::ios::in) << bytes;
  };
  const auto record = static_cast<std::size_t>(bp::record_bytes);
  std::filesystem::resize_file(path_ / "md.idx", 64);
  put("md.idx", index.substr(0, 64));
  std::filesystem::resize_file(path_ / "md.0", 64);
  Report report;
  BpReader reader(Comm(), path_, report);
  EXPECT_EQ(reader.steps(), 0U);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = 64 + step * record;
    for (const std::size_t some : {std::size_t{1}, record / 2, record - 1}) {
      put("md.idx", index.substr(0, begin + some));
      EXPECT_EQ(reader.find_steps(Comm(), 0), StepStatus::not_ready) << step << " " << some;
    }
    put("md.idx", index.substr(0, begin + record));
    EXPECT_EQ(reader.find_steps(Comm(), 0), StepStatus::not_ready) << step;
    const auto end =
        step + 1 == steps
            ? metadata.size()
            : static_cast<std::size_t>(
                  bp::parse_record(
                      std::as_bytes(std::span(index)).subspan(begin).first<bp::record_bytes>(),
                      false)
                      .end);
    put("md.0", metadata.substr(0, end - 1));
    EXPECT_EQ(reader.find_steps(Comm(), 0), StepStatus::not_ready) << step;
    put("md.0", metadata.substr(0, end));
    EXPECT_EQ(reader.find_steps(Comm(), 0), StepStatus::ok) << step;
    expect_step(reader, step, 1);
  }
}

TEST_F(FollowRanks, a_killed_writer_costs_the_timeout_and_no_more) {
  Report report;
  run_as_threads(3, [&](const Comm& comm) {
    Report of_writer;
    const auto file = StepWriter::create(comm, path_, followed(), of_writer);
    for (int step = 0; step < 5; ++step) write_step(comm, *file, step);
  });  // without close()
  BpReader reader(Comm(), path_, report);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(reader.find_steps(Comm(), 0.3), StepStatus::not_ready);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  EXPECT_EQ(reader.steps(), 5U);
  // Whoever appends without the mark takes it away.
  run_as_threads(2, [&](const Comm& comm) {
    Report of_writer;
    StepWriter::append(comm, path_, {}, of_writer)->close();
  });
  EXPECT_EQ(reader.find_steps(Comm(), 1000), StepStatus::end);
}

TEST_F(FollowRanks, a_directory_that_moves_is_followed) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report, of_reader;
    const auto file = StepWriter::create(comm, path_, followed(), report);
    write_step(comm, *file, 0);
    BpReader reader(comm, path_, of_reader);
    comm.meet();
    const std::filesystem::path there = path_.string() + ".moved";
    if (comm.is_root()) std::filesystem::rename(path_, there);
    comm.meet();
    for (int step = 1; step < steps; ++step) {
      write_step(comm, *file, step);
      EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::ok) << step;
      expect_step(reader, static_cast<std::size_t>(step), 2);
    }
    file->close();
    comm.meet();
    if (comm.is_root()) std::filesystem::rename(there, path_);
  });
}

TEST_F(FollowRanks, values_of_a_file_that_is_written_anew_are_not_those_of_the_old_one) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report, of_reader, again;
    auto file = StepWriter::create(comm, path_, followed(), report);
    for (int step = 0; step < 5; ++step) write_step(comm, *file, step);
    BpReader reader(comm, path_, of_reader);  // it has opened no data file yet
    file.reset();
    file = StepWriter::create(comm, path_, followed(), again);
    for (int step = 50; step < 56; ++step) write_step(comm, *file, step);
    comm.meet();
    double value = 0;
    const auto failed = attempt_to([&] {
      reader.read(reader.find("v"), 0, {{0}, {1}, {}}, reinterpret_cast<std::byte*>(&value));
    });
    ASSERT_TRUE(failed) << value;
    EXPECT_EQ(failed->code(), Errc::efile);
    for (int n = 0; n < 2; ++n)
      EXPECT_EQ(code_of(attempt_to([&] { reader.find_steps(comm, 0); })), Errc::efile);
    file->close();
  });
}

TEST_F(FollowRanks, an_index_that_was_made_again_is_told) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report, of_reader;
    const auto file = StepWriter::create(comm, path_, followed(), report);
    for (int step = 0; step < 5; ++step) write_step(comm, *file, step);
    BpReader reader(comm, path_, of_reader);
    EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::not_ready);
    comm.meet();
    if (comm.is_root()) {
      std::filesystem::copy_file(path_ / "md.idx", path_ / "new");
      std::filesystem::rename(path_ / "new", path_ / "md.idx");
    }
    comm.meet();
    EXPECT_EQ(code_of(attempt_to([&] { reader.find_steps(comm, 0); })), Errc::efile);
  });
}

TEST_F(FollowRanks, errors_are_those_of_all_ranks) {
  ranks_write(2, path_, {}, [](const Comm& comm, StepWriter& file) {
    for (int step = 0; step < 5; ++step) write_step(comm, file, step);
  });
  std::string index = bytes_of("md.idx");
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    BpReader reader(comm, path_, report);
    EXPECT_EQ(reader.find_steps(comm, 0), StepStatus::end);  // never marked
    EXPECT_EQ(code_of(attempt_to([&] { reader.find_steps(comm, -1); })), Errc::einval);
    comm.meet();
    // A further record that names the index of the first step again, but not its number: behind it
    // is no step.
    if (comm.is_root()) {
      const std::string metadata = bytes_of("md.0");
      const std::string junk(200, '\x7f');
      std::ofstream(path_ / "md.0", std::ios::binary | std::ios::app) << junk;
      bp::StepRecord record;
      record.step = 6;
      record.groups = static_cast<Offset>(metadata.size());
      record.variables = record.groups + 50;
      record.attributes = record.groups + 100;
      record.end = record.groups + 200;
      const auto printed = bp::print_record(record);
      std::ofstream(path_ / "md.idx", std::ios::binary | std::ios::app)
          .write(reinterpret_cast<const char*>(printed.data()), std::ssize(printed));
    }
    comm.meet();
    for (int again = 0; again < 2; ++again)
      EXPECT_EQ(code_of(attempt_to([&] { reader.find_steps(comm, 0); })), Errc::ebad_file);
    expect_step(reader, 4, 2);
  });
}

}  // namespace follow_ranks_test
}  // namespace forebay::process_group
