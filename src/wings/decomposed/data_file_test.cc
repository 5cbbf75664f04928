#include "decomposed/data_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory_file_testing.h"
#include "decomposed/state_file.h"

namespace forebay::decomposed {
namespace data_file_test {

constexpr Front front{0x77, 3};

Count slabs_of(const FileIndex& index) {
  Count slabs = 0;
  index.for_each_slab([&](const Entry& e) { slabs += e.has_values(); });
  return slabs;
}

class DataFile : public testing::Test {
 protected:
  std::shared_ptr<MemoryFile> file() { return std::make_shared<MemoryFile>("data/3", disk_); }
  void make() {
    sums_ = {};
    writer_ = std::make_unique<DataFileWriter>(file(), front);
    writer_->create();
  }
  void reopen(std::uint64_t epoch, std::uint64_t synced = 0) {
    writer_ = std::make_unique<DataFileWriter>(file(), front);
    RootsFound found;
    writer_->open(epoch, synced, found);
    EXPECT_EQ(found.sums, sums_);
  }
  /// Writes a slab of `elements` floats for each rank, of one variable and record. All bytes are
  /// `value`.
  void slab(VarId var, Count record, std::vector<Count> elements, int value = 0) {
    std::vector<DataFileWriter::MapMember> members;
    Count sum = 0;
    for (std::size_t r = 0; r < elements.size(); ++r) {
      const Key key{static_cast<std::uint64_t>(elements[r]), r + 1};
      members.push_back({static_cast<std::uint32_t>(r), key, elements[r]});
      sum += elements[r];
    }
    const std::uint32_t map = writer_->number_of(members);
    for (const auto& m : members) writer_->give(m.pattern, {std::byte{1}});
    const Offset at = writer_->allocate(4 * sum);
    const std::vector<std::byte> data(static_cast<std::size_t>(4 * sum),
                                      static_cast<std::byte>(value));
    file()->write_at(at, data);
    writer_->add({var, record, 0, map, at, 4 * sum, 0});
  }
  /// Returns whether a record's only slab has that value everywhere, as of a commit.
  bool has(std::uint64_t epoch, VarId var, Count record, int value) {
    const FileIndex index = read(epoch);
    const auto slabs = index.slabs(var, record);
    if (slabs.size() != 1) return false;
    std::vector<std::byte> bytes(static_cast<std::size_t>(slabs[0].bytes));
    if (file()->read_at(slabs[0].offset, bytes) != bytes.size()) return false;
    return std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(value)) ==
           std::ssize(bytes);
  }
  /// The same, encoded in parts of `stored` bytes. The last part has the rest of the elements.
  void encoded_slab(VarId var, Count record, Count elements, const std::vector<Count>& stored) {
    const Key key{static_cast<std::uint64_t>(elements), 1};
    const DataFileWriter::MapMember member{0, key, elements};
    Entry entry{var, record, 0, writer_->number_of(std::span(&member, 1)), 0, 4 * elements, 0};
    writer_->give(key, {std::byte{1}});
    for (const Count bytes : stored) {
      const Offset at = writer_->allocate(bytes);
      const std::vector<std::byte> data(static_cast<std::size_t>(bytes));
      file()->write_at(at, data);
      entry.parts.push_back({(bytes + 3) / 4, at, bytes, 0, hash_of(data)});
    }
    Count sum = 0;
    for (const StoredPart& part : entry.parts) sum += part.elements;
    entry.parts.back().elements += elements - sum;
    entry.offset = entry.parts.front().offset;
    writer_->add(entry);
  }
  void commit(std::uint64_t epoch) {
    writer_->write(epoch);
    sums_ += writer_->change();
    writer_->committed();
  }
  /// Compacts a file as closing it does. Returns how often something was moved.
  int compact(std::uint64_t& epoch) {
    int times = 0;
    for (bool moved = true;;) {
      const auto moves = writer_->make_moves(INT64_MAX, 1000);
      const bool any = writer_->has_moves();
      if (!any && !moved) break;
      for (const BytesToMove& move : moves) copy_bytes(*file(), move);
      writer_->renew();
      commit(++epoch);
      times += any;
      moved = any;
    }
    writer_->cut();
    return times;
  }
  FileIndex read(std::uint64_t epoch) {
    DataFileReader reader(file(), front);
    reader.load(epoch);
    return reader.index();
  }
  Errc refusal(std::uint64_t epoch, Front expected = front) {
    try {
      DataFileReader(file(), expected).load(epoch);
      return Errc::ok;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("data/3"), std::string::npos) << error.message();
      return error.code();
    }
  }

