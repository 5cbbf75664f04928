// Groups under every method that netCDF files have: random programs with known values are written
// by ranks and read back as the file's owner would (docs/groups.md, "As netCDF").
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "groups/records/group_file.h"
#include "groups/records/group_program_testing.h"
#include "method/method.h"
#include "method/parts_testing.h"

namespace forebay {
namespace group_records_ranks_test {

namespace fs = std::filesystem;
using namespace group_program;  // NOLINT(google-build-using-namespace)

class GroupRecords : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_records_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

/// Returns all values of a variable, as one process reads them.
template <typename T>
std::vector<T> values_of(Dataset& file, const std::string& name) {
  const Schema& schema = file.schema();
  Request request;
  request.var = schema.find_var(name).value();
  const Variable& var = schema.vars[static_cast<std::size_t>(request.var)];
  Subarray all;
  for (std::size_t d = 0; d < var.shape.size(); ++d) {
    all.start.push_back(0);
    all.count.push_back(d == 0 && var.is_record ? schema.numrecs : var.shape[d]);
  }
  request.elements = all.elements();
  std::vector<T> values(static_cast<std::size_t>(request.elements));
  EXPECT_EQ(static_cast<std::size_t>(size_of(var.type)), sizeof(T)) << name;
  request.selection = std::move(all);
  request.memory.data = reinterpret_cast<std::byte*>(values.data());
  request.memory.type = var.type;
  file.execute(std::span(&request, 1), true);
  return values;
}

void check_records(Dataset& file, int ranks) {
  const Schema& schema = file.schema();
  ASSERT_EQ(schema.numrecs, steps);
  EXPECT_EQ(schema.dims[static_cast<std::size_t>(schema.record_dim().value())].name, "step");
  const auto n = values_of<std::int64_t>(file, "n");
  const auto time = values_of<double>(file, "time");
  const auto title = values_of<char>(file, "title");
  const auto box = values_of<double>(file, "box");
  const auto late = values_of<double>(file, "late");
  const auto z = values_of<double>(file, "z");
  const auto joined = values_of<float>(file, "joined");
  const auto own = values_of<std::int16_t>(file, "own");
  const auto counts = values_of<std::int64_t>(file, "joined_count");
  const auto grid = values_of<float>(file, "mesh.grid");
  ASSERT_EQ(grid.size(), static_cast<std::size_t>(3 * ranks));
  double fill = 0;
  default_fill(Type::float64, reinterpret_cast<std::byte*>(&fill));
  const auto empty = [&](Count rank) { return ranks > 1 && rank == 1; };
  std::size_t b = 0, l = 0, c = 0, j = 0, o = 0;
  for (int step = 0; step < steps; ++step) {
    const auto s = static_cast<std::size_t>(step);
    EXPECT_EQ(n[s], 10 * step);
    EXPECT_EQ(time[s], 0.5 * step);
    EXPECT_EQ(std::string(title.data() + 6 * s, 6), "step " + std::to_string(step));
    for (Count row = 0; row < ranks * rows; ++row)
      for (Count column = 0; column < columns; ++column, ++b) {
        const bool written = !empty(row / rows) && !(has_hole(step) && column >= 3);
        ASSERT_EQ(box[b], written ? box_value(step, row, column) : fill)
            << step << " " << row << " " << column;
      }
    for (Count i = 0; i < 3 * ranks; ++i, ++l) {
      const double expected = 0.5 * step + (i % 3 == 2 ? double(i - 2) : 0);
      ASSERT_EQ(late[l], has_late(step) && !empty(i / 3) ? expected : fill) << step << " " << i;
      ASSERT_EQ(z[c++], empty(i / 3) ? fill : 0.5 * step + double(i));
      ASSERT_EQ(z[c++], empty(i / 3) ? fill : -0.5 * step);
    }
    for (Count rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(counts[s * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)],
                empty(rank) ? 0 : rank + 1);
      if (empty(rank)) continue;
      for (Count i = 0; i < 2 * rank; ++i)
        ASSERT_EQ(joined[j++], static_cast<float>(1000 * rank + 10 * rank + step));
      for (Count i = 0; i < 2; ++i)
        ASSERT_EQ(joined[j++], static_cast<float>(1000 * rank + 10 + step));
      for (Count i = 0; i < 2; ++i) ASSERT_EQ(own[o++], 100 * rank + step);
    }
  }
  EXPECT_EQ(joined.size(), j);
  EXPECT_EQ(own.size(), o);
  const auto& variable = [&](const char* name) -> const Variable& {
    return schema.vars[static_cast<std::size_t>(schema.find_var(name).value())];
  };
  EXPECT_FALSE(variable("mesh.grid").is_record);
  EXPECT_TRUE(variable("mesh.grid").attributes.find("bp_name"));
  EXPECT_EQ(variable("mesh.grid")
                .attributes[variable("mesh.grid").attributes.find("scale").value()]
                .count,
            2);
  EXPECT_TRUE(variable("box").attributes.find("units"));
  EXPECT_TRUE(schema.attributes.find("by"));
  const auto by = values_of<char>(file, "made.by");
  EXPECT_EQ(std::string(by.data(), by.size()), "a test");
}

class EveryMethodOfRecords : public GroupRecords {
 protected:
  void check(const std::vector<std::string>& methods, const std::string& file_name,
             const std::vector<int>& all_ranks) const;
};

constexpr const char* small = ";buffer_limit=4k;window_size=4k";

TEST_F(EveryMethodOfRecords, has_the_values) {
  const std::vector<std::string> methods = {
      std::string("layout=canonical") + small,
      std::string("layout=chunked;codec=shuffle,zstd:3;chunk_bytes=64") + small,
      std::string("layout=decomposed") + small,
      std::string("layout=canonical;container=directory") + small,
      std::string("layout=canonical;stage=async;async_memory=4k") + small,
      std::string("layout=chunked;codec=deflate:1;stage=async;chunk_bytes=64") + small,
      std::string("layout=canonical;stage=burst;nc_burst_buf_dirname=") + folder_.string() + small,
      std::string("layout=canonical;stage=memory") + small,
  };
  check(methods, "run.nc", {1, 2, 3, 4, 7});
}

// The step is there for who opens the file once it has ended.
TEST_F(EveryMethodOfRecords, has_the_values_in_netcdf4_files) {
  const std::string name = path("shown.h5");
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "n", .type = "int64"});
  std::unique_ptr<GroupFile> file;
  const auto failed = attempt_to([&] { file = GroupFile::create(Comm(), name, group, {}, false); });
  if (failed && failed->code() == Errc::enotbuilt) GTEST_SKIP() << failed->what();
  ASSERT_FALSE(failed) << failed->what();
  for (std::int64_t n = 0; n < 5; ++n) {
    file->write("n", &n, false);
    file->end_step();
    const auto shown = Dataset::open(Comm(), name, false, {});
    EXPECT_EQ(shown->schema().numrecs, n + 1);
    EXPECT_EQ(values_of<std::int64_t>(*shown, "n").back(), n);
    shown->close();
  }
  file->close();
  check({std::string("buffer_limit=4k"), std::string("layout=canonical") + small,
         std::string("layout=chunked;codec=shuffle,deflate:1;chunk_bytes=64") + small,
         std::string("container=netcdf4;stage=async;async_memory=4k") + small,
         std::string("stage=memory") + small},
        "run.h5", {1, 4});
}

