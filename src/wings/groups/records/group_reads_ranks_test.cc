// Collective reads of groups: on any number of ranks they give what each rank would read alone, and
// bytes for which several ranks ask are read once. Windows are small here, so that there are many.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/format/bp_testing.h"
#include "groups/process_group/step_writer.h"
#include "groups/records/group_reader.h"

namespace forebay {
namespace group_reads_ranks_test {

namespace fs = std::filesystem;
using process_group::StepWriter;
using process_group::WriteOptions;

constexpr int writers = 4, all_steps = 3;
constexpr Count planes = 8, rows = 36, columns = 40;  // of T

Count product(const std::vector<Count>& list) {
  return std::accumulate(list.begin(), list.end(), Count{1}, std::multiplies<>());
}

Method small_windows(const std::string& transport, int ranks_per_node = 0) {
  Method method;
  method.transport = transport;
  method.buffer_limit = 64 << 10;  // windows of 4 KiB
  method.ranks_per_node = ranks_per_node;
  return method;
}

class GroupReadsRanks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_reads_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  void write(const WriteOptions& options) const {
    run_as_threads(writers, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::create(comm, path_, options, report);
      for (int step = 0; step < all_steps; ++step) {
        write_step(comm.rank(), *file, step, options.column_major);
        file->end_step();
      }
      file->close();
    });
  }

  // `box` and `all` are in C's order, whatever the file's order is.
  static void add(StepWriter& file, const char* name, bp::Type type, bp::Shape box, double first,
                  bool column_major) {
    if (column_major)
      for (auto* list : {&box.shape, &box.start, &box.count})
        std::reverse(list->begin(), list->end());
    std::vector<std::byte> bytes;
    const auto put = [&](auto value) {
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), from, from + sizeof value);
    };
    for (Count n = 0, last = product(box.count); n < last; ++n) {
      const double value = first + static_cast<double>(n);
      if (type == bp::Type::float64) put(value);
      if (type == bp::Type::int16) put(static_cast<std::int16_t>(value));
      if (type == bp::Type::complex64) put(std::complex<float>(static_cast<float>(value), -1));
    }
    file.add({name, type}, box, bytes, false);
  }

  // T has two by two blocks; halo has overlapping blocks; p is joined; own is each rank's; c is
  // complex.
  static void write_step(Rank rank, StepWriter& file, int step, bool column_major) {
    const double first = 1e6 * step + 1e5 * rank;
    const std::int32_t value = 10 * step + rank;
    file.add({"value", bp::Type::int32}, {}, std::as_bytes(std::span(&value, 1)), false);
    file.add({"of_rank", bp::Type::int32}, {{bp::local_value}, {}, {}},
             std::as_bytes(std::span(&value, 1)), false);
    const std::string text = "step " + std::to_string(step);
    if (rank == 2) file.add({"title", bp::Type::string}, {}, std::as_bytes(std::span(text)), false);
    add(file, "T", bp::Type::float64,
        {{planes, rows, columns},
         {0, rank / 2 * (rows / 2), rank % 2 * (columns / 2)},
         {planes, rows / 2, columns / 2}},
        first, column_major);
    for (Count half = 0; half < 2; ++half)
      add(file, "halo", bp::Type::int16,
          {{300, 70}, {std::min(std::max(rank * 75 - 2, 0), 220), half * 30}, {80, 40}},
          500 * rank + 7 * static_cast<double>(half), column_major);
    add(file, "c", bp::Type::complex64, {{64, 20}, {16 * rank, 0}, {16, 20}}, first, column_major);
    if (column_major) return;  // joined dimensions and ranks' own arrays keep the writer's order
    add(file, "p", bp::Type::float64, {{bp::joined, 2}, {}, {200 + rank + step, 2}}, first, false);
    add(file, "own", bp::Type::int16, {{}, {}, {rank == 1 ? 0 : 300}}, rank, false);
  }

  using Box =
      std::tuple<std::string, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  static Box some_box(const GroupReader& file, std::mt19937& random) {
    const auto number = [&](Count below) {
      return static_cast<Count>(random() % static_cast<unsigned>(below));
    };
    std::string name;
    do {
      name = file.name(static_cast<int>(number(file.variables())));
    } while (name == "title");
    Box box{name, number(all_steps), {}, {}};
    for (const Count extent : file.shape(name, std::get<1>(box))) {
      std::get<2>(box).push_back(number(extent));
      std::get<3>(box).push_back(number(extent - std::get<2>(box).back() + 1));
    }
    return box;
  }
  static std::vector<std::byte> room_for(const GroupReader& file, const Box& box) {
    const auto& [name, step, start, count] = box;
    static const std::map<std::string, Count> sizes{
        {"value", 4}, {"of_rank", 4}, {"T", 8}, {"halo", 2}, {"c", 8}, {"p", 8}, {"own", 2}};
    return std::vector<std::byte>(static_cast<std::size_t>(product(count) * sizes.at(name)),
                                  std::byte{0xEE});
  }

  // Each rank reads some boxes together with the others, and compares them with what it reads
  // alone.
  void expect_what_ranks_read_alone(const Comm& comm, const Method& method) const {
    GroupReader file(comm, path_.string(), method), alone(comm, path_.string());
    std::mt19937 random(static_cast<unsigned>(comm.rank()) + 1);
    for (int round = 0; round < 6; ++round) {
      const bool has_none = round % 3 == 1 && comm.rank() % 2 == 1;
      if (round % 3 == 2 && comm.rank() == comm.size() - 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::vector<Box> boxes;
      std::vector<std::vector<std::byte>> got;
      for (int n = has_none ? 0 : 12; n > 0; --n) boxes.push_back(some_box(file, random));
      for (const Box& box : boxes) got.push_back(room_for(file, box));
      for (std::size_t n = 0; n < boxes.size(); ++n) {
        const auto& [name, step, start, count] = boxes[n];
        file.read_later(name, step, start.data(), count.data(), got[n].data());
      }
      file.perform_reads();
      for (std::size_t n = 0; n < boxes.size(); ++n) {
        const auto& [name, step, start, count] = boxes[n];
        auto expected = room_for(alone, boxes[n]);
        alone.read(name, step, start.data(), count.data(), expected.data());
        ASSERT_EQ(got[n], expected) << name << " in step " << step;
      }
    }
    Report report = file.report();
    const std::int64_t windows = comm.all_reduce(report[Counter::windows], Reduce::max);
    if (method.transport == "aggregated" && comm.size() > 1) EXPECT_GT(windows, 5 * 8);
    file.close();
  }

  fs::path path_;
};