  /// Reports slow calls, so that a section and its root are written at the same time. One of the
  /// calls that begin within `fails` fails.
  class Slow : public MemoryFile {
   public:
    using MemoryFile::MemoryFile;
    using MemoryFile::write_at;
    void write_at(Offset offset, std::span<iovec> pieces) override {
      const std::lock_guard lock(mutex_);
      if (offset >= fails.begin && offset < fails.end) {
        fails = {};
        throw Error(Errc::eno_space, "full");
      }
      MemoryFile::write_at(offset, pieces);
    }
    std::int64_t least_latency(bool /*writing*/) const override { return 500'000; }
    FileSpace::Range fails{};

   private:
    std::mutex mutex_;
  };

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<DataFileWriter> writer_;
  RootSums sums_;  // as a state has them
};

TEST_F(DataFile, readers_see_the_commit_that_they_ask_for) {
  make();
  slab(1, 0, {5, 6});
  commit(1);
  slab(1, 1, {5, 6});
  slab(2, 1, {7});
  commit(2);
  EXPECT_EQ(slabs_of(read(0)), 0);
  EXPECT_EQ(slabs_of(read(1)), 1);
  const FileIndex index = read(5);
  EXPECT_EQ(slabs_of(index), 3);
  EXPECT_EQ(index.maps(), 2U);
  EXPECT_EQ(index.patterns(), 3U);
  ASSERT_EQ(index.slabs(1, 1).size(), 1U);
  EXPECT_EQ(index.slabs(1, 1)[0].bytes, 44);
  EXPECT_EQ(index.slabs(1, 1)[0].epoch, 2U);
}

TEST_F(DataFile, a_write_that_was_dropped_leaves_nothing_even_if_its_root_is_there) {
  make();
  slab(1, 0, {5});
  commit(1);
  slab(1, 1, {5});
  writer_->write(2);
  writer_->dropped();
  writer_->write(3);  // for another group's commit: this group has nothing new
  writer_->committed();
  EXPECT_EQ(slabs_of(read(3)), 1);
  slab(1, 2, {5});
  commit(4);
  EXPECT_EQ(slabs_of(read(4)), 2);
}

TEST_F(DataFile, a_root_that_no_commit_followed_is_wiped_by_the_next_write) {
  make();
  slab(1, 0, {5});
  commit(1);
  slab(1, 1, {5});
  writer_->write(2);  // then the job is killed
  EXPECT_EQ(slabs_of(read(1)), 1);
  reopen(1);
  EXPECT_EQ(slabs_of(read(9)), 2);  // opening writes nothing
  writer_->write(2);                // for another group's commit
  writer_->committed();
  EXPECT_EQ(slabs_of(read(9)), 1);
  slab(1, 1, {5});
  commit(3);
  EXPECT_EQ(slabs_of(read(3)), 2);
}

// On slow storage neither waits for the other, so there may be a root without its section.
TEST_F(DataFile, a_section_or_a_root_that_is_not_there_leaves_the_commit_of_before) {
  for (const bool root : {false, true})
    for (const bool killed : {false, true}) {
      disk_ = std::make_shared<MemoryDisk>();
      make();
      slab(1, 0, {5});
      commit(1);
      const auto slow = std::make_shared<Slow>("data/3", disk_);
      RootsFound found;
      writer_ = std::make_unique<DataFileWriter>(slow, front);
      writer_->open(1, 0, found);
      const auto failed_write = [&](std::uint64_t epoch, std::uint64_t before) {
        const Count slabs = slabs_of(read(before));
        slow->fails = root ? FileSpace::Range{root_place(0), root_place(slots)}
                           : FileSpace::Range{first_block, INT64_MAX};
        EXPECT_THROW(writer_->write(epoch), Error);
        EXPECT_EQ(slow->fails.end, 0) << "nothing failed";
        EXPECT_EQ(writer_->change(), RootSums{});
        EXPECT_EQ(slabs_of(read(before)), slabs);
        // No state includes such a root, so no reader follows it.
        EXPECT_EQ(refusal(epoch), root ? Errc::ok : Errc::enotnc);
      };
      slab(1, 1, {5, 6});
      failed_write(2, 1);
      writer_->unwritten();  // appended data stays, and is tried again
      commit(3);
      EXPECT_EQ(slabs_of(read(3)), 2);
      slab(1, 2, {8});
      failed_write(4, 3);
      if (killed)
        reopen(3);
      else
        writer_->dropped();
      writer_->write(5);  // for another group's commit: this group has nothing new
      writer_->committed();
      EXPECT_EQ(slabs_of(read(5)), 2);
      slab(1, 2, {9});
      commit(6);
      EXPECT_EQ(slabs_of(read(6)), 3);
      reopen(6);
    }
}

// A complete section makes older ones obsolete. Later sections of the same size take their places.
TEST_F(DataFile, a_reader_that_stays_open_sees_what_a_new_one_sees_however_long_it_waited) {
  for (std::uint64_t gap = 1; gap <= 131; gap += gap < 60 ? 13 : 1) {
    disk_ = std::make_shared<MemoryDisk>();
    make();
    std::vector<DataFileReader> open;
    const auto record = [&](std::uint64_t epoch) {
      slab(1, static_cast<Count>(epoch) - 1, {5, 6});
      commit(epoch);
    };
    for (std::uint64_t epoch = 1; epoch <= 140; ++epoch) {
      record(epoch);
      if (epoch % 7 == 0 || epoch > 120) {
        open.emplace_back(file(), front);
        open.back().load(epoch);
      }
    }
    const std::uint64_t last = 140 + gap;
    for (std::uint64_t epoch = 141; epoch <= last; ++epoch) record(epoch);
    for (DataFileReader& reader : open) {
      reader.load(last);
      ASSERT_EQ(slabs_of(reader.index()), static_cast<Count>(last)) << gap;
    }
  }
}

TEST_F(DataFile, a_thousand_rewrites_do_not_make_it_grow) {
  make();
  std::size_t size = 0;
  for (std::uint64_t epoch = 1; epoch <= 1000; ++epoch) {
    slab(1, 0, {50, 60});
    slab(2, 0, {500});
    commit(epoch);
    if (epoch == 200) size = disk_->bytes.size();
    if (epoch == 500) reopen(epoch);
  }
  EXPECT_EQ(slabs_of(read(1000)), 2);
  EXPECT_LE(disk_->bytes.size(), size + 4096);
}

// Stored sizes change with the data.
TEST_F(DataFile, nor_do_rewrites_of_slabs_that_are_encoded) {
  make();
  std::size_t size = 0;
  for (std::uint64_t epoch = 1; epoch <= 1000; ++epoch) {
    const auto more = static_cast<Count>(epoch * 7 % 40);
    encoded_slab(1, 0, 500, {100 + more, 77, 140 - more});
    encoded_slab(2, 0, 300, {9, 10 + more});
    commit(epoch);
    if (epoch == 200) size = disk_->bytes.size();
    if (epoch == 500) reopen(epoch);
    ASSERT_EQ(read(epoch).slabs(1, 0)[0].stored_bytes(), 317) << epoch;
  }
  EXPECT_EQ(slabs_of(read(1000)), 2);
  EXPECT_LE(disk_->bytes.size(), size + 4096);
}

// Much of the free space lies before the last slab.
TEST_F(DataFile, what_lies_last_is_moved_where_much_is_free_and_the_file_is_cut) {
  make();
  std::uint64_t epoch = 0;
  const auto write = [&](Count record, Count elements, int value) {
    slab(1, record, {elements}, value);
    commit(++epoch);
  };
  write(0, 10'000, 4);
  write(1, 30'000, 5);
  encoded_slab(2, 0, 300'000, {150'000, 40'000});
  commit(++epoch);
  const std::size_t least = disk_->bytes.size() - 190'000;
  encoded_slab(2, 0, 300'000, {160'000, 50'000});
  commit(++epoch);
  encoded_slab(2, 0, 300'000, {100, 200});
  commit(++epoch);
  write(1, 30'000, 8);
  EXPECT_GT(disk_->bytes.size(), least + 300'000);
  ASSERT_TRUE(writer_->is_sparse());
  EXPECT_GT(compact(epoch), 0);
  EXPECT_LT(disk_->bytes.size(), least + 8192);
  EXPECT_EQ(std::ssize(disk_->bytes), writer_->end());
  EXPECT_EQ(compact(epoch), 0);
  EXPECT_FALSE(writer_->is_too_long());
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(has(epoch, 1, 0, 4));
    EXPECT_TRUE(has(epoch, 1, 1, 8));
    EXPECT_EQ(read(epoch).slabs(2, 0)[0].stored_bytes(), 300);
    reopen(epoch);
  }
  // Moved slabs can be replaced like others, and their space is reused.
  const std::size_t size = disk_->bytes.size();
  for (int i = 0; i < 50; ++i) write(1, 30'000, i);
  EXPECT_LT(disk_->bytes.size(), size + 130'000);
  EXPECT_TRUE(has(epoch, 1, 1, 49));
}

TEST_F(DataFile, parts_of_a_moved_slab_that_stay_keep_their_space) {
  make();
  encoded_slab(2, 0, 300'000, {150'000});
  commit(1);
  encoded_slab(3, 0, 60'000, {4000, 50'000});
  commit(2);
  encoded_slab(2, 0, 300'000, {8});
  commit(3);
  const Entry before = read(3).slabs(3, 0)[0];
  for (const BytesToMove& move : writer_->make_moves(52'000, 1000)) copy_bytes(*file(), move);
  commit(4);
  const Entry moved = read(4).slabs(3, 0)[0];
  ASSERT_EQ(moved.parts[0], before.parts[0]);
  ASSERT_LT(moved.parts[1].offset, before.parts[1].offset);
  for (Count record = 0; record < 30; ++record) slab(1, record, {1000});
  commit(5);
  reopen(5);  // it refuses slabs that overlap
}

// Until a state includes the moves, everything is at its old place.
TEST_F(DataFile, moves_that_no_commit_follows_leave_all_where_it_was) {
  for (const int killed_at : {0, 1, 2, 3}) {
    disk_ = std::make_shared<MemoryDisk>();
    make();
    slab(1, 0, {50'000}, 1);
    slab(1, 1, {20'000}, 2);
    commit(1);
    slab(1, 0, {50'000}, 3);
    commit(2);
    const auto moves = writer_->make_moves(INT64_MAX, 1000);
    ASSERT_GT(moves.size(), 100U);
    for (std::size_t i = 0; i < moves.size() / (killed_at == 0 ? 2 : 1); ++i)
      copy_bytes(*file(), moves[i]);
    if (killed_at >= 2) writer_->write(3);
    if (killed_at == 3)
      writer_->dropped();
    else
      reopen(2);
    EXPECT_TRUE(has(2, 1, 0, 3));
    EXPECT_TRUE(has(2, 1, 1, 2));
    std::uint64_t epoch = 3;
    EXPECT_GT(compact(epoch), 0);
    EXPECT_TRUE(has(epoch, 1, 0, 3));
    EXPECT_TRUE(has(epoch, 1, 1, 2));
    EXPECT_LT(disk_->bytes.size(), 290'000U);
  }
}

TEST_F(DataFile, what_the_synced_commit_has_is_neither_moved_nor_cut_off) {
  make();
  slab(1, 0, {50'000}, 1);
  commit(1);
  slab(1, 1, {20'000}, 2);
  commit(2);
  writer_->synced();
  std::uint64_t epoch = 2;
  for (int i = 0; i < 6; ++i) {
    slab(1, 0, {50'000}, 3 + i);
    commit(++epoch);
    compact(epoch);
    writer_->cut();
    EXPECT_TRUE(has(2, 1, 0, 1));
    EXPECT_TRUE(has(2, 1, 1, 2));
    EXPECT_TRUE(has(epoch, 1, 0, 3 + i));
    EXPECT_TRUE(has(epoch, 1, 1, 2));
    if (i % 2 == 1) reopen(epoch, 2);
  }
}

// A reader requires that everything in a section lies within the file, even if it was replaced.
TEST_F(DataFile, it_is_not_cut_where_sections_tell_of_what_lay_behind) {
  for (const bool synced : {false, true}) {
    disk_ = std::make_shared<MemoryDisk>();
    make();
    std::uint64_t epoch = 0;
    for (int value = 1; value <= 3; ++value) {  // the last one lies where the first one was
      slab(1, 0, {50'000}, value);
      commit(++epoch);
    }
    EXPECT_EQ(read(3).slabs(1, 0)[0].offset, first_block);
    if (synced) writer_->synced();
    writer_->cut();
    EXPECT_TRUE(has(3, 1, 0, 3));
    reopen(3, synced ? 3 : 0);
    EXPECT_TRUE(writer_->is_sparse());
    EXPECT_EQ(compact(epoch), 0);
    if (synced) {
      EXPECT_TRUE(has(3, 1, 0, 3));
    }
    EXPECT_TRUE(has(epoch, 1, 0, 3));
    EXPECT_EQ(disk_->bytes.size() > 300'000U, synced);
  }
}

TEST_F(DataFile, what_is_damaged_is_not_moved) {
  make();
  encoded_slab(1, 0, 100'000, {100'000, 90'000});
  encoded_slab(2, 0, 40'000, {1000, 70'000});
  commit(1);
  encoded_slab(1, 0, 100'000, {100});
  commit(2);
  const Entry slab = read(2).slabs(2, 0)[0];
  disk_->flip(slab.parts[1].offset + 5, 2);
  const auto moves = writer_->make_moves(INT64_MAX, 1000);
  EXPECT_EQ(std::count_if(moves.begin(), moves.end(),
                          [&](const BytesToMove& move) {
                            return attempt_to([&] { copy_bytes(*file(), move); }).has_value();
                          }),
            1);
  writer_->dropped();
  EXPECT_EQ(read(2).slabs(2, 0)[0], slab);
}

TEST_F(DataFile, parts_of_what_the_synced_commit_has_are_not_overwritten) {
  make();
  encoded_slab(1, 0, 500, {100, 77, 140});
  commit(1);
  writer_->synced();
  const Entry kept = read(1).slabs(1, 0)[0];
  for (std::uint64_t epoch = 2; epoch < 100; ++epoch) {
    encoded_slab(1, 0, 500, {30, 100 + static_cast<Count>(epoch), 77});
    commit(epoch);
    const Entry newest = read(epoch).slabs(1, 0)[0];
    for (const StoredPart& a : newest.parts)
      for (const StoredPart& b : kept.parts)
        EXPECT_TRUE(a.offset >= b.offset + b.bytes || a.offset + a.bytes <= b.offset) << epoch;
    if (epoch == 50) reopen(epoch, 1);
  }
}

// A reader knows what it must hold before it allocates memory.
TEST_F(DataFile, parts_of_impossible_sizes_are_refused) {
  make();
  encoded_slab(1, 0, 500, {100, 77, 140});
  commit(1);
  const Entry good = read(1).slabs(1, 0)[0];
  const auto refused = [&](auto&& change) {
    Section section;
    section.patterns = {{{1, 2}, 500, {std::byte{1}}}};
    section.maps = {{{0, 0}}};
    section.entries = {good};
    section.entries[0].map = 0;
    change(section);
    FileIndex index;
    try {
      index.add(section);
      return false;
    } catch (const Error& error) {
      return error.code() == Errc::enotnc;
    }
  };
  const auto part = [](Section& s, std::size_t n) -> StoredPart& { return s.entries[0].parts[n]; };
  EXPECT_FALSE(refused([](Section&) {}));
  EXPECT_TRUE(refused([&](Section& s) { ++part(s, 1).elements; }));
  EXPECT_TRUE(refused([&](Section& s) { --part(s, 1).elements; }));
  EXPECT_TRUE(refused([&](Section& s) { part(s, 0).bytes = 101, part(s, 0).elements = 25; }));
  EXPECT_TRUE(refused([&](Section& s) { s.entries[0].parts.pop_back(); }));
  EXPECT_TRUE(refused([&](Section& s) {
    part(s, 1).elements += part(s, 0).elements;
    part(s, 0).elements = 0;
  }));
  const auto enormous = [&](Count elements) {
    return [&, elements](Section& s) {
      s.patterns[0].elements = elements;
      s.entries[0].bytes = 8 * elements;
      s.entries[0].parts.resize(1);
      part(s, 0).elements = elements;
    };
  };
  EXPECT_FALSE(refused(enormous(most_part_bytes / 8)));
  EXPECT_TRUE(refused(enormous(most_part_bytes / 8 + 1)));
  EXPECT_TRUE(refused(enormous(INT64_MAX / 8)));
}

TEST_F(DataFile, who_writes_refuses_slabs_that_lie_over_each_other) {
  make();
  slab(1, 0, {500});
  const Key key{300, 1};
  const DataFileWriter::MapMember member{0, key, 300};
  const std::uint32_t map = writer_->number_of(std::span(&member, 1));
  writer_->give(key, {std::byte{1}});
  writer_->add({2, 0, 0, map, first_block + 400, 1200, 0});
  writer_->write(1);
  writer_->committed();
  DataFileReader reader(file(), front);
  reader.load(1);
  EXPECT_EQ(slabs_of(reader.index()), 2);
  DataFileWriter again(file(), front);
  RootsFound found;
  EXPECT_THROW(again.open(1, 0, found), Error);
}

TEST_F(DataFile, what_the_synced_commit_has_is_not_overwritten) {
  make();
  slab(1, 0, {50});
  commit(1);
  writer_->synced();
  for (std::uint64_t epoch = 2; epoch < 100; ++epoch) {
    slab(1, 0, {50});
    const Entry kept = read(1).slabs(1, 0)[0];
    commit(epoch);
    const Entry newest = read(epoch).slabs(1, 0)[0];
    EXPECT_TRUE(newest.offset >= kept.offset + kept.bytes || newest.offset + 200 <= kept.offset);
    if (epoch == 50) reopen(epoch, 1);
  }
  EXPECT_EQ(read(1).slabs(1, 0)[0].epoch, 1U);
}

// Definitions of maps lie where the first slab may lie.
TEST_F(DataFile, what_tells_of_maps_only_takes_no_space) {
  make();
  const auto define = [&] {
    const std::uint32_t map =
        writer_->number_of(std::vector<DataFileWriter::MapMember>{{0, {50, 1}, 50}});
    writer_->give({50, 1}, {std::byte{1}});
    writer_->add({1, defining_record, 0, map, first_block, 0, 0});
  };
  slab(1, 0, {50});
  commit(1);
  EXPECT_EQ(read(1).slabs(1, 0)[0].offset, first_block);
  writer_->synced();
  for (std::uint64_t epoch = 2; epoch < 20; ++epoch) {
    define();
    slab(1, 0, {50});
    commit(epoch);
    const FileIndex index = read(epoch);
    EXPECT_GE(index.slabs(1, 0)[0].offset, first_block + 200);
    ASSERT_EQ(index.slabs(1, defining_record).size(), 1U);
    EXPECT_EQ(index.slabs(1, defining_record)[0].epoch, epoch);
    EXPECT_EQ(index.slabs(1, defining_record)[0].map, index.slabs(1, 0)[0].map);
    if (epoch % 3 == 0) reopen(epoch, 1);
  }
  EXPECT_EQ(read(1).slabs(1, 0)[0].epoch, 1U);
}

TEST_F(DataFile, foreign_swapped_cut_and_damaged_files_are_refused) {
  make();
  slab(1, 0, {5, 6});
  commit(1);
  EXPECT_EQ(refusal(1, {front.id + 1, front.number}), Errc::enotnc);
  EXPECT_EQ(refusal(1, {front.id, front.number + 1}), Errc::enotnc);
  const auto whole = disk_->bytes;
  for (std::size_t size = 0; size < whole.size(); size += 40) {
    disk_->bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(refusal(1), Errc::enotnc) << size;
  }
  disk_->bytes = whole;
  EXPECT_EQ(refusal(1), Errc::ok);
  disk_->flip(static_cast<Offset>(whole.size()) - 20, 3);  // the section is last
  EXPECT_EQ(refusal(1), Errc::enotnc);
}

TEST(StateFile, commits_take_turns_and_the_synced_one_stays) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto file = [&] { return std::make_shared<MemoryFile>("data/state", disk); };
  StateFile writer(file(), 9);
  writer.create();
  for (std::uint64_t epoch = 1; epoch < 20; ++epoch) {
    writer.write({9, epoch, epoch, static_cast<Count>(epoch * 2), 4, {}, false});
    writer.written();
    if (epoch == 6) {
      EXPECT_TRUE(writer.mark_synced());
      writer.marked();
    }
    StateFile reader(file(), 9);
    reader.load(OpenState::newest);
    EXPECT_EQ(reader.state().epoch, epoch);
    EXPECT_EQ(reader.state().records, static_cast<Count>(epoch * 2));
    if (epoch < 6) continue;
    reader.load(OpenState::synced);
    EXPECT_EQ(reader.state().epoch, 6U);
    EXPECT_EQ(reader.newest_epoch(), epoch);
  }
  EXPECT_THROW(StateFile(file(), 8).load(OpenState::newest), Error);
  disk->bytes.resize(100);
  EXPECT_THROW(StateFile(file(), 9).load(OpenState::newest), Error);
}

// The lost part may have been the newest commit.
TEST(StateFile, what_a_cut_one_has_no_longer_is_damaged) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto file = [&] { return std::make_shared<MemoryFile>("data/state", disk); };
  StateFile(file(), 9).create();
  const auto whole = disk->bytes;
  for (std::size_t size = 512; size <= whole.size(); size += 64) {
    disk->bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    StateFile reader(file(), 9);
    reader.load(OpenState::newest);
    EXPECT_EQ(reader.has_damaged_slot(), size < whole.size()) << size;
    if (size == whole.size()) break;
    StateFile writer(file(), 9);  // the next writer makes it complete
    writer.load(OpenState::newest);
    writer.write({9, 1, 1, 0, 1, {}, false});
    writer.written();
    reader.load(OpenState::newest);
    EXPECT_FALSE(reader.has_damaged_slot()) << size;
    EXPECT_EQ(reader.state().epoch, 1U);
  }
}

// It is unknown whether each write arrived. Any of them may have, and its data must be there.
TEST(StateFile, a_state_in_doubt_never_takes_the_place_of_the_last_one_that_is_known) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto file = [&] { return std::make_shared<MemoryFile>("data/state", disk); };
  for (const bool synced : {false, true}) {
    for (unsigned arrive = 0; arrive < 64; ++arrive) {
      StateFile writer(file(), 9);
      writer.create();
      for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
        writer.write({9, epoch, epoch, 0, 1, {}, false});
        writer.written();
        if (synced && epoch == 2 && writer.mark_synced()) writer.marked();
      }
      std::uint64_t newest = 3;
      for (unsigned i = 0; i < 6; ++i) {
        const auto before = disk->bytes;
        writer.write({9, 4 + i, 3, 0, 1, {}, false});
        if ((arrive >> i & 1) == 0)
          disk->bytes = before;
        else
          newest = 4 + i;
        StateFile reader(file(), 9);
        reader.load(OpenState::newest);
        EXPECT_EQ(reader.state().epoch, newest);
        EXPECT_EQ(reader.synced() != nullptr, synced);
      }
    }
  }
}

// The commit's mark may be in the file. After later commits it is not.
TEST(StateFile, a_mark_in_doubt_goes_with_the_next_commit) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto file = [&] { return std::make_shared<MemoryFile>("data/state", disk); };
  StateFile writer(file(), 9);
  writer.create();
  for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) {
    writer.write({9, epoch, epoch, 0, 1, {}, false});
    writer.written();
    EXPECT_TRUE(writer.mark_synced());
    if (epoch == 2) writer.marked();
    StateFile reader(file(), 9);
    reader.load(OpenState::synced);
    EXPECT_EQ(reader.state().epoch, epoch);
    if (epoch < 2) continue;
    writer.write({9, 100 + epoch, epoch, 0, 1, {}, false});
    reader.load(OpenState::synced);
    EXPECT_EQ(reader.state().epoch, 2U);
  }
}

}  // namespace data_file_test
}  // namespace forebay::decomposed