void EveryMethodOfRecords::check(const std::vector<std::string>& methods,
                                 const std::string& file_name,
                                 const std::vector<int>& all_ranks) const {
  for (const int ranks : all_ranks) {
    for (const bool fortran : {false, true}) {
      for (const std::string& hints : methods) {
        if (!is_built(hints)) continue;
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + (fortran ? "Fortran " : "C ") + hints);
        const std::string name = path(file_name);
        run_as_threads(ranks, [&](const Comm& comm) {
          const GroupDefinition group = everything(fortran);
          // The file is closed in the middle and appended to.
          for (const bool append : {false, true}) {
            const auto file = GroupFile::create(comm, name, group, method_of(hints), append);
            ASSERT_EQ(file->steps(), append ? 3U : 0U);
            const auto from = append ? 3 : 0;
            for (int step = from; step < from + 3; ++step) write_step(comm, *file, step, fortran);
            file->sync();
            file->close();
          }
        });
        const auto file = Dataset::open(Comm(), name, false, {});
        check_records(*file, ranks);
        file->close();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Defines a group of one array T(n), of which this rank has `mine` elements from `at` on, and a
// scalar that is written once.
GroupDefinition small_group() {
  GroupDefinition group = define_group("small", "");
  define_variable(group, {.name = "first", .type = "integer", .steps = "once"});
  define_variable(
      group, {.name = "T", .type = "integer", .dimensions = "1", .global = "1", .offsets = "0"});
  define_variable(group, {.name = "own", .type = "integer", .dimensions = "1"});
  define_variable(group, {.name = "text", .type = "string"});
  return group;
}

void write_T(GroupFile& file, std::int64_t n, std::int64_t at, std::vector<std::int32_t> values) {
  const auto mine = std::ssize(values);
  file.write_box("T", {&n, &at, &mine}, values.data(), false);
}

std::vector<std::int32_t> read_T(const std::string& path) {
  const auto file = Dataset::open(Comm(), path, false, {});
  auto values = values_of<std::int32_t>(*file, "T");
  file->close();
  return values;
}

Errc code_of(const std::function<void()>& f) {
  const auto failed = attempt_to(f);
  return failed ? failed->code() : Errc::ok;
}

constexpr std::int32_t no_int = -2147483647;

TEST_F(GroupRecords, variables_that_come_late_have_fill_values_before) {
  const std::string name = path("late.nc");
  run_as_threads(2, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, name, small_group(), method_of(""), false);
    file->sync();  // nothing yet
    const std::int32_t first = 4;
    file->write("first", &first, false);
    file->end_step();
    file->end_step();  // an empty step
    write_T(*file, 2, comm.rank(), {comm.rank() + 5});
    file->end_step();
    file->end_step();
    EXPECT_EQ(file->steps(), 4U);
    file->close();
  });
  const std::vector<std::int32_t> expected{no_int, no_int, no_int, no_int, 5, 6, no_int, no_int};
  EXPECT_EQ(read_T(name), expected);
}

TEST_F(GroupRecords, a_step_that_does_not_fit_is_refused_and_the_next_one_is_written) {
  const std::string name = path("fit.nc");
  run_as_threads(3, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, name, small_group(), method_of(""), false);
    const auto step = [&](std::int64_t n, const char* text, Count own) {
      write_T(*file, n, comm.rank(), {comm.rank() + 10 * static_cast<std::int32_t>(file->steps())});
      file->write("text", text, false);
      const std::vector<std::int32_t> many(static_cast<std::size_t>(own), 1);
      file->write_box("own", {nullptr, nullptr, &own}, many.data(), false);
      return code_of([&] { file->end_step(); });
    };
    EXPECT_EQ(step(3, "four", 2), Errc::ok);
    EXPECT_EQ(step(4, "four", 2), Errc::eedge);                         // another shape
    EXPECT_EQ(step(3, "five!", 2), Errc::eedge);                        // a longer text
    EXPECT_EQ(step(3, "two", comm.rank() == 1 ? 3 : 2), Errc::eedge);   // more in all
    EXPECT_EQ(step(comm.rank() == 1 ? 4 : 3, "two", 2), Errc::einval);  // ranks differ
    EXPECT_EQ(step(3, "two", comm.rank() + 1), Errc::ok);               // as much in all
    // One rank's error is its own, and the other ranks' step is whole.
    if (comm.rank() == 2) {
      const std::int64_t n = 3, at = 1, two = 2;
      const std::int64_t huge = std::int64_t{1} << 61;  // elements, and more than 2^63 bytes
      const std::int32_t values[2] = {7, 7};
      EXPECT_EQ(code_of([&] {
                  file->write_box("T", {&huge, &at, &two}, values, false);
                }),
                Errc::evarsize);
      EXPECT_EQ(code_of([&] { file->write_box("T", {&n, &at, &two}, values, false); }), Errc::ok);
      EXPECT_EQ(code_of([&] {
                  file->write_box("T", {&two, &at, &at}, values, false);
                }),
                Errc::einval);
      file->end_step();
    } else {
      file->end_step();
    }
    EXPECT_EQ(file->steps(), 3U);
    file->close();
  });
  const std::vector<std::int32_t> expected{0, 1, 2, 10, 11, 12, no_int, 7, 7};
  EXPECT_EQ(read_T(name), expected);
  const auto file = Dataset::open(Comm(), name, false, {});
  const auto text = values_of<char>(*file, "text");
  EXPECT_EQ(std::string(text.data(), 8), std::string("fourtwo\0", 8));
  const std::vector<std::int64_t> counts{2, 2, 2, 1, 2, 3, -1, -1, -1};
  const auto found = values_of<std::int64_t>(*file, "own_count");
  EXPECT_TRUE(std::equal(found.begin(), found.begin() + 6, counts.begin()));
  file->close();
}

