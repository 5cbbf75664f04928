// Counts the collective steps of a call: for small calls little else takes time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/decompositions.h"
#include "dataset/opening.h"
#include "method/parts_testing.h"
#include "storage/store_times.h"

namespace forebay {
namespace meetings_ranks_test {

constexpr int ranks = 4;
constexpr Count rows = 50;

/// Returns a request for `width` elements of each row on every rank.
Request column(VarId var, Rank rank, bool write, std::vector<std::int32_t>& values,
               Count height = rows, Count width = 1) {
  Request r;
  r.var = var;
  r.write = write;
  r.selection = Subarray{{0, rank * width}, {height, width}, {}};
  r.elements = height * width;
  values.resize(static_cast<std::size_t>(r.elements));
  r.memory.data = reinterpret_cast<std::byte*>(values.data());
  r.memory.type = Type::int32;
  return r;
}

struct Calls {
  int write = 0, read = 0;
};

/// Counts for the second write and the second read of a file; the first ones set up the topology.
Calls meetings(const char* ranks_per_node) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_" + ranks_per_node + ".nc";
  std::array<Calls, ranks> all;
  run_as_threads(ranks, [&](const Comm& comm) {
    const HintMap hints{{"ranks_per_node", ranks_per_node}, {"transport", "aggregated"}};
    auto ds = Dataset::create(comm, path, 5, false, hints);
    const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
    const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
    ds->enddef();
    int count = 0;
    comm.before_meetings([&] { ++count; });
    Calls& mine = all[static_cast<std::size_t>(comm.rank())];
    for (int time = 0; time < 2; ++time) {
      std::vector<std::int32_t> written(rows), found;
      std::iota(written.begin(), written.end(), 1000 * comm.rank() + time);
      std::vector<Request> one;
      one.push_back(column(var, comm.rank(), true, written));
      count = 0;
      ds->execute(one, true);
      mine.write = count;
      one.clear();
      one.push_back(column(var, comm.rank(), false, found));
      count = 0;
      ds->execute(one, true);
      mine.read = count;
      EXPECT_EQ(found, written);
    }
    comm.before_meetings({});
    ds->close();
  });
  std::filesystem::remove(path);
  for (const Calls& of_rank : all) {
    EXPECT_EQ(of_rank.write, all[0].write);
    EXPECT_EQ(of_rank.read, all[0].read);
  }
  return all[0];
}

// The ranks' requests are part of a reduction that the call needs anyway, and errors part of its
// end.
TEST(MeetingsOfACall, are_two_a_call_on_one_node) {
  const Calls calls = meetings("0");
  EXPECT_EQ(calls.write, 2);
  EXPECT_EQ(calls.read, 2);
}

// One more step tells which nodes have pieces in which window.
TEST(MeetingsOfACall, are_three_a_call_between_nodes) {
  for (const char* ranks_per_node : {"2", "3"}) {
    const Calls calls = meetings(ranks_per_node);
    EXPECT_EQ(calls.write, 3);
    EXPECT_EQ(calls.read, 3);
  }
}

/// Blocks of one row each, with `width` elements in pieces of `piece`.
class Blocks {
 public:
  static constexpr Count width = 64 << 10, piece = 1 << 10, pieces = width / piece;

  Blocks(const Comm& comm, Dataset& ds) : comm_(comm), ds_(ds) {}

  void write(int time) {
    std::vector<std::int32_t> values(width);
    std::iota(values.begin(), values.end(), first(time));
    execute(0, width, true, values);
  }
  /// Returns the number of collective steps of a read.
  int read(Count n, int time) {
    std::vector<std::int32_t> found(piece), values(piece);
    std::iota(values.begin(), values.end(), first(time) + static_cast<std::int32_t>(n * piece));
    int count = 0;
    comm_.before_meetings([&] { ++count; });
    execute(n * piece, piece, false, found);
    comm_.before_meetings({});
    EXPECT_EQ(found, values) << n;
    return count;
  }

