#include "burst/format/staging_entry.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "base/error.h"
#include "store/journal_testing.h"

namespace forebay::staging {
namespace staging_entry_test {

using journal::code_of, journal::entry_length, journal::overwrite, journal::refuses,
    journal::seal_entry;

using Bytes = std::vector<std::byte>;
using Runs = std::vector<Run>;
constexpr std::uint64_t session = 0x123456789abcdef0;

Write sample_write() {
  Write write;
  write.var = 12;
  write.type = Type::int16;
  write.external = true;
  write.continued = true;
  write.last_record = 4;
  write.data = 10'000;
  write.bytes = 3 * 5 * 7 * 2;
  write.hash = 42;
  write.selection = Subarray{{3, 0, 9}, {3, 5, 7}, {1, 2, 3}};
  return write;
}

void expect_equal(const Write& a, const Write& b) {
  EXPECT_EQ(a.var, b.var);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.external, b.external);
  EXPECT_EQ(a.continues, b.continues);
  EXPECT_EQ(a.continued, b.continued);
  EXPECT_EQ(a.last_record, b.last_record);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.hash, b.hash);
  ASSERT_EQ(a.selection.index(), b.selection.index());
  if (const auto* box = std::get_if<Subarray>(&a.selection)) {
    const auto& other = std::get<Subarray>(b.selection);
    EXPECT_EQ(box->start, other.start);
    EXPECT_EQ(box->count, other.count);
    EXPECT_EQ(box->stride, other.stride);
  } else {
    EXPECT_EQ(std::get<1>(a.selection), std::get<1>(b.selection));
  }
}

Bytes printed(const Write& write, std::uint64_t sequence = 17, std::uint32_t failed = 3) {
  Bytes bytes;
  print_entry(write, sequence, session, bytes, failed);
  return bytes;
}

void expect_read_back(const Write& write) {
  const Bytes bytes = printed(write);
  EXPECT_EQ(bytes.size() % 8, 0U);
  EXPECT_EQ(entry_length(std::span(bytes).first(least_entry)), std::ssize(bytes));
  const auto entry = parse_entry(bytes, session);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->sequence, 17U);
  EXPECT_EQ(entry->failed, 3U);
  ASSERT_TRUE(std::holds_alternative<Write>(entry->what));
  expect_equal(std::get<Write>(entry->what), write);
}

TEST(LogEntry, writes_are_read_back) {
  Write write = sample_write();
  expect_read_back(write);
  std::get<Subarray>(write.selection).stride.clear();
  write.external = false;
  write.continues = true;
  expect_read_back(write);
  write.selection = std::uint64_t{5};
  expect_read_back(write);
  write.selection = Subarray{};  // a scalar
  write.bytes = 2;
  expect_read_back(write);
  write.selection = Subarray{{0, 0}, {0, INT64_MAX}, {}};
  write.bytes = 0;
  expect_read_back(write);
}

TEST(LogEntry, every_damaged_bit_and_every_truncation_is_noticed) {
  const Bytes good = printed(sample_write());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(parse_entry(bytes, session)) << at;
    }
    EXPECT_FALSE(parse_entry(std::span(good).first(at), session));
  }
  EXPECT_FALSE(parse_entry(good, session + 1));
}

/// Returns whether a sealed entry is refused if its value at byte `at` is replaced.
template <typename T>
::testing::AssertionResult refuses_with(std::size_t at, T value) {
  Bytes bytes = printed(sample_write());
  overwrite(bytes, at, value);
  seal_entry(bytes, session);
  return refuses([&] { parse_entry(bytes, session); }, "entry 17");
}

TEST(LogEntry, impossible_writes_are_refused) {
  EXPECT_TRUE(refuses_with(32, std::int32_t{-1}));              // variable
  EXPECT_TRUE(refuses_with(36, std::int32_t{12}));              // type
  EXPECT_TRUE(refuses_with(40, std::int64_t{-1}));              // record
  EXPECT_TRUE(refuses_with(48, std::int64_t{data_begin - 1}));  // data
  EXPECT_TRUE(refuses_with(48, std::int64_t{INT64_MAX}));
  EXPECT_TRUE(refuses_with(56, std::int64_t{-1}));  // bytes
  EXPECT_TRUE(refuses_with(56, std::int64_t{3 * 5 * 7 * 2 + 1}));
  EXPECT_TRUE(refuses_with(72, std::uint32_t{4}));  // dimensions
  EXPECT_TRUE(refuses_with(72, std::uint32_t{0xffffffff}));
  EXPECT_TRUE(refuses_with(76, std::uint32_t{2}));  // has strides
  EXPECT_TRUE(refuses_with(80, std::int64_t{-1}));  // start
  EXPECT_TRUE(refuses_with(80, std::int64_t{INT64_MAX}));
  EXPECT_TRUE(refuses_with(104, std::int64_t{-3}));  // count
  EXPECT_TRUE(refuses_with(104, std::int64_t{INT64_MAX}));
  EXPECT_TRUE(refuses_with(128, std::int64_t{0}));  // stride
  EXPECT_TRUE(refuses_with(128, std::int64_t{INT64_MAX}));
  Write named = sample_write();
  named.selection = std::uint64_t{16};
  Bytes bytes = printed(named);
  overwrite(bytes, 72, std::uint64_t{17});  // itself
  seal_entry(bytes, session);
  EXPECT_TRUE(refuses([&] { parse_entry(bytes, session); }));
}

