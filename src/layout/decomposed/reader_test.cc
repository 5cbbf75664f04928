#include "layout/decomposed/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "transport/direct_io.h"

namespace forebay::decomposed {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t id = 77;
constexpr Count columns = 8;

/// One data file of one rank, and a variable of `columns` integers.
class ReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_reader_" + std::to_string(::getpid()));
    fs::create_directories(folder_of(path_));
    schema_.version = 5;
    schema_.add_dim({"x", columns});
    Variable var;
    var.name = "v", var.type = Type::int32, var.dimids = {0}, var.decomposed = true;
    schema_.add_var(var);
    file_ = std::make_shared<File>(data_path(path_, 0), true, 0, report_);
    file_->create(false);
    writer_ = std::make_unique<DataFileWriter>(file_, Front{id, 0});
    writer_->create();
    reader_ = std::make_unique<Reader>(schema_, path_, read_directly, ReaderOptions{}, 0, report_);
  }
  void TearDown() override { fs::remove_all(folder_of(path_)); }

  /// Writes `value` to a run of columns, and leaves the root.
  void write(std::uint64_t epoch, Count first, Count count, std::int32_t value) {
    const auto what = make_selected(
        factored(std::vector{columns}, std::vector<forebay::Run>{{first, count}}), {});
    const DataFileWriter::MapMember member{0, what->key, count};
    const std::uint32_t map = writer_->number_of(std::span(&member, 1));
    writer_->give(what->key, packer_.pack(what->pattern));
    std::vector<std::byte> bytes(static_cast<std::size_t>(4 * count));
    for (Count i = 0; i < count; ++i) store_be(bytes.data() + 4 * i, value);
    const Offset at = writer_->allocate(4 * count);
    file_->write_at(at, bytes);
    writer_->add({0, 0, 0, map, at, 4 * count, 0});
    writer_->write(epoch);
  }
  void use(std::uint64_t epoch, std::uint64_t through, const RootSums& sums) {
    State state;
    state.id = id, state.epoch = epoch, state.through = through, state.files = 1;
    state.roots = sums;
    reader_->use(state);
  }
  std::vector<std::int32_t> read() {
    std::vector<std::int32_t> values(columns, -1);
    Request r;
    r.selection = Subarray{{0}, {columns}, {}};
    r.elements = columns;
    r.packed = reinterpret_cast<std::byte*>(values.data());
    r.element_size = r.swap = 4;
    selector_.begin_operation();
    reader_->read(r, selector_.parts_of(r, schema_.vars[0]));
    return values;
  }
  static std::vector<std::int32_t> filled(Count first, Count count, std::int32_t value) {
    std::vector<std::int32_t> values(columns, -2147483647);
    std::fill_n(values.begin() + first, count, value);
    return values;
  }

  std::string path_;
  Schema schema_;
  Report report_;
  std::shared_ptr<File> file_;
  logged::PatternPacker packer_;
  Selector selector_{1 << 20};
  std::unique_ptr<DataFileWriter> writer_;
  std::unique_ptr<Reader> reader_;
};

// The number of its map is given to another one.
TEST_F(ReaderTest, what_was_planned_for_a_commit_that_was_overruled_is_not_used) {
  write(1, 0, 4, 1);  // its state arrives, although nobody knows
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

}  // namespace
}  // namespace forebay::decomposed
