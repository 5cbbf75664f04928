#include "groups/format/bp_write.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/attempt.h"

namespace forebay::bp {
namespace bp_write_test {

template <typename T>
T number(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string text(std::span<const std::byte> bytes, std::size_t at, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes.data()) + at, length};
}

Bytes joined_pieces(const GroupImage& image) {
  Bytes all;
  for (const auto piece : image.pieces()) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

/// Returns where each group in `bytes` begins. Groups follow one another up to the end.
std::vector<std::size_t> groups_of(std::span<const std::byte> bytes) {
  std::vector<std::size_t> begins;
  std::size_t at = 0;
  while (at < bytes.size()) {
    EXPECT_EQ(text(bytes, at, 4), "[PGI");
    begins.push_back(at);
    at += number<std::uint64_t>(bytes, at + 4) + 4;
    EXPECT_EQ(text(bytes, at - 4, 4), "PGI]");
  }
  EXPECT_EQ(at, bytes.size());
  return begins;
}

TEST(BpWrite, heads_tell_version_and_byte_order) {
  const auto head = print_head("Index Table");
  EXPECT_EQ(text(head, 0, 10), "ADIOS-BP v");
  EXPECT_NE(text(head, 0, 32).find("Index Table"), std::string::npos);
  EXPECT_EQ(head[head_bp_version_at], std::byte{4});
  EXPECT_EQ(head[head_endian_at], std::byte{std::endian::native == std::endian::big});
  EXPECT_EQ(head[head_active_at], std::byte{0});
}

TEST(BpWrite, records_are_eight_numbers) {
  const auto record = print_record({3, 0, 64, 100, 200, 300, 1234});
  const std::uint64_t expected[] = {3, 0, 64, 100, 200, 300, 1234, 0};
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(number<std::uint64_t>(record, 8 * i), expected[i]) << i;
}

TEST(BpWrite, groups_fill_up_to_their_alignment_and_payloads_are_aligned) {
  for (const Count alignment : {64, 128, 4096, 1 << 20}) {
    for (int length = 1; length < 200; length += 7) {
      const std::string payload(static_cast<std::size_t>(length), 'x');
      const auto bytes = std::as_bytes(std::span(payload));
      GroupImage image("g", false, 12);
      Block block;
      block.at = {{length}, {0}, {length}};
      const auto first = image.add({"v", Type::int8}, 1, block, bytes);
      const auto second = image.add({"longer", Type::int8}, 2, block, bytes);
      image.finish(alignment);
      const Bytes all = joined_pieces(image);
      ASSERT_EQ(static_cast<Count>(all.size()), image.bytes());
      EXPECT_EQ(image.bytes() % alignment, 0);
      EXPECT_LE(groups_of(all).size(), 2U);
      for (const auto& places : {first, second}) {
        EXPECT_EQ(places.payload % payload_alignment, 0);
        EXPECT_EQ(text(all, static_cast<std::size_t>(places.head), 4), "[VMD");
        EXPECT_EQ(text(all, static_cast<std::size_t>(places.payload), payload.size()), payload);
      }
      const auto from = static_cast<std::size_t>(first.head);
      EXPECT_EQ(from + 4 + number<std::uint64_t>(all, from + 4),
                static_cast<std::size_t>(second.head));
    }
  }
}

TEST(BpWrite, fillers_have_any_size_from_the_least) {
  for (const Count size : {least_filler, least_filler + 1, Count{5000}}) {
    Bytes filler;
    append_filler(filler, size, 1);
    EXPECT_EQ(static_cast<Count>(filler.size()), size);
    EXPECT_EQ(groups_of(filler).size(), 1U);
  }
}

TEST(BpWrite, gaps_are_none_or_hold_a_filler) {
  for (Offset end = 1; end < 9000; ++end) {
    const Count gap = gap_before_group(end, 64);
    EXPECT_EQ((end + gap) % 64, 0);
    EXPECT_TRUE(gap == 0 || gap >= least_filler);
    EXPECT_LT(gap, least_filler + 64);
  }
}

TEST(BpWrite, entries_have_the_lengths_that_they_tell) {
  Bytes head;
  append_variable_head(head, {"name", Type::float64}, 7, 3, 1000);
  EXPECT_EQ(static_cast<Count>(head.size()), variable_head_bytes("name"));
  EXPECT_EQ(number<std::uint32_t>(head, 0), head.size() - 4 + 1000);
  EXPECT_EQ(number<std::uint64_t>(head, head.size() - 8), 3U);

  Block block;
  block.at = {{10, 20}, {1, 2}, {3, 4}};
  block.place = 5;
  block.payload = 6;
  Bytes entry;
  append_block(entry, {"name", Type::float64}, block);
  EXPECT_EQ(number<std::uint32_t>(entry, 1), entry.size() - 5);
  move_entry(entry, 1000);
  EXPECT_EQ(number<std::uint64_t>(entry, entry.size() - 17), 1005U);
  EXPECT_EQ(number<std::uint64_t>(entry, entry.size() - 8), 1006U);

  Bytes group;
  append_group(group, {"the group", true, 3, 1234, 99});
  EXPECT_EQ(static_cast<Count>(group.size()), group_entry_bytes("the group", 1234));
  EXPECT_EQ(number<std::uint16_t>(group, 0), group.size() - 2);
}

TEST(BpWrite, what_does_not_fit_its_field_is_refused) {
  const std::string longest(65535, 'n'), longer(65536, 'n');
  EXPECT_NO_THROW(check({longest, Type::int8}, {}));
  const auto code = [](auto&& call) {
    const auto failed = attempt_to(call);
    return failed ? failed->code() : Errc::ok;
  };
  EXPECT_EQ(code([&] { check({longer, Type::int8}, {}); }), Errc::emaxname);
  EXPECT_EQ(code([&] { check({"", Type::int8}, {}); }), Errc::ebadname);
  EXPECT_EQ(code([&] { check({"v", Type::long_double}, {}); }), Errc::ebadtype);
  EXPECT_EQ(code([&] { check({"v", Type::string_array}, {}); }), Errc::ebadtype);
  EXPECT_EQ(code([&] { check_text(longer); }), Errc::evarsize);
  EXPECT_EQ(code([&] {
              check({"v", Type::int8}, {{}, {}, std::vector<Count>(256, 1)});
            }),
            Errc::emaxdims);
  EXPECT_EQ(code([&] { check(Attribute{"a", Type::string, {}, {longer}}); }), Errc::evarsize);
  EXPECT_EQ(code([&] { check(Attribute{"a", Type::int32, Bytes(6), {}}); }), Errc::einval);
  EXPECT_EQ(code([&] { check(Attribute{"a", Type::int32, {}, {}}); }), Errc::einval);
  Bytes out;
  EXPECT_EQ(code([&] {
              append_variable_head(out, {"v", Type::int8}, 0, 1, Count{1} << 32);
            }),
            Errc::evarsize);
  EXPECT_EQ(code([&] { GroupImage(longer, false, 1); }), Errc::emaxname);
}

}  // namespace bp_write_test
}  // namespace forebay::bp
