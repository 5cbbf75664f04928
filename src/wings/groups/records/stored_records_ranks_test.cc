// Groups written as netCDF, read by the functions that read BP files: one program's data is the
// same in each layout, on any number of ranks (docs/groups.md, "Reading").
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "dataset/fill_requests.h"
#include "groups/records/group_program_testing.h"
#include "groups/records/group_reader.h"
#include "method/parts_testing.h"

namespace forebay {
namespace stored_records_ranks_test {

namespace fs = std::filesystem;
using group_program::everything;
using group_program::is_empty;
using group_program::method_of;
using group_program::steps;

using Extents = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

Errc code_of(const std::function<void()>& f) {
  const auto failed = attempt_to(f);
  return failed ? failed->code() : Errc::ok;
}

std::int64_t product(const Extents& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{1}, std::multiplies<>());
}

class StoredRecordsRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_stored_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Writes the program's data by a method.
  void write(const std::string& name, int ranks, const std::string& hints, bool fortran) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file =
          GroupFile::create(comm, path(name), everything(fortran),
                            method_of(hints + ";buffer_limit=4k;window_size=4k"), false);
      for (int step = 0; step < steps; ++step)
        group_program::write_step(comm, *file, step, fortran);
      file->close();
    });
  }

  fs::path folder_;
};

Bytes read_box(const GroupReader& file, const std::string& name, int step, const Extents& start,
               const Extents& count) {
  Bytes values(static_cast<std::size_t>(product(count) * size_of(file.type(name))));
  file.read(name, step, start.data(), count.data(), values.data());
  return values;
}

std::set<std::string> names_of(const GroupReader& file) {
  std::set<std::string> names;
  for (int v = 0; v < file.variables(); ++v) names.insert(file.name(v));
  return names;
}

std::string text_of(const GroupReader& file, const std::string& name, int step) {
  std::string text(static_cast<std::size_t>(file.bytes(name, step)), 'x');
  file.read(name, step, nullptr, nullptr, text.data());
  return text;
}

/// Returns the blocks one after another, as they were written.
Bytes all_blocks(const GroupReader& file, const std::string& name, int step) {
  Bytes all;
  for (std::int64_t b = 0; b < file.blocks(name, step); ++b) {
    Extents start(8), count(8);
    file.block(name, step, b, start.data(), count.data());
    count.resize(static_cast<std::size_t>(file.dimensions(name)));
    Bytes block(static_cast<std::size_t>(product(count) * size_of(file.type(name))));
    file.read_block(name, step, b, block.data());
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

const std::set<std::string> by_ranks{"joined", "wide", "own"};

/// Compares all that two files say of a variable in a step that both have.
void expect_the_same(const GroupReader& bp, const GroupReader& records, const std::string& name,
                     int step) {
  SCOPED_TRACE(name + " in step " + std::to_string(step));
  double least = 0, greatest = 0;
  EXPECT_EQ(records.range(name, step, least, greatest),
            bp.range(name, step, least, greatest) == 0 ? 0 : -1);
  ASSERT_EQ(records.bytes(name, step), bp.bytes(name, step));
  if (bp.type(name) == GroupType::string) {
    EXPECT_EQ(text_of(records, name, step), text_of(bp, name, step));
    char text[64];
    for (const GroupReader* file : {&bp, &records})
      EXPECT_EQ(code_of([&] { file->read_block(name, step, 0, text); }), Errc::echar);
    return;
  }
  const Extents shape = bp.shape(name, step);
  ASSERT_EQ(records.shape(name, step), shape);
  // Elements that nobody wrote are fill values in one file, and an error in the other.
  for (std::int64_t b = 0; b < bp.blocks(name, step) && !by_ranks.contains(name); ++b) {
    Extents start(shape.size()), count(shape.size());
    bp.block(name, step, b, start.data(), count.data());
    EXPECT_EQ(read_box(records, name, step, start, count), read_box(bp, name, step, start, count));
  }
  EXPECT_EQ(records.blocks(name, step) == 1 || by_ranks.contains(name), true);
  if (!by_ranks.contains(name)) return;
  const Extents start(shape.size());
  EXPECT_EQ(read_box(records, name, step, start, shape), read_box(bp, name, step, start, shape));
  // The program writes two blocks of some variables, whereas records have one block per rank.
  EXPECT_EQ(all_blocks(records, name, step), all_blocks(bp, name, step));
}

void expect_blocks_of_ranks(const GroupReader& records, int writers) {
  for (const std::string& name : by_ranks) {
    ASSERT_EQ(records.blocks(name, 2), writers);
    for (int b = 0; b < writers; ++b) {
      Extents start(2, -1), count(2, -1);
      records.block(name, 2, b, start.data(), count.data());
      const bool none = writers > 1 && b == 1;
      const std::int64_t many = none ? 0 : b + 1;
      if (name == "joined") EXPECT_EQ(count, (Extents{many, 2}));
      if (name == "wide") EXPECT_EQ(count, (Extents{2, many}));
      if (name == "own") EXPECT_EQ(count[0], none ? 0 : 2);
      EXPECT_EQ(start[0], 0);
    }
    Extents start(2), count(2);
    EXPECT_EQ(code_of([&] { records.block(name, 2, writers, start.data(), count.data()); }),
              Errc::einvalcoords);
    EXPECT_EQ(code_of([&] { records.block(name, 2, -1, start.data(), count.data()); }),
              Errc::einvalcoords);
  }
}

/// Draws a box; sometimes it lies outside.
void draw_box(std::mt19937& random, const Extents& shape, Extents& start, Extents& count) {
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<unsigned>(to - from + 1));
  };
  start.clear(), count.clear();
  const bool wild = random() % 4 == 0;
  for (const std::int64_t extent : shape) {
    start.push_back(wild ? number(-1, extent + 1) : number(0, extent - 1));
    count.push_back(wild ? number(-1, extent + 1) : number(0, extent - start.back()));
  }
}

