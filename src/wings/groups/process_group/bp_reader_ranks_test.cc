// Data of ranks is read back on other numbers of ranks. Also files of the other byte order, and
// damaged ones. groups/tests/check_read_bp.py checks that files of adios2 are read correctly.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/thread_ranks.h"
#include "groups/format/bp3_testing.h"
#include "groups/format/bp_testing.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/pending_reads.h"
#include "groups/process_group/step_testing.h"
#include "support/cases.h"
#include "transport/transport.h"

namespace forebay::process_group {
namespace bp_reader_ranks_test {

namespace fs = std::filesystem;

constexpr Count rows = 5, columns = 7;  // of a rank's block of T
constexpr int writers = 4, all_steps = 6;

class BpReaderRanks : public StepFileTest {
 protected:
  void write_file(const std::string& name, const std::string& bytes) const {
    fs::create_directory(path_);
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

  void write(const WriteOptions& options) const {
    ranks_write(writers, path_, options, [&](const Comm& comm, StepWriter& file) {
      for (int step = 0; step < all_steps; ++step) {
        write_step(comm, file, step);
        file.end_step();
      }
    });
  }

  // T is in all steps, a box in two blocks per rank; odd in odd steps; p joined, longer in each
  // step.
  static void write_step(const Comm& comm, StepWriter& file, int step) {
    const Rank rank = comm.rank();
    const std::int32_t value = 10 * step + rank;
    file.add({"value", bp::Type::int32}, {}, std::as_bytes(std::span(&value, 1)), false);
    for (Count half = 0; half < 2; ++half) {
      const Count first = half * 3, many = half == 0 ? 3 : columns - 3;
      std::vector<double> block;
      for (Count r = 0; r < rows; ++r)
        for (Count c = 0; c < many; ++c)
          block.push_back(expected(step, rank * rows + r, first + c));
      const std::vector<Count> shape{writers * rows, columns}, start{rank * rows, first},
          count{rows, many};
      file.add({"T", bp::Type::float64}, {shape, start, count}, std::as_bytes(std::span(block)),
               false);
    }
    if (step % 2 == 1) {
      const std::vector<std::int16_t> two{static_cast<std::int16_t>(rank), 7};
      file.add({"odd", bp::Type::int16}, {{}, {}, {2}}, std::as_bytes(std::span(two)), false);
    }
    std::vector<float> p(static_cast<std::size_t>(2 * (rank + step)));
    std::iota(p.begin(), p.end(), static_cast<float>(100 * rank));
    file.add({"p", bp::Type::float32}, {{bp::joined, 2}, {}, {rank + step, 2}},
             std::as_bytes(std::span(p)), false);
    const std::string text = "step " + std::to_string(step);
    if (rank == 2) file.add({"title", bp::Type::string}, {}, std::as_bytes(std::span(text)), false);
    file.add_attribute({"answer", bp::Type::string, {}, {"yes"}});
  }

  static double expected(int step, Count row, Count column) {
    return 1000.0 * step + static_cast<double>(row * columns + column);
  }
};

std::vector<double> read_doubles(const BpReader& file, std::size_t v, std::size_t step,
                                 const Subarray& selection) {
  std::vector<double> values(static_cast<std::size_t>(selection.elements()), -1);
  file.read(v, step, selection, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// Memory for all blocks, and for 2 of them.
constexpr Count all_kept = 64 << 20, two_kept = 3 * 2 * 512;

TEST_F(BpReaderRanks, any_box_reads_on_any_number_of_ranks) {
  for (const int per_file : {WriteOptions::all_ranks, 1}) {
    WriteOptions options;
    options.ranks_per_file = per_file;
    write(options);
    run_as_threads(3, [&](const Comm& comm) {
      Report report;
      const BpReader file(comm, path_, report, per_file == 1 ? two_kept : all_kept);
      ASSERT_EQ(file.steps(), static_cast<std::size_t>(all_steps));
      const std::size_t v = file.find("T");
      std::mt19937 random(static_cast<unsigned>(comm.rank()) + 1);
      for (int round = 0; round < 300; ++round) {
        Subarray box{{}, {}, {}};
        for (const Count extent : {writers * rows, columns}) {
          const Count stride = 1 + static_cast<Count>(random() % 3);
          const auto start = static_cast<Count>(random() % static_cast<unsigned>(extent));
          const Count most = (extent - 1 - start) / stride + 1;
          box.start.push_back(start);
          box.stride.push_back(stride);
          box.count.push_back(static_cast<Count>(random() % static_cast<unsigned>(most + 1)));
        }
        if (round % 2 == 0) box.stride.clear();
        const auto step = static_cast<int>(random() % all_steps);
        const auto got = read_doubles(file, v, static_cast<std::size_t>(step), box);
        std::size_t at = 0;
        const auto stride = [&](std::size_t d) { return box.stride.empty() ? 1 : box.stride[d]; };
        for (Count r = 0; r < box.count[0]; ++r)
          for (Count c = 0; c < box.count[1]; ++c)
            ASSERT_EQ(got[at++],
                      expected(step, box.start[0] + r * stride(0), box.start[1] + c * stride(1)));
      }
    });
  }
}

/// Calls f between the agreement of ranks and their reads.
class Between : public ExtentIo {
 public:
  Between(ExtentIo& io, std::function<void()> f) : io_(io), f_(std::move(f)) {}
  void write_all(ExtentStream& extents) override { io_.write_all(extents); }
  void write(ExtentStream& extents) override { io_.write(extents); }
  void read(ExtentStream& extents) override { io_.read(extents); }
  void read_all(ExtentStream& extents) override {
    f_();
    io_.read_all(extents);
  }
  void expect_sharing(Sharing sharing) override {
    told = sharing;
    io_.expect_sharing(sharing);
  }

  Sharing told = Sharing::unknown;

 private:
  ExtentIo& io_;
  std::function<void()> f_;
};

// Steps 4 and 6 of a file of ADIOS 1: rank 0 parses its index, and all ranks read it.
TEST_F(BpReaderRanks, one_file_of_all_steps_reads_on_any_number_of_ranks) {
  constexpr std::uint64_t cells = 8;
  bp::Bp3File made;
  std::vector<bp::Bp3Printer> blocks;
  bp::Bp3Printer values = made.print();
  values.put(std::uint64_t{0});
  for (const std::uint32_t step : {4, 6}) {
    made.group(step);
    for (std::uint64_t at = 0; at < cells; at += 2) {
      blocks.push_back(
          made.print().time(step).file(at < 4 ? 0xffffffff : 3).payload(values.bytes().size()));
      blocks.back().dimensions({{2, cells, at}});
      for (std::uint64_t n = at; n < at + 2; ++n) values.put(static_cast<double>(10 * step + n));
    }
  }
  made.variable({"restart", "", "T", 1}, bp::Type::float64, blocks);
  const bp::Bytes whole = made.print(values.bytes());
  const auto write = [&](std::span<const std::byte> bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  };
  write(whole);
  for (const int ranks : {1, 3}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      const BpReader file(comm, path_, report);
      EXPECT_STREQ(file.format(), "BP3");
      ASSERT_EQ(file.steps(), 2U);
      for (const std::size_t step : {0, 1}) {
        EXPECT_EQ(file.blocks(file.find("T"), step).size(), cells / 2);
        EXPECT_EQ(
            read_doubles(file, file.find("/T"), step, {{comm.rank() + 1}, {3}, {}}),
            (std::vector<double>{41.0 + 20.0 * step + comm.rank(), 42.0 + 20.0 * step + comm.rank(),
                                 43.0 + 20.0 * step + comm.rank()}));
      }
      // Ranks read it together, whatever the number of its file.
      PendingReads reads(file);
      const auto io = make_transport(comm, reads.joined(), {}, report);
      int operations = 0;
      Between counts(*io, [&] { ++operations; });
      std::vector<double> all(cells), expected(cells);
      std::iota(expected.begin(), expected.end(), 60);
      reads.add(file.find("T"), 1, {{0}, {cells}, {}}, reinterpret_cast<std::byte*>(all.data()));
      reads.perform(comm, counts);
      EXPECT_EQ(operations, 1);
      EXPECT_EQ(all, expected);
    });
  }
  write(std::span(whole).first(whole.size() - 1));
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    EXPECT_EQ(code_of(attempt_to([&] { BpReader(comm, path_, report); })), Errc::ebad_file);
  });
}

TEST_F(BpReaderRanks, what_there_is_of_each_kind) {
  write({});
  for (const Count memory : {all_kept, two_kept})
    run_as_threads(2, [&](const Comm& comm) {
      Report report;
      const BpReader file(comm, path_.string() + "/", report, memory);
      EXPECT_EQ(file.variables().size(), 5U);
      ASSERT_EQ(file.attributes().size(), 1U);
      EXPECT_EQ(file.attributes()[0].texts, std::vector<std::string>{"yes"});
      const std::size_t odd = file.find("odd"), p = file.find("p");
      EXPECT_TRUE(std::ranges::equal(file.variables()[odd].steps.numbers(), std::vector{1, 3, 5}));
      EXPECT_EQ(code_of(attempt_to([&] { file.array(odd, 2); })), Errc::einvalcoords);
      EXPECT_EQ(code_of(attempt_to([&] { file.array(odd, all_steps); })), Errc::einvalcoords);
      EXPECT_EQ(code_of(attempt_to([&] { (void)file.find("od"); })), Errc::enotvar);
      std::vector<std::int16_t> two(8);
      file.read(odd, 3, {{0}, {8}, {}}, reinterpret_cast<std::byte*>(two.data()));
      EXPECT_EQ(two, (std::vector<std::int16_t>{0, 7, 1, 7, 2, 7, 3, 7}));
      for (int step = 0; step < all_steps; ++step) {
        const auto s = static_cast<std::size_t>(step);
        EXPECT_EQ(file.text(file.find("title"), s), "step " + std::to_string(step));
        EXPECT_EQ(file.array(p, s).shape, (std::vector<Count>{6 + writers * step, 2}));
        std::vector<float> joined(static_cast<std::size_t>(2 * (6 + writers * step)), -1);
        file.read(p, s, {{0, 0}, {6 + writers * step, 2}, {}},
                  reinterpret_cast<std::byte*>(joined.data()));
        std::size_t at = 0;
        for (int rank = 0; rank < writers; ++rank)
          for (int i = 0; i < 2 * (rank + step); ++i)
            EXPECT_EQ(joined[at++], static_cast<float>(100 * rank + i));
        std::int32_t value = -1;
        file.read(file.find("value"), s, {}, reinterpret_cast<std::byte*>(&value));
        EXPECT_EQ(value, 10 * step);  // rank 0's
        const auto blocks = file.blocks(file.find("value"), s);
        ASSERT_EQ(blocks.size(), static_cast<std::size_t>(writers));
        file.read_block(file.find("value"), blocks[2], reinterpret_cast<std::byte*>(&value));
        EXPECT_EQ(value, 10 * step + 2);
      }
      const auto blocks = file.blocks(file.find("T"), 1);
      ASSERT_EQ(blocks.size(), 2U * writers);
      std::vector<double> block(static_cast<std::size_t>(rows * 4));
      file.read_block(file.find("T"), blocks[5], reinterpret_cast<std::byte*>(block.data()));
      EXPECT_EQ(block[1 * 4 + 2], expected(1, 2 * rows + 1, 3 + 2));
      double least = 0;
      std::memcpy(&least, blocks[5].min.data(), sizeof least);
      EXPECT_TRUE(blocks[5].has_range);
      EXPECT_EQ(least, expected(1, 2 * rows, 3));
    });
}

TEST_F(BpReaderRanks, the_first_dimension_of_column_major_files_comes_last) {
  WriteOptions options;
  options.column_major = true;
  ranks_write(2, path_, options, [&](const Comm& comm, StepWriter& file) {
    std::vector<double> column(3);
    std::iota(column.begin(), column.end(), 3.0 * comm.rank());
    file.add({"A", bp::Type::float64}, {{3, 2}, {0, comm.rank()}, {3, 1}},
             std::as_bytes(std::span(column)), false);
    file.end_step();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(file.array(0, 0).shape, (std::vector<Count>{2, 3}));
  EXPECT_EQ(read_doubles(file, 0, 0, {{0, 1}, {2, 2}, {}}), (std::vector<double>{1, 2, 4, 5}));
}

TEST_F(BpReaderRanks, what_nobody_wrote_is_an_error_and_the_later_of_two_blocks_wins) {
  ranks_write(1, path_, {}, [&](const Comm& comm, StepWriter& file) {
    const auto add = [&](Count start, Count count, double value) {
      const std::vector<double> block(static_cast<std::size_t>(count), value);
      file.add({"x", bp::Type::float64}, {{200}, {start}, {count}}, std::as_bytes(std::span(block)),
               false);
    };
    add(0, 10, 1);
    add(5, 10, 2);
    add(16, 4, 3);
    file.end_step();
    for (Count i = 0; i < 200; ++i)
      if (i != 150) add(i, 1, static_cast<double>(i));
    add(20, 1, -20);  // as many as there are elements
    file.end_step();
  });
  for (const Count memory : {all_kept, two_kept}) {
    Report report;
    const BpReader file(Comm(), path_, report, memory);
    const auto get = [&](std::size_t step, Count start, Count count) {
      return read_doubles(file, 0, step, {{start}, {count}, {}});
    };
    EXPECT_EQ(get(0, 3, 4), (std::vector<double>{1, 1, 2, 2}));
    EXPECT_EQ(code_of(attempt_to([&] { get(0, 12, 5); })), Errc::enodata);
    // As many elements as the box has, but some of them twice.
    EXPECT_EQ(code_of(attempt_to([&] { get(0, 0, 24); })), Errc::enodata);
    EXPECT_EQ(get(1, 19, 3), (std::vector<double>{19, -20, 21}));
    EXPECT_EQ(get(1, 151, 49).back(), 199);
    EXPECT_EQ(code_of(attempt_to([&] { get(1, 0, 200); })), Errc::enodata);
    EXPECT_EQ(get(1, 0, 150)[20], -20);
    const double none = -7;
    std::vector<double> filled(6);
    file.read(0, 0, {{13}, {6}, {}}, reinterpret_cast<std::byte*>(filled.data()),
              std::as_bytes(std::span(&none, 1)));
    EXPECT_EQ(filled, (std::vector<double>{2, 2, none, 3, 3, 3}));
  }
}

// As if each rank writes all of an axis.
TEST_F(BpReaderRanks, what_was_written_over_and_over_is_read_at_once) {
  constexpr Count wide = 64;
  ranks_write(1, path_, {}, [&](const Comm& comm, StepWriter& file) {
    for (int n = 0; n < 40; ++n) {
      const std::vector<double> values(static_cast<std::size_t>(wide), n);
      file.add({"x", bp::Type::float64}, {{wide}, {0}, {wide}}, std::as_bytes(std::span(values)),
               false);
    }
    const double one = -1;
    file.add({"x", bp::Type::float64}, {{wide}, {8}, {1}}, std::as_bytes(std::span(&one, 1)),
             false);
    file.end_step();
  });
  std::vector<double> expected(static_cast<std::size_t>(wide), 39);
  expected[8] = -1;
  for (const Count memory : {all_kept, two_kept}) {
    Report report;
    const BpReader file(Comm(), path_, report, memory);
    EXPECT_EQ(file.array(0, 0).has_all, memory == all_kept);
    const std::int64_t calls = report[Counter::read_calls];
    EXPECT_EQ(read_doubles(file, 0, 0, {{0}, {wide}, {}}), expected);
    EXPECT_LE(report[Counter::read_calls] - calls, 4);  // the index, both blocks
    EXPECT_EQ(file.parts_of(file.array(0, 0), {8}, {1}).blocks.size(), 1U);
  }
}

// An entry of some MiB is parsed in windows. As many of its blocks are held as memory allows, for
// all kinds of reads.
TEST_F(BpReaderRanks, blocks_beyond_what_memory_holds_are_found) {
  constexpr Count many = 40000;
  std::vector<bp::Block> blocks(many);
  for (Count n = 0; n < many; ++n) {
    bp::Block& block = blocks[static_cast<std::size_t>(n)];
    block.at = {{many * 2}, {n * 2}, {2}};
    block.bytes = 16;
    block.payload = bp::head_bytes + (many - 1 - n) * 16;
  }
  std::vector<bp::Block> joined = blocks;
  for (bp::Block& block : joined) block.at = {{bp::joined}, {}, {2}};
  std::vector<double> values(many * 2);
  for (Count n = 0; n < many * 2; ++n)
    values[static_cast<std::size_t>((many - 1 - n / 2) * 2 + n % 2)] = static_cast<double>(n);
  bp::make_directory(
      path_, {{{{{"T", bp::Type::float64}, blocks}, {{"J", bp::Type::float64}, joined}}, {}}},
      std::as_bytes(std::span(values)));
  ASSERT_GT(fs::file_size(path_ / "md.0"), 5 << 20);
  for (const Count memory : {all_kept, Count{3 * 5000 * 512}}) {
    run_as_threads(2, [&](const Comm& comm) {
      Report report;
      const BpReader file(comm, path_, report, memory);
      const auto check = [&](const std::vector<double>& got, Count first) {
        for (const double one : got) ASSERT_EQ(one, static_cast<double>(first++));
      };
      PendingReads reads(file);
      const auto io = make_transport(comm, reads.joined(), {}, report);
      for (const std::size_t v : {0, 1}) {
        EXPECT_EQ(file.array(v, 0).blocks.size(), memory == all_kept ? many : 1U);
        EXPECT_EQ(file.array(v, 0).shape, std::vector<Count>{many * 2});
        check(read_doubles(file, v, 0, {{0}, {many * 2}, {}}), 0);
        check(read_doubles(file, v, 0, {{many * 2 - 1}, {1}, {}}), many * 2 - 1);
        std::vector<double> all(many * 2 - 1), some(10);
        reads.add(v, 0, {{1}, {many * 2 - 1}, {}}, reinterpret_cast<std::byte*>(all.data()));
        reads.add(v, 0, {{many + comm.rank()}, {10}, {}},
                  reinterpret_cast<std::byte*>(some.data()));
        reads.perform(comm, *io);
        check(all, 1);
        check(some, many + comm.rank());
      }
      io->close();
    });
  }
}

TEST_F(BpReaderRanks, selections_outside_are_refused) {
  write({});
  Report report;
  const BpReader file(Comm(), path_, report);
  const std::size_t v = file.find("T");
  const auto code = [&](const Subarray& box) {
    std::vector<double> values(100);
    return code_of(
        attempt_to([&] { file.read(v, 0, box, reinterpret_cast<std::byte*>(values.data())); }));
  };
  EXPECT_EQ(code({{0}, {1}, {}}), Errc::einval);
  EXPECT_EQ(code({{0, 8}, {1, 1}, {}}), Errc::einvalcoords);
  EXPECT_EQ(code({{0, 7}, {1, 1}, {}}), Errc::eedge);
  EXPECT_EQ(code({{0, 7}, {1, 0}, {}}), Errc::ok);
  EXPECT_EQ(code({{0, 0}, {1, 8}, {}}), Errc::eedge);
  EXPECT_EQ(code({{0, 0}, {1, 4}, {1, 3}}), Errc::eedge);
  EXPECT_EQ(code({{0, 0}, {1, INT64_MAX}, {1, INT64_MAX}}), Errc::eedge);
  EXPECT_EQ(code({{0, 0}, {1, 1}, {1, 0}}), Errc::estride);
  EXPECT_EQ(code({{-1, 0}, {1, 1}, {}}), Errc::einvalcoords);
  EXPECT_EQ(attempt_to([&] { (void)file.text(v, 0); })->code(), Errc::echar);
}

/// Numbers in the other byte order than this machine's.
class Swapped {
 public:
  template <typename T>
  Swapped& put(T value) {
    value = byte_swapped(value);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Swapped& text(std::string_view some) {
    put(static_cast<std::uint16_t>(some.size()));
    bytes += some;
    return *this;
  }
  std::string bytes;
};

TEST_F(BpReaderRanks, files_of_the_other_byte_order) {
  const auto head = [](const char* kind) {
    const auto bytes = bp::print_head(kind);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text[bp::head_endian_at] ^= 1;
    return text;
  };
  Swapped characteristics;
  const std::uint64_t extents[] = {3, 3, 0};
  characteristics.put(std::uint8_t{8}).put(std::uint32_t{1});
  characteristics.put(std::uint8_t{7}).put(std::uint32_t{0});
  characteristics.put(std::uint8_t{4}).put(std::uint8_t{1}).put(std::uint16_t{24});
  for (const std::uint64_t n : extents) characteristics.put(n);
  characteristics.put(std::uint8_t{12}).put(std::uint16_t{1});
  characteristics.put(std::uint32_t{5}).put(std::uint32_t{70000});
  characteristics.put(std::uint8_t{6}).put(std::uint64_t{70});
  Swapped entry;
  entry.put(std::uint32_t{0}).text("").text("n").put(std::uint8_t{'K'}).put(std::uint8_t{0});
  entry.put(static_cast<std::uint8_t>(bp::Type::uint32)).put(std::uint64_t{1});
  entry.put(std::uint8_t{5}).put(static_cast<std::uint32_t>(characteristics.bytes.size()));
  entry.bytes += characteristics.bytes;
  Swapped metadata;
  metadata.bytes = head("Metadata");
  metadata.put(std::uint64_t{0}).put(std::uint64_t{0});  // no groups
  const std::size_t variables = metadata.bytes.size();
  metadata.put(std::uint32_t{1}).put(static_cast<std::uint64_t>(entry.bytes.size() + 4));
  metadata.put(static_cast<std::uint32_t>(entry.bytes.size()));
  metadata.bytes += entry.bytes;
  const std::size_t attributes = metadata.bytes.size();
  metadata.put(std::uint32_t{0}).put(std::uint64_t{0});
  Swapped index;
  index.bytes = head("Index Table");
  for (const std::uint64_t n :
       {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{variables},
        std::uint64_t{attributes}, std::uint64_t{metadata.bytes.size()}, std::uint64_t{0},
        std::uint64_t{0}})
    index.put(n);
  Swapped data;
  data.bytes = head("Data") + "before";
  for (const std::uint32_t n : {5U, 70000U, 6U}) data.put(n);
  write_file("md.idx", index.bytes);
  write_file("md.0", metadata.bytes);
  write_file("data.0", data.bytes);
  Report report;
  const BpReader file(Comm(), path_, report);
  std::vector<std::uint32_t> values(3);
  file.read(file.find("n"), 0, {{0}, {3}, {}}, reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, (std::vector<std::uint32_t>{5, 70000, 6}));
  PendingReads reads(file);
  const Comm alone;
  const auto io = make_transport(alone, reads.joined(), {}, report);
  std::vector<std::uint32_t> two(2);
  reads.add(0, 0, {{1}, {2}, {}}, reinterpret_cast<std::byte*>(two.data()));
  reads.perform(alone, *io);
  EXPECT_EQ(two, (std::vector<std::uint32_t>{70000, 6}));
  std::uint32_t most = 0;
  std::memcpy(&most, file.blocks(0, 0).at(0).max.data(), sizeof most);
  EXPECT_EQ(most, 70000U);
}

TEST_F(BpReaderRanks, a_data_file_that_shrinks_while_it_is_read_is_an_error_on_all) {
  WriteOptions options;
  options.ranks_per_file = 1;
  for (const char* transport : {"auto", "aggregated", "messages", "posix"}) {
    write(options);
    run_as_threads(4, [&](const Comm& comm) {
      Report report;
      const BpReader file(comm, path_, report);
      const std::size_t v = file.find("T");
      PendingReads reads(file);
      TransportOptions how;
      how.kind = transport;
      if (how.kind == "messages") {
        how.kind = "aggregated";
        how.ranks_per_node = 1;
      }
      const auto io = make_transport(comm, reads.joined(), how, report);
      Between shrinks(*io, [&] {
        if (comm.is_root()) fs::resize_file(path_ / "data.3", 100);
        comm.barrier();
      });
      // Only rank 3 needs the bytes that are cut off.
      std::vector<double> got(static_cast<std::size_t>(rows * columns), -1);
      const auto code = [&](Rank of, ExtentIo& by) {
        reads.add(v, all_steps - 1, {{of * rows, 0}, {rows, columns}, {}},
                  reinterpret_cast<std::byte*>(got.data()));
        return code_of(attempt_to([&] { reads.perform(comm, by); }));
      };
      EXPECT_EQ(code(comm.rank(), shrinks), Errc::etrunc) << transport;
      EXPECT_EQ(code(std::min(comm.rank(), 2), *io), Errc::ok) << transport;
      EXPECT_EQ(got[1], expected(all_steps - 1, std::min(comm.rank(), 2) * rows, 1));
      io->close();
    });
    fs::remove_all(path_);
  }
}

// With small rows or blocks, a rank reads far more bytes than it needs: all the holes between them.
// A sample of the needed bytes would be so dense that all would seem shared. The file is one hole.
TEST_F(BpReaderRanks, small_pieces_of_ranks_own_blocks_are_not_taken_for_shared_ones) {
  constexpr int ranks = 4;
  constexpr Count height = 4096, width = 7500, side = 2048, apart = 60000;
  std::vector<bp::Block> high(ranks), many(ranks * side);
  for (std::size_t n = 0; n < high.size(); ++n) {
    high[n].at = {{ranks * height, width}, {static_cast<Count>(n) * height, 0}, {height, width}};
    high[n].bytes = 8 * height * width;
    high[n].payload = bp::head_bytes + static_cast<Offset>(n) * high[n].bytes;
  }
  for (std::size_t n = 0; n < many.size(); ++n) {
    many[n].at = {{ranks * side * 8}, {static_cast<Count>(n) * 8}, {8}};
    many[n].bytes = 64;
    many[n].payload = bp::head_bytes + static_cast<Offset>(n) * apart;
  }
  const bp::Type type = bp::Type::float64;
  bp::make_directory(path_, {{{{{"high", type}, high}, {{"many", type}, many}}, {}}}, {});
  fs::resize_file(path_ / "data.0", static_cast<std::uintmax_t>(high[3].payload + high[3].bytes));
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const BpReader file(comm, path_, report);
    PendingReads reads(file);
    ASSERT_GT(ranks * height * 8, 16 * 4096);
    class Nothing : public ExtentIo {
     public:
      void write_all(ExtentStream&) override {}
      void write(ExtentStream&) override {}
      void read(ExtentStream&) override {}
      void read_all(ExtentStream&) override {}
    } nothing;
    Between io(nothing, [] {});
    std::vector<double> got(side * 8);
    const auto sharing = [&](const char* name, const Subarray& box) {
      reads.add(file.find(name), 0, box, reinterpret_cast<std::byte*>(got.data()));
      reads.perform(comm, io);
      return io.told;
    };
    const Count rank = comm.rank();
    EXPECT_EQ(sharing("high", {{rank * height, 3}, {height, 1}, {}}), Sharing::apart);
    EXPECT_EQ(sharing("many", {{rank * side * 8}, {side * 8}, {}}), Sharing::apart);
    EXPECT_EQ(sharing("high", {{height, rank}, {height, 1}, {}}), Sharing::alike);
    EXPECT_EQ(sharing("many", {{0}, {side * 8}, {}}), Sharing::alike);
  });
}

TEST_F(BpReaderRanks, what_is_no_bp4_is_refused_on_all) {
  const auto code = [&] {
    std::vector<Errc> codes(3);
    run_as_threads(3, [&](const Comm& comm) {
      Report report;
      codes[static_cast<std::size_t>(comm.rank())] =
          code_of(attempt_to([&] { BpReader(comm, path_, report); }));
    });
    EXPECT_EQ(codes[0], codes[1]);
    EXPECT_EQ(codes[0], codes[2]);
    return codes[0];
  };
  EXPECT_EQ(code(), Errc::enoent);
  write({});
  write_file("mmd.0", "");
  EXPECT_EQ(code(), Errc::enotsupport);
  fs::remove(path_ / "mmd.0");
  EXPECT_EQ(code(), Errc::ok);
  std::string index = bytes_of("md.idx");
  index[bp::head_bp_version_at] = 3;
  write_file("md.idx", index);
  EXPECT_EQ(code(), Errc::enotsupport);
  write_file("md.idx", "");
  EXPECT_EQ(code(), Errc::ebad_file);
  write_file("md.idx", std::string(64, 'x'));
  EXPECT_EQ(code(), Errc::ebad_file);
}

// A torn record is not visible yet, and neither is one whose step is not in md.0.
TEST_F(BpReaderRanks, a_step_that_is_not_whole_is_none) {
  write({});
  const std::string index = bytes_of("md.idx"), metadata = bytes_of("md.0");
  write_file("md.idx", index + std::string(40, '\x7f'));
  write_file("md.0", metadata + std::string(1000, '\x7f'));
  Report report;
  EXPECT_EQ(BpReader(Comm(), path_, report).steps(), static_cast<std::size_t>(all_steps));
  // Bytes that were not synced, and one record twice.
  for (const std::string& more : {std::string(64, '\0'), index.substr(index.size() - 64)}) {
    write_file("md.idx", index + more);
    EXPECT_EQ(BpReader(Comm(), path_, report).steps(), static_cast<std::size_t>(all_steps));
  }
  write_file("md.idx", index);
  write_file("md.0", metadata.substr(0, metadata.size() - 1));
  EXPECT_EQ(BpReader(Comm(), path_, report).steps(), static_cast<std::size_t>(all_steps) - 1);
}

// Each byte of the index is changed in turn, or each fifth. The result is an error or values, but
// no crash, and never more memory than the file has bytes for.
TEST_F(BpReaderRanks, damage_is_an_error_or_shows_in_what_is_read) {
  ranks_write(2, path_, {}, [&](const Comm& comm, StepWriter& file) {
    write_step(comm, file, 1);
    file.end_step();
  });
  int refused = 0, read = 0;
  for (const char* name : {"md.idx", "md.0"}) {
    const std::string whole = bytes_of(name);
    for (std::size_t at = 0; at < whole.size();
         at = forebay_test::next_place<std::size_t>(at, 1, whole.size())) {
      const char by = "\xff\x01\x80"[at % 3];
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ by);
      write_file(name, bytes);
      Report report;
      const auto failed = attempt_to([&] {
        const BpReader file(Comm(), path_, report);
        for (std::size_t v = 0; v < file.variables().size(); ++v) {
          for (const std::uint32_t step : file.variables()[v].steps.numbers()) {
            const StoredArray& array = file.array(v, step);
            const Subarray box{std::vector<Count>(array.shape.size(), 0), array.shape, {}};
            Count elements = 1;
            bool few = true;
            for (const Count n : array.shape)
              few = few && !__builtin_mul_overflow(elements, n, &elements) && elements < 5000;
            std::vector<std::byte> values(few ? static_cast<std::size_t>(elements) * 16 : 0);
            if (file.variables()[v].variable.type == bp::Type::string)
              (void)file.text(v, step);
            else if (few)
              file.read(v, step, box, values.data());
            ++read;
          }
        }
      });
      if (!failed) continue;
      EXPECT_FALSE(failed->message().empty());
      EXPECT_NE(failed->code(), Errc::enomem) << name << " at " << at;
      EXPECT_NE(failed->code(), Errc::einternal) << name << " at " << at;
      ++refused;
    }
    write_file(name, whole);
  }
  EXPECT_GT(refused, forebay_test::few_of(300));
  EXPECT_GT(read, forebay_test::few_of(300));
}

}  // namespace bp_reader_ranks_test
}  // namespace forebay::process_group
