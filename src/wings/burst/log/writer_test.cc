#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "burst/log/log_testing.h"
#include "burst/log/staging_writer.h"

namespace forebay::staging {
namespace writer_test {

using journal::code_of;

using Ids = std::vector<int>;

std::shared_ptr<const RunList> runs_of(std::vector<Run> runs) {
  auto list = std::make_shared<RunList>();
  list->runs = std::move(runs);
  for (const Run& r : list->runs) list->bytes += r.length;
  return list;
}

TEST(LogWriter, what_is_committed_is_walked_in_order) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 20; ++id) append(*writer, id, id);
  const Walked got = walk(log);
  EXPECT_EQ(got.ids.size(), 20U);
  for (int id = 0; id < 20; ++id) EXPECT_EQ(got.ids[static_cast<std::size_t>(id)], id);
  EXPECT_EQ(got.wrong_data, 0);
  EXPECT_EQ(got.scan.writes, 20);
  EXPECT_EQ(got.scan.data_bytes, 190 * 4);
  EXPECT_FALSE(got.scan.torn);
  EXPECT_TRUE(got.scan.damage.empty());
  EXPECT_EQ(got.scan.end, std::ssize(log.records->bytes));
  EXPECT_EQ(log.reader()->header(), writer->header());
  EXPECT_EQ(log.reader()->state(), writer->state());
}

TEST(LogWriter, commits_with_one_write_to_each_file) {
  TestLog log;
  const auto writer = log.writer();
  log.records->writes = log.data->writes = 0;
  std::vector<TestWrite> writes;
  for (int id = 0; id < 10; ++id) writes.emplace_back(id, 7);
  for (TestWrite& w : writes) w.add_to(*writer);
  EXPECT_EQ(log.data->writes, 0);
  writer->commit();
  EXPECT_EQ(log.records->writes, 1);
  EXPECT_EQ(log.data->writes, 1);
  writer->commit();
  EXPECT_EQ(log.records->writes, 1) << "nothing was added";
  EXPECT_EQ(walk(log).ids.size(), 10U);
}

TEST(LogWriter, data_in_several_pieces_are_one_write) {
  TestLog log;
  const auto writer = log.writer();
  TestWrite w(3, 100);
  std::vector<iovec> pieces;
  for (std::size_t i = 0; i < 100; i += 10) {
    pieces.push_back({w.values.data() + i, 5 * sizeof(int)});
    pieces.push_back({nullptr, 0});
    pieces.push_back({w.values.data() + i + 5, 5 * sizeof(int)});
  }
  writer->add(w.write, pieces);
  writer->commit();
  EXPECT_EQ(w.write.bytes, 400);
  EXPECT_EQ(w.write.hash, hash_of(std::as_bytes(std::span(w.values))));
  const Walked got = walk(log);
  EXPECT_EQ(got.ids, (Ids{3}));
  EXPECT_EQ(got.wrong_data, 0);
}

TEST(LogWriter, reads_its_data_back_and_notices_damage) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1, 50);
  const Write write = append(*writer, 2, 50);
  std::vector<int> got(50);
  writer->read(write, std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, values_of(2, 50));
  log.data->flip(write.data + 77, 3);
  try {
    writer->read(write, std::as_writable_bytes(std::span(got)));
    FAIL() << "damage was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::ebadlog);
    EXPECT_NE(error.message().find("log.data"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("variable 2"), std::string::npos) << error.message();
  }
  log.data->bytes.resize(log.data->bytes.size() - 1);
  EXPECT_EQ(code_of([&] { writer->read(write, std::as_writable_bytes(std::span(got))); }),
            Errc::ebadlog);
}