/// Each rank reads boxes of its own together with the others, and compares them with the BP file.
void expect_boxes(const GroupReader& bp, GroupReader& records, const Comm& comm, unsigned seed) {
  std::mt19937 random(seed + static_cast<unsigned>(comm.rank()));
  const auto names = names_of(bp);
  for (int round = 0; round < 3; ++round) {
    struct Noted {
      Bytes expected, alone, together;
      std::string name;
    };
    std::vector<Noted> noted(round == 1 && comm.rank() == comm.size() - 1 ? 0 : 12);
    for (Noted& one : noted) {
      one.name = *std::next(names.begin(), static_cast<std::ptrdiff_t>(random() % names.size()));
      const auto step = static_cast<int>(random() % (steps + 1));
      Extents shape, start, count;
      const Errc there = code_of([&] { shape = bp.shape(one.name, step); });
      if (there != Errc::ok) {
        if (one.name == "late" && step < steps) continue;
        EXPECT_EQ(code_of([&] { records.shape(one.name, step); }), there) << one.name << step;
        EXPECT_EQ(code_of([&] { records.read_later(one.name, step, nullptr, nullptr, &start); }),
                  there);
        continue;
      }
      draw_box(random, shape, start, count);
      std::int64_t room = std::max<std::int64_t>(size_of(bp.type(one.name)), 64);
      for (const std::int64_t n : count) room *= std::max<std::int64_t>(n, 1);
      for (Bytes* values : {&one.expected, &one.alone, &one.together})
        values->assign(static_cast<std::size_t>(room), std::byte{0xEE});
      const Errc code = code_of(
          [&] { bp.read(one.name, step, start.data(), count.data(), one.expected.data()); });
      const Errc mine = code_of(
          [&] { records.read(one.name, step, start.data(), count.data(), one.alone.data()); });
      EXPECT_EQ(mine, code == Errc::enodata ? Errc::ok : code) << one.name << " " << step;
      EXPECT_EQ(code_of([&] {
                  records.read_later(one.name, step, start.data(), count.data(),
                                     one.together.data());
                }),
                mine);
      if (code != Errc::ok) one.expected = one.alone;
    }
    records.perform_reads();
    for (const Noted& one : noted) {
      EXPECT_EQ(one.together, one.alone) << one.name;
      EXPECT_EQ(one.expected, one.alone) << one.name;
    }
  }
}

