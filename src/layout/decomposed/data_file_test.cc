#include "layout/decomposed/data_file.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/error.h"
#include "base/memory_file_testing.h"
#include "layout/decomposed/state_file.h"

namespace forebay::decomposed {
namespace {

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
  /// A slab of each rank's `elements` floats for one variable and record.
  void slab(VarId var, Count record, std::vector<Count> elements) {
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
    const std::vector<std::byte> data(static_cast<std::size_t>(4 * sum));
    file()->write_at(at, data);
    writer_->add({var, record, 0, map, at, 4 * sum, 0});
  }
  /// The same, encoded in parts of so many stored bytes; the last one has the rest of the elements.
  void encoded_slab(VarId var, Count record, Count elements, const std::vector<Count>& stored) {
    const Key key{static_cast<std::uint64_t>(elements), 1};
    const DataFileWriter::MapMember member{0, key, elements};
    Entry entry{var, record, 0, writer_->number_of(std::span(&member, 1)), 0, 4 * elements, 0};
    writer_->give(key, {std::byte{1}});
    for (const Count bytes : stored) {
      const Offset at = writer_->allocate(bytes);
      file()->write_at(at, std::vector<std::byte>(static_cast<std::size_t>(bytes)));
      entry.parts.push_back({(bytes + 3) / 4, at, bytes, 0, 0});
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

  /// Of a store whose calls are slow, so that a section and its root are written at a time; of
  /// those calls that begin within `fails` one fails.
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
  writer_->write(3);  // of another group's commit: this one has nothing new
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
  writer_->write(2);  // and killed
  EXPECT_EQ(slabs_of(read(1)), 1);
  reopen(1);
  EXPECT_EQ(slabs_of(read(9)), 2);  // opening alone writes nothing
  writer_->write(2);                // of another group's commit
  writer_->committed();
  EXPECT_EQ(slabs_of(read(9)), 1);
  slab(1, 1, {5});
  commit(3);
  EXPECT_EQ(slabs_of(read(3)), 2);
}

// On a slow store neither waits for the other: a root may be there whose section is not.
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
        // No state tells of such a root, so that nobody follows it.
        EXPECT_EQ(refusal(epoch), root ? Errc::ok : Errc::enotnc);
      };
      slab(1, 1, {5, 6});
      failed_write(2, 1);
      writer_->unwritten();  // what was appended stays, and is tried again
      commit(3);
      EXPECT_EQ(slabs_of(read(3)), 2);
      slab(1, 2, {8});
      failed_write(4, 3);
      if (killed)
        reopen(3);
      else
        writer_->dropped();
      writer_->write(5);  // of another group's commit: this one has nothing new
      writer_->committed();
      EXPECT_EQ(slabs_of(read(5)), 2);
      slab(1, 2, {9});
      commit(6);
      EXPECT_EQ(slabs_of(read(6)), 3);
      reopen(6);
    }
}

// Where the sections before one that tells all were, later ones of the same size come to lie.
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

// Sizes change as data do.
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

// What a reader would have to hold is known before it takes memory for it.
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

// Definitions of maps lie where the first slab may.
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
  disk_->flip(static_cast<Offset>(whole.size()) - 20, 3);  // the section is the last
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

// What is gone may have been the newest commit.
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
    StateFile writer(file(), 9);  // who writes on makes it whole
    writer.load(OpenState::newest);
    writer.write({9, 1, 1, 0, 1, {}, false});
    writer.written();
    reader.load(OpenState::newest);
    EXPECT_FALSE(reader.has_damaged_slot()) << size;
    EXPECT_EQ(reader.state().epoch, 1U);
  }
}

// Of each write it is not known whether it came: any of them may have, and what it uses is there.
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
        EXPECT_EQ(reader.synced().has_value(), synced);
      }
    }
  }
}

// The commit's mark may be there: once others follow it no longer is.
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

}  // namespace
}  // namespace forebay::decomposed