TEST(LogWriter, equal_pieces_are_stored_once_until_a_mark) {
  TestLog log;
  const auto writer = log.writer();
  const auto list = runs_of({{0, 8}, {16, 12}});
  const auto number = writer->add_pieces({list});
  EXPECT_EQ(writer->add_pieces({list}), number);
  const auto shifted = writer->add_pieces({list, 40});
  EXPECT_NE(shifted, number);
  EXPECT_EQ(writer->add_pieces({list, 40}), shifted);
  for (const int id : {1, 2}) {
    TestWrite w(id, 5);
    w.write.selection = number;
    w.add_to(*writer);
    writer->commit();
  }
  TestWrite elsewhere(3, 5);
  elsewhere.write.selection = shifted;
  elsewhere.add_to(*writer);
  writer->commit();
  const Walked got = walk(log);
  EXPECT_EQ(got.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(got.scan.pieces, 2);
  ASSERT_TRUE(got.pieces[0]);
  EXPECT_EQ(*got.pieces[0], *list);
  EXPECT_EQ(got.pieces[0], got.pieces[1]);
  ASSERT_TRUE(got.pieces[2]);
  EXPECT_EQ(*got.pieces[2], *runs_of({{40, 8}, {56, 12}}));
  writer->mark();
  EXPECT_GT(writer->add_pieces({list}), shifted);
}

TEST(LogWriter, forgotten_pieces_are_added_again) {
  TestLog log;
  const auto writer = log.writer();
  const auto list = runs_of({{0, 20}});
  writer->add_pieces({list});
  writer->forget();
  writer->add_pieces({list});
  log.records->room = 10;
  EXPECT_EQ(code_of([&] { writer->commit(); }), Errc::eno_space);
  log.records->room = INT64_MAX;
  TestWrite w(1, 5);
  w.write.selection = writer->add_pieces({list});
  w.add_to(*writer);
  writer->commit();
  EXPECT_EQ(walk(log).ids, (Ids{1}));
  EXPECT_TRUE(walk(log).scan.damage.empty());
}

// The device becomes full at each byte in turn, first of the data, then of the entries.
TEST(LogWriter, a_commit_that_fails_leaves_the_log_as_it_was) {
  for (const bool in_data : {true, false}) {
    for (Count room = 0;; room += 8) {
      TestLog log;
      const auto writer = log.writer();
      append(*writer, 1);
      std::vector<TestWrite> writes;
      for (const int id : {2, 3, 4}) writes.emplace_back(id, 5);
      for (TestWrite& w : writes) w.add_to(*writer);
      MemoryDisk& disk = in_data ? *log.data : *log.records;
      disk.room = room;
      if (code_of([&] { writer->commit(); }) == Errc::ok) {
        EXPECT_GE(room, in_data ? 60 : 200);
        break;
      }
      EXPECT_EQ(walk(log).ids, (Ids{1})) << room;
      EXPECT_FALSE(walk(log).scan.torn);
      disk.room = INT64_MAX;
      append(*writer, 5);
      const Walked got = walk(log);
      EXPECT_EQ(got.ids, (Ids{1, 5}));
      EXPECT_EQ(got.wrong_data, 0);
      EXPECT_TRUE(got.scan.damage.empty());
    }
  }
}

// Two whole entries were written before the device was full, and could not be removed. Then fewer
// are committed, so the old entries have the numbers that come next.
TEST(LogWriter, what_a_failed_commit_left_is_no_continuation) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  {
    // The file would hold this if it had not been truncated.
    std::vector<TestWrite> writes;
    for (const int id : {2, 3, 4, 6}) writes.emplace_back(id, 5);
    for (TestWrite& w : writes) w.add_to(*writer);
    const auto begin = log.records->bytes.size();
    log.data->room = 0;
    EXPECT_EQ(code_of([&] { writer->commit(); }), Errc::eno_space);
    log.data->room = INT64_MAX;
    std::vector<std::byte> left;
    std::uint64_t sequence = 1;
    for (const TestWrite& w : writes) print_entry(w.write, sequence++, 4711, left, 0);
    log.records->bytes.resize(begin);
    log.records->bytes.insert(log.records->bytes.end(), left.begin(), left.end());
    // Their data are there, too.
    for (const TestWrite& w : writes)
      MemoryFile("", log.data).write_at(w.write.data, std::as_bytes(std::span(w.values)));
  }
  append(*writer, 5);
  const Walked got = walk(log);
  EXPECT_EQ(got.ids, (Ids{1, 5}));
  EXPECT_EQ(got.wrong_data, 0);
  EXPECT_TRUE(got.scan.damage.empty());
  EXPECT_FALSE(got.scan.torn) << "whole entries of the past";
}

TEST(LogWriter, a_request_that_was_given_up_does_not_count) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1, 5, true);
  TestWrite second(2, 5);
  second.add_to(*writer);
  log.data->room = 3;
  EXPECT_EQ(code_of([&] { writer->commit(); }), Errc::eno_space);
  log.data->room = INT64_MAX;
  EXPECT_EQ(walk(log).scan.cut_entries, 1);
  append(*writer, 3);
  EXPECT_EQ(walk(log).ids, (Ids{3}));
}