void expect_both_tell_the_same(const Comm& comm, const std::string& bp_path,
                               const std::string& records_path, int writers) {
  GroupReader bp(comm, bp_path, method_of("layout=canonical"));
  GroupReader records(comm, records_path, method_of("layout=process-group;buffer_limit=4k"));
  ASSERT_EQ(records.steps(), bp.steps());
  ASSERT_EQ(names_of(records), names_of(bp));
  for (const std::string& name : names_of(bp)) {
    EXPECT_EQ(records.type(name), bp.type(name)) << name;
    EXPECT_EQ(records.dimensions("/" + name), bp.dimensions(name)) << name;
    for (int step = 0; step < steps; ++step)
      if (code_of([&] { bp.shape(name, step); }) == Errc::ok)
        expect_the_same(bp, records, name, step);
  }
  expect_blocks_of_ranks(records, writers);
  expect_boxes(bp, records, comm, static_cast<unsigned>(100 * writers));
  EXPECT_EQ(code_of([&] { records.find("box > 3", 0, nullptr, nullptr); }), Errc::enotsupport);
  EXPECT_EQ(code_of([&] { records.shape("made.by", 0); }), Errc::enotvar);
  records.close();
  bp.close();
}

TEST_F(StoredRecordsRanks, what_a_program_wrote_is_the_same_in_every_layout) {
  const std::vector<std::string> methods = {
      "layout=canonical", "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=64", "layout=decomposed",
      "layout=canonical;container=directory"};
  for (const int writers : {1, 2, 3, 4})
    for (const bool fortran : {false, true}) {
      write("run.nc", writers, "layout=process-group", fortran);
      for (const std::string& hints : methods) {
        if (!is_built(hints)) continue;
        SCOPED_TRACE(std::to_string(writers) + (fortran ? " ranks, Fortran " : " ranks, C ") +
                     hints);
        // Names do not decide the format.
        fs::remove_all(path("run.bp"));
        write("run.bp", writers, hints, fortran);
        for (const int readers : {1, 2, 3, 4})
          run_as_threads(readers, [&](const Comm& comm) {
            expect_both_tell_the_same(comm, path("run.nc"), path("run.bp"), writers);
          });
        if (HasFailure()) return;
      }
    }
}

TEST_F(StoredRecordsRanks, fill_values_where_a_step_lacks_what_it_might_have) {
  GroupDefinition group = define_group("g", "");
  define_variable(
      group, {.name = "T", .type = "integer", .dimensions = "1", .global = "1", .offsets = "0"});
  define_variable(group, {.name = "own", .type = "integer", .dimensions = "1"});
  define_variable(group, {.name = "text", .type = "string"});
  run_as_threads(2, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, path("some.nc"), group, {}, false);
    for (int step = 0; step < 2; ++step) {
      const std::int64_t two = 2, none = 0, one = 1;
      const std::int32_t values[2] = {4, 5};
      if (step == 0 && comm.is_root()) file->write_box("T", {&two, &none, &two}, values, false);
      if (step == 1) file->write_box("own", {nullptr, nullptr, &one}, values, false);
      if (step == 0) file->write("text", "words", false);
      file->end_step();
    }
    file->close();
  });
  const GroupReader file(Comm(), path("some.nc"));
  EXPECT_EQ(file.steps(), 2);
  std::vector<std::int32_t> values(2);
  file.read("T", 1, nullptr, nullptr, values.data());
  EXPECT_EQ(values, std::vector<std::int32_t>(2, -2147483647));
  EXPECT_EQ(text_of(file, "text", 0), std::string("words\0", 6));
  EXPECT_EQ(text_of(file, "text", 1), std::string("\0", 1));
  // The ranks' parts of it are missing.
  EXPECT_EQ(code_of([&] { file.blocks("own", 0); }), Errc::einvalcoords);
  EXPECT_EQ(file.blocks("own", 1), 2);
}

/// A file without any names of groups. `f` defines variables and returns what to write.
struct Put {
  std::string name;
  std::int64_t record;
  Extents start, count;
  std::vector<std::int64_t> values;
};
void make(const std::string& path, const std::function<void(Dataset&)>& define,
          const std::vector<Put>& puts) {
  const auto file = Dataset::create(Comm(), path, 5, false, {});
  define(*file);
  file->enddef();
  for (const Put& put : puts) {
    Request request =
        put_request(*file, file->schema().find_var(put.name).value(), put.record, put.start,
                    put.count, reinterpret_cast<const std::byte*>(put.values.data()));
    file->execute(std::span(&request, 1), true);
  }
  file->close();
}