std::int64_t bytes_read(const Comm& comm, const GroupReader& file) {
  Report report = file.report();
  return comm.all_reduce(report[Counter::bytes_read], Reduce::sum);
}

Errc code_of(const std::optional<Error>& failed) { return failed ? failed->code() : Errc::ok; }

TEST_F(GroupReadsRanks, ranks_get_what_they_would_read_alone) {
  for (const int per_file : {WriteOptions::all_ranks, 1})
    for (const bool column_major : {false, true}) {
      WriteOptions options;
      options.ranks_per_file = per_file;
      options.column_major = column_major;
      write(options);
      for (const int ranks : {1, 2, 3, 4, 7})
        for (const char* transport : {"auto", "aggregated", "posix"})
          run_as_threads(ranks, [&](const Comm& comm) {
            expect_what_ranks_read_alone(comm, small_windows(transport));
          });
    }
}

TEST_F(GroupReadsRanks, between_nodes) {
  WriteOptions options;
  options.ranks_per_file = 1;
  write(options);
  for (const int of_node : {1, 2})
    for (const char* transport : {"auto", "aggregated"})
      run_as_threads(5, [&](const Comm& comm) {
        expect_what_ranks_read_alone(comm, small_windows(transport, of_node));
      });
}

TEST_F(GroupReadsRanks, text_and_what_the_index_has) {
  write({});
  run_as_threads(3, [&](const Comm& comm) {
    GroupReader file(comm, path_.string());
    std::array<char, 16> title{};
    std::int32_t value = -1;
    file.read_later("title", 1, nullptr, nullptr, title.data());
    file.read_later("value", 2, nullptr, nullptr, &value);
    file.perform_reads();
    EXPECT_STREQ(title.data(), "step 1");
    EXPECT_EQ(value, 20);
    file.perform_reads();  // nothing
    file.close();
  });
}