TEST_F(GroupRecords, steps_have_files_of_their_own) {
  const std::string name = path("split.nc");
  const auto file_of = [&](int step) { return path("split.00000" + std::to_string(step) + ".nc"); };
  for (const int run : {0, 1}) {
    run_as_threads(3, [&](const Comm& comm) {
      const Method method = method_of("split=step;buffer_limit=4k");
      auto file = GroupFile::create(comm, name, small_group(), method, false);
      // Each step has one element more; rank 0 has the rest. The second run has fewer steps.
      const auto step = [&](bool fails) {
        const auto n = static_cast<std::int64_t>(file->steps()) + 3;
        std::vector<std::int32_t> values(comm.is_root() ? static_cast<std::size_t>(n - 2) : 1,
                                         static_cast<std::int32_t>(100 * run + n));
        write_T(*file, fails ? n + comm.rank() : n, comm.is_root() ? 0 : n - comm.rank(), values);
        return code_of([&] { file->end_step(); });
      };
      for (int s = 0; s < 5 - 2 * run; ++s) EXPECT_EQ(step(false), Errc::ok);
      EXPECT_EQ(step(true), Errc::einval);
      EXPECT_EQ(step(false), Errc::ok);
      EXPECT_EQ(step(true), Errc::einval);
      file->close();
      file = GroupFile::create(comm, name, small_group(), method, true);
      EXPECT_EQ(file->steps(), static_cast<std::uint64_t>(6 - 2 * run));
      EXPECT_EQ(step(false), Errc::ok);
      file->sync();
      file->close();
    });
    for (int s = 0; s < 7; ++s) {
      ASSERT_EQ(fs::exists(file_of(s)), s < 7 - 2 * run) << s;
      if (s >= 7 - 2 * run) continue;
      EXPECT_EQ(read_T(file_of(s)),
                std::vector<std::int32_t>(static_cast<std::size_t>(s + 3), 100 * run + s + 3));
    }
    EXPECT_FALSE(fs::exists(name));
    EXPECT_FALSE(fs::exists(file_of(7)));
  }
}