std::int32_t var(Dataset& file, const std::string& name, Type type,
                 const std::vector<std::string>& dims) {
  std::vector<DimId> ids;
  ids.reserve(dims.size());
  for (const std::string& dim : dims) ids.push_back(file.schema().find_dim(dim).value());
  return file.def_var(name, type, ids);
}

TEST_F(StoredRecordsRanks, files_of_other_programs) {
  make(path("other"),
       [](Dataset& file) {
         file.def_dim("time", 0);
         file.def_dim("x", 3);
         file.def_dim("complex", 2);
         file.def_dim("rank", 2);
         file.def_dim("len", 5);
         file.def_dim("string_1099511627776", Count{1} << 40);
         var(file, "T", Type::int64, {"time", "x"});
         var(file, "T_count", Type::int64, {"time", "rank"});
         var(file, "mask", Type::int64, {"x"});
         var(file, "pairs", Type::int64, {"x", "complex"});
         var(file, "title", Type::chr, {"len"});
         var(file, "endless", Type::chr, {"time", "string_1099511627776"});
         file.put_attribute(var(file, "a.b", Type::int32, {}), text_attribute("bp_name", "c/d"));
       },
       {{"T", 0, {0}, {3}, {1, 2, 3}},
        {"T", 1, {0}, {3}, {4, 5, 6}},
        {"mask", 0, {0}, {3}, {7, 8, 9}}});
  const GroupReader file(Comm(), path("other"));
  EXPECT_EQ(file.steps(), 2);
  EXPECT_EQ(names_of(file),
            (std::set<std::string>{"T", "T_count", "mask", "pairs", "title", "endless", "a.b"}));
  std::vector<std::int64_t> values(3);
  file.read("T", 1, nullptr, nullptr, values.data());
  EXPECT_EQ(values, (std::vector<std::int64_t>{4, 5, 6}));
  file.read_block("mask", 0, 0, values.data());
  EXPECT_EQ(values, (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(code_of([&] { file.shape("mask", 1); }), Errc::einvalcoords);
  EXPECT_EQ(code_of([&] { file.shape("T", 2); }), Errc::einvalcoords);
  EXPECT_EQ(file.dimensions("pairs"), 2);
  EXPECT_EQ(file.type("title"), GroupType::text);
  EXPECT_EQ(file.shape("title", 0), Extents{5});
  EXPECT_EQ(file.type("endless"), GroupType::text);  // it must not be read as a whole
}

TEST_F(StoredRecordsRanks, files_without_records) {
  const auto file_of = [&](bool fixed, bool record) {
    make(path("none"),
         [&](Dataset& file) {
           file.def_dim("time", 0);
           if (fixed) var(file, "a", Type::int32, {});
           if (record) var(file, "r", Type::int32, {"time"});
         },
         {});
    return GroupReader(Comm(), path("none"));
  };
  EXPECT_EQ(file_of(false, false).steps(), 0);
  EXPECT_EQ(file_of(false, true).steps(), 0);
  EXPECT_EQ(file_of(true, false).steps(), 1);
  const GroupReader both = file_of(true, true);
  EXPECT_EQ(both.steps(), 1);
  std::int32_t a = 0;
  EXPECT_EQ(code_of([&] { both.read("a", 0, nullptr, nullptr, &a); }), Errc::ok);
  EXPECT_EQ(code_of([&] { both.read("r", 0, nullptr, nullptr, &a); }), Errc::einvalcoords);
}

TEST_F(StoredRecordsRanks, counts_that_make_no_sense_are_refused) {
  for (const std::vector<std::int64_t>& counts :
       std::vector<std::vector<std::int64_t>>{{1, 2}, {4, -1}, {2, 2}, {0, 2}, {INT64_MAX, 2}}) {
    make(path("counts"),
         [](Dataset& file) {
           file.def_dim("x", 3);
           file.def_dim("rank", 2);
           var(file, "T", Type::int64, {"x"});
           file.put_attribute(
               var(file, "T_count", Type::int64, {"rank"}),
               text_attribute("long_name", "elements of each rank along dimension 0 of T"));
         },
         {{"T", 0, {0}, {3}, {1, 2, 3}}, {"T_count", 0, {0}, {2}, counts}});
    const GroupReader file(Comm(), path("counts"));
    EXPECT_EQ(file.variables(), 1);
    std::int64_t value = 0;
    EXPECT_EQ(code_of([&] { file.read_block("T", 0, 0, &value); }),
              counts[0] == 1 ? Errc::ok : Errc::ebad_file);
    std::vector<std::int64_t> values(3);
    file.read("T", 0, nullptr, nullptr, values.data());
    EXPECT_EQ(values, (std::vector<std::int64_t>{1, 2, 3}));
  }
}

TEST_F(StoredRecordsRanks, steps_in_files_of_their_own) {
  write("run.nc", 3, "layout=canonical;split=step", false);
  const auto failed = attempt_to([&] { GroupReader(Comm(), path("run.nc")); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enoent);
  EXPECT_NE(failed->advice().find("run.000000.nc"), std::string::npos) << failed->advice();
  run_as_threads(2, [&](const Comm& comm) {
    GroupReader file(comm, path("run.000004.nc"));
    EXPECT_EQ(file.steps(), 1);
    EXPECT_EQ(text_of(file, "title", 0), std::string("step 4\0", 7));
    EXPECT_EQ(file.blocks("joined", 0), 3);
    file.close();
  });
  EXPECT_EQ(code_of([&] { GroupReader(Comm(), path("nothing")); }), Errc::enoent);
}

// Flips a bit of a stored number, which occurs only once in the file.
void damage(const std::string& path, double number) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  char wanted[sizeof number];
  store_be(reinterpret_cast<std::byte*>(wanted), number);
  const std::size_t at = bytes.find(wanted, 0, sizeof wanted);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[at] ^ 1));
}

