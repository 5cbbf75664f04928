// Inverse maps, made by ranks that are threads. Their results are compared with those of the
// patterns.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory_file_testing.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "decomposed/inverse_maker.h"
#include "decomposed/inverse_reader.h"
#include "decomposed/selected.h"

namespace forebay::decomposed {
namespace inverse_test {

constexpr Front front{0x77, 0};
using Bytes = std::vector<std::byte>;

/// The expected result for patterns of several ranks.
struct Expected {
  std::vector<Pattern> patterns;
  Count shape = 1;

  /// Returns for each element of the array its place in the slab and its member; -1 if it has none.
  std::vector<std::pair<Count, std::int64_t>> places() const {
    std::vector<std::pair<Count, std::int64_t>> all(static_cast<std::size_t>(shape), {-1, -1});
    Count begin = 0;
    for (std::size_t m = 0; m < patterns.size(); ++m) {
      each_element(patterns[m], [&](Offset at, Count position) {
        all[static_cast<std::size_t>(at)] = {begin + position, static_cast<std::int64_t>(m)};
      });
      begin += patterns[m].elements();
    }
    return all;
  }
  template <typename F>
  static void each_element(const Pattern& pattern, F&& f) {
    Pattern whole;
    whole.inner = pattern.inner;
    whole.runs = {{0, whole.below(1), 0}};
    intersect(pattern, 0, whole, 0, [&](const SharedList& list) {
      for (const Shared& s : list.pieces)
        for (Count i = 0; i < s.count; ++i) f(list.b + s.b + i, list.a + s.a + i);
    });
  }
};

Key key_of(const Pattern& pattern) { return make_selected(pattern, {})->key; }

class Inverse : public testing::Test {
 protected:
  std::shared_ptr<MemoryFile> file() { return std::make_shared<MemoryFile>("data/0", disk_); }

  /// Adds an encoded slab of another map, which shrinks each time it is written.
  void add_other(DataFileWriter& writer, Count bytes) {
    const Key key{77, 77};
    const Count elements = 1 << 20;
    const DataFileWriter::MapMember member{0, key, elements};
    Entry entry{9, 0, 0, writer.number_of(std::span(&member, 1)), 0, elements, 0};
    writer.give(key, {std::byte{1}});
    const Bytes stored(static_cast<std::size_t>(bytes));
    entry.offset = writer.allocate(bytes);
    entry.parts.push_back({elements, entry.offset, bytes, 0, hash_of(stored)});
    file()->write_at(entry.offset, std::span<const std::byte>(stored));
    writer.add(entry);
  }