 private:
  std::int32_t first(int time) const { return 10'000'000 * comm_.rank() + 1'000'000 * time; }
  void execute(Count from, Count elements, bool write, std::vector<std::int32_t>& values) {
    std::vector<Request> one(1);
    one[0].var = 0;
    one[0].write = write;
    one[0].selection = Subarray{{comm_.rank(), from}, {1, elements}, {}};
    one[0].elements = elements;
    one[0].memory.data = reinterpret_cast<std::byte*>(values.data());
    one[0].memory.type = Type::int32;
    ds_.execute(one, true);
  }

  const Comm& comm_;
  Dataset& ds_;
};

// This holds until somebody writes: by another object, on one rank only, or elsewhere.
TEST(MeetingsOfACall, are_one_where_all_ranks_have_read_ahead) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_ahead.nc";
  for (const char* ranks_per_node : {"0", "2"})
    run_as_threads(ranks, [&](const Comm& comm) {
      const HintMap hints{{"ranks_per_node", ranks_per_node}};
      auto ds = Dataset::create(comm, path, 5, false, hints);
      ds->def_var("v", Type::int32,
                  std::array{ds->def_dim("y", ranks), ds->def_dim("x", Blocks::width)});
      ds->enddef();
      Blocks written(comm, *ds);
      written.write(0);
      ds->sync();
      auto again = Dataset::open(comm, path, false, hints);
      Blocks old(comm, *again);
      int met = 0;
      for (Count n = 0; n < Blocks::pieces; ++n) met += old.read(n, 0);
      EXPECT_LE(met, Blocks::pieces + Blocks::pieces / 4);
      const std::int64_t calls = again->report().counters[static_cast<int>(Counter::read_calls)];
      EXPECT_LE(calls, Blocks::pieces / 4);
      for (int time = 1; time < 4; ++time)
        for (Count n = 0; n < Blocks::pieces; ++n) {
          const bool is_new = n >= Blocks::pieces / 2 + time;
          if (n == Blocks::pieces / 2 + time) written.write(time);
          old.read(n, is_new ? time : time - 1);
        }
      again->close();
      ds->close();
    });
  std::filesystem::remove(path);
}

// This process does not see the other program's writes: sync() makes ranks read again.
TEST(MeetingsOfACall, read_what_another_program_has_written_behind_a_sync) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_another.nc";
  run_as_threads(ranks, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, {});
    ds->def_var("v", Type::int32,
                std::array{ds->def_dim("y", ranks), ds->def_dim("x", Blocks::width)});
    ds->enddef();
    Blocks(comm, *ds).write(0);
    ds->close();
    for (const bool writable : {false, true}) {
      ds = Dataset::open(comm, path, writable, {});
      Blocks blocks(comm, *ds);
      for (Count n = 0; n < 12; ++n) blocks.read(n, 0);
      const Offset begin = ds->schema().vars[0].begin;
      comm.barrier();
      if (comm.is_root()) {  // all ranks' element 13 pieces on, big-endian
        std::fstream other(path, std::ios::in | std::ios::out | std::ios::binary);
        for (int rank = 0; rank < ranks; ++rank) {
          other.seekp(begin + 4 * (rank * Blocks::width + 13 * Blocks::piece));
          other.write("\0\0\0\7", 4);
        }
      }
      comm.barrier();
      ds->sync();
      std::vector<std::int32_t> found(1);
      std::vector<Request> one(1);
      one[0].var = 0;
      one[0].selection = Subarray{{comm.rank(), 13 * Blocks::piece}, {1, 1}, {}};
      one[0].elements = 1;
      one[0].memory.data = reinterpret_cast<std::byte*>(found.data());
      one[0].memory.type = Type::int32;
      ds->execute(one, true);
      EXPECT_EQ(found[0], 7);
      comm.barrier();
      ds->close();
      ds = Dataset::open(comm, path, true, {});
      Blocks(comm, *ds).write(0);
      ds->close();
    }
  });
  std::filesystem::remove(path);
}

