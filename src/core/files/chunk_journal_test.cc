// Publications by the journal: their cost, and that readers, crashes and later sessions find what
// they published.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "support/cases.h"

namespace forebay {
namespace chunk_journal_test {

class ChunkJournalTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<Dataset> create(int variables) {
    auto ds = Dataset::create(Comm(), path_, 5, false, {});
    const DimId one = ds->def_dim("one", 1), time = ds->def_dim("time", 0);
    for (int v = 0; v < variables; ++v)
      ds->set_chunk(ds->def_var("v" + std::to_string(v), Type::int32, std::array{one}), {});
    ds->set_chunk(ds->def_var("r", Type::int32, std::array{time}), std::array<Count, 1>{4});
    ds->enddef();
    return ds;
  }

  static void put(Dataset& ds, VarId var, int value, Count at = 0) {
    Request access;
    access.var = var;
    access.write = true;
    access.elements = 1;
    if (ds.variable(var).is_record) access.last_record = at + 1;
    access.selection = Subarray{{at}, {1}, {}};
    access.memory.data = reinterpret_cast<std::byte*>(&value);
    access.memory.type = Type::int32;
    std::vector<Request> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }

  static double get(Dataset& ds, VarId var) {
    double value = 0;
    std::vector<Request> accesses(1);
    accesses[0].var = var;
    accesses[0].elements = 1;
    accesses[0].selection = Subarray{{0}, {1}, {}};
    accesses[0].memory.data = reinterpret_cast<std::byte*>(&value);
    accesses[0].memory.type = Type::float64;
    ds.execute(accesses, true);
    return value;
  }

  static double value(const ClassicFile& file, VarId var, Count at = 0) {
    return file.read_doubles(var, {{at}, {1}, {}}).at(0);
  }

  Count size() const { return static_cast<Count>(std::filesystem::file_size(path_)); }

  /// Returns the newest root of the present file.
  chunked::Root root() const {
    chunked::Root newest;
    const IndexFacts index = ClassicFile(path_).chunks()->index();
    for (const RootSlot& s : index.slots) {
      if (s.state == RootSlot::State::valid && s.root.generation >= newest.generation)
        newest = s.root;
    }
    return newest;
  }