TEST(LogWriter, begins_again_when_everything_is_dropped) {
  TestLog log;
  const auto writer = log.writer();
  for (int round = 0; round < 5; ++round) {
    for (int id = 0; id < 4; ++id) append(*writer, 10 * round + id);
    EXPECT_EQ(walk(log).ids.front(), 10 * round);
    EXPECT_EQ(walk(log).sequences.front(), static_cast<std::uint64_t>(4 * round));
    State state;
    state.epoch = static_cast<std::uint64_t>(round) + 1;
    state.least_records = 7;
    writer->drop(writer->mark(), state);
    EXPECT_EQ(writer->mark().entry, header_bytes);
    EXPECT_EQ(std::ssize(log.records->bytes), header_bytes);
    EXPECT_EQ(std::ssize(log.data->bytes), data_begin);
    EXPECT_TRUE(walk(log).ids.empty());
    EXPECT_EQ(log.reader()->state().epoch, state.epoch);
    EXPECT_EQ(log.reader()->state().least_records, 7);
  }
}

TEST(LogWriter, a_crash_between_the_state_and_the_space_is_harmless) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 4; ++id) append(*writer, id);
  const TestLog before = log.copy();
  writer->drop(writer->mark(), {});
  TestLog crashed = before.copy();
  std::copy_n(log.records->bytes.begin(), header_bytes, crashed.records->bytes.begin());
  const Walked got = walk(crashed);
  EXPECT_TRUE(got.ids.empty());
  EXPECT_TRUE(got.scan.damage.empty());
  EXPECT_FALSE(got.scan.torn);
  // If the state is torn at any byte, the one before it counts.
  for (Count n = 0; n < store::slot_bytes; ++n) {
    TestLog torn = before.copy();
    const auto slot = slot_of(1);
    std::copy_n(log.records->bytes.begin() + slot, n, torn.records->bytes.begin() + slot);
    EXPECT_TRUE(walk(torn).ids.size() == 4 || (walk(torn).ids.empty() && n > 100)) << n;
  }
}

TEST(LogWriter, a_part_is_dropped_and_its_pages_are_given_back) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 100; ++id) append(*writer, id, 1000);
  const Mark mark = writer->mark();
  append(*writer, 200, 10);
  writer->drop(mark, {});
  EXPECT_EQ(log.data->released, 400'000 / 4096 * 4096);
  EXPECT_GT(log.records->released, 0);
  EXPECT_EQ(walk(log).ids, (Ids{200}));
  EXPECT_EQ(walk(log).sequences, (std::vector<std::uint64_t>{100}));
  append(*writer, 201, 10);
  EXPECT_EQ(walk(log).ids, (Ids{200, 201}));
  EXPECT_EQ(walk(*log.reader(), true).ids, (Ids{200, 201}));
  writer->drop(writer->mark(), {});
  append(*writer, 202, 10);
  EXPECT_EQ(walk(log).ids, (Ids{202}));
}

// The entries fill no page that could be given back, but their data are gone.
TEST(LogWriter, dropped_entries_that_are_still_there_are_not_taken_for_kept_ones) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 3; ++id) append(*writer, id, 5000);
  const Mark mark = writer->mark();
  append(*writer, 3);
  writer->drop(mark, {});
  EXPECT_EQ(log.records->released, 0);
  EXPECT_GT(log.data->released, 0);
  EXPECT_EQ(walk(*log.reader(), true).ids, (Ids{3}));
  EXPECT_EQ(walk(log).ids, (Ids{3}));
}

TEST(LogWriter, dropped_entries_are_kept_for_people_to_look_at) {
  TestLog log;
  const auto writer = log.writer();
  for (int id = 0; id < 3; ++id) append(*writer, id);
  State state;
  state.closed = true;
  writer->drop(writer->mark(), state, true);
  const auto reader = log.reader();
  EXPECT_TRUE(reader->state().closed);
  EXPECT_TRUE(walk(*reader).ids.empty());
  EXPECT_EQ(walk(*reader, true).ids, (Ids{0, 1, 2}));
  append(*writer, 3);
  EXPECT_EQ(walk(*log.reader(), true).ids, (Ids{0, 1, 2, 3}));
  EXPECT_EQ(walk(*log.reader()).ids, (Ids{3}));
}

