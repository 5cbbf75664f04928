#include "layout/chunked/unpack.h"

#include <gtest/gtest.h>

#include <array>

#include "base/byteorder.h"
#include "base/error.h"
#include "layout/chunked/chunk_store.h"

namespace forebay::chunked {
namespace unpack_test {

// T(100, 70) int32, in chunks of 80 × 70. Element i of the first chunk is i.
class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() {
    var_.name = "T";
    var_.type = Type::int32;
    var_.dimids = {0, 1};
    var_.shape = {100, 70};
    var_.inner_elements = 7000;
    var_.chunking = Chunking{{80, 70}, "shuffle,zstd:1", {}};
    coding_.emplace(make_coding(var_, "", 1));
    encode(0);
  }

  /// Element i is `first` + i.
  void encode(std::int32_t first) {
    std::vector<std::byte> raw(4 * 5600);
    for (std::size_t i = 0; i < 5600; ++i)
      store_be(raw.data() + 4 * i, first + static_cast<std::int32_t>(i));
    arena_.reset(1 << 20);
    StoredChunk stored;
    encode_chunk(*coding_, coding_->info(0), raw, arena_, false, slot_.workspace, {&stored, 1});
    bytes_ = stored.bytes;
    entry_.offset = 0;
    entry_.bytes = std::ssize(stored.bytes);
    entry_.hash = stored.hash;
    entry_.skipped = stored.skipped;
  }

  Part part(const Subarray& selection, const Target& target) {
    request_.selection = selection;
    request_.elements = selection.elements();
    return {ChunkPieces(coding_->grid, request_, 0, {}), target};
  }
  Chunk chunk() {
    part_ = {&entry_, bytes_};
    return {*coding_, var_.name, 0, {&part_, entry_.present() ? 1u : 0u}};
  }

  Variable var_;
  std::optional<VariableCoding> coding_;
  Arena arena_;
  TaskSlot slot_;
  std::span<const std::byte> bytes_;
  Entry entry_;
  StoredPart part_;
  Request request_;
};

TEST_F(UnpackTest, a_whole_chunk_goes_where_it_belongs_without_a_copy) {
  std::vector<std::int32_t> out(7000, -1);
  auto* const memory = reinterpret_cast<std::byte*>(out.data());
  const Subarray all{{0, 0}, {100, 70}, {}};
  slot_.chunk(4)[0] = std::byte{77};
  EXPECT_FALSE(unpack(chunk(), part(all, Target(memory, 4)), slot_));
  for (int i = 0; i < 7000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i < 5600 ? i : -1);
  EXPECT_EQ(slot_.chunk(4)[0], std::byte{77}) << "it went through other memory";
  // In the file's form.
  unpack(chunk(), part(all, Target(memory, 1)), slot_);
  for (int i = 0; i < 5600; ++i) ASSERT_EQ(load_be<std::int32_t>(memory + 4 * i), i);
}

TEST_F(UnpackTest, parts_are_placed_and_converted) {
  const Subarray some{{10, 3}, {20, 8}, {2, 5}};
  std::vector<std::int32_t> out(160, -1);
  std::vector<std::int8_t> small(160, 1);
  EXPECT_FALSE(
      unpack(chunk(), part(some, Target(reinterpret_cast<std::byte*>(out.data()), 4)), slot_));
  EXPECT_TRUE(unpack(
      chunk(),
      part(some, Target(reinterpret_cast<std::byte*>(small.data()), Type::int32, Type::byte)),
      slot_));
  for (int i = 0; i < 160; ++i) {
    const int value = (10 + i / 8 * 2) * 70 + 3 + i % 8 * 5;
    ASSERT_EQ(out[static_cast<std::size_t>(i)], value);
    ASSERT_EQ(small[static_cast<std::size_t>(i)], -127) << "all are too large: the fill value";
  }
}

TEST_F(UnpackTest, one_value_that_does_not_fit_is_told_though_later_ones_do) {
  encode(-70);
  std::array<std::uint8_t, 4> out{};
  const Target target(reinterpret_cast<std::byte*>(out.data()), Type::int32, Type::uint8);
  EXPECT_TRUE(unpack(chunk(), part({{0, 0}, {4, 1}, {}}, target), slot_));
  EXPECT_EQ(out, (std::array<std::uint8_t, 4>{255, 0, 70, 140}));
  EXPECT_FALSE(unpack(chunk(), part({{1, 0}, {3, 1}, {}}, target), slot_));
}

TEST_F(UnpackTest, what_was_never_written_is_the_fill_value) {
  std::vector<double> out(5600, 1);
  entry_ = {};
  const Target target(reinterpret_cast<std::byte*>(out.data()), Type::int32, Type::float64);
  EXPECT_FALSE(unpack(chunk(), part({{0, 0}, {80, 70}, {}}, target), slot_));
  for (const double value : out) ASSERT_EQ(value, -2147483647);
}

TEST_F(UnpackTest, entries_that_cannot_be_are_refused_before_memory_is_taken) {
  const auto code = [&](Offset end) {
    try {
      check_entry(*coding_, "T", 0, entry_, end);
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("chunk 0 of variable T"), std::string::npos);
      return error.code();
    }
    return Errc::ok;
  };
  EXPECT_EQ(code(entry_.bytes), Errc::ok);
  EXPECT_EQ(code(entry_.bytes - 1), Errc::enotnc);
  entry_.bytes = 4 * 5600 + 1;
  EXPECT_EQ(code(1 << 20), Errc::enotnc);
}

TEST_F(UnpackTest, variables_that_cannot_be_worked_on_say_why) {
  const auto told = [&](const std::string& fault, Errc expected) {
    try {
      make_coding(var_, fault, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected);
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(told("", Errc::ok), "");
  EXPECT_EQ(told("it is torn", Errc::enotnc), "variable T: it is torn");
  var_.is_record = true;
  Schema schema;
  schema.vars.push_back(var_);
  std::vector<ChunkTable> tables(1);
  tell(tables, 5, schema);
  EXPECT_EQ(tables[0].fault, "");
  tell(tables, Count{1} << 60, schema);
  EXPECT_EQ(told(tables[0].fault, Errc::enotnc),
            "variable T: it cannot have 1152921504606846976 records");
  var_.chunking->codec = "zsty";
  EXPECT_NE(
      told("", Errc::enotsupport).find("variable T is encoded with \"zsty\", which cannot be read"),
      std::string::npos);
  var_.chunking->shape = {0, 70};
  EXPECT_NE(told("", Errc::enotnc).find("variable T: "), std::string::npos);
}

}  // namespace unpack_test
}  // namespace forebay::chunked
