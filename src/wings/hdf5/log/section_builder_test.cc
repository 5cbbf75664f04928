#include "hdf5/log/section_builder.h"

#include <gtest/gtest.h>

#include <array>

#include "base/attempt.h"
#include "base/error.h"
#include "base/varint.h"

namespace forebay::logged {
namespace section_builder_test {

Placed columns(Count record, std::vector<Run> runs) {
  const std::vector<Count> extents = {100, 1000};
  for (Run& run : runs) run.offset += record * 1000;
  return runs_pattern(extents, runs);
}

Entry write_of(std::uint64_t dataset, const Placed& placed, Offset data) {
  Entry entry;
  entry.dataset = dataset;
  entry.epoch = 3;
  entry.base = placed.base;
  entry.data = data;
  entry.stored = placed.pattern.elements() * 4;
  return entry;
}

TEST(SectionBuilder, a_selection_is_stored_once_for_all_variables_and_records) {
  SectionBuilder builder(2, 1 << 20);
  Offset data = 0;
  for (std::uint64_t variable = 0; variable < 10; ++variable)
    for (Count record = 0; record < 5; ++record) {
      const Placed placed = columns(record, {{3, 2}, {9, 1}, {500, 40}});
      builder.add(write_of(variable, placed, data), &placed.pattern);
      data += placed.pattern.elements() * 4;
    }
  EXPECT_EQ(builder.savings().shared, 49u);
  const auto bytes = builder.print();
  const Section section = parse_section(bytes, 4096);
  ASSERT_EQ(section.patterns.size(), 1u);
  ASSERT_EQ(section.entries.size(), 50u);
  EXPECT_EQ(section.rank, 2u);
  EXPECT_EQ(section.entries[7].base, 2);
  EXPECT_EQ(section.entries[7].dataset, 1u);
  EXPECT_EQ(section.entries[49].data + section.entries[49].stored, data);

  const PatternRef ref = section.patterns[0];
  const auto packed =
      std::span(bytes).subspan(static_cast<std::size_t>(ref.place - 4096), ref.bytes);
  EXPECT_EQ(check_of(packed), ref.check);
  PatternPacker packer;
  EXPECT_EQ(packer.unpack(packed), columns(0, {{3, 2}, {9, 1}, {500, 40}}).pattern);
}

TEST(PatternPacker, a_length_that_no_compression_makes_is_damage_before_memory_is_taken) {
  PatternPacker packer;
  std::vector<std::byte> packed(20);
  put_varint(packed.data(), 2 * (std::uint64_t{3} << 30) + 1);
  EXPECT_THROW(packer.unpack(packed), Error);
}

// What is written can be read, since both have the same limit.
TEST(PatternPacker, what_would_be_too_long_to_be_read_is_not_written) {
  BytePacker packer;
  const std::vector<std::byte> printed(1000);
  EXPECT_EQ(packer.unpack(packer.pack(printed, 1000), 1000), printed);
  EXPECT_THROW(packer.unpack(packer.pack(printed), 999), Error);
  const auto failed = attempt_to([&] { packer.pack(printed, 999); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::evarsize);
}

TEST(SectionBuilder, a_later_section_names_the_pattern_of_an_earlier_one) {
  SectionBuilder builder(0, 1 << 20);
  const Placed first = columns(0, {{3, 2}, {9, 1}}), second = columns(8, {{3, 2}, {9, 1}});
  builder.add(write_of(1, first, 0), &first.pattern);
  const Section earlier = parse_section(builder.print(), 10000);
  builder.placed(10000);
  builder.add(write_of(1, second, 0), &second.pattern);
  const Section later = parse_section(builder.print(), 20000);
  EXPECT_EQ(later.patterns[0], earlier.patterns[0]);
  EXPECT_GE(later.patterns[0].place, 10000);
}

TEST(SectionBuilder, forgotten_patterns_are_stored_anew) {
  SectionBuilder builder(0, 1);  // has almost no memory
  const Placed placed = columns(0, {{3, 2}, {9, 1}});
  for (const Offset place : {10000, 20000}) {
    builder.add(write_of(1, placed, 0), &placed.pattern);
    const Section section = parse_section(builder.print(), place);
    EXPECT_GE(section.patterns[0].place, place);
    builder.placed(place);
  }
}

TEST(SectionBuilder, long_lists_of_runs_are_compressed) {
  SectionBuilder builder(0, 1 << 20);
  std::vector<forebay::Run> runs;
  for (Count i = 0; i < 900; ++i) runs.push_back({i * 1000, 3});
  const Placed placed = runs_pattern(std::vector<Count>{1000, 1000}, runs);
  builder.add(write_of(1, placed, 0), &placed.pattern);
  EXPECT_LT(builder.savings().packed, 200u);
  EXPECT_EQ(builder.savings().plain, 900u * 32);
  EXPECT_EQ(builder.savings().flat, 900u * 16);
}

TEST(Section, every_damaged_byte_is_noticed) {
  SectionBuilder builder(0, 1 << 20);
  const Placed placed = columns(4, {{3, 2}, {9, 1}});
  builder.add(write_of(1, placed, 0), &placed.pattern);
  builder.add(write_of(2, placed, 12), &placed.pattern);
  const auto good = builder.print();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    try {
      const Section section = parse_section(bad, 0);
      EXPECT_EQ(i, 7u) << "only a zero is not under the checksum";
      EXPECT_EQ(section.entries.size(), 2u);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::ebadlog);
    }
  }
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_THROW(parse_section(std::span(good).first(n), 0), Error);
}

TEST(Table, tells_sections_and_that_a_flush_did_not_end) {
  Table table;
  table.epoch = 9;
  table.sections = {{64, 100}, {164, 50}};
  const auto bytes = print_table(table);
  EXPECT_EQ(sections_in(bytes, 214), 2);
  const Table again = parse_table(bytes, 214);
  EXPECT_EQ(again.epoch, 9u);
  EXPECT_EQ(again.sections[1].place, 164);
  EXPECT_THROW(parse_table(bytes, 200), Error);
  const std::array<std::byte, 64> zeros{};
  EXPECT_EQ(sections_in(zeros, 64), -1);
  EXPECT_TRUE(parse_table(zeros, 64).sections.empty());
}

}  // namespace section_builder_test
}  // namespace forebay::logged
