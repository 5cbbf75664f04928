#include "store/journal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "store/journal_testing.h"

namespace forebay::journal {
namespace journal_test {

using Bytes = std::vector<std::byte>;
using store::slot_bytes;
constexpr std::uint64_t session = 0x123456789abcdef0;

Header sample_header() {
  return {session, 5, 16, {1, 4, 64 << 10, 1 << 20}, "/scratch/run 7/out.nc"};
}

TEST(LogHeader, is_read_back) {
  const auto bytes = print_header(sample_header());
  EXPECT_EQ(std::ssize(bytes), header_bytes);
  EXPECT_EQ(parse_header(bytes), sample_header());
  EXPECT_FALSE(parse_state(bytes, session));
  Header longest = sample_header();
  longest.path = std::string(4096, 'x');
  EXPECT_EQ(parse_header(print_header(longest)), longest);
  longest.path += 'x';
  EXPECT_EQ(code_of([&] { print_header(longest); }), Errc::einval);
}

TEST(LogHeader, every_damaged_bit_and_every_truncation_is_refused) {
  const auto good = print_header(sample_header());
  const std::size_t used = 52 + sample_header().path.size() + 8;
  for (std::size_t at = 0; at < used; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      // A version or byte order that is damaged looks like another one, which is never skipped.
      const bool foreign =
          at >= 4 && at <= 6 && code_of([&] { parse_header(bytes); }) != Errc::ebadlog;
      EXPECT_TRUE(
          refuses([&] { parse_header(bytes); }, {}, foreign ? Errc::enotsupport : Errc::ebadlog))
          << at;
    }
    EXPECT_TRUE(refuses([&] { parse_header(std::span(good).first(at)); })) << at;
  }
}

TEST(LogHeader, other_machines_and_versions_are_told) {
  auto bytes = print_header(sample_header());
  overwrite(bytes, 6, bytes[6] == std::byte{'L'} ? 'B' : 'L');
  EXPECT_TRUE(refuses([&] { parse_header(bytes); }, "byte order", Errc::enotsupport));
  bytes = print_header(sample_header());
  overwrite(bytes, 5, std::uint8_t{2});
  EXPECT_TRUE(refuses([&] { parse_header(bytes); }, "version 2", Errc::enotsupport));
  bytes = print_header(sample_header());
  overwrite(bytes, 3, std::uint8_t{'T'});  // FBST
  EXPECT_TRUE(refuses([&] { parse_header(bytes); }, "earlier version", Errc::enotsupport));
}

TEST(LogHeader, shares_that_cannot_be_are_refused) {
  for (const Share& share : {Share{-1, 4, 1 << 16, 1 << 20}, Share{4, 4, 1 << 16, 1 << 20},
                             Share{0, 0, 1 << 16, 1 << 20}, Share{0, 2, 4096, 1 << 20},
                             Share{0, 2, 1 << 16, 100}, Share{0, 4, INT64_MAX / 2, 1 << 20}}) {
    Header header = sample_header();
    header.share = share;
    EXPECT_EQ(code_of([&] { print_header(header); }), Errc::einternal);
  }
}

TEST(LogState, the_newest_whole_one_holds) {
  auto bytes = print_header(sample_header());
  State old{8, 3, 99, 10, header_bytes + 80, 7, false}, fresh{9, 4, 98, 20, 16384, 9, true};
  const auto set = [&](const State& state) {
    const auto slot = print_state(state, session);
    ASSERT_EQ(std::ssize(slot), slot_bytes);
    std::copy(slot.begin(), slot.end(), bytes.begin() + slot_of(state.serial));
  };
  set(old);
  EXPECT_EQ(parse_state(bytes, session), old);
  EXPECT_FALSE(parse_state(bytes, session + 1));
  set(fresh);
  EXPECT_EQ(parse_state(bytes, session), fresh);
  EXPECT_EQ(parse_header(bytes), sample_header());
  for (Count at = 0; at < slot_bytes; ++at) {
    auto damaged = bytes;
    damaged[static_cast<std::size_t>(slot_of(9) + at)] ^= std::byte{4};
    EXPECT_EQ(parse_state(damaged, session), old) << at;
  }
  const State good = old;
  old.first_entry = 100;
  set(old);
  EXPECT_TRUE(refuses([&] { parse_state(bytes, session); }));
  for (std::uint64_t State::*number : {&State::serial, &State::epoch, &State::first_sequence}) {
    old = good;
    old.*number = UINT64_MAX - 1;
    set(old);
    EXPECT_TRUE(refuses([&] { parse_state(bytes, session); }));
  }
}

TEST(LogState, slots_lie_in_sectors_of_their_own) {
  EXPECT_NE(slot_of(0) / 512, slot_of(1) / 512);
  for (const std::uint64_t serial : {0, 1, 2}) {
    EXPECT_EQ(slot_of(serial) / 512, (slot_of(serial) + slot_bytes - 1) / 512);
    EXPECT_GE(slot_of(serial), 64 + 4096 + 8);
    EXPECT_LE(slot_of(serial) + slot_bytes, header_bytes);
  }
}

TEST(LogIdentification, belongs_to_one_log) {
  const Header header = sample_header();
  const auto good = print_identification(header);
  EXPECT_LE(std::ssize(good), data_begin);
  check_identification(good, header);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{1};
    EXPECT_TRUE(refuses([&] { check_identification(bytes, header); })) << at;
    EXPECT_TRUE(refuses([&] { check_identification(std::span(good).first(at), header); }));
  }
  Header other = header;
  other.session++;
  EXPECT_TRUE(refuses([&] { check_identification(good, other); }, "another record log"));
  other = header;
  other.rank = 6;
  EXPECT_TRUE(refuses([&] { check_identification(good, other); }));
}