  std::string path_ =
      ::testing::TempDir() + "forebay_chunk_journal_" + std::to_string(::getpid()) + ".nc";
};

TEST_F(ChunkJournalTest, publications_cost_what_they_change) {
  std::array<Count, 2> grown{}, written{};
  for (const int i : {0, 1}) {
    const int variables = 400 << i;
    auto ds = create(variables);
    const Count before = size(), before_bytes = ds->moved().put;
    for (int v = 0; v < variables; ++v) put(*ds, v, v);
    ds->close();
    grown[static_cast<std::size_t>(i)] = size() - before;
    written[static_cast<std::size_t>(i)] = ds->moved().put - before_bytes;
  }
  EXPECT_LT(grown[1], 3 * grown[0]);
  EXPECT_LT(written[1], 3 * written[0]);
  EXPECT_LT(grown[0], 400 * 1024);
}

TEST_F(ChunkJournalTest, rewriting_again_and_again_does_not_make_the_file_grow) {
  auto ds = create(100);
  for (int v = 0; v < 100; ++v) put(*ds, v, v);
  const Count before = size();
  for (int again = 0; again < 30; ++again) {
    for (int v = 0; v < 100; ++v) put(*ds, v, again);
    if (again % 10 == 5) ds->sync();
  }
  EXPECT_LT(size(), 3 * before);
  ds->close();
  EXPECT_LT(size(), 3 * before);
}

TEST_F(ChunkJournalTest, an_unclosed_file_shows_every_publication) {
  auto ds = create(200);
  for (int v = 0; v < 200; ++v) put(*ds, v, v + 1);
  for (Count r = 0; r < 3000; r += 100) put(*ds, 200, static_cast<int>(r), r);
  put(*ds, 7, 70);
  ASSERT_GE(root().journal.offset, 0);
  const auto check = [&] {
    const ClassicFile file(path_);
    EXPECT_EQ(file.schema().numrecs, 2901);
    for (int v = 0; v < 200; ++v) EXPECT_EQ(value(file, v), v == 7 ? 70 : v + 1);
    for (Count r = 0; r < 2901; r += 100) EXPECT_EQ(value(file, 200, r), r);
    EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  };
  check();
  ds.reset();  // as a killed process leaves it
  ds = Dataset::open(Comm(), path_, true, {});
  put(*ds, 199, 200);
  check();
  ds->close();
  check();
  EXPECT_EQ(root().journal.offset, -1) << "builds that know no journal read closed files";
}

TEST_F(ChunkJournalTest, a_check_says_which_state_it_looked_at) {
  auto ds = create(3);
  put(*ds, 0, 1);
  put(*ds, 3, 1);
  ds->sync();
  for (int r = 4; r < 20; ++r) put(*ds, 3, r, r);
  ds.reset();
  const auto notes = [&](const FileCheck& check) {
    EXPECT_EQ(check.status, CheckStatus::good);
    std::string all;
    for (const std::string& note : check.notes) all += note + "\n";
    return all;
  };
  const FileCheck newest = check_file(path_, {});
  EXPECT_EQ(notes(newest).find("chunk_state"), std::string::npos);
  EXPECT_EQ(newest.chunks, 6);
  ::setenv("FOREBAY_HINTS", "chunk_state=synced", 1);
  const FileCheck synced = check_file(path_, {});
  ::unsetenv("FOREBAY_HINTS");
  EXPECT_EQ(notes(synced).rfind("chunk_state=synced: checked is generation ", 0), 0U)
      << notes(synced);
  EXPECT_EQ(notes(synced).find("that the header does not count"), std::string::npos);
  EXPECT_EQ(synced.chunks, 2);
}

TEST_F(ChunkJournalTest, the_synced_state_outlives_the_journal_it_stands_in) {
  auto ds = create(200);
  for (int v = 0; v < 150; ++v) put(*ds, v, 1);
  ds->sync();
  ASSERT_GE(root().journal.offset, 0);
  ASSERT_TRUE(root().synced);
  for (int again = 2; again < 20; ++again) {
    for (int v = 0; v < 200; ++v) put(*ds, v, again);
    ds.reset();
    ds = Dataset::open(Comm(), path_, false, {{"chunk_state", "synced"}});
    for (const int v : {0, 149, 199}) {
      int got = -1;
      Request access;
      access.var = v;
      access.elements = 1;
      access.selection = Subarray{{0}, {1}, {}};
      access.memory.data = reinterpret_cast<std::byte*>(&got);
      access.memory.type = Type::int32;
      std::vector<Request> accesses;
      accesses.push_back(std::move(access));
      ds->execute(accesses, true);
      EXPECT_EQ(got, v < 150 ? 1 : -2147483647);
    }
    ds->close();
    ds = Dataset::open(Comm(), path_, true, {});
  }
  ds->close();
}

// The call that waits for the mark fails, but the mark is there. Then the program is killed between
// the chunks and the root of the next publication but one, whose root would overwrite that mark.
TEST_F(ChunkJournalTest, a_mark_that_failed_leaves_a_synced_state_that_is_whole) {
  int failed = 0;
  for (int sync_call = 1; sync_call <= 3; ++sync_call) {
    for (int last_write = 1; last_write <= 4; ++last_write) {
      auto ds = create(3);
      for (VarId v = 0; v < 3; ++v) put(*ds, v, 1);
      ds->sync();
      for (VarId v = 0; v < 3; ++v) put(*ds, v, 2);
      ::setenv("FOREBAY_FAULT", ("fsync:call=" + std::to_string(sync_call)).c_str(), 1);
      const bool fails = attempt_to([&] { ds->sync(); }).has_value();
      failed += fails;
      ::setenv("FOREBAY_FAULT", "none", 1);
      put(*ds, 0, 3);
      const std::string from = "pwrite:from:call=" + std::to_string(last_write);
      ::setenv("FOREBAY_FAULT", from.c_str(), 1);
      attempt_to([&] { put(*ds, 1, 4); });
      ds.reset();
      ::setenv("FOREBAY_FAULT", "none", 1);
      ds = Dataset::open(Comm(), path_, false, {{"chunk_state", "synced"}});
      const double first = get(*ds, 0);
      EXPECT_TRUE(first == 2 || (fails && first == 1)) << first << ", " << sync_call;
      for (const VarId v : {1, 2}) EXPECT_EQ(get(*ds, v), first) << sync_call << from;
      ds->close();
    }
  }
  EXPECT_GE(failed, 1);
}

// The synced state is opened, and what came after it is given up. No slot that held it may be taken
// for the newest state, even if nothing is written then.
TEST_F(ChunkJournalTest, what_is_given_up_for_the_synced_state_stays_so) {
  for (int more = 0; more < 6; ++more) {
    for (const bool damaged : {false, true}) {
      for (const bool writes : {false, true}) {
        auto ds = create(3);
        put(*ds, 0, 1);
        ds->sync();
        for (int again = 0; again < more; ++again) put(*ds, 0, 2 + again);
        ds.reset();
        const IndexFacts index = ClassicFile(path_).chunks()->index();
        for (std::size_t s = 0; damaged && more > 0 && s < index.slots.size(); ++s) {
          if (index.slots[s].root.generation != root().generation) continue;
          std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
          file.seekp(index.root + static_cast<Offset>(s) * chunked::slot_bytes);
          file << std::string(static_cast<std::size_t>(chunked::slot_bytes), 'x');
          break;
        }
        ds = Dataset::open(Comm(), path_, true, {{"chunk_state", "synced"}});
        if (writes) put(*ds, 1, 5);
        ds.reset();  // as a killed process leaves it
        const std::string what = std::to_string(more) + (damaged ? ", damaged" : "");
        for (const char* state : {"newest", "synced"}) {
          const auto failed = attempt_to([&] {
            ds = Dataset::open(Comm(), path_, false, {{"chunk_state", state}});
            EXPECT_EQ(get(*ds, 0), 1) << state << what;
            const bool has = writes && state == std::string("newest");
            EXPECT_EQ(get(*ds, 1), has ? 5 : -2147483647) << state << what;
            ds->close();
          });
          EXPECT_FALSE(failed) << state << what << ": " << failed->message();
        }
        EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good) << what;
      }
    }
  }
}