// Each rank decides whether it writes, reads or does nothing. Read-ahead helps if all ranks do the
// same.
TEST(MeetingsOfACall, carry_out_what_ranks_ask_for_each) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_mixed.nc";
  for (const char* transport : {"auto", "aggregated", "posix"})
    for (const char* ranks_per_node : {"0", "2"})
      run_as_threads(ranks, [&](const Comm& comm) {
        const HintMap hints{{"ranks_per_node", ranks_per_node}, {"transport", transport}};
        auto ds = Dataset::create(comm, path, 5, false, hints);
        const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
        const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
        ds->def_var("between", Type::byte, std::array{ds->def_dim("many", 4 << 20)});
        const VarId far = ds->def_var("w", Type::int32, std::array{y, x});
        ds->enddef();
        const auto written_by = [](Rank rank, int time) {
          std::vector<std::int32_t> values(rows);
          std::iota(values.begin(), values.end(), 1000 * rank + 100 * time);
          return values;
        };
        std::array<int, ranks> latest{};
        // Bits of the ranks that write, and of those that read the column of the rank below.
        const unsigned all = 15;
        const std::pair<unsigned, unsigned> operations[] = {
            {all, 0}, {5, 10}, {0, 8}, {2, 0}, {0, 0}, {1, 4}, {0, all}, {8, all}, {all, all}};
        int time = 0;
        for (const auto& [writers, readers] : operations) {
          ++time;
          const Rank me = comm.rank(), other = (me + ranks - 1) % ranks;
          std::vector<Request> mine;
          std::vector<std::int32_t> written, found;
          for (Rank r = 0; r < ranks; ++r)
            if (writers >> r & 1) latest[static_cast<std::size_t>(r)] = time;
          if (writers >> me & 1) {
            written = written_by(me, time);
            mine.push_back(column(var, me, true, written));
          }
          if (readers >> me & 1) mine.push_back(column(var, other, false, found));
          ds->execute(mine, true);
          if (readers >> me & 1)
            EXPECT_EQ(found, written_by(other, latest[static_cast<std::size_t>(other)]))
                << transport << ' ' << ranks_per_node << ' ' << time;
        }
        // Reads another part of the file than it writes.
        std::vector<std::int32_t> written = written_by(comm.rank(), ++time), found;
        std::vector<Request> mine;
        mine.push_back(column(far, comm.rank(), true, written));
        ds->execute(mine, true);
        mine.clear();
        mine.push_back(column(var, comm.rank(), true, written));
        mine.push_back(column(far, comm.rank(), false, found));
        ds->execute(mine, true);
        EXPECT_EQ(found, written);
        ds->close();
      });
  std::filesystem::remove(path);
}

struct OfAFile {
  int create = 0, enddef = 0, close = 0, open = 0, close_old = 0;
};

/// Counts the collective steps of a rank's actions.
class CountedMeetings {
 public:
  explicit CountedMeetings(const Comm& comm) : comm_(comm) {
    comm_.before_meetings([this] { ++count_; });
  }
  ~CountedMeetings() { comm_.before_meetings({}); }
  CountedMeetings(const CountedMeetings&) = delete;
  CountedMeetings& operator=(const CountedMeetings&) = delete;

  void operator()(int& meetings, auto&& f) {
    count_ = 0;
    f();
    meetings = count_;
  }

 private:
  const Comm& comm_;
  int count_ = 0;
};