TEST(LogEntry, writes_that_no_log_can_hold_are_not_printed) {
  const auto refused = [](auto&& change) {
    Write write = sample_write();
    change(write);
    return code_of([&] { printed(write); }) == Errc::einternal;
  };
  EXPECT_TRUE(refused([](Write& w) { w.var = -1; }));
  EXPECT_TRUE(refused([](Write& w) { w.type = Type::none; }));
  EXPECT_TRUE(refused([](Write& w) { w.bytes += 2; }));
  EXPECT_TRUE(refused([](Write& w) { w.selection = std::uint64_t{17}; }));
  EXPECT_TRUE(refused([](Write& w) { std::get<Subarray>(w.selection).count.pop_back(); }));
  EXPECT_FALSE(refused([](Write&) {}));
}

void expect_read_back(Runs runs) {
  Pieces pieces{std::move(runs), 0};
  for (const Run& r : pieces.runs) pieces.bytes += r.length;
  Bytes bytes;
  print_entry(pieces, 9, session, bytes);
  EXPECT_EQ(bytes.size() % 8, 0U);
  const auto entry = parse_entry(bytes, session);
  ASSERT_TRUE(entry);
  const auto& got = std::get<Pieces>(entry->what);
  EXPECT_EQ(got.runs, pieces.runs);
  EXPECT_EQ(got.bytes, pieces.bytes);
}

TEST(LogEntry, pieces_are_read_back) {
  expect_read_back(Runs{});
  expect_read_back(Runs{{0, 1}});
  expect_read_back({{0, 8}, {8, 8}, {24, 16}});
  expect_read_back({{4, 4}, {12, 20}});
  expect_read_back(Runs{{INT64_MAX - 1, 1}});
  expect_read_back(Runs{{0, INT64_MAX}});
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const unsigned unit = random() % 5, bits = 1 + random() % 30;
    Runs runs;
    Offset at = 0;
    for (std::uint64_t i = 0; i < random() % 300; ++i) {
      at += static_cast<Offset>((random() >> (64 - bits)) << unit);
      runs.push_back({at, static_cast<Count>((1 + (random() >> (64 - bits))) << unit)});
      at += runs.back().length;
    }
    expect_read_back(std::move(runs));
  }
}

TEST(LogEntry, pieces_take_a_few_bytes_each) {
  Pieces pieces;
  for (int i = 0; i < 10'000; ++i) pieces.runs.push_back({64 * i, 8});
  pieces.bytes = 80'000;
  Bytes bytes;
  print_entry(pieces, 0, session, bytes);
  EXPECT_LE(bytes.size(), 20'064U);
}

TEST(LogEntry, pieces_that_no_log_can_hold_are_not_printed) {
  Bytes bytes;
  for (const auto& runs :
       {Runs{{0, 4}, {2, 4}}, Runs{{8, 4}, {0, 4}}, Runs{{0, 0}, {4, 8}}, Runs{{-8, 8}}}) {
    EXPECT_EQ(code_of([&] { print_entry(Pieces{runs, 8}, 0, session, bytes); }), Errc::einternal);
  }
  EXPECT_EQ(code_of([&] { print_entry(Pieces{{{0, 8}}, 9}, 0, session, bytes); }), Errc::einternal);
  EXPECT_TRUE(bytes.empty());
}

TEST(LogEntry, impossible_pieces_are_refused) {
  Bytes good;
  print_entry(Pieces{{{1, 100}, {900, 5}, {1000, 70'000}}, 70'105}, 9, session, good);
  const auto with = [&](std::size_t at, auto value) {
    Bytes bytes = good;
    overwrite(bytes, at, value);
    seal_entry(bytes, session);
    return refuses([&] { parse_entry(bytes, session); }, "entry 9");
  };
  EXPECT_TRUE(with(32, std::uint64_t{4}));  // runs
  EXPECT_TRUE(with(32, std::uint64_t{2}));
  EXPECT_TRUE(with(32, std::uint64_t{1} << 60));
  EXPECT_TRUE(with(40, std::int64_t{70'104}));  // bytes
  EXPECT_TRUE(with(48, std::uint32_t{4}));      // unit
  EXPECT_TRUE(with(48, std::uint32_t{1}));
  EXPECT_TRUE(with(57, std::uint8_t{0}));                    // a run of no bytes
  EXPECT_TRUE(with(56, std::uint64_t{0xffffffffffffffff}));  // numbers that do not end
}

TEST(LogEntry, random_bytes_and_sealed_nonsense_never_crash) {
  std::mt19937 random(5);
  Bytes pieces;
  print_entry(Pieces{{{1, 100}, {900, 5}, {1000, 70'000}}, 70'105}, 9, session, pieces);
  const Bytes write = printed(sample_write());
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes = round % 2 == 0 ? pieces : write;
    for (unsigned i = 0; i <= random() % 4; ++i)
      bytes[12 + random() % (bytes.size() - 12)] = static_cast<std::byte>(random());
    if (round % 8 != 0) seal_entry(bytes, session);
    EXPECT_TRUE(code_of([&] { parse_entry(bytes, session); }) == Errc::ok ||
                refuses([&] { parse_entry(bytes, session); }));
  }
}

TEST(LogEntry, memory_of_an_entry_is_used_again) {
  Entry entry;
  const Bytes bytes = printed(sample_write());
  ASSERT_TRUE(parse_entry(bytes, session, entry));
  const Count* before = std::get<Subarray>(std::get<Write>(entry.what).selection).start.data();
  ASSERT_TRUE(parse_entry(bytes, session, entry));
  EXPECT_EQ(std::get<Subarray>(std::get<Write>(entry.what).selection).start.data(), before);
}

}  // namespace staging_entry_test
}  // namespace forebay::staging