// T is about a third of the file, so the requested bytes span more than T.
TEST_F(GroupReadsRanks, what_all_ranks_ask_for_is_read_once) {
  WriteOptions options;
  options.ranks_per_file = 2;
  write(options);
  for (const int ranks : {2, 3, 5})
    for (const bool same : {true, false}) {
      run_as_threads(ranks, [&](const Comm& comm) {
        Method method = small_windows("auto");
        method.buffer_limit = 1 << 20;
        method.hole_threshold = 0;
        GroupReader file(comm, path_.string(), method);
        const std::int64_t before = bytes_read(comm, file);
        // All of it, or a slab along the fastest dimension.
        const Count from = same ? 0 : columns * comm.rank() / comm.size(),
                    to = same ? columns : columns * (comm.rank() + 1) / comm.size();
        const std::vector<std::int64_t> start{0, 0, from}, count{planes, rows, to - from};
        std::vector<double> got(static_cast<std::size_t>(product(count)));
        for (int step = 0; step < all_steps; ++step) {
          file.read_later("T", step, start.data(), count.data(), got.data());
          file.perform_reads();
        }
        const std::int64_t all = all_steps * planes * rows * columns * 8;
        const std::int64_t read = bytes_read(comm, file) - before;
        EXPECT_LT(read, all + all / 4) << ranks << same;
        EXPECT_GE(read, all);
        file.close();
      });
    }
}

TEST_F(GroupReadsRanks, large_blocks_that_ranks_share_with_nobody_are_read_directly) {
  write({});
  run_as_threads(4, [&](const Comm& comm) {
    GroupReader file(comm, path_.string());
    std::vector<std::int64_t> start(3), count(3);
    file.block("T", 0, comm.rank(), start.data(), count.data());
    std::vector<double> got(static_cast<std::size_t>(product(count)));
    file.read_later("T", 0, start.data(), count.data(), got.data());
    file.perform_reads();
    EXPECT_EQ(got.back(), 1e5 * comm.rank() + static_cast<double>(got.size() - 1));
    Report report = file.report();
    EXPECT_EQ(report[Counter::windows], 0);
    file.close();
  });
}

TEST_F(GroupReadsRanks, what_is_wrong_with_a_box_is_told_at_once_and_to_its_rank_alone) {
  write({});
  run_as_threads(3, [&](const Comm& comm) {
    GroupReader file(comm, path_.string(), small_windows("auto"));
    std::vector<double> got(static_cast<std::size_t>(planes * rows * columns), -1);
    std::vector<double> untouched(100, -1);
    if (comm.rank() == 1) {
      const auto code = [&](const char* name, std::int64_t step, std::vector<std::int64_t> start,
                            std::vector<std::int64_t> count) {
        return code_of(attempt_to(
            [&] { file.read_later(name, step, start.data(), count.data(), untouched.data()); }));
      };
      EXPECT_EQ(code("Temperature", 0, {0}, {1}), Errc::enotvar);
      EXPECT_EQ(code("T", all_steps, {0, 0, 0}, {1, 1, 1}), Errc::einvalcoords);
      EXPECT_EQ(code("T", -1, {0, 0, 0}, {1, 1, 1}), Errc::einvalcoords);
      EXPECT_EQ(code("T", 0, {0, 0, columns + 1}, {1, 1, 1}), Errc::einvalcoords);
      EXPECT_EQ(code("T", 0, {0, 0, 1}, {1, 1, columns}), Errc::eedge);
      EXPECT_EQ(code("T", 0, {0, 0, 1}, {1, -1, 1}), Errc::enegativecnt);
      EXPECT_EQ(code_of(attempt_to([&] { file.read_later("T", 0, nullptr, nullptr, nullptr); })),
                Errc::einval);
    } else {
      file.read_later("T", 1, nullptr, nullptr, got.data());
    }
    file.perform_reads();
    EXPECT_EQ(got[1], comm.rank() == 1 ? -1 : 1e6 + 1);
    EXPECT_EQ(untouched, std::vector<double>(100, -1));
    file.close();
  });
}

TEST_F(GroupReadsRanks, elements_that_nobody_wrote_are_an_error_of_the_rank_that_asks) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, {}, report);
    add(*file, "x", bp::Type::float64, {{400}, {200 * comm.rank()}, {150}}, 0, false);
    add(*file, "x", bp::Type::float64, {{400}, {200 * comm.rank() + 100}, {51}}, 1000, false);
    // The blocks have as many elements as the array, but many elements twice.
    for (Count n = 0; n < 100; ++n)
      add(*file, "y", bp::Type::float64, {{200}, {n + n / 50}, {1}}, static_cast<double>(n), false);
    file->end_step();
    file->close();
  });
  run_as_threads(2, [&](const Comm& comm) {
    GroupReader file(comm, path_.string(), small_windows("auto"));
    std::vector<double> got(400);
    const auto code = [&](const char* name, std::int64_t start, std::int64_t count) {
      return code_of(attempt_to([&] { file.read_later(name, 0, &start, &count, got.data()); }));
    };
    EXPECT_EQ(code("x", 0, 152), Errc::enodata);
    EXPECT_EQ(code("x", 0, 400), Errc::enodata);
    EXPECT_EQ(code("y", 0, 100), Errc::enodata);
    EXPECT_EQ(code("y", 0, 200), Errc::enodata);
    EXPECT_EQ(code("x", 98, 53), Errc::ok);
    file.perform_reads();
    EXPECT_EQ(got[1], 99);
    EXPECT_EQ(got[2], 1000);
    file.close();
  });
}