/// Acts as a front end whose ranks have just synchronised.
OfAFile meetings_of_a_file(const HintMap& hints) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_of_a_file.nc";
  std::array<OfAFile, ranks> all;
  run_as_threads(ranks, [&](const Comm& comm) {
    OfAFile& mine = all[static_cast<std::size_t>(comm.rank())];
    CountedMeetings in(comm);
    std::unique_ptr<Dataset> ds;
    const PriorMeeting met;
    in(mine.create, [&] { ds = Dataset::create(comm, path, 5, false, hints, false, &met); });
    ds->def_var("v", Type::int32, std::array{ds->def_dim("t", 0), ds->def_dim("x", ranks)});
    in(mine.enddef, [&] { ds->enddef(); });
    std::vector<std::int32_t> written, found;
    std::vector<Request> one;
    one.push_back(column(0, comm.rank(), true, written));
    one.back().last_record = rows;
    ds->execute(one, true);
    in(mine.close, [&] { ds->close(); });
    in(mine.open, [&] { ds = Dataset::open(comm, path, true, hints, &met); });
    EXPECT_EQ(ds->schema().numrecs, rows);
    in(mine.close_old, [&] { ds->close(); });
  });
  std::filesystem::remove(path);
  for (const OfAFile& of_rank : all) {
    EXPECT_EQ(of_rank.create, all[0].create);
    EXPECT_EQ(of_rank.enddef, all[0].enddef);
    EXPECT_EQ(of_rank.close, all[0].close);
  }
  return all[0];
}

// The steps agree on the method, on the file, on equal and written definitions, and on the end.
TEST(MeetingsOfAFile, are_four_without_its_data) {
  for (const char* stage : {"auto", "direct"}) {
    const OfAFile file = meetings_of_a_file({{"stage", stage}, {"ranks_per_node", "2"}});
    EXPECT_EQ(file.create, 2);
    EXPECT_EQ(file.enddef, 1);
    EXPECT_EQ(file.close, 1);
    EXPECT_EQ(file.close_old, 1);
  }
}

/// Counts for the second file of ranks that share a data file, with a classic variable beside the
/// decomposed ones. The steps of the group alone are left out.
OfAFile meetings_of_a_decomposed_file(bool by_map, int& write) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_decomposed.nc";
  constexpr Count each = 64, all_of_them = ranks * each;
  std::array<OfAFile, ranks> all;
  std::array<int, ranks> writes{};
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto me = static_cast<std::size_t>(comm.rank());
    CountedMeetings in(comm);
    const PriorMeeting met;
    for (int file = 0; file < 2; ++file) {
      std::unique_ptr<Dataset> ds;
      const HintMap hints{{"layout", "decomposed"}};
      in(all[me].create, [&] { ds = Dataset::create(comm, path, 5, false, hints, false, &met); });
      const DimId time = ds->def_dim("t", 0), x = ds->def_dim("x", all_of_them);
      if (by_map) {
        const Count start = comm.rank() * each, many = each;
        const Count* starts[] = {&start};
        const Count* counts[] = {&many};
        const int map =
            ds->def_decomposition(make_decomposition(*ds, std::array{x}, {1, starts, counts}));
        ds->def_var_by("v", Type::int32, std::array{time}, map);
      } else {
        ds->def_var("v", Type::int32, std::array{time, x});
      }
      ds->def_var("w", Type::int32, std::array{time, ds->def_dim("y", ranks)});
      in(all[me].enddef, [&] { ds->enddef(); });
      std::vector<std::int32_t> values, found, of_classic;
      std::vector<Request> both;
      both.push_back(column(0, comm.rank(), true, values, 1, each));
      both.push_back(column(1, comm.rank(), true, of_classic, 1));
      std::iota(values.begin(), values.end(), comm.rank() * each);
      for (Request& r : both) r.last_record = 1;
      in(writes[me], [&] { ds->execute(both, true); });
      in(all[me].close, [&] { ds->close(); });
      ds = Dataset::open(comm, path, false, {});
      EXPECT_EQ(ds->schema().numrecs, 1);
      std::vector<Request> one;
      one.push_back(column(0, (comm.rank() + 1) % ranks, false, found, 1, each));
      ds->execute(one, true);
      EXPECT_EQ(found[3], (comm.rank() + 1) % ranks * each + 3);
      ds->close();
    }
  });
  std::filesystem::remove_all(path + ".subfiles");
  std::filesystem::remove(path);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(all[rank].enddef, all[0].enddef);
    EXPECT_EQ(all[rank].close, all[0].close);
    EXPECT_EQ(writes[rank], writes[0]);
  }
  write = writes[0];
  return all[0];
}