// Damaged data is an error on all ranks, even on those that did not ask for it; the next reads
// succeed.
TEST_F(StoredRecordsRanks, an_error_of_one_rank_is_one_on_all) {
  const std::string name = path("damaged.nc");
  write("damaged.nc", 4, "layout=chunked;chunk_bytes=64", false);
  damage(name, group_program::box_value(steps - 1, 0, 0));
  run_as_threads(3, [&](const Comm& comm) {
    GroupReader file(comm, name);
    const Bytes nothing(4 * 4 * 7 * 8);
    Bytes first(nothing), last(nothing);
    if (comm.rank() == 2) file.read_later("box", steps - 1, nullptr, nullptr, last.data());
    if (comm.rank() == 0) file.read_later("box", 0, nullptr, nullptr, first.data());
    EXPECT_NE(code_of([&] { file.perform_reads(); }), Errc::ok) << comm.rank();
    if (comm.rank() < 2) file.read_later("box", 0, nullptr, nullptr, first.data());
    EXPECT_EQ(code_of([&] { file.perform_reads(); }), Errc::ok) << comm.rank();
    EXPECT_EQ(comm.rank() == 2, first == nothing);
    file.close();
  });
}

TEST_F(StoredRecordsRanks, what_all_ranks_ask_for_is_read_once) {
  constexpr std::int64_t rows = 512, columns = 128;
  GroupDefinition group = define_group("g", "");
  define_variable(
      group,
      {.name = "T", .type = "double", .dimensions = "1,1", .global = "1,1", .offsets = "0,0"});
  for (const char* hints : {"layout=canonical", "layout=chunked;chunk_bytes=64k"}) {
    const std::string name = path("large.nc");
    const auto file = GroupFile::create(Comm(), name, group, method_of(hints), false);
    const Extents shape{rows, columns}, none{0, 0};
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    std::iota(values.begin(), values.end(), 0);
    file->write_box("T", {shape.data(), none.data(), shape.data()}, values.data(), false);
    file->end_step();
    file->close();
    for (const bool same : {true, false})
      run_as_threads(4, [&](const Comm& comm) {
        GroupReader reader(comm, name, method_of("transport=aggregated"));
        const auto so_far = [&] {
          Report report = reader.report();
          return comm.all_reduce(report[Counter::bytes_read], Reduce::sum);
        };
        const std::int64_t before = so_far();
        const Extents start{0, same ? 0 : comm.rank() * columns / 4},
            count{rows, same ? columns : columns / 4};
        std::vector<double> got(static_cast<std::size_t>(product(count)), -1);
        reader.read_later("T", 0, start.data(), count.data(), got.data());
        reader.perform_reads();
        EXPECT_EQ(got.back(), static_cast<double>((rows - 1) * columns + start[1] + count[1] - 1));
        EXPECT_LT(so_far() - before, rows * columns * 8 * 5 / 4) << hints << same;
        reader.close();
      });
  }
}

}  // namespace stored_records_ranks_test
}  // namespace forebay