// If a step lacks several variables, each gets its own fill values, whatever their sizes.
TEST_F(GroupRecords, missing_variables_of_several_sizes) {
  const std::string name = path("missing.nc");
  GroupDefinition group = define_group("g", "");
  const std::vector<std::pair<std::string, Count>> sizes = {
      {"few", 3}, {"many", 400000}, {"some", 1000}, {"one", 1}};
  for (const auto& [var, size] : sizes)
    define_variable(
        group, {.name = var, .type = "integer", .dimensions = "1", .global = "1", .offsets = "0"});
  for (const int ranks : {1, 3}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = GroupFile::create(comm, name, group, method_of(""), false);
      for (int step = 0; step < 4; ++step) {
        for (const auto& [var, size] : sizes) {
          if (step % 3 != 0 || !comm.is_root()) continue;
          const std::vector<std::int32_t> values(static_cast<std::size_t>(size), step);
          const std::int64_t none = 0;
          file->write_box(var, {&size, &none, &size}, values.data(), false);
        }
        file->end_step();
      }
      file->close();
    });
    const auto file = Dataset::open(Comm(), name, false, {});
    for (const auto& [var, size] : sizes) {
      const auto values = values_of<std::int32_t>(*file, var);
      ASSERT_EQ(std::ssize(values), 4 * size);
      for (Count n = 0; n < 4 * size; ++n) {
        const auto step = static_cast<std::int32_t>(n / size);
        ASSERT_EQ(values[static_cast<std::size_t>(n)], step % 3 == 0 ? step : no_int) << var << n;
      }
    }
    file->close();
  }
}