TEST(LogWriter, a_drop_that_fails_leaves_everything) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  const Mark mark = writer->mark();
  log.records->room = 50;
  State state;
  state.epoch = 9;
  EXPECT_EQ(code_of([&] { writer->drop(mark, state); }), Errc::eno_space);
  log.records->room = INT64_MAX;
  EXPECT_EQ(walk(log).ids, (Ids{1}));
  EXPECT_EQ(log.reader()->state().epoch, 0U);
  append(*writer, 2);
  EXPECT_EQ(walk(log).ids, (Ids{1, 2}));
  writer->drop(mark, state);
  EXPECT_EQ(walk(log).ids, (Ids{2}));
  EXPECT_EQ(log.reader()->state().epoch, 9U);
}

// One call after another fails although all of its bytes arrive. The process may be killed after
// any call. Then the log has what was committed since the last drop that was tried, and nothing
// from before the last one that succeeded.
TEST(LogWriter, whatever_call_fails_after_its_bytes_have_arrived_no_later_write_is_lost) {
  for (const bool shares : {false, true}) {
    int failing = 0;
    for (bool failed = true; failed; ++failing) {
      TestLog log;
      const auto writer = log.writer(shares ? Share{0, 2, least_block, data_begin} : Share{});
      int calls = 0, id = 0, sure = 0, dropped = 0;  // ids from `dropped` on may be in the log
      failed = false;
      Ids refused;
      const auto check = [&] {
        const Walked got = walk(log);
        EXPECT_TRUE(got.scan.damage.empty()) << failing << ": " << got.scan.damage.front();
        EXPECT_EQ(got.wrong_data, 0) << failing;
        Ids least, most;
        for (int i = dropped; i <= id; ++i) {
          if (std::find(refused.begin(), refused.end(), i) != refused.end()) continue;
          if (i >= sure && i < id) least.push_back(i);
          most.push_back(i);
        }
        EXPECT_TRUE(std::includes(got.ids.begin(), got.ids.end(), least.begin(), least.end()) &&
                    std::includes(most.begin(), most.end(), got.ids.begin(), got.ids.end()))
            << failing << ", after call " << calls << ": of " << testing::PrintToString(least)
            << " to " << testing::PrintToString(most) << " are there "
            << testing::PrintToString(got.ids);
      };
      log.records->arrived = log.data->arrived = [&] {
        check();
        if (calls++ != failing) return;
        failed = true;
        throw Error(Errc::ewrite, "it failed, but all of it arrived");
      };
      const auto put = [&] {
        if (code_of([&] { append(*writer, id, 3 + id % 5); }) != Errc::ok) refused.push_back(id);
        ++id;
        check();
      };
      const auto drop = [&](const Mark& mark, int before) {
        sure = before;
        if (code_of([&] { writer->drop(mark, writer->state()); }) == Errc::ok) dropped = before;
        check();
      };
      for (int round = 0; round < 4; ++round) {
        put();
        put();
        const Mark mark = writer->mark();
        const int before = id;
        if (round % 2 == 1) put();
        drop(mark, before);
      }
      put();
      drop(writer->mark(), id);
      log.records->arrived = log.data->arrived = nullptr;
    }
    EXPECT_GT(failing, 20);
  }
}

TEST(LogWriter, marks_that_cannot_be_are_refused) {
  TestLog log;
  const auto writer = log.writer();
  append(*writer, 1);
  const Mark old = writer->mark();
  append(*writer, 2);
  writer->drop(writer->mark(), {});
  EXPECT_EQ(code_of([&] { writer->drop(old, {}); }), Errc::einternal);
  TestWrite w(3, 5);
  w.add_to(*writer);
  EXPECT_EQ(code_of([&] { writer->mark(); }), Errc::einternal);
}

TEST(LogWriter, where_space_cannot_be_given_back_the_log_goes_on) {
  TestLog log;
  log.data->releases = log.records->releases = false;
  const auto writer = log.writer();
  for (int id = 0; id < 10; ++id) append(*writer, id, 5000);
  const Mark mark = writer->mark();
  append(*writer, 10);
  writer->drop(mark, {});
  EXPECT_EQ(walk(log).ids, (Ids{10}));
}

// -- files that ranks share -----------------------------------------------------------------------

Share share_of(int part, int parts) { return {part, parts, least_block, data_begin}; }