// A restart would take the last readable step for the file's last one.
TEST_F(GroupReadsRanks, a_file_that_lacks_the_index_of_steps_is_not_opened) {
  write({});
  fs::resize_file(path_ / "md.0", fs::file_size(path_ / "md.0") - 1);
  run_as_threads(3, [&](const Comm& comm) {
    const auto failed =
        attempt_to([&] { GroupReader(comm, path_.string(), small_windows("auto")); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::ebad_file);
    if (!comm.is_root()) return;
    const std::string last = std::to_string(all_steps - 1);
    EXPECT_NE(failed->message().find("md.0 lacks the index of 1 steps that md.idx tells of, from "
                                     "step " +
                                     last + " on"),
              std::string::npos)
        << failed->message();
  });
}

TEST_F(GroupReadsRanks, a_data_file_that_is_short_or_missing_is_an_error_on_all_ranks) {
  WriteOptions options;
  options.ranks_per_file = 1;
  write(options);
  const fs::path file = path_ / "data.3", aside = path_ / "aside";
  for (const bool gone : {false, true}) {
    fs::copy_file(file, aside);
    if (gone)
      fs::remove(file);
    else
      fs::resize_file(file, fs::file_size(file) / 2);
    run_as_threads(5, [&](const Comm& comm) {
      GroupReader reader(comm, path_.string(), small_windows("auto"));
      std::vector<double> got(static_cast<std::size_t>(planes * rows * columns), -1);
      const auto read = [&](std::int64_t last_row) {
        const std::vector<std::int64_t> start{0, 0, 0}, count{planes, last_row, columns};
        if (comm.rank() != 3)
          reader.read_later("T", all_steps - 1, start.data(), count.data(), got.data());
        return code_of(attempt_to([&] { reader.perform_reads(); }));
      };
      EXPECT_EQ(read(rows) == Errc::ok, false);
      // The failed box is dropped; the boxes of other ranks are read.
      EXPECT_EQ(read(rows / 2), Errc::ok);
      EXPECT_EQ(got[1], comm.rank() == 3 ? -1 : 2e6 + 1);
      reader.close();
    });
    fs::rename(aside, file);
  }
}

TEST_F(GroupReadsRanks, the_later_block_wins_also_where_it_lies_first_in_the_file) {
  std::vector<double> values(8);
  std::iota(values.begin(), values.end(), 0);
  std::vector<bp::Block> blocks(2);
  for (std::size_t n = 0; n < 2; ++n) {
    blocks[n].at = {{6}, {static_cast<Count>(2 * n)}, {4}};
    blocks[n].payload = bp::head_bytes + static_cast<Offset>(32 - 32 * n);
  }
  bp::make_directory(path_, {{{{{"x", bp::Type::float64}, blocks}}, {}}},
                     std::as_bytes(std::span(values)));
  run_as_threads(2, [&](const Comm& comm) {
    GroupReader file(comm, path_.string());
    std::vector<double> got(6);
    file.read_later("x", 0, nullptr, nullptr, got.data());
    file.perform_reads();
    EXPECT_EQ(got, (std::vector<double>{4, 5, 0, 1, 2, 3}));
    file.close();
  });
}

TEST_F(GroupReadsRanks, too_many_visible_parts_are_read_alone) {
  constexpr Count side = 60;
  run_as_threads(1, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, {}, report);
    add(*file, "x", bp::Type::float64, {{side, side}, {0, 0}, {side, side}}, 0, false);
    for (Count r = 0; r < side; r += 2)
      for (Count c = 0; c < side; c += 10)
        add(*file, "x", bp::Type::float64, {{side, side}, {r, c}, {1, 1}}, -5, false);
    file->end_step();
    file->close();
  });
  run_as_threads(3, [&](const Comm& comm) {
    GroupReader file(comm, path_.string(), small_windows("auto"));
    std::vector<double> got(side * side), expected(got);
    if (comm.rank() != 0) file.read_later("x", 0, nullptr, nullptr, got.data());
    file.perform_reads();
    if (comm.rank() != 0) file.read("x", 0, nullptr, nullptr, expected.data());
    EXPECT_EQ(got, expected);
    file.close();
  });
}

}  // namespace group_reads_ranks_test
}  // namespace forebay
