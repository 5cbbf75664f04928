#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/hash.h"
#include "burst/log/log_testing.h"
#include "burst/log/walk_writes.h"

namespace forebay::staging {
namespace staging_log_reader_test {

using Ids = std::vector<int>;

/// Returns whether `act` throws Errc::ebadlog with a message that contains `words`.
::testing::AssertionResult refuses(const std::function<void()>& act,
                                   const std::string& words = {}) {
  try {
    act();
  } catch (const Error& error) {
    if (error.code() != Errc::ebadlog)
      return ::testing::AssertionFailure() << "code " << to_int(error.code());
    if (std::string(error.what()).find(words) == std::string::npos)
      return ::testing::AssertionFailure() << error.what();
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

/// A log of writes 0 … n-1, each of a few ints, with the places where the entries begin.
struct Sample {
  TestLog log;
  std::vector<Offset> begins;

  explicit Sample(int n) {
    const auto writer = log.writer();
    for (int id = 0; id < n; ++id) {
      begins.push_back(std::ssize(log.records->bytes));
      append(*writer, id);
    }
  }
};

TEST(LogReader, what_is_no_log_is_refused) {
  const Sample sample(3);
  TestLog log = sample.log.copy();
  log.records->bytes.clear();
  EXPECT_TRUE(refuses([&] { log.reader(); }, "log.records"));
  log = sample.log.copy();
  std::swap(log.records, log.data);
  EXPECT_TRUE(refuses([&] { log.reader(); }, "begins with something else"));
  log = sample.log.copy();
  log.data->bytes.resize(20);
  EXPECT_TRUE(refuses([&] { log.reader(); }, "log.data"));
  EXPECT_TRUE(refuses([&] { sample.log.reader(1); }));
  for (const std::size_t n : {1, 64, 4000, 7000}) {
    log = sample.log.copy();
    log.records->bytes.resize(n);
    EXPECT_TRUE(refuses([&] { log.reader(); })) << n;
  }
}

TEST(LogReader, files_of_two_logs_do_not_belong_together) {
  TestLog one, two;
  one.writer({}, {}, 1);
  two.writer({}, {}, 2);
  one.data = two.data;
  EXPECT_TRUE(refuses([&] { one.reader(); }, "another record log"));
}

TEST(LogReader, a_state_that_is_damaged_leaves_the_other_or_is_refused) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  const Mark mark = writer->mark();
  append(*writer, 2);
  writer->drop(mark, {});
  EXPECT_EQ(walk(log).ids, (Ids{2}));
  log.records->flip(slot_of(1) + 20, 0);
  // The previous state refers to an entry that is no longer there.
  EXPECT_EQ(walk(log).ids, (Ids{2}));
  EXPECT_EQ(walk(log).scan.damage.size(), 1U);
  log.records->flip(slot_of(0) + 20, 0);
  EXPECT_TRUE(refuses([&] { log.reader(); }, "neither"));
}

TEST(LogReader, the_end_may_be_cut_anywhere) {
  const Sample sample(4);
  const auto size = sample.log.records->bytes.size();
  for (auto n = static_cast<std::size_t>(header_bytes); n < size; ++n) {
    TestLog log = sample.log.copy();
    log.records->bytes.resize(n);
    const Walked got = walk(log);
    std::size_t whole = 0;
    while (whole + 1 < sample.begins.size() &&
           static_cast<std::size_t>(sample.begins[whole + 1]) <= n)
      ++whole;
    EXPECT_EQ(got.ids.size(), whole) << n;
    EXPECT_EQ(got.scan.end, sample.begins[whole]);
    EXPECT_EQ(got.scan.torn, static_cast<std::size_t>(sample.begins[whole]) != n) << n;
    EXPECT_TRUE(got.scan.damage.empty());
  }
}

TEST(LogReader, zeros_after_the_end_are_no_torn_tail) {
  Sample sample(4);
  sample.log.records->bytes.resize(sample.log.records->bytes.size() + 5001);
  EXPECT_FALSE(walk(sample.log).scan.torn);
  sample.log.records->bytes.back() = std::byte{1};
  EXPECT_TRUE(walk(sample.log).scan.torn);
}

TEST(LogReader, entries_of_another_session_are_no_continuation) {
  Sample sample(2);
  std::vector<std::byte> others;
  TestWrite w(7, 5);
  w.write.data = data_begin;
  w.write.bytes = 20;
  print_entry(w.write, 2, 4712, others);
  auto& bytes = sample.log.records->bytes;
  bytes.insert(bytes.end(), others.begin(), others.end());
  const Walked got = walk(sample.log);
  EXPECT_EQ(got.ids, (Ids{0, 1}));
  EXPECT_TRUE(got.scan.torn);
}

// Each bit of the entries is flipped in turn. The damaged entry is missed, and the others are
// there.
TEST(LogReader, a_flipped_bit_anywhere_is_found) {
  const Sample sample(5);
  const auto size = std::ssize(sample.log.records->bytes);
  for (Offset at = header_bytes; at < size; ++at) {
    TestLog log = sample.log.copy();
    log.records->flip(at, static_cast<unsigned>(at % 8));
    std::size_t hit = 0;
    while (hit + 1 < sample.begins.size() && sample.begins[hit + 1] <= at) ++hit;
    Ids expected;
    for (int id = 0; id < 5; ++id) {
      if (id != static_cast<int>(hit)) expected.push_back(id);
    }
    const Walked got = walk(log);
    EXPECT_EQ(got.ids, expected) << at;
    EXPECT_EQ(got.wrong_data, 0);
    if (hit == 4) {
      EXPECT_TRUE(got.scan.damage.empty());
      EXPECT_TRUE(got.scan.torn);
      EXPECT_EQ(got.scan.end, sample.begins[4]);
    } else {
      ASSERT_EQ(got.scan.damage.size(), 1U) << at;
      EXPECT_NE(got.scan.damage[0].find("entry " + std::to_string(hit) + " is"), std::string::npos)
          << got.scan.damage[0];
      EXPECT_EQ(got.scan.end, size);
    }
  }
}

TEST(LogReader, a_zeroed_sector_is_damage) {
  const Sample sample(100);
  TestLog log = sample.log.copy();
  const auto from = log.records->bytes.begin() + 12288;
  std::fill(from, from + 512, std::byte{0});
  const Walked got = walk(log);
  EXPECT_EQ(got.scan.damage.size(), 1U);
  EXPECT_LT(got.ids.size(), 97U);
  EXPECT_GT(got.ids.size(), 90U);
  EXPECT_EQ(got.ids.back(), 99);
}

TEST(LogReader, a_log_cut_before_its_first_entry_is_damaged) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  const Mark mark = writer->mark();
  append(*writer, 2);
  writer->drop(mark, {});
  log.records->bytes.resize(static_cast<std::size_t>(mark.entry) - 8);
  const Walked got = walk(log);
  EXPECT_TRUE(got.ids.empty());
  EXPECT_EQ(got.scan.damage.size(), 1U);
}

TEST(LogReader, a_request_counts_only_as_a_whole) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 0);
  const auto first = log.records->bytes.size();
  std::vector<TestWrite> request;
  for (int id = 1; id <= 4; ++id) request.emplace_back(id, 6, id < 4);
  for (TestWrite& w : request) w.add_to(*writer);
  writer->commit();
  const auto last = log.records->bytes.size();
  append(*writer, 5);
  EXPECT_EQ(walk(log).ids, (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(walk(log).sequences, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  const std::size_t each = (last - first) / 4;
  for (std::size_t whole = 0; whole < 4; ++whole) {
    TestLog cut = log.copy();
    cut.records->bytes.resize(first + whole * each);
    const Walked got = walk(cut);
    EXPECT_EQ(got.ids, (Ids{0}));
    EXPECT_EQ(got.scan.cut_entries, static_cast<Count>(whole));
  }
  for (std::size_t damaged = 0; damaged < 4; ++damaged) {
    TestLog bad = log.copy();
    bad.records->flip(static_cast<Offset>(first + damaged * each + 50), 1);
    const Walked got = walk(bad);
    EXPECT_EQ(got.ids, (Ids{0, 5})) << damaged;
    EXPECT_EQ(got.scan.damage.size(), 1U);
    EXPECT_EQ(got.scan.cut_entries, 0);
  }
}

TEST(LogReader, a_request_of_very_many_writes_is_visited) {
  TestLog log;
  const auto writer = log.writer();
  constexpr int n = 30'000;  // several windows
  std::vector<TestWrite> request;
  request.reserve(n);
  for (int id = 0; id < n; ++id) request.emplace_back(id, 1, id + 1 < n);
  for (TestWrite& w : request) w.add_to(*writer);
  writer->commit();
  append(*writer, n);
  const Walked got = walk(log);
  ASSERT_EQ(got.ids.size(), static_cast<std::size_t>(n) + 1);
  for (int id = 0; id <= n; ++id) ASSERT_EQ(got.ids[static_cast<std::size_t>(id)], id);
  EXPECT_EQ(got.wrong_data, 0);
}

/// Commits write `id`. It selects a list of `runs` pieces of 4 bytes, which precedes it in the log.
void append_pieces(Writer& writer, int id, int runs) {
  auto list = std::make_shared<RunList>();
  for (int i = 0; i < runs; ++i) list->runs.push_back({(20 + id % 100) * i, 4});
  list->bytes = 4 * runs;
  TestWrite w(id, runs);
  w.write.selection = writer.add_pieces({list});
  w.add_to(writer);
  writer.commit();
}

TEST(LogReader, pieces_are_those_that_were_written) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 10; ++id) append_pieces(*writer, id, 50'000 * id + 1);
  const Walked got = walk(log);
  ASSERT_EQ(got.pieces.size(), 10U);
  EXPECT_EQ(got.scan.pieces, 10);
  EXPECT_EQ(got.wrong_data, 0);
  for (int id = 0; id < 10; ++id) {
    const auto& runs = got.pieces[static_cast<std::size_t>(id)]->runs;
    ASSERT_EQ(runs.size(), static_cast<std::size_t>(50'000 * id + 1));
    EXPECT_EQ(runs.back(), (forebay::Run{Offset{20 + id} * (50'000 * id), 4}));
  }
}

TEST(LogReader, pieces_that_left_memory_are_read_again) {
  TestLog log;
  const auto writer = log.writer();
  std::vector<std::uint64_t> numbers;
  constexpr int lists = 10, runs = 800'000;  // 12.8 MB each in memory
  for (int i = 0; i < lists; ++i) {
    auto list = std::make_shared<RunList>();
    for (int r = 0; r < runs; ++r) list->runs.push_back({(8 + 4 * i) * r, 4});
    list->bytes = 4 * runs;
    numbers.push_back(writer->add_pieces({list}));
  }
  std::vector<TestWrite> writes;
  for (int i = 0; i < lists; ++i) {
    writes.emplace_back(i, runs);
    writes.back().write.selection = numbers[static_cast<std::size_t>(i)];
  }
  for (TestWrite& w : writes) w.add_to(*writer);
  writer->commit();
  const auto reader = log.reader();
  int seen = 0;
  const Scan scan = walk_writes(*reader, [&](std::uint64_t, const Write& write, const auto& list) {
    EXPECT_EQ(write.var, seen++);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->runs.back().offset, Offset{8 + 4 * write.var} * (runs - 1));
  });
  EXPECT_EQ(seen, lists);
  EXPECT_TRUE(scan.damage.empty());
}

TEST(LogReader, writes_whose_pieces_are_damaged_are_told_and_left_out) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  const auto at = log.records->bytes.size();
  append_pieces(*writer, 2, 100);
  append(*writer, 3);
  log.records->flip(static_cast<Offset>(at) + 70, 2);
  const Walked got = walk(log);
  EXPECT_EQ(got.ids, (Ids{1, 3}));
  ASSERT_EQ(got.scan.damage.size(), 2U);
  EXPECT_NE(got.scan.damage[1].find("variable 2"), std::string::npos) << got.scan.damage[1];
  EXPECT_NE(got.scan.damage[1].find("missing"), std::string::npos) << got.scan.damage[1];
}

TEST(LogReader, writes_of_other_bytes_than_their_pieces_are_told_and_left_out) {
  TestLog log;
  const auto writer = log.writer();
  auto list = std::make_shared<RunList>();
  list->runs = {{0, 16}};
  list->bytes = 16;
  TestWrite w(1, 5);
  w.write.selection = writer->add_pieces({list});
  w.add_to(*writer);
  TestWrite none(2, 5);
  none.write.selection = std::uint64_t{1};  // that is the write
  none.add_to(*writer);
  writer->commit();
  append(*writer, 3);
  const Walked got = walk(log);
  EXPECT_EQ(got.ids, (Ids{3}));
  EXPECT_EQ(got.scan.damage.size(), 2U);
}

TEST(LogReader, what_a_visitor_throws_comes_out) {
  Sample sample(3);
  const auto reader = sample.log.reader();
  int seen = 0;
  const auto visit = [&](auto&&...) {
    if (++seen == 2) throw Error(Errc::erange, "enough");
  };
  EXPECT_THROW(walk_writes(*reader, visit), Error);
  EXPECT_EQ(seen, 2);
}

// -- hostile files --------------------------------------------------------------------------------

/// Counts what is read, so that a test sees whether a walk takes time in proportion.
class CountingFile : public MemoryFile {
 public:
  CountingFile(std::shared_ptr<MemoryDisk> disk, Count& bytes)
      : MemoryFile("log.records", std::move(disk)), bytes_(bytes) {}
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    bytes_ += std::ssize(into);
    return MemoryFile::read_at(offset, into);
  }

 private:
  Count& bytes_;
};

// Each whole entry is followed by the beginning of one that claims the rest of the file.
TEST(LogReader, entries_that_claim_the_rest_of_the_file_do_not_make_it_slow) {
  TestLog log;
  log.writer();
  constexpr int n = 20'000;
  auto& bytes = log.records->bytes;
  bytes.reserve(1 << 23);
  std::vector<Offset> claims;
  for (int i = 0; i < n; ++i) {
    TestWrite w(i, 0);
    w.write.data = data_begin;
    w.write.hash = hash_of(std::span<const std::byte>{});
    print_entry(w.write, static_cast<std::uint64_t>(2 * i), 4711, bytes);
    claims.push_back(std::ssize(bytes));
    print_entry(w.write, static_cast<std::uint64_t>(2 * i) + 1, 4711, bytes);
  }
  for (const Offset at : claims) {
    const auto words = static_cast<std::uint32_t>((std::ssize(bytes) - at) / 8);
    std::memcpy(bytes.data() + at + 16, &words, sizeof words);
  }
  Count read = 0;
  Reader reader(std::make_unique<CountingFile>(log.records, read), log.data_file());
  const Walked got = walk(reader);
  EXPECT_FALSE(got.scan.damage.empty());
  ASSERT_LE(got.scan.damage.size(), 101U);
  EXPECT_NE(got.scan.damage.back().find("too much to search"), std::string::npos);
  EXPECT_LT(read, 40 * std::ssize(bytes));
}

TEST(LogReader, random_damage_never_crashes) {
  std::mt19937 random(7);
  TestLog good;
  {
    const auto writer = good.writer();
    for (int id = 0; id < 6; ++id) {
      append(*writer, id, 4, id % 3 == 1);
      append_pieces(*writer, 100 + id, 20);
    }
  }
  for (int round = 0; round < 3000; ++round) {
    TestLog log = good.copy();
    for (unsigned i = 0; i <= random() % 4; ++i) {
      MemoryDisk& disk = random() % 4 == 0 ? *log.data : *log.records;
      const auto from = static_cast<Offset>(random() % disk.bytes.size());
      switch (random() % 3) {
        case 0:
          disk.flip(from, random() % 8);
          break;
        case 1:
          disk.bytes.resize(static_cast<std::size_t>(from) + 1);
          break;
        default: {
          const auto n = std::min<Count>(std::ssize(disk.bytes) - from, random() % 600);
          for (Offset at = from; at < from + n; ++at)
            disk.bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(random());
        }
      }
    }
    try {
      const auto reader = log.reader();
      const Walked got = walk(*reader);
      EXPECT_EQ(got.wrong_data, 0);
    } catch (const Error& error) {
      // A version that is damaged looks like a newer one.
      EXPECT_TRUE(error.code() == Errc::ebadlog || error.code() == Errc::enotsupport)
          << error.what();
      EXPECT_FALSE(error.message().empty());
    }
  }
}

// Only an attacker makes entries with a right checksum and wrong contents.
TEST(LogReader, sealed_nonsense_never_crashes) {
  std::mt19937 random(11);
  TestLog good;
  std::vector<Offset> begins;
  {
    const auto writer = good.writer();
    for (int id = 0; id < 4; ++id) {
      begins.push_back(std::ssize(good.records->bytes));
      append(*writer, id, 4);
      begins.push_back(std::ssize(good.records->bytes));
      append_pieces(*writer, 100 + id, 20);
    }
  }
  for (int round = 0; round < 5000; ++round) {
    TestLog log = good.copy();
    const auto at = static_cast<std::size_t>(begins[random() % begins.size()]);
    const auto all = std::span(log.records->bytes);
    const auto length = static_cast<std::size_t>(*entry_length(all.subspan(at)));
    const auto entry = all.subspan(at, length);
    for (unsigned i = 0; i <= random() % 3; ++i)
      entry[20 + random() % (length - 20)] =
          static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    seal_entry(entry, 4711);
    try {
      walk(log);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::ebadlog) << error.what();
    }
  }
}

}  // namespace staging_log_reader_test
}  // namespace forebay::staging
