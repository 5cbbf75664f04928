#include "decomposed/decomposed_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "decomposed/format/decomposed_schema.h"
#include "transport/direct_io.h"

namespace forebay::decomposed {
namespace decomposed_reader_test {

namespace fs = std::filesystem;

constexpr std::uint64_t id = 77;
constexpr Count columns = 8;

/// A data file of one rank, and variables of `columns` integers.
class ReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_ / "file";
    fs::create_directories(folder_of(path_));
    schema_.version = 5;
    schema_.add_dim({"x", columns});
    Variable var;
    var.type = Type::int32, var.dimids = {0}, var.layout = &decomposed_layout;
    for (const char* name : {"v", "w"}) {
      var.name = name;
      schema_.add_var(var);
    }
    file_ = std::make_shared<File>(data_path(path_, 0), true, 0, report_);
    file_->create(false);
    writer_ = std::make_unique<DataFileWriter>(file_, Front{id, 0});
    writer_->create();
    reader_ = std::make_unique<Reader>(schema_, path_, read_directly, ReaderOptions{}, 0, report_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Writes `value` to a run of columns, and then the root.
  void write(std::uint64_t epoch, Count first, Count count, std::int32_t value) {
    add(0, first, count, value);
    writer_->write(epoch);
  }
  void add(VarId var, Count first, Count count, std::int32_t value) {
    const auto what = make_selected(
        factored(std::vector{columns}, std::vector<forebay::Run>{{first, count}}), {});
    const DataFileWriter::MapMember member{0, what->key, count};
    const std::uint32_t map = writer_->number_of(std::span(&member, 1));
    writer_->give(what->key, packer_.pack(what->pattern));
    std::vector<std::byte> bytes(static_cast<std::size_t>(4 * count));
    for (Count i = 0; i < count; ++i) store_be(bytes.data() + 4 * i, value);
    const Offset at = writer_->allocate(4 * count);
    file_->write_at(at, bytes);
    writer_->add({var, 0, 0, map, at, 4 * count, 0});
  }
  void use(std::uint64_t epoch, std::uint64_t through, const RootSums& sums) {
    State state;
    state.id = id, state.epoch = epoch, state.through = through, state.files = 1;
    state.roots = sums;
    reader_->use(state);
  }
  std::vector<std::int32_t> read() { return std::move(read(std::vector<VarId>{0}).front()); }
  std::vector<std::vector<std::int32_t>> read(const std::vector<VarId>& vars) {
    return read(vars, std::vector(vars.size(), forebay::Run{0, columns}));
  }
  std::vector<std::vector<std::int32_t>> read(const std::vector<VarId>& vars,
                                              const std::vector<forebay::Run>& which) {
    std::vector<std::vector<std::int32_t>> values;
    for (const forebay::Run& run : which)
      values.emplace_back(static_cast<std::size_t>(run.length), -1);
    std::vector<Request> requests(vars.size());
    std::vector<Wanted> wanted;
    selector_.begin_operation();
    for (std::size_t i = 0; i < vars.size(); ++i) {
      Request& r = requests[i];
      r.var = vars[i];
      r.selection = Subarray{{which[i].offset}, {which[i].length}, {}};
      r.elements = which[i].length;
      r.packed = reinterpret_cast<std::byte*>(values[i].data());
      r.element_size = r.swap = 4;
      for (const Part& part : selector_.parts_of(r, schema_.vars[static_cast<std::size_t>(r.var)]))
        wanted.push_back({&r, part});
    }
    reader_->read(wanted);
    return values;
  }
  static std::vector<std::int32_t> filled(Count first, Count count, std::int32_t value) {
    std::vector<std::int32_t> values(columns, -2147483647);
    std::fill_n(values.begin() + first, count, value);
    return values;
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("forebay_reader_" + std::to_string(::getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string path_;
  Schema schema_;
  Report report_;
  std::shared_ptr<File> file_;
  logged::PatternPacker packer_;
  Selector selector_{1 << 20};
  std::unique_ptr<DataFileWriter> writer_;
  std::unique_ptr<Reader> reader_;
};

// Another map gets the same number.
TEST_F(ReaderTest, what_was_planned_for_a_commit_that_was_overruled_is_not_used) {
  write(1, 0, 4, 1);  // its state reaches the file, but the writer does not know
  RootSums sums = writer_->change();
  use(1, 1, sums);
  EXPECT_EQ(read(), filled(0, 4, 1));
  writer_->dropped();
  write(3, 2, 5, 3);
  sums = writer_->change();
  writer_->committed();
  use(3, 3, sums);
  EXPECT_EQ(read(), filled(2, 5, 3));
  EXPECT_EQ(reader_->plans_made(), 2);
  EXPECT_EQ(read(), filled(2, 5, 3));
  EXPECT_EQ(reader_->plans_made(), 2);
}

// The slabs of a single place need not fit.
TEST_F(ReaderTest, slabs_of_many_places_are_held_as_there_is_memory) {
  constexpr int slabs = 40;
  for (int n = 0; n < slabs; ++n) add(n % 2, n % columns, 1, n);
  writer_->write(1);
  std::vector<VarId> vars;
  std::vector<std::vector<std::int32_t>> wanted;
  for (VarId n = 0; n < 150; ++n) {
    vars.push_back(n % 2);
    std::vector<std::int32_t> values(columns, -2147483647);
    for (int of = 0; of < slabs; ++of)
      if (of % 2 == n % 2) values[static_cast<std::size_t>(of % columns)] = of;
    wanted.push_back(values);
  }
  for (const Count memory : {1 << 10, 64 << 10, 64 << 20}) {
    ReaderOptions options;
    options.index_memory = memory;
    reader_ = std::make_unique<Reader>(schema_, path_, read_directly, options, 0, report_);
    use(1, 1, writer_->change());
    EXPECT_EQ(read(vars), wanted);
    const Count one = columns / 2 * static_cast<Count>(sizeof(Slab));  // the newest of each map
    EXPECT_LE(reader_->most_slab_memory(), std::max(memory / 8, one));
    EXPECT_GE(reader_->most_slab_memory(), std::min(memory / 8 - one, 64 * one));
  }
}

// The order is arbitrary, and one variable is read twice. The file has the second variable first.
TEST_F(ReaderTest, where_calls_are_slow_slabs_that_are_neighbours_are_read_by_one) {
  add(1, 0, columns, 11);
  add(0, 1, 6, 10);
  writer_->write(1);
  use(1, 1, writer_->change());
  const std::vector<VarId> vars{0, 1, 0};
  const std::vector wanted{filled(1, 6, 10), filled(0, columns, 11), filled(1, 6, 10)};
  const auto calls = [&] {
    EXPECT_EQ(read(vars), wanted);  // this read also loads the index
    const std::int64_t before = report_[Counter::read_calls];
    EXPECT_EQ(read(vars), wanted);
    return report_[Counter::read_calls] - before;
  };
  EXPECT_EQ(calls(), 3);
  ReaderOptions slow;
  slow.in_bulk = true;
  reader_ = std::make_unique<Reader>(schema_, path_, read_directly, slow, 0, report_);
  use(1, 1, writer_->change());
  EXPECT_EQ(calls(), 1);
}

// All are in one slab, the later ones first.
TEST_F(ReaderTest, where_calls_are_slow_a_slab_that_several_read_is_read_by_one) {
  write(1, 0, columns, 11);
  ReaderOptions slow;
  slow.in_bulk = true;
  reader_ = std::make_unique<Reader>(schema_, path_, read_directly, slow, 0, report_);
  use(1, 1, writer_->change());
  const std::vector<forebay::Run> which{{columns - 1, 1}, {4, 2}, {0, 4}};
  const auto wanted = [](std::size_t n) { return std::vector<std::int32_t>(n, 11); };
  for (const std::int64_t calls : {-1, 1}) {  // the first reads the index
    const std::int64_t before = report_[Counter::read_calls];
    EXPECT_EQ(read({0, 0, 0}, which), (std::vector{wanted(1), wanted(2), wanted(4)}));
    if (calls > 0) EXPECT_EQ(report_[Counter::read_calls] - before, calls);
  }
}

// A read that could be one call is shared by several threads.
TEST_F(ReaderTest, where_calls_are_slow_much_is_read_by_several_threads) {
  add(1, 0, columns, 11);
  add(0, 1, 6, 10);
  writer_->write(1);
  ReaderOptions slow;
  slow.in_bulk = true, slow.thread_bytes = 24;
  static std::atomic<int> calls;
  const auto count = [](ByteFile& file, ExtentStream& extents, Count hole, Report& report) {
    ++calls;
    read_directly(file, extents, hole, report);
  };
  const std::vector wanted{filled(1, 6, 10), filled(0, columns, 11), filled(1, 6, 10)};
  for (const int threads : {2, 3}) {
    report_.timeline = std::make_shared<Timeline>(4096);
    slow.index_memory = Count{threads} * (4 << 20);
    reader_ = std::make_unique<Reader>(schema_, path_, count, slow, 0, report_);
    use(1, 1, writer_->change());
    calls = 0;
    EXPECT_EQ(read({0, 1, 0}), wanted);
    EXPECT_EQ(calls, threads);
    Count told = 0;
    for (const TimeSpan& span : report_.timeline->spans())
      if (span.step == Step::read) told += span.bytes;
    // A variable that one thread reads twice takes one call.
    EXPECT_EQ(told, 4 * (6 + columns + (threads == 3 ? 6 : 0)));
  }
  const auto fails = [](ByteFile&, ExtentStream& extents, Count, Report&) {
    if (extents.summary().bytes == 4 * columns) throw Error(Errc::eio, "the disk is broken");
  };
  reader_ = std::make_unique<Reader>(schema_, path_, fails, slow, 0, report_);
  use(1, 1, writer_->change());
  try {
    read({0, 1, 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "variable w: the disk is broken");
  }
}

// An error names the variables of the read, also of delayed reads.
TEST_F(ReaderTest, a_read_that_waited_and_fails_names_its_variables) {
  add(1, 0, columns, 11);
  add(0, 1, 6, 10);
  writer_->write(1);
  const auto message = [&](const std::vector<VarId>& vars, bool in_bulk) -> std::string {
    ReaderOptions options;
    options.in_bulk = in_bulk;
    const auto fails = [](ByteFile&, ExtentStream&, Count, Report&) {
      throw Error(Errc::eio, "the disk is broken");
    };
    reader_ = std::make_unique<Reader>(schema_, path_, fails, options, 0, report_);
    use(1, 1, writer_->change());
    try {
      read(vars);
    } catch (const Error& error) {
      return error.message();
    }
    return {};
  };
  EXPECT_EQ(message({0}, false), "variable v: the disk is broken");
  EXPECT_EQ(message({1}, false), "variable w: the disk is broken");
  EXPECT_EQ(message({0, 0}, true), "variable v: the disk is broken");
  EXPECT_EQ(message({0, 1}, true),
            "one of the variables from w to v, as they lie in the file: the disk is broken");
}

}  // namespace decomposed_reader_test
}  // namespace forebay::decomposed