TEST(SharedLog, blocks_are_dealt_in_turn) {
  EXPECT_EQ(place_of(0, share_of(2, 3), 8192).offset, 2 * 8192);
  EXPECT_EQ(place_of(8192 + 5, share_of(2, 3), 8192).offset, 5 * 8192 + 5);
  EXPECT_EQ(place_of(8192 + 5, share_of(2, 3), 8192).together, 8192 - 5);
  EXPECT_EQ(place_of(12345, Share{}, 8192).offset, 12345);
  for (const Offset size : {0, 1, 8191, 8192, 8193, 16384, 20000, 24576, 24577, 50000}) {
    Count sum = 0;
    for (int part = 0; part < 3; ++part) sum += bytes_within(size, share_of(part, 3), 8192);
    EXPECT_EQ(sum, size);
  }
}

TEST(SharedLog, each_rank_reads_its_own) {
  TestLog log;
  constexpr int parts = 3;
  std::vector<std::unique_ptr<Writer>> writers;
  for (int part = 0; part < parts; ++part) writers.push_back(log.writer(share_of(part, parts)));
  // Data and entries extend over many blocks.
  for (int id = 0; id < 300; ++id) append(*writers[static_cast<std::size_t>(id % 2)], id, 700);
  for (int part = 0; part < parts; ++part) {
    const Walked got = walk(log, part);
    EXPECT_EQ(got.ids.size(), part == 2 ? 0U : 150U);
    for (std::size_t i = 0; i < got.ids.size(); ++i)
      EXPECT_EQ(got.ids[i], 2 * static_cast<int>(i) + part);
    EXPECT_EQ(got.wrong_data, 0);
    EXPECT_TRUE(got.scan.damage.empty());
    EXPECT_FALSE(got.scan.torn);
    EXPECT_EQ(log.reader(part)->header().share.part, part);
  }
}

TEST(SharedLog, is_found_without_the_first_rank) {
  TestLog log;
  const auto writer = log.writer({2, 4, 64 << 10, 1 << 20});
  append(*writer, 5, 100);
  EXPECT_EQ(walk(log, 2).ids, (Ids{5}));
  EXPECT_EQ(code_of([&] { log.reader(0); }), Errc::ebadlog);
  EXPECT_EQ(code_of([&] { log.reader(1); }), Errc::ebadlog);
  EXPECT_EQ(code_of([&] { log.reader(3); }), Errc::ebadlog);
}

TEST(SharedLog, what_is_dropped_is_given_back_and_the_log_goes_on) {
  TestLog log;
  const auto first = log.writer(share_of(0, 2)), second = log.writer(share_of(1, 2));
  for (int round = 0; round < 4; ++round) {
    for (int id = 0; id < 100; ++id) {
      append(*first, id, 200);
      append(*second, 1000 + id, 200);
    }
    const Count before = log.data->released;
    first->drop(first->mark(), {});
    EXPECT_GT(log.data->released, before);
    EXPECT_TRUE(walk(log, 0).ids.empty());
    EXPECT_FALSE(walk(log, 0).scan.torn);
    const Walked other = walk(log, 1);
    EXPECT_EQ(other.ids.size(), 100U * (static_cast<std::size_t>(round) + 1));
    EXPECT_EQ(other.wrong_data, 0);
  }
  EXPECT_EQ(log.data->truncations + log.records->truncations, 0);
  // All whole pages of its blocks were released, except the last ones, which may be partly in use.
  EXPECT_GE(log.data->released, 4 * 100 * 800 - 4096);
}

TEST(SharedLog, a_commit_that_fails_is_taken_back) {
  for (Count room = 0; room < 300; room += 8) {
    TestLog log;
    const auto first = log.writer(share_of(0, 2)), second = log.writer(share_of(1, 2));
    append(*first, 1);
    append(*second, 2);
    std::vector<TestWrite> writes;
    for (const int id : {3, 4, 5}) writes.emplace_back(id, 5);
    for (TestWrite& w : writes) w.add_to(*first);
    log.records->room = room;
    const bool failed = code_of([&] { first->commit(); }) != Errc::ok;
    log.records->room = INT64_MAX;
    if (!failed) continue;
    append(*first, 6);
    EXPECT_EQ(walk(log, 0).ids, (Ids{1, 6})) << room;
    EXPECT_TRUE(walk(log, 0).scan.damage.empty());
    EXPECT_EQ(walk(log, 1).ids, (Ids{2}));
  }
}

}  // namespace writer_test
}  // namespace forebay::staging