// The steps agree on: equal definitions; the data files; if there are maps, which of them are
// known, their commit and its state; the header. A commit adds two steps to a write. Before the end
// all ranks say that nothing is left to do.
TEST(MeetingsOfAFile, are_few_with_decomposed_variables) {
  if (!is_built("layout=decomposed")) GTEST_SKIP() << "it is of a wing";
  int write = 0;
  OfAFile file = meetings_of_a_decomposed_file(false, write);
  EXPECT_EQ(file.enddef, 3);
  EXPECT_EQ(write, 8);
  EXPECT_EQ(file.close, 2);
  file = meetings_of_a_decomposed_file(true, write);
  EXPECT_EQ(file.enddef, 6);
  EXPECT_EQ(write, 8);
  EXPECT_EQ(file.close, 2);
}

// Counted by the system: a read of 0.5 ms costs as much as a collective step between nodes.
TEST(MeetingsOfAFile, find_its_definitions_in_one_read) {
  const auto reads = [] {
    std::ifstream counts("/proc/thread-self/io");
    for (std::string word; counts >> word;)
      if (std::int64_t n = 0; word == "syscr:" && counts >> n) return n;
    return std::int64_t{-1};
  };
  if (reads() < 0) GTEST_SKIP() << "the system does not count reads";
  const std::string folder = ::testing::TempDir() + "/forebay_reads_of_a_file";
  run_as_threads(1, [&](const Comm& comm) {
    for (const char* container : {"classic", "directory"}) {
      auto ds = Dataset::create(comm, folder, 5, false, {{"container", container}});
      ds->def_dim("x", ranks);
      ds->enddef();
      ds->close();
      const std::int64_t first = reads(), of_looking = reads() - first;
      const auto before = reads();
      ds = Dataset::open(comm, folder, false, {});
      // One more tells a file from a netCDF-4 file.
      const bool looks =
          container == std::string("classic") && find_part<ContainerEntry>("netcdf4") != nullptr;
      EXPECT_EQ(reads() - before - of_looking, looks ? 2 : 1) << container;
      EXPECT_EQ(ds->schema().dims.size(), 1u);
      ds->close();
    }
  });
  std::filesystem::remove_all(folder);
}

// The first file of a folder finds out that all ranks name the folder alike; later files reuse
// that.
TEST(MeetingsOfAFile, are_no_more_for_what_was_found_out_about_the_folder) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_ways";
  constexpr Count width = 256, many = 1024;  // pieces of a kilobyte, a megabyte per rank
  run_as_threads(ranks, [&](const Comm& comm) {
    for (int file = 0; file < 2; ++file) {
      const std::string name = path + std::to_string(file) + ".nc";
      auto ds = Dataset::create(comm, name, 5, false, {{"ranks_per_node", "2"}});
      const DimId y = ds->def_dim("y", many), x = ds->def_dim("x", ranks * width);
      ds->def_var("v", Type::int32, std::array{y, x});
      ds->enddef();
      std::vector<std::int32_t> values(static_cast<std::size_t>(many * width), comm.rank());
      for (int time = 0; time < (file == 0 ? 8 : 1); ++time) {
        int count = 0;
        comm.before_meetings([&] { ++count; });
        std::vector<Request> one;
        one.push_back(column(0, comm.rank(), true, values, many, width));
        ds->execute(one, true);
        comm.before_meetings({});
        const auto& counters = ds->report().counters;
        const bool windows = counters[static_cast<int>(Counter::windows)] > 0;
        const auto sent = counters[static_cast<int>(Counter::messages)];
        const bool between = comm.all_reduce(std::int64_t{sent}, Reduce::max) > 0;
        // One step for slots; steps within a node do not count.
        if (file == 1) EXPECT_EQ(count, between ? 4 : windows ? 3 : 2);
      }
      ds->close();
    }
  });
  for (const char* file : {"0", "1"}) std::filesystem::remove(path + file + ".nc");
}