// The next root would have a lower number, and nobody would find it.
TEST_F(ChunkJournalTest, after_the_highest_generation_nothing_is_written) {
  auto ds = create(3);
  put(*ds, 0, 1);
  ds->close();
  const IndexFacts index = ClassicFile(path_).chunks()->index();
  for (std::size_t s = 0; s < index.slots.size(); ++s) {
    if (index.slots[s].root.generation != index.generation) continue;
    chunked::Root last = index.slots[s].root;
    last.generation = UINT32_MAX;
    const auto printed = chunked::print_root(last);
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(index.root + static_cast<Offset>(s) * chunked::slot_bytes);
    file.write(reinterpret_cast<const char*>(printed.data()), std::ssize(printed));
  }
  ds = Dataset::open(Comm(), path_, true, {});
  const auto failed = attempt_to([&] { put(*ds, 1, 5); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotnc) << failed->message();
  ds.reset();
  EXPECT_EQ(value(ClassicFile(path_), 0), 1);
  EXPECT_EQ(value(ClassicFile(path_), 1), -2147483647);
}

// Changes a word of the journal, with right checksums.
TEST_F(ChunkJournalTest, hostile_numbers_give_errors_to_one_process_as_to_ranks) {
  constexpr int variables = 25;
  auto ds = create(variables);
  for (int v = 0; v < variables; ++v) put(*ds, v, v);
  const IndexFacts index = ClassicFile(path_).chunks()->index();
  ds.reset();
  std::ifstream in(path_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const chunked::Root good = root();
  ASSERT_GE(good.journal.bytes, 100);
  std::size_t slot = 0;
  for (std::size_t s = 0; s < index.slots.size(); ++s)
    if (index.slots[s].root.generation == good.generation) slot = s;
  for (const std::int64_t number : {INT64_MIN, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Count behind = good.journal.bytes - 7;
    for (Count at = 0; at < behind; at = forebay_test::next_place<Count>(at, 4, behind)) {
      std::string bytes = whole;
      auto* journal = reinterpret_cast<std::byte*>(bytes.data()) + good.journal.offset;
      store_be(journal + at, number);
      chunked::Root made = good;
      made.journal.hash = hash_of({journal, static_cast<std::size_t>(made.journal.bytes)});
      const auto printed = chunked::print_root(made);
      bytes.replace(static_cast<std::size_t>(index.root) +
                        slot * static_cast<std::size_t>(chunked::slot_bytes),
                    printed.size(), reinterpret_cast<const char*>(printed.data()), printed.size());
      std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
      attempt_to([&] { check_file(path_, {}); });
      const ClassicFile file(path_);
      std::unique_ptr<Dataset> opened;
      const auto not_opened = attempt_to([&] { opened = Dataset::open(Comm(), path_, false, {}); });
      for (int v = 0; v < variables; ++v) {
        double found = 0, by_ranks = 0;
        const auto failed = attempt_to([&] { found = value(file, v); });
        const auto of_ranks = opened ? attempt_to([&] { by_ranks = get(*opened, v); }) : not_opened;
        ASSERT_EQ(failed ? failed->code() : Errc::ok, of_ranks ? of_ranks->code() : Errc::ok)
            << (failed ? failed->message() : of_ranks->message());
        EXPECT_EQ(found, by_ranks);
      }
    }
  }
}

}  // namespace chunk_journal_test
}  // namespace forebay
