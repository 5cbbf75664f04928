// Groups under every method that netCDF files have: random programs whose values are known, written
// by ranks and read back as the file's owner would (docs/groups.md, "As netCDF").
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "dataset/group_file.h"
#include "method/method.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

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

Method method_of(const std::string& hints) {
  Method method;
  apply_hints(method, hints, "the test");
  return method;
}

/// All values of a variable, as one process reads them.
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

// A group with a bit of everything.
GroupDefinition everything(bool fortran) {
  GroupDefinition group = define_group("all", fortran ? "Fortran" : "C");
  const auto var = [&](GroupVariableText text) { define_variable(group, text); };
  var({.name = "n", .type = "int64"});
  var({.name = "time", .type = "double"});
  var({.name = "title", .type = "string"});
  var({.name = "made/by", .type = "string", .steps = "once"});
  var({.name = "box", .type = "double", .dimensions = "1,1", .global = "1,1", .offsets = "0,0"});
  var({.name = "mesh/grid",
       .type = "float",
       .dimensions = "1",
       .global = "1",
       .offsets = "0",
       .steps = "once"});
  var({.name = "late", .type = "double", .dimensions = "1", .global = "1", .offsets = "0"});
  var({.name = "z", .type = "double complex", .dimensions = "1", .global = "1", .offsets = "0"});
  var({.name = "joined", .type = "float", .dimensions = "1,1", .joined = fortran ? "1" : "0"});
  var({.name = "own", .type = "short", .dimensions = "1"});
  define_attribute(group, "box/units", "K", "");
  define_attribute(group, "mesh/grid/scale", "1, 2.5", "double");
  define_attribute(group, "by", "ranks", "");
  return group;
}

constexpr int steps = 6;
constexpr Count rows = 4, columns = 7;  // of a rank's part of box

double box_value(int step, Count row, Count column) {
  return 10000 * step + 100 * static_cast<double>(row) + static_cast<double>(column);
}
// Rank 1 of several has nothing; a step may lack `late`, and elements of `box`.
bool is_empty(const Comm& comm) { return comm.size() > 1 && comm.rank() == 1; }
bool has_late(int step) { return step == 2 || step == 4; }
bool has_hole(int step) { return step == 3; }

std::vector<std::int64_t> ordered(std::vector<std::int64_t> list, bool fortran) {
  if (fortran) std::reverse(list.begin(), list.end());
  return list;
}

void write_step(const Comm& comm, GroupFile& file, int step, bool fortran) {
  const Count size = comm.size(), rank = comm.rank();
  const std::int64_t n = 10 * step + rank;
  file.write("n", &n, false);
  const double time = 0.5 * step;
  if (rank == size - 1) file.write("time", &time, false);
  const std::string title = "step " + std::to_string(step);
  file.write("title", title.c_str(), step % 2 == 0);
  file.write("made/by", "a test", false);
  std::vector<std::vector<double>> kept;  // what was lent
  if (!is_empty(comm)) {
    // In two boxes, of which one is lent.
    const auto shape = ordered({size * rows, columns}, fortran);
    for (int half = 0; half < 2; ++half) {
      const Count first = half == 0 ? 0 : 3, many = half == 0 ? 3 : columns - 3;
      if (half == 1 && has_hole(step)) continue;
      std::vector<double> block;
      for (Count r = 0; r < rows; ++r)
        for (Count c = 0; c < many; ++c)
          block.push_back(box_value(step, rank * rows + r, first + c));
      const auto start = ordered({rank * rows, first}, fortran);
      const auto count = ordered({rows, many}, fortran);
      kept.push_back(block);
      file.write_box("box", {shape.data(), start.data(), count.data()}, kept.back().data(),
                     half == 0);
    }
    const std::int64_t all = size * 3, at = rank * 3, three = 3;
    const float grid[3] = {static_cast<float>(at), static_cast<float>(at + 1), -1};
    file.write_box("mesh/grid", {&all, &at, &three}, grid, false);
    std::vector<double> complex;
    for (int i = 0; i < 3; ++i) complex.insert(complex.end(), {time + double(at + i), -time});
    file.write_box("z", {&all, &at, &three}, complex.data(), false);
    if (has_late(step)) {
      const double late[3] = {time, time, time + double(at)};
      file.write_box("late", {&all, &at, &three}, late, false);
    }
    // rank + 1 rows, in one block and another of one row
    for (const Count many : {rank, Count{1}}) {
      std::vector<float> part;
      for (Count i = 0; i < 2 * many; ++i)
        part.push_back(static_cast<float>(1000 * rank + 10 * many + step));
      const auto count = ordered({many, 2}, fortran);
      file.write_box("joined", {nullptr, nullptr, count.data()}, part.data(), false);
    }
    const std::vector<std::int16_t> own(2, static_cast<std::int16_t>(100 * rank + step));
    const std::int64_t two = 2;
    file.write_box("own", {nullptr, nullptr, &two}, own.data(), false);
  }
  file.end_step();
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
      const double expected = 0.5 * step + (i % 3 == 2 ? double(i / 3 * 3) : 0);
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

TEST_F(GroupRecords, every_method_has_the_values) {
  const std::string small = ";buffer_limit=4k;window_size=4k";
  const std::vector<std::string> methods = {
      "layout=canonical" + small,
      "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=64" + small,
      "layout=decomposed" + small,
      "layout=canonical;container=directory" + small,
      "layout=canonical;stage=async;async_memory=4k" + small,
      "layout=chunked;codec=deflate:1;stage=async;chunk_bytes=64" + small,
      "layout=canonical;stage=burst;nc_burst_buf_dirname=" + folder_.string() + small,
      "layout=canonical;stage=memory" + small,
  };
  for (const int ranks : {1, 2, 3, 5}) {
    for (const bool fortran : {false, true}) {
      for (const std::string& hints : methods) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + (fortran ? "Fortran " : "C ") + hints);
        const std::string name = path("run.nc");
        run_as_threads(ranks, [&](const Comm& comm) {
          const GroupDefinition group = everything(fortran);
          // Ended in the middle, and gone on with.
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

}  // namespace
}  // namespace forebay