  /// Writes a data file with one map of these patterns, inverted by `ranks` ranks. With `other`,
  /// the slab of another map comes first with so many bytes. It shrinks later, and then the rest is
  /// moved.
  std::int64_t invert(const std::vector<Pattern>& patterns, int ranks, const InverseSizes& sizes,
                      std::size_t damaged = SIZE_MAX, Count other = 0) {
    disk_ = std::make_shared<MemoryDisk>();
    DataFileWriter writer(file(), front);
    writer.create();
    logged::PatternPacker packer;
    std::vector<DataFileWriter::MapMember> members;
    Count elements = 0;
    for (std::size_t m = 0; m < patterns.size(); ++m) {
      members.push_back(
          {static_cast<std::uint32_t>(2 * m), key_of(patterns[m]), patterns[m].elements()});
      elements += patterns[m].elements();
    }
    const auto map = writer.number_of(members);
    for (std::size_t m = 0; m < patterns.size(); ++m)
      writer.give(members[m].pattern,
                  m == damaged ? Bytes(5, std::byte{3}) : packer.pack(patterns[m]));
    if (other > 0) add_other(writer, other);
    const Offset at = writer.allocate(elements);
    writer.add({0, 0, 0, map, at, elements, 0});
    file()->write_at(at, Bytes(static_cast<std::size_t>(elements)));
    writer.write(1);
    writer.committed();
    std::int64_t made = 0;
    run_as_threads(ranks, [&](const Comm& comm) {
      Locked mine("data/0", disk_, mutex_);
      together(comm, [&] {
        const auto n = make_inverses(comm, mine, sizes, comm.is_root() ? &writer : nullptr);
        if (comm.is_root()) made = n;
      });
    });
    writer.write(2);
    writer.committed();
    std::uint64_t epoch = 2;
    const auto commit = [&] {
      writer.write(++epoch);
      writer.committed();
    };
    if (other > 0) {
      add_other(writer, 8);
      commit();
      for (const BytesToMove& move : writer.make_moves(INT64_MAX, 1000)) copy_bytes(*file(), move);
      EXPECT_TRUE(writer.has_moves());
      commit();
      writer.renew();
      commit();
      writer.cut();
      EXPECT_LT(std::ssize(disk_->bytes), other);
    }
    end_ = writer.end();
    DataFileReader reader(file(), front);
    reader.load(epoch);
    index_ = reader.index();
    return made;
  }
  // Ranks share this file in memory.
  class Locked : public MemoryFile {
   public:
    Locked(std::string path, std::shared_ptr<MemoryDisk> disk, std::mutex& mutex)
        : MemoryFile(std::move(path), std::move(disk)), mutex_(mutex) {}
    using MemoryFile::write_at;
    void write_at(Offset offset, std::span<iovec> pieces) override {
      const std::lock_guard lock(mutex_);
      MemoryFile::write_at(offset, pieces);
    }

   private:
    std::mutex& mutex_;
  };

  /// Looks up each selection, and compares with the patterns.
  void expect_found(const std::vector<Pattern>& patterns, std::span<const Pattern> selections) {
    Expected expected{patterns, patterns[0].below(1)};
    const auto places = expected.places();
    InverseReader reader(1 << 20);
    const auto map = reader.map(*file(), index_, 0);
    for (const Pattern& selection : selections) {
      // With several factors, several members may have an element. The last member counts.
      std::vector<std::pair<Count, std::int64_t>> got(
          static_cast<std::size_t>(selection.elements()), {-1, -1});
      const auto take = [&](const Found& found) {
        for (Count i = 0; i < found.count; ++i) {
          auto& at = got.at(static_cast<std::size_t>(found.target + i));
          EXPECT_NE(at.second, found.member) << "found twice";
          if (at.second < found.member) at = {found.place + i, found.member};
        }
        return true;
      };
      if (const auto level = one_level_of(*map, selection)) {
        ++by_level_;
        const Levels& levels = level->levels;
        reader.find(*file(), *map, level->selection, [&](const Found& found) {
          for (Count l = 0; l < levels.count; ++l)
            take({found.place + l * level->step(*map, found.member),
                  found.target + (levels.first + l) * levels.step, found.count, found.member});
          return true;
        });
      } else {
        reader.find(*file(), *map, selection, take);
      }
      Expected::each_element(selection, [&](Offset at, Count position) {
        EXPECT_EQ(got[static_cast<std::size_t>(position)], places[static_cast<std::size_t>(at)])
            << at;
      });
    }
  }

