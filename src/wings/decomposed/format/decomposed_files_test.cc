#include "decomposed/format/decomposed_files.h"

#include <gtest/gtest.h>

#include "array/decomposition.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "decomposed/format/decomposed_schema.h"
#include "format/classic_header.h"

namespace forebay::decomposed {
namespace decomposed_test {

constexpr Offset file_size = 1 << 20;

Section sample() {
  Section s;
  s.epoch = 9;
  s.previous = 5000;
  s.previous_bytes = 77;
  s.previous_epoch = 3;
  s.first_pattern = 2;
  s.first_map = 1;
  s.patterns = {{{1, 2}, 40, {std::byte{7}, std::byte{8}}}, {{3, 4}, 1, {std::byte{9}}}};
  s.maps = {{{0, 3}, {1, 0}, {900, 2}}, {}};
  s.entries = {{5, 12, 0, 1, 4096, 164, 9},
               {6, 12, 0, 1, 4264, 328, 9},
               {0, 0, 3, 2, 8192, 0, 4},
               {7, 12, 0, 1, 8192, 1640, 9, {{20, 8192, 33, 1, 77}, {21, 8232, 84, 3, 78}}},
               {8, 12, 0, 1, 9000, 40000, 9, {{1, 9000, 8, 0, UINT64_MAX}, {40, 4600, 9, 0, 1}}}};
  return s;
}

Errc refusal(std::span<const std::byte> bytes, Offset size = file_size) {
  try {
    parse_section(bytes, size);
    return Errc::ok;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(DecomposedFormat, a_section_comes_back_as_it_was) {
  const Section was = sample(), is = parse_section(print_section(was), file_size);
  EXPECT_EQ(is.epoch, was.epoch);
  EXPECT_EQ(is.previous, was.previous);
  EXPECT_EQ(is.previous_bytes, was.previous_bytes);
  EXPECT_EQ(is.previous_epoch, was.previous_epoch);
  EXPECT_EQ(is.first_pattern, was.first_pattern);
  EXPECT_EQ(is.first_map, was.first_map);
  ASSERT_EQ(is.patterns.size(), was.patterns.size());
  for (std::size_t i = 0; i < is.patterns.size(); ++i) {
    EXPECT_EQ(is.patterns[i].key, was.patterns[i].key);
    EXPECT_EQ(is.patterns[i].elements, was.patterns[i].elements);
    EXPECT_EQ(is.patterns[i].packed, was.patterns[i].packed);
  }
  EXPECT_EQ(is.maps, was.maps);
  EXPECT_EQ(is.entries, was.entries);
}

// Older builds refuse the second version, and still read the first.
TEST(DecomposedFormat, only_a_section_with_sorted_parts_has_the_second_version) {
  Section s = sample();
  const auto version = [](const Section& section) {
    return load_be<std::uint16_t>(print_section(section).data() + 4);
  };
  EXPECT_EQ(version(s), 1);
  s.entries[4].parts[1].sorted = true;
  EXPECT_EQ(version(s), 2);
  EXPECT_EQ(parse_section(print_section(s), file_size).entries, s.entries);
  s.entries[4].parts[1].skipped = 255;
  s.entries[3].parts[0].sorted = true;
  EXPECT_EQ(parse_section(print_section(s), file_size).entries, s.entries);
  auto bytes = print_section(s);
  bytes[5] = std::byte{3};
  store_be(bytes.data() + bytes.size() - 8, hash_of(std::span(bytes).first(bytes.size() - 8)));
  try {
    parse_section(bytes, file_size);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("has version 3, this build reads up to 2"), std::string::npos)
        << error.message();
  }
}

TEST(DecomposedFormat, every_changed_or_missing_byte_of_a_section_is_found) {
  const auto good = print_section(sample());
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    EXPECT_EQ(refusal(bad), Errc::enotnc) << i;
    EXPECT_EQ(refusal(std::span(good).first(i)), Errc::enotnc) << i;
  }
}

// With a right checksum, as an attacker would make it.
TEST(DecomposedFormat, impossible_sections_are_refused) {
  const auto refused = [](auto&& change) {
    Section s = sample();
    change(s);
    EXPECT_EQ(refusal(print_section(s)), Errc::enotnc);
  };
  refused([](Section& s) { s.entries[0].map = 3; });
  refused([](Section& s) { s.entries[0].offset = first_block - 8; });
  refused([](Section& s) { s.entries[1].bytes = file_size; });
  refused([](Section& s) { s.entries[1].offset = file_size; });
  refused([](Section& s) { s.entries[1].var = -1; });
  refused([](Section& s) { s.entries[1].record = -1; });
  refused([](Section& s) { s.maps[0][1].pattern = 4; });
  refused([](Section& s) { s.entries[3].parts[1].offset = first_block - 8; });
  refused([](Section& s) { s.entries[3].parts[1].offset = file_size; });
  refused([](Section& s) { s.entries[3].parts[1].bytes = file_size; });
  refused([](Section& s) { s.entries[3].parts[1].bytes = -1; });
  refused([](Section& s) { s.entries[3].parts[1].elements = -1; });
  refused([](Section& s) { s.entries[3].parts[1].skipped = 1U << 31; });
  refused([](Section& s) { s.entries[3].offset += 8; });
  refused([](Section& s) { s.maps[0][1].rank = 0; });
  EXPECT_EQ(refusal(print_section(sample()), 5000), Errc::enotnc);
  EXPECT_EQ(refusal(print_section(sample())), Errc::ok);
}

TEST(DecomposedFormat, slots_come_back_and_torn_ones_do_not_count) {
  const State state{0x1234567890abcdef, 77, 75, 1 << 30, 12, {3, 4}, true};
  EXPECT_EQ(parse_state(print_state(state)), state);
  const Root root{8, 5000, 99};
  EXPECT_EQ(parse_root(print_root(root)), root);
  auto torn = print_root(root);
  EXPECT_EQ(static_cast<Count>(torn.size()), slot_bytes);
  torn[20] ^= std::byte{1};
  EXPECT_FALSE(parse_root(torn));
  EXPECT_FALSE(parse_root(std::vector<std::byte>(512)));
  EXPECT_FALSE(parse_state(std::vector<std::byte>(512)));
  EXPECT_THROW(parse_front(torn), Error);
}

TEST(DecomposedFormat, headers_have_anchors_and_keep_classic_records) {
  Schema schema;
  schema.version = 5;
  schema.add_dim({"time", 0});
  schema.add_dim({"x", 100});
  Variable kept, plain;
  kept.name = "kept", kept.type = Type::float32, kept.dimids = {0, 1},
  kept.layout = &decomposed_layout;
  plain.name = "time", plain.type = Type::float64, plain.dimids = {0};
  schema.add_var(kept);
  schema.add_var(plain);
  const Schema stored = to_stored(schema, 0xabc);
  EXPECT_TRUE(has_anchors(stored));
  EXPECT_FALSE(has_anchors(schema));
  EXPECT_TRUE(stored.attributes.find("__anchors"));
  EXPECT_TRUE(stored.vars[0].dimids.empty());
  EXPECT_TRUE(stored.vars[1].is_record);
  std::uint64_t id = 0;
  const Schema seen = from_stored(stored, id);
  EXPECT_EQ(id, 0xabcU);
  EXPECT_TRUE(is_decomposed(seen.vars[0]));
  EXPECT_EQ(seen.vars[0].dimids, kept.dimids);
  EXPECT_EQ(seen.vars[0].attributes.size(), 0);
  EXPECT_EQ(seen.attributes.size(), 0);
  EXPECT_FALSE(is_decomposed(seen.vars[1]));
  EXPECT_EQ(classic::header_size(to_stored(schema, 0)), classic::header_size(stored));
  Schema bad = stored;
  bad.vars[0].attributes.put(
      {"__decom_dims", Type::int32, 1, std::vector<std::byte>(4, std::byte{9})});
  EXPECT_THROW(from_stored(bad, id), Error);
  bad = stored;
  bad.attributes.put({"__decom", Type::chr, 1, {std::byte{'x'}}});
  EXPECT_THROW(from_stored(bad, id), Error);
}

TEST(DecomposedFormat, sums_of_roots_tell_which_file_differs) {
  constexpr std::uint32_t files = 9;
  const auto root = [](std::uint32_t n, std::uint64_t epoch) {
    return n == 4 ? std::nullopt : std::optional(Root{epoch, 4096 + 512 * Offset{n}, 100});
  };
  RootSums expected;
  for (std::uint32_t n = 0; n < files; ++n) expected += sums_of(n, root(n, 7));
  EXPECT_FALSE(wrong_file(expected, expected, files));
  for (std::uint32_t wrong = 0; wrong < files; ++wrong) {
    RootSums found;
    for (std::uint32_t n = 0; n < files; ++n)
      found += sums_of(n, n == wrong ? std::optional(Root{6, 4096, 100}) : root(n, 7));
    EXPECT_EQ(wrong_file(expected, found, files), wrong);
    found = found - sums_of(wrong, Root{6, 4096, 100});  // without its root
    if (wrong != 4) {
      EXPECT_EQ(wrong_file(expected, found, files), wrong);
    }
    found += sums_of(wrong, root(wrong, 7));
    EXPECT_EQ(found, expected);
    const RootSums another = sums_of((wrong + 1) % files, Root{6, 4096, 100});
    found += another;
    found += sums_of(wrong, Root{6, 4096, 100});
    EXPECT_FALSE(wrong_file(expected, found, files));  // two files are wrong
  }
}

TEST(DecomposedFormat, headers_tell_which_map_defined_a_variable) {
  Schema schema;
  schema.version = 5;
  schema.add_dim({"time", 0});
  schema.add_dim({"y", 10});
  schema.add_dim({"x", 100});
  for (const int ranks : {4, 7})
    schema.decompositions.push_back(std::make_shared<const Decomposition>(
        std::vector<DimId>{1, 2}, std::vector<Count>{10, 100}, ranks));
  for (int i = 0; i < 5; ++i) {
    Variable var;
    var.name = "v" + std::to_string(i);
    var.type = Type::float32;
    var.dimids = {0, 1, 2};
    if (i != 1) var.layout = &decomposed_layout;
    var.decomposition = i < 2 ? 0 : i == 2 ? -1 : 1;
    schema.add_var(var);
  }
  std::uint64_t id = 0;
  Schema stored = to_stored(schema, 1);
  stored.vars[1].decomposition = -1;  // as in a header that was read
  const Schema seen = from_stored(stored, id);
  ASSERT_EQ(seen.decompositions.size(), 2U);
  for (int i = 0; i < 5; ++i) {
    const Variable& var = seen.vars[static_cast<std::size_t>(i)];
    // The file has no map of a classic variable.
    EXPECT_EQ(var.decomposition, i == 0 ? 0 : i < 3 ? -1 : 1) << i;
    EXPECT_EQ(var.attributes.size(), 0);
  }
  EXPECT_EQ(seen.decompositions[1]->ranks(), 7);
  EXPECT_EQ(seen.decompositions[1]->dims(), (std::vector<DimId>{1, 2}));
  EXPECT_EQ(seen.decompositions[1]->shape(), (std::vector<Count>{10, 100}));
  EXPECT_FALSE(seen.decompositions[1]->has_pieces());

  const std::vector<std::vector<std::int32_t>> damaged = {
      {},        {1},       {1, 2},       {-1, 2, 7}, {1 << 16, 2, 7},
      {1, 0, 7}, {1, 4, 7}, {1, 3, 7},    {1, 2, 0},  {1, 2, -7},
      {1, 1, 7}, {1, 2, 6}, {1, 2, 7, 1}, {0, 2, 7},  {INT32_MAX, 2, 7}};
  for (const auto& numbers : damaged) {
    Schema bad = stored;
    Attribute attribute{"__decom_map", Type::int32, static_cast<Count>(numbers.size()), {}};
    attribute.value.resize(4 * numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      store_be(attribute.value.data() + 4 * i, numbers[i]);
    bad.vars[4].attributes.put(attribute);
    EXPECT_THROW(from_stored(bad, id), Error) << ::testing::PrintToString(numbers);
  }
}

}  // namespace decomposed_test
}  // namespace forebay::decomposed