// All ranks get the error, before anything is made.
TEST(MeetingsOfAFile, tell_of_arguments_that_are_wrong_on_one_rank) {
  const std::string path = ::testing::TempDir() + "/forebay_wrong_on_one_rank.nc";
  std::filesystem::remove(path);
  run_as_threads(ranks, [&](const Comm& comm) {
    PriorMeeting met;
    if (comm.rank() == 2) met.failed = Error(Errc::enfile, "too many files");
    const auto failed = attempt_to([&] { Dataset::create(comm, path, 5, false, {}, false, &met); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enfile);
    EXPECT_FALSE(std::filesystem::exists(path));
    comm.barrier();
    const auto ds = Dataset::create(comm, path, 5, false, {}, false);
    ds->close();
  });
  std::filesystem::remove(path);
}

// Rank 0 finds the disk full when it writes the header, before ranks synchronise.
TEST(MeetingsOfAFile, tell_of_a_header_that_cannot_be_written) {
  const std::string path = ::testing::TempDir() + "/forebay_full";
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/full", path);
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto ds = Dataset::create(comm, path, 5, false, {});
    ds->def_dim("x", 4);
    for (int time = 0; time < 2; ++time) {
      const auto failed = attempt_to([&] { ds->enddef(); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
      EXPECT_TRUE(ds->in_define_mode());
    }
    ds->abort();
  });
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

// Rank 0's definitions count, even if other ranks' definitions cannot be placed or need more than a
// header.
TEST(MeetingsOfAFile, give_all_ranks_the_definitions_of_the_first) {
  const std::string path = ::testing::TempDir() + "/forebay_definitions_of_the_first.nc";
  enum Kind { plain, more, too_large, chunked, filled, aligned, aligned_filled, aligned_later };
  for (const bool chunks : {false, true})
    for (const Kind kind :
         {plain, more, too_large, chunked, filled, aligned, aligned_filled, aligned_later})
      run_as_threads(ranks, [&](const Comm& comm) {
        auto ds = Dataset::create(comm, path, 2, false, {{"ranks_per_node", "2"}});
        if (kind == aligned_filled) ds->set_fill(true);
        const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
        const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
        if (chunks) ds->set_chunk(var, std::array<Count, 2>{7, 2});
        EnddefArguments arguments;
        if (kind == aligned_later) ds->enddef();
        if (kind == aligned_later) ds->redef();
        if (comm.rank() == 2) arguments.v_align = 4096;
        if (comm.rank() == 2 && kind < aligned) {
          if (kind == more) ds->def_dim("z", 3);
          const DimId large = ds->def_dim("large", Count{1} << 31);
          if (kind == too_large) ds->def_var("a", Type::float64, std::array{y, large});
          if (kind == too_large) ds->def_var("b", Type::float64, std::array{y, large});
          if (kind == chunked) ds->set_chunk(var, std::array<Count, 2>{1, 1});
          if (kind == filled) ds->def_var_fill(var, false, nullptr);
        }
        ds->enddef(arguments);
        EXPECT_EQ(ds->schema().dims.size(), 2u);
        EXPECT_EQ(ds->schema().vars.size(), 1u);
        EXPECT_EQ(ds->schema().vars[0].begin,
                  comm.all_reduce(ds->schema().vars[0].begin, Reduce::min));
        std::vector<std::int32_t> written(rows), found;
        std::iota(written.begin(), written.end(), 1000 * comm.rank());
        std::vector<Request> one;
        one.push_back(column(var, comm.rank(), true, written));
        ds->execute(one, true);
        ds->close();
        ds = Dataset::open(comm, path, false, {});
        one.clear();
        one.push_back(column(var, (comm.rank() + 1) % ranks, false, found));
        ds->execute(one, true);
        EXPECT_EQ(found[3], 1000 * ((comm.rank() + 1) % ranks) + 3);
        ds->close();
      });
  std::filesystem::remove(path);
}

// If rank 0's definitions cannot be placed, all ranks get the error.
TEST(MeetingsOfAFile, tell_of_definitions_that_the_first_cannot_place) {
  const std::string path = ::testing::TempDir() + "/forebay_first_cannot.nc";
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto ds = Dataset::create(comm, path, 1, false, {});
    const DimId x = ds->def_dim("x", 1 << 30);
    for (const char* name : {"a", "b", "c"})
      if (comm.is_root()) ds->def_var(name, Type::float64, std::array{x});
    const auto failed = attempt_to([&] { ds->enddef(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::evarsize);
    ds->abort();
    EXPECT_FALSE(std::filesystem::exists(path));
  });
}

// Before the end no rank knows what others wrote independently.
TEST(MeetingsOfAFile, bring_together_what_ranks_did_apart) {
  const std::string path = ::testing::TempDir() + "/forebay_apart.nc";
  run_as_threads(ranks, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, {});
    const VarId var =
        ds->def_var("v", Type::int32, std::array{ds->def_dim("t", 0), ds->def_dim("x", ranks)});
    ds->enddef();
    ds->close();
    ds = Dataset::open(comm, path, true, {});
    ds->begin_independent();
    if (comm.rank() == 2) {
      std::vector<std::int32_t> values;
      std::vector<Request> one;
      one.push_back(column(var, 1, true, values));
      one.back().last_record = rows;
      ds->execute(one, false);
    }
    const auto begin = static_cast<std::uintmax_t>(ds->schema().vars[0].begin);
    ds->close();
    comm.barrier();
    EXPECT_EQ(std::filesystem::file_size(path), begin + rows * ranks * 4);  // all columns
    ds = Dataset::open(comm, path, false, {});
    EXPECT_EQ(ds->schema().numrecs, rows);
    ds->close();
  });
  std::filesystem::remove(path);
}