  std::shared_ptr<MemoryDisk> disk_;
  std::mutex mutex_;
  FileIndex index_;
  Offset end_ = 0;
  int by_level_ = 0;  // selections found level by level
};

std::vector<Pattern> random_selections(std::mt19937& random, const std::vector<Count>& inner,
                                       int many) {
  std::vector<Pattern> selections;
  for (int i = 0; i < many; ++i) {
    std::vector<Count> extents = {1};
    std::vector<Steps> steps = {{0, 1, 1}};
    for (const Count extent : inner) {
      const Count start = std::uniform_int_distribution<Count>(0, extent - 1)(random);
      const Count stride = std::uniform_int_distribution<Count>(1, 3)(random);
      const Count most = (extent - 1 - start) / stride + 1;
      extents.push_back(extent);
      steps.push_back({start, std::uniform_int_distribution<Count>(1, most)(random), stride});
    }
    selections.push_back(box_pattern(extents, steps).pattern);
  }
  Pattern whole;
  whole.inner = inner;
  whole.runs = {{0, whole.below(1), 0}};
  selections.push_back(whole);
  return selections;
}

/// Makes patterns of `ranks` ranks with some columns each. The levels are the same for all, or
/// differ between ranks, or there are none.
std::vector<Pattern> random_map(std::mt19937& random, const std::vector<Count>& inner,
                                std::size_t ranks, bool levels, bool same_levels, bool overlap) {
  const Count columns = inner.back();
  std::vector<std::vector<Run>> runs(ranks);
  const Count rows = levels ? 1 : inner.front();
  for (Count at = 0; at < rows * columns;) {
    const Count length = std::min<Count>(1 + random() % 5, rows * columns - at);
    if (random() % 10 != 0) runs[random() % ranks].push_back({at, length});
    if (overlap && random() % 3 == 0) {
      auto& other = runs[random() % ranks];
      if (other.empty() || other.back().offset + other.back().length <= at)
        other.push_back({at, length});
    }
    at += length;
  }
  std::vector<Pattern> patterns;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (runs[r].empty()) runs[r].push_back({static_cast<Offset>(random() % 7), 1});
    Pattern pattern = factored(inner, runs[r]);
    if (levels) {
      const Count first = same_levels ? 1 : static_cast<Count>(random() % 3);
      pattern.outer = {{0, 1, 1}, {first, inner.front() - 3, 1}};
    }
    patterns.push_back(pattern);
  }
  return patterns;
}

TEST_F(Inverse, tells_what_patterns_tell) {
  std::mt19937 random(5);
  const std::vector<Count> inner = {7, 300};
  for (int kind = 0; kind < 8; ++kind) {
    const auto patterns =
        random_map(random, inner, 9, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0);
    for (const int ranks : {1, 3, 4}) {
      SCOPED_TRACE(std::to_string(kind) + ", ranks " + std::to_string(ranks));
      // Four runs on each page; a round has memory for less than a fifth of all runs.
      ASSERT_EQ(invert(patterns, ranks, {4 * 128, 4, 0}), 1);
      const auto map = InverseReader(1 << 20).map(*file(), index_, 0);
      EXPECT_GE(map->directory.pages.size(), 15U);
      EXPECT_GT(index_.inverse(0)->blocks.size(), 5U);  // one for each round, and the directory
      if ((kind & 1) != 0 && (kind & 2) != 0) {
        EXPECT_EQ(map->directory.factors.size(), 1U);
      }
      if ((kind & 4) != 0) {
        EXPECT_FALSE(map->directory.disjoint);
      }
      expect_found(patterns, random_selections(random, inner, 12));
      expect_found(patterns, std::span(patterns).first(3));
      if ((kind & 3) == 3) {
        EXPECT_GE(std::exchange(by_level_, 0), 3);
      } else {
        EXPECT_LE(std::exchange(by_level_, 0), (kind & 1) != 0 ? 15 : 0);
      }
    }
  }
}

TEST_F(Inverse, a_hyperslab_reads_few_pages) {
  std::mt19937 random(6);
  const std::vector<Count> inner = {20, 5000};
  const auto patterns = random_map(random, inner, 8, true, true, false);
  ASSERT_EQ(invert(patterns, 4, {1 << 20, 16, 0}), 1);
  InverseReader reader(1 << 20);
  const auto map = reader.map(*file(), index_, 0);
  EXPECT_TRUE(map->directory.disjoint);
  ASSERT_GT(map->directory.pages.size(), 50U);
  const auto ask = [&](const std::vector<Steps>& steps) {
    const std::int64_t before = reader.pages_read();
    const std::vector<Count> extents = {1, 20, 5000};
    reader.find(*file(), *map, box_pattern(extents, steps).pattern,
                [](const Found&) { return true; });
    return reader.pages_read() - before;
  };
  EXPECT_LE(ask({{0, 1, 1}, {3, 9, 1}, {2000, 50, 1}}), 4);
  EXPECT_EQ(ask({{0, 1, 1}, {5, 2, 1}, {2010, 30, 1}}), 0);  // pages are cached
  EXPECT_EQ(ask({{0, 1, 1}, {19, 1, 1}, {0, 5000, 1}}), 0);  // no rank has that level
  EXPECT_LE(ask({{0, 1, 1}, {3, 1, 1}, {4000, 2, 300}}), 4);
}

TEST_F(Inverse, intervals_are_even_however_uneven_ranks_are) {
  std::vector<Pattern> patterns;
  Count at = 0;
  for (const Count many : {3, 2000, 1, 40, 600}) {
    std::vector<forebay::Run> runs;
    for (Count i = 0; i < many; ++i, at += 3) runs.push_back({at, 2});
    patterns.push_back(factored(std::vector<Count>{10000}, runs));
  }
  ASSERT_EQ(invert(patterns, 4, {1 << 20, 64, 0}), 1);
  const auto map = InverseReader(1 << 20).map(*file(), index_, 0);
  // Each interval may end with a partial page.
  EXPECT_LE(map->directory.pages.size(), 2644U / 64 + 8);
  expect_found(patterns, patterns);
}

TEST_F(Inverse, one_that_lies_last_is_moved_and_tells_the_same) {
  std::mt19937 random(10);
  const std::vector<Count> inner = {7, 300};
  const auto patterns = random_map(random, inner, 9, true, true, false);
  for (const int ranks : {1, 3}) {
    ASSERT_EQ(invert(patterns, ranks, {4 * 128, 4, 0}, SIZE_MAX, 300'000), 1);
    EXPECT_GT(index_.inverse(0)->blocks.size(), 5U);
    for (const FileRange& block : index_.inverse(0)->blocks)
      EXPECT_LE(block.offset + block.bytes, end_);
    expect_found(patterns, random_selections(random, inner, 12));
  }
}

TEST_F(Inverse, a_map_with_a_damaged_pattern_gets_none) {
  std::mt19937 random(7);
  const auto patterns = random_map(random, {6, 50}, 6, true, true, false);
  for (const std::size_t damaged : {0U, 5U}) {
    EXPECT_EQ(invert(patterns, 4, {1 << 20, 16, 0}, damaged), 0);
    EXPECT_EQ(index_.inverse(0), nullptr);
  }
  EXPECT_EQ(invert(patterns, 4, {1 << 20, 16, 0}), 1);
}

TEST_F(Inverse, small_maps_and_those_that_have_one_get_none) {
  std::mt19937 random(8);
  const auto patterns = random_map(random, {6, 50}, 6, true, true, false);
  EXPECT_EQ(invert(patterns, 2, {1 << 20, 16, 1 << 20}), 0);
  EXPECT_EQ(invert(patterns, 2, {1 << 20, 16, 0}), 1);
  EXPECT_TRUE(maps_to_invert(index_, {1 << 20, 16, 0}).empty());
  EXPECT_EQ(invert({patterns[0]}, 2, {1 << 20, 16, 0}), 0);
}

TEST_F(Inverse, full_disks_fail_on_all_ranks) {
  std::mt19937 random(9);
  const auto patterns = random_map(random, {6, 200}, 6, false, false, false);
  ASSERT_EQ(invert(patterns, 3, {4 * 128, 4, 0}), 1);
  // The file is written anew until then.
  const Count enough = [&] {
    Count bytes = 0;
    for (const FileRange& block : index_.inverse(0)->blocks) bytes += block.bytes;
    return bytes;
  }();
  disk_->room = 0;
  for (Count room = 0; room < enough; room += enough / 7) {
    DataFileWriter writer(file(), front);
    RootsFound found;
    writer.open(1, 0, found);  // before there was an inverse
    disk_->room = room;
    std::atomic<int> failed = 0;
    run_as_threads(3, [&](const Comm& comm) {
      Locked mine("data/0", disk_, mutex_);
      const auto error = attempt_to([&] {
        together(comm, [&] {
          make_inverses(comm, mine, {4 * 128, 4, 0}, comm.is_root() ? &writer : nullptr);
        });
      });
      if (error && error->code() == Errc::eno_space) ++failed;
    });
    EXPECT_EQ(failed, 3) << room;
  }
}

TEST_F(Inverse, every_changed_byte_is_found) {
  std::mt19937 random(10);
  const auto patterns = random_map(random, {6, 60}, 6, true, true, false);
  ASSERT_EQ(invert(patterns, 2, {1 << 20, 8, 0}), 1);
  const auto check = [&] {
    InverseReader reader(1 << 20);
    reader.check(*file(), *reader.map(*file(), index_, 0));
  };
  EXPECT_NO_THROW(check());
  for (const FileRange& block : index_.inverse(0)->blocks) {
    for (Offset at = block.offset; at < block.offset + block.bytes; ++at) {
      disk_->flip(at, 2);
      EXPECT_THROW(check(), Error) << at;
      disk_->flip(at, 2);
    }
  }
}

// A hostile file has another map in the place of the inverted one.
TEST_F(Inverse, an_inverse_of_another_map_is_refused) {
  std::mt19937 random(11);
  const auto patterns = random_map(random, {6, 60}, 6, true, true, false);
  ASSERT_EQ(invert(patterns, 2, {1 << 20, 8, 0}), 1);
  Section section = index_.whole(2);
  for (StoredPattern& pattern : section.patterns) pattern.elements = 4;
  section.entries.clear();
  FileIndex other;
  other.add(section);
  InverseReader reader(1 << 20);
  // The cached map must not be used for the other.
  reader.check(*file(), *reader.map(*file(), index_, 0));
  const auto map = reader.map(*file(), other, 0);
  EXPECT_THROW(reader.check(*file(), *map), Error);
  section.maps[0].resize(2);
  other = {};
  other.add(section);
  EXPECT_THROW(reader.check(*file(), *reader.map(*file(), other, 0)), Error);
}

// Patterns that pack to a few bytes may have many runs.
TEST_F(Inverse, of_regular_patterns_with_many_runs_is_made) {
  constexpr Count ranks = 3, runs = 2000;
  std::vector<Pattern> patterns;
  for (Count rank = 0; rank < ranks; ++rank) {
    Pattern& pattern = patterns.emplace_back();
    pattern.inner = {ranks * runs};
    for (Count i = 0; i < runs; ++i) pattern.runs.push_back({rank + ranks * i, 1, i});
  }
  Count packed = 0;
  for (const Pattern& pattern : patterns)
    packed += std::ssize(logged::PatternPacker().pack(pattern));
  EXPECT_EQ(invert(patterns, 2, {1 << 20, 64, ranks * runs - 1, packed}), 1);
  EXPECT_EQ(invert(patterns, 2, {1 << 20, 64, ranks * runs, packed}), 0);
  EXPECT_EQ(invert(patterns, 2, {1 << 20, 64, ranks * runs, packed - 1}), 1);
}

// No later writer may use the space of inverse maps.
TEST_F(Inverse, their_space_is_taken) {
  std::mt19937 random(12);
  const auto patterns = random_map(random, {6, 60}, 6, true, true, false);
  ASSERT_EQ(invert(patterns, 2, {1 << 20, 8, 0}), 1);
  DataFileWriter writer(file(), front);
  RootsFound found;
  writer.open(2, 0, found);
  EXPECT_EQ(writer.end(), end_);
  std::vector<FileRange> used = index_.inverse(0)->blocks;
  for (Offset at = 0; at < end_;) {
    const Offset place = writer.allocate(64);
    for (const FileRange& block : used)
      EXPECT_TRUE(place + 64 <= block.offset || place >= block.offset + block.bytes);
    at = place;
  }
}

}  // namespace inverse_test
}  // namespace forebay::decomposed
