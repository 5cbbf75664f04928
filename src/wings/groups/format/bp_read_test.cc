#include "groups/format/bp_read.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/attempt.h"
#include "groups/format/bp_write.h"

namespace forebay::bp {
namespace bp_read_test {

template <typename T>
void put(Bytes& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
Value value_of(T number) {
  Value value{};
  std::memcpy(value.data(), &number, sizeof number);
  return value;
}

/// Returns the entry of one block of floats with the given characteristics.
Bytes entry_of(const Bytes& characteristics, std::uint8_t number) {
  const Variable variable{"v", Type::float32};
  Bytes entry;
  append_variable_head(entry, variable, 0, 1, static_cast<Count>(characteristics.size()) + 5);
  put(entry, number);
  put(entry, static_cast<std::uint32_t>(characteristics.size()));
  entry.insert(entry.end(), characteristics.begin(), characteristics.end());
  return entry;
}

/// Appends the extents of a block whose payload lies at 64.
void put_extents(Bytes& out, std::uint64_t count, std::uint64_t shape, std::uint64_t start) {
  put(out, std::uint8_t{6});
  put(out, std::uint64_t{64});
  put(out, std::uint8_t{4});
  put(out, std::uint8_t{1});
  put(out, std::uint16_t{24});
  for (const std::uint64_t n : {count, shape, start}) put(out, n);
}

Block only_block(const Bytes& entry) {
  VariableEntry parsed(entry, {});
  Block block, none;
  EXPECT_TRUE(parsed.next(block));
  EXPECT_FALSE(parsed.next(none));
  return block;
}

std::optional<Error> error_of(const Bytes& characteristics) {
  return attempt_to([&] { only_block(entry_of(characteristics, 1)); });
}

TEST(BpRead, entries_are_what_was_printed) {
  const Variable variable{"a/b", Type::int16};
  std::vector<Block> blocks(3);
  blocks[0].at = {{10, 4}, {2, 1}, {3, 2}};
  blocks[1].at = {{10, 4}, {0, 0}, {2, 4}};
  blocks[2].at = {{10, 4}, {10, 4}, {0, 0}};
  Bytes printed;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    Block& block = blocks[n];
    block.step = 4;
    block.file = 3;
    block.place = static_cast<Offset>(100 * n);
    block.payload = block.place + 64;
    block.has_range = true;
    block.min = value_of(std::int16_t{-5});
    block.max = value_of(static_cast<std::int16_t>(n));
    append_block(printed, variable, block);
  }
  Bytes entry;
  append_variable_head(entry, variable, 7, 3, static_cast<Count>(printed.size()));
  entry.insert(entry.end(), printed.begin(), printed.end());
  EXPECT_EQ(parse_entry_bytes(entry, false), std::ssize(entry));
  VariableEntry parsed(entry, {});
  EXPECT_EQ(parsed.variable(), variable);
  for (const Block& block : blocks) {
    Block got;
    ASSERT_TRUE(parsed.next(got));
    EXPECT_EQ(got.at, block.at);
    EXPECT_EQ(got.step, 4U);
    EXPECT_EQ(got.file, 3U);
    EXPECT_EQ(got.place, block.place);
    EXPECT_EQ(got.payload, block.payload);
    EXPECT_EQ(got.min, block.min);
    EXPECT_EQ(got.max, block.max);
    EXPECT_TRUE(got.has_range);
    EXPECT_TRUE(got.operation.empty());
    EXPECT_EQ(got.bytes, block.at.count[0] * block.at.count[1] * 2);
  }
  EXPECT_EQ(parsed.at(), entry.size());
}

TEST(BpRead, attributes_are_what_was_printed) {
  Attribute numbers{"n", Type::float64, {}, {}};
  numbers.values.resize(16, std::byte{1});
  const Attribute text{"t", Type::string, {}, {"kelvin"}};
  const Attribute list{"l", Type::string_array, {}, {"a", "", "ccc"}};
  for (const Attribute& attribute : {numbers, text, list}) {
    Bytes entry;
    append_attribute(entry, attribute, 3, 2, 1);
    EXPECT_EQ(parse_attribute(entry, {}).attribute, attribute);
    for (std::size_t n = 0; n < entry.size(); ++n)
      EXPECT_TRUE(attempt_to([&] { parse_attribute(std::span(entry).first(n), {}); })) << n;
  }
}

TEST(BpRead, statistics_of_adios_one_and_ranges_of_parts_are_passed_over) {
  Bytes old;
  put_extents(old, 3, 9, 3);
  put(old, std::uint8_t{9});
  put(old, std::uint32_t{1 | 2 | 4 | 8 | 64});
  put(old, std::uint8_t{10});
  put(old, -1.5F);
  put(old, 2.5F);
  put(old, std::uint32_t{3});
  put(old, 7.0);
  put(old, std::uint8_t{1});
  Block block = only_block(entry_of(old, 3));
  EXPECT_TRUE(block.has_range);
  EXPECT_EQ(block.min, value_of(-1.5F));
  EXPECT_EQ(block.max, value_of(2.5F));
  EXPECT_EQ(block.at.start, std::vector<Count>{3});

  Bytes parts;
  put_extents(parts, 8, 8, 0);
  put(parts, std::uint8_t{12});
  put(parts, std::uint16_t{2});
  put(parts, 1.0F);
  put(parts, 4.0F);
  put(parts, std::uint8_t{0});
  put(parts, std::uint64_t{4});
  put(parts, std::uint16_t{2});
  for (const float bound : {1.0F, 2.0F, 3.0F, 4.0F}) put(parts, bound);
  put(parts, std::uint8_t{6});
  put(parts, std::uint64_t{77});
  block = only_block(entry_of(parts, 3));
  EXPECT_EQ(block.max, value_of(4.0F));
  EXPECT_EQ(block.payload, 77);
}

TEST(BpRead, an_operator_is_told_by_its_name) {
  Bytes behind;
  put_extents(behind, 8, 8, 0);
  put(behind, std::uint8_t{11});
  put(behind, std::uint8_t{3});
  for (const char c : std::string("zfp")) put(behind, c);
  put(behind, static_cast<std::uint8_t>(Type::float32));
  put(behind, std::uint8_t{1});
  put(behind, std::uint16_t{24});
  for (const std::uint64_t n : {8, 8, 0}) put(behind, n);
  put(behind, std::uint16_t{2});
  put(behind, std::uint16_t{0xffff});
  EXPECT_EQ(only_block(entry_of(behind, 2)).operation, "zfp");
}

TEST(BpRead, adios2_says_how_long_values_behind_an_operator_are) {
  const auto stored = [](std::uint64_t values, std::uint64_t size = 20) {
    Bytes behind;
    put_extents(behind, 8, 8, 0);
    put(behind, std::uint8_t{11});
    put(behind, std::uint8_t{3});
    for (const char c : std::string("zfp")) put(behind, c);
    put(behind, static_cast<std::uint8_t>(Type::float32));
    put(behind, std::uint8_t{1});
    put(behind, std::uint16_t{24});
    for (const std::uint64_t n : {8, 8, 0}) put(behind, n);
    put(behind, std::uint16_t{16});
    put(behind, values);
    put(behind, size);
    return only_block(entry_of(behind, 3)).stored;
  };
  EXPECT_EQ(stored(32), 20);
  EXPECT_EQ(stored(33), 0);  // not of this block: some other form
  constexpr std::uint64_t beyond = std::uint64_t{1} << 63;
  EXPECT_EQ(stored(32, beyond), 0);
  EXPECT_EQ(stored(beyond), 0);
}

TEST(BpRead, shapes_that_make_no_sense_are_damage) {
  const std::uint64_t beyond = std::uint64_t{1} << 63;
  const auto code = [](std::uint64_t count, std::uint64_t shape, std::uint64_t start) {
    Bytes made;
    put_extents(made, count, shape, start);
    const auto failed = error_of(made);
    return failed ? failed->code() : Errc::ok;
  };
  EXPECT_EQ(code(3, 9, 6), Errc::ok);
  EXPECT_EQ(code(3, 9, 7), Errc::ebad_file);
  EXPECT_EQ(code(beyond, 9, 0), Errc::ebad_file);
  EXPECT_EQ(code(1, beyond, 0), Errc::ebad_file);
  EXPECT_EQ(code(1, 9, beyond), Errc::ebad_file);
  EXPECT_EQ(code(beyond - 1, 0, 0), Errc::ebad_file);  // four times as many bytes
  Bytes strange;
  put(strange, std::uint8_t{99});
  EXPECT_EQ(error_of(strange)->code(), Errc::ebad_file);
}

TEST(BpRead, values_that_lie_nowhere_and_arrays_of_strings_are_damage) {
  const auto with_payload = [](std::uint64_t payload) {
    Bytes made;
    put_extents(made, 3, 9, 6);
    put(made, std::uint8_t{6});
    put(made, payload);
    return made;
  };
  EXPECT_FALSE(error_of(with_payload(64)));
  for (const std::uint64_t nowhere : {0, 63})
    EXPECT_EQ(error_of(with_payload(nowhere))->code(), Errc::ebad_file);
  EXPECT_EQ(error_of(with_payload((std::uint64_t{1} << 63) - 4))->code(), Errc::ebad_file);
  const Variable text{"s", Type::string};
  for (const bool is_array : {false, true}) {
    Bytes block;
    if (is_array) put_extents(block, 3, 9, 6);
    put(block, std::uint8_t{0});
    put(block, std::uint16_t{1});
    put(block, 'x');
    Bytes entry;
    append_variable_head(entry, text, 0, 1, std::ssize(block) + 5);
    put(entry, std::uint8_t{1});
    put(entry, static_cast<std::uint32_t>(block.size()));
    entry.insert(entry.end(), block.begin(), block.end());
    EXPECT_EQ(attempt_to([&] { only_block(entry); }).has_value(), is_array);
  }
}

TEST(BpRead, an_array_has_no_value) {
  Bytes both;
  put_extents(both, 4, 4, 0);
  EXPECT_FALSE(error_of(both));
  put(both, std::uint8_t{0});
  put(both, 7.0F);
  EXPECT_EQ(error_of(both)->code(), Errc::ebad_file);
}

// A file only stores how many dimensions there are.
TEST(BpRead, arrays_without_extents_are_arrays) {
  Bytes none;
  put_extents(none, 0, 0, 0);
  const Block block = only_block(entry_of(none, 1));
  EXPECT_EQ(block.at, (Shape{{}, {}, {0}}));
  EXPECT_TRUE(may_be_global(block.at));
  EXPECT_EQ(block.bytes, 0);
}

}  // namespace bp_read_test
}  // namespace forebay::bp