// The transport is made before a file is, and learns how the folder's files are striped.
TEST(StripesOfANewFile, bound_its_windows) {
  const std::string folder = ::testing::TempDir() + "/forebay_striped";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/new.nc";
  constexpr Count width = 256, many = 2048, stripe = Count{4} << 20;
  const auto times = StoreTimes::of(path);
  for (const Count unit : {Count{0}, stripe}) {
    std::filesystem::remove(path);
    times->stripe_unit = unit;
    std::array<std::int64_t, ranks> windows{};
    run_as_threads(ranks, [&](const Comm& comm) {
      const HintMap hints{{"ranks_per_node", "2"},
                          {"transport", "aggregated"},
                          {"window_size", "256KiB"},
                          {"bundle_create", "later"}};
      auto ds = Dataset::create(comm, path, 5, false, hints, true);
      const DimId y = ds->def_dim("y", many), x = ds->def_dim("x", ranks * width);
      ds->def_var("v", Type::int32, std::array{y, x});
      ds->enddef();
      std::vector<std::int32_t> values;
      std::vector<Request> one;
      one.push_back(column(0, comm.rank(), true, values, many, width));
      ds->execute(one, true);
      windows[static_cast<std::size_t>(comm.rank())] =
          ds->report().counters[static_cast<int>(Counter::windows)];
      ds->close();
    });
    // 8 MiB after a header.
    const auto all = std::accumulate(windows.begin(), windows.end(), std::int64_t{0});
    if (unit == 0) EXPECT_GE(all, 32);
    if (unit != 0) EXPECT_LE(all, 3 * ranks);
  }
  std::filesystem::remove_all(folder);
}