// A refused step leaves nothing in the file, and the next one may use another shape.
TEST_F(GroupRecords, a_refused_step_leaves_no_definitions) {
  const std::string name = path("refused.nc");
  run_as_threads(3, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, name, small_group(), method_of(""), false);
    const auto own = [&](Count many) {
      const std::vector<std::int32_t> values(static_cast<std::size_t>(many), comm.rank());
      file->write_box("own", {nullptr, nullptr, &many}, values.data(), false);
    };
    write_T(*file, 3, comm.rank(), {1});
    file->end_step();
    write_T(*file, 4, comm.rank(), {1});
    own(2);
    EXPECT_EQ(code_of([&] { file->end_step(); }), Errc::eedge);
    write_T(*file, 3, comm.rank(), {2});
    own(1);
    EXPECT_EQ(code_of([&] { file->end_step(); }), Errc::ok);
    file->close();
  });
  EXPECT_EQ(read_T(name), (std::vector<std::int32_t>{1, 1, 1, 2, 2, 2}));
  const auto file = Dataset::open(Comm(), name, false, {});
  EXPECT_EQ(values_of<std::int32_t>(*file, "own"),
            (std::vector<std::int32_t>{no_int, no_int, no_int, 0, 1, 2}));
  file->close();
}

// If the file refuses a definition, it continues unchanged.
TEST_F(GroupRecords, definitions_that_fail_are_dropped_whole) {
  const std::string name = path("definitions.nc");
  GroupDefinition plain = define_group("g", ""), more;
  define_variable(
      plain, {.name = "T", .type = "integer", .dimensions = "1", .global = "1", .offsets = "0"});
  more = plain;
  define_variable(more, {.name = "own", .type = "integer", .dimensions = "1"});
  run_as_threads(2, [&](const Comm& comm) {
    for (const bool append : {false, true}) {
      const auto file = GroupFile::create(comm, name, append ? more : plain, method_of(""), append);
      write_T(*file, 2, comm.rank(), {4});
      file->end_step();
      for (int again = 0; append && again < 2; ++again) {
        const std::int64_t one = 1;
        const std::int32_t value = 5;
        file->write_box("own", {nullptr, nullptr, &one}, &value, false);
        // Its counts are of a type that a CDF-2 file does not have.
        EXPECT_NE(code_of([&] { file->end_step(); }), Errc::ok);
        write_T(*file, 2, comm.rank(), {6});
        EXPECT_EQ(code_of([&] { file->end_step(); }), Errc::ok);
      }
      file->close();
    }
  });
  EXPECT_EQ(read_T(name), (std::vector<std::int32_t>{4, 4, 4, 4, 6, 6, 6, 6}));
  const auto file = Dataset::open(Comm(), name, false, {});
  EXPECT_FALSE(file->schema().find_var("own"));
  file->close();
}