/// Adds an entry of that kind, of 56 bytes, with three bytes of data.
std::uint64_t add(Writer& writer, std::uint8_t kind) {
  const std::array<std::uint64_t, 3> body{kind, 0, kind};
  static const std::array<char, 3> text{'a', 'b', 'c'};
  const iovec data{const_cast<char*>(text.data()), text.size()};
  return writer.add({&data, 1}, [&](const Data& place, std::uint64_t sequence,
                                    std::uint64_t its_session, Bytes& out, std::uint32_t failed) {
    EXPECT_EQ(place.bytes, 3);
    const auto entry = append_entry({sequence, failed, kind, 7}, sizeof body, out);
    std::memcpy(entry.data() + least_entry, body.data(), sizeof body);
    seal_entry(entry, its_session);
  });
}

/// Notes the kinds of entries, and 0 for missing ones.
struct Kinds : Visitor {
  std::vector<int> seen;
  void visit(const FoundEntry& entry, Window&, Scan& scan) override {
    EXPECT_EQ(entry.front.flags, 7);
    EXPECT_EQ(std::ssize(entry.bytes), entry.front.length);
    seen.push_back(entry.front.kind);
    ++scan.writes;
  }
  void miss() override { seen.push_back(0); }
};

TEST(Journal, entries_of_any_kind_are_walked_until_their_mark_is_dropped) {
  const TestJournal<> log;
  const auto writer = log.writer();
  EXPECT_EQ(add(*writer, 1), 0U);
  EXPECT_EQ(add(*writer, 200), 1U);
  EXPECT_TRUE(writer->has_added());
  EXPECT_EQ(code_of([&] { writer->mark(); }), Errc::einternal);
  writer->commit();
  const Mark mark = writer->mark();
  add(*writer, 3);
  writer->commit();
  add(*writer, 4);
  writer->forget();
  Kinds all, rest;
  const Scan scan = log.reader()->walk(all);
  EXPECT_EQ(all.seen, (std::vector<int>{1, 200, 3}));
  EXPECT_EQ(scan.writes, 3);
  EXPECT_EQ(scan.end, std::ssize(log.records->bytes));
  EXPECT_FALSE(scan.torn);
  writer->drop(mark, writer->state());
  log.reader()->walk(rest);
  EXPECT_EQ(rest.seen, (std::vector<int>{3}));
}

TEST(Journal, damage_before_whole_entries_is_told_and_a_torn_end_is_none) {
  const TestJournal<> log;
  const auto writer = log.writer();
  for (const int kind : {1, 2, 3, 4}) add(*writer, static_cast<std::uint8_t>(kind));
  writer->commit();
  log.records->flip(header_bytes + 56 + 40, 1);
  log.records->bytes.pop_back();
  Kinds kinds;
  const Scan scan = log.reader()->walk(kinds);
  EXPECT_EQ(kinds.seen, (std::vector<int>{1, 0, 3}));
  EXPECT_EQ(scan.damage.size(), 1U);
  EXPECT_EQ(scan.end, header_bytes + 3 * 56);
  EXPECT_TRUE(scan.torn);
}

}  // namespace journal_test
}  // namespace forebay::journal