// Ranks send their patterns to the leader of a group in one call or, if these are too large for all
// ranks, in messages. Without them nobody else finds the values.
TEST(PatternsOfACall, reach_the_leader_however_they_go) {
  if (!is_built("layout=decomposed")) GTEST_SKIP() << "it is of a wing";
  const std::string path = ::testing::TempDir() + "/forebay_patterns.nc";
  constexpr Count each = 64;
  for (const char* memory : {"64MiB", "4KiB"}) {
    // Rank 1 has nothing, and each other rank has more runs than the one before.
    const auto places = [](Rank rank) {
      std::vector<Count> mine;
      if (rank == 1) return mine;
      for (Count i = 0; i < 6 * (rank + 1); ++i) mine.push_back(rank * each + i * i % each);
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      return mine;
    };
    run_as_threads(ranks, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false,
                                {{"layout", "decomposed"}, {"buffer_limit", memory}});
      ds->def_var("v", Type::int32, std::array{ds->def_dim("x", ranks * each)});
      ds->enddef();
      const auto mine = places(comm.rank());
      std::vector<std::int32_t> values(mine.begin(), mine.end());
      std::vector<forebay::Run> runs;
      for (const Count place : mine) runs.push_back({4 * place, 4});
      std::vector<Request> one(1);
      one[0].var = 0;
      one[0].write = true;
      one[0].selection =
          Runs{std::make_shared<const RunList>(sorted_run_list(std::move(runs), {}, true))};
      one[0].elements = std::ssize(mine);
      one[0].memory.data = reinterpret_cast<std::byte*>(values.data());
      one[0].memory.type = Type::int32;
      ds->execute(one, true);
      ds->close();
    });
    auto ds = Dataset::open(Comm(), path, false, {});
    std::vector<std::int32_t> found(ranks * each);
    std::vector<Request> one(1);
    one[0].var = 0;
    one[0].selection = Subarray{{0}, {ranks * each}, {}};
    one[0].elements = ranks * each;
    one[0].memory.data = reinterpret_cast<std::byte*>(found.data());
    one[0].memory.type = Type::int32;
    ds->execute(one, true);
    for (Rank rank = 0; rank < ranks; ++rank)
      for (const Count place : places(rank))
        EXPECT_EQ(found[static_cast<std::size_t>(place)], place) << memory;
    ds->close();
    std::filesystem::remove_all(path + ".subfiles");
    std::filesystem::remove(path);
  }
}

// Not even a check for a newer commit.
TEST(ReadsOfNothing, read_nothing) {
  if (!is_built("layout=decomposed")) GTEST_SKIP() << "it is of a wing";
  const std::string path = ::testing::TempDir() + "/forebay_reads_of_nothing.nc";
  const Comm alone;
  std::vector<std::int32_t> values(rows, 7), found;
  std::vector<Request> one;
  {
    auto ds = Dataset::create(alone, path, 5, false, {{"layout", "decomposed"}});
    const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
    const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
    ds->enddef();
    one.push_back(column(var, 0, true, values));
    ds->execute(one, true);
    ds->close();
  }
  auto ds = Dataset::open(alone, path, false, {});
  const auto calls = [&](Count count) {
    one.clear();
    one.push_back(column(0, 0, false, found));
    std::get<Subarray>(one[0].selection).count[0] = one[0].elements = count;
    const std::int64_t before = ds->report().counters[static_cast<int>(Counter::read_calls)];
    ds->execute(one, true);
    return ds->report().counters[static_cast<int>(Counter::read_calls)] - before;
  };
  EXPECT_GT(calls(rows), 0);
  EXPECT_EQ(found, values);
  EXPECT_EQ(calls(0), 0);
  ds->close();
  std::filesystem::remove_all(path + ".subfiles");
  std::filesystem::remove(path);
}

}  // namespace meetings_ranks_test
}  // namespace forebay