TEST_F(GroupRecords, going_on_with_a_file) {
  const std::string name = path("on.nc");
  GroupDefinition other = small_group();
  define_variable(other, {.name = "own2", .type = "integer", .dimensions = "1"});
  const auto write = [&](int ranks, const GroupDefinition& group, const std::string& to,
                         const char* mode, const std::vector<std::string>& own) {
    run_as_threads(ranks, [&](const Comm& comm) {
      std::unique_ptr<GroupFile> file;
      const auto code = code_of([&] {
        file = GroupFile::create(comm, to, group, method_of(""), *mode == 'a');
        write_T(*file, 2, 0,
                comm.is_root() ? std::vector<std::int32_t>{7, 8} : std::vector<std::int32_t>{});
        const std::int64_t one = 1;
        const std::int32_t value = comm.rank();
        for (const std::string& o : own)
          file->write_box(o, {nullptr, nullptr, &one}, &value, false);
        file->end_step();
      });
      EXPECT_EQ(code, std::string_view(mode).ends_with('!') ? Errc::einval : Errc::ok) << mode;
      if (file) file->close();
    });
  };
  write(2, small_group(), name, "w", {"own"});
  write(3, small_group(), name, "a!", {"own"});          // blocks of other ranks
  write(2, small_group(), "ufs:" + name, "a", {"own"});  // with a prefix of MPI-IO
  // Variables that this group lacks get fill values.
  GroupDefinition less = define_group("less", "");
  define_variable(
      less, {.name = "T", .type = "integer", .dimensions = "1", .global = "1", .offsets = "0"});
  write(3, less, name, "a", {});
  EXPECT_EQ(read_T(name), (std::vector<std::int32_t>{7, 8, 7, 8, 7, 8}));
  auto file = Dataset::open(Comm(), name, false, {});
  EXPECT_EQ(values_of<std::int32_t>(*file, "own"),
            (std::vector<std::int32_t>{0, 1, 0, 1, no_int, no_int}));
  file->close();
}

TEST_F(GroupRecords, files_of_steps_go_when_there_are_new_ones) {
  const std::string name = path("gone.nc");
  const auto file_of = [&](int step) { return path("gone.00000" + std::to_string(step) + ".nc"); };
  const auto write = [&](const std::string& to, const std::string& hints, int steps) {
    return code_of([&] {
      const auto file = GroupFile::create(Comm(), to, small_group(), method_of(hints), false);
      for (int s = 0; s < steps; ++s) {
        write_T(*file, 1, 0, {s});
        file->end_step();
      }
      file->close();
    });
  };
  EXPECT_EQ(write(name, "split=step", 5), Errc::ok);
  if (is_built("layout=log")) EXPECT_EQ(write(name, "split=step;layout=log", 1), Errc::enotsupport);
  for (int s = 0; s < 5; ++s) EXPECT_TRUE(fs::exists(file_of(s)));
  fs::remove(file_of(1));
  EXPECT_EQ(write("ufs:" + name, "split=step", 2), Errc::ok);
  for (int s = 0; s < 5; ++s) EXPECT_EQ(fs::exists(file_of(s)), s < 2) << s;
}

TEST_F(GroupRecords, what_it_is_written_as) {
  const auto create = [&](const GroupDefinition& group, const std::string& name,
                          const std::string& hints) {
    return code_of(
        [&] { GroupFile::create(Comm(), path(name), group, method_of(hints), false)->close(); });
  };
  const auto version_of = [&](const std::string& name) {
    const auto file = Dataset::open(Comm(), path(name), false, {});
    const int version = file->schema().version;
    file->close();
    return version;
  };
  GroupDefinition group = define_group("g", "");
  define_variable(group, {.name = "x/y", .type = "double"});
  EXPECT_EQ(create(group, "a.nc", ""), Errc::ok);
  EXPECT_EQ(version_of("a.nc"), 2);
  EXPECT_EQ(create(group, "a", ""), Errc::ok);
  EXPECT_TRUE(fs::is_directory(path("a")));  // process groups
  EXPECT_EQ(create(group, "b.bp", "layout=canonical"), Errc::ok);
  EXPECT_EQ(version_of("b.bp"), 2);
  EXPECT_EQ(create(group, "c.nc", "layout=null"), Errc::ok);
  EXPECT_FALSE(fs::exists(path("c.nc")));
  if (is_built("layout=log")) EXPECT_EQ(create(group, "c.nc", "layout=log"), Errc::enotsupport);
  EXPECT_FALSE(fs::exists(path("c.nc")));
  define_variable(group, {.name = "x.y", .type = "int64"});
  EXPECT_EQ(create(group, "d.nc", ""), Errc::enameinuse);
  group = define_group("g", "");
  define_variable(group, {.name = "n", .type = "int64"});
  EXPECT_EQ(create(group, "e.nc", ""), Errc::ok);
  EXPECT_EQ(version_of("e.nc"), 5);
}

}  // namespace group_records_ranks_test
}  // namespace forebay
