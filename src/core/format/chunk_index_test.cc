#include "format/chunk_index.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay::chunked {
namespace chunk_index_test {

using Bytes = std::vector<std::byte>;
constexpr Count copy_bytes = root_form.copy_bytes;

/// True when `parse` of these bytes returns or throws forebay::Error with a message.
template <typename F>
::testing::AssertionResult survives(F&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.message().empty()) return ::testing::AssertionFailure() << "an error without words";
    if (error.code() != Errc::enotnc)
      return ::testing::AssertionFailure() << "code " << to_int(error.code());
  } catch (const std::exception& other) {
    return ::testing::AssertionFailure() << "another exception: " << other.what();
  }
  return ::testing::AssertionSuccess();
}

bool refuses(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    return error.code() == Errc::enotnc;
  }
  return false;
}

Root sample_root() {
  Root root;
  root.generation = 77;
  root.synced = true;
  root.shift = 4096;
  root.directory = {123456, 789, 0xfedcba9876543210};
  return root;
}

void expect_equal(const Root& a, const Root& b) {
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.synced, b.synced);
  EXPECT_EQ(a.shift, b.shift);
  EXPECT_EQ(a.directory.offset, b.directory.offset);
  EXPECT_EQ(a.directory.bytes, b.directory.bytes);
  EXPECT_EQ(a.directory.hash, b.directory.hash);
  EXPECT_EQ(a.journal.offset, b.journal.offset);
  EXPECT_EQ(a.journal.bytes, b.journal.bytes);
  EXPECT_EQ(a.journal.hash, b.journal.hash);
}

TEST(ChunkRoot, is_read_back) {
  const auto bytes = print_root(sample_root());
  ASSERT_EQ(static_cast<Count>(bytes.size()), slot_bytes);
  const auto root = parse_root(bytes);
  ASSERT_TRUE(root);
  expect_equal(*root, sample_root());
}

Root root_with_journal() {
  Root root = sample_root();
  root.journal = {4711, 333, 0x123456789abcdef0};
  return root;
}

TEST(ChunkRoot, one_with_a_journal_is_read_back_whichever_byte_is_damaged) {
  const auto good = print_root(root_with_journal());
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{0x10};
    const auto root = parse_root(bytes);
    ASSERT_TRUE(root) << "byte " << at;
    expect_equal(*root, root_with_journal());
  }
  for (Count at = 0; at < copy_bytes; ++at) {
    Bytes bytes = good;
    for (Count copy = 0; copy < root_form.copies; ++copy)
      bytes[static_cast<std::size_t>(copy * slot_bytes / root_form.copies + at)] ^= std::byte{1};
    EXPECT_FALSE(parse_root(bytes)) << "byte " << at;
  }
}

TEST(ChunkRoot, one_damaged_byte_anywhere_does_no_harm) {
  const auto good = print_root(sample_root());
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{0x10};
    const auto root = parse_root(bytes);
    ASSERT_TRUE(root) << "byte " << at;
    expect_equal(*root, sample_root());
  }
}

TEST(ChunkRoot, one_whose_copies_are_all_damaged_is_none) {
  const auto good = print_root(sample_root());
  for (Count at = 0; at < copy_bytes; ++at) {
    Bytes bytes = good;
    for (Count copy = 0; copy < root_form.copies; ++copy)
      bytes[static_cast<std::size_t>(copy * slot_bytes / root_form.copies + at)] ^= std::byte{1};
    EXPECT_FALSE(parse_root(bytes)) << "byte " << at;
  }
  for (std::size_t n = 0; n < static_cast<std::size_t>(slot_bytes); ++n)
    EXPECT_FALSE(parse_root(std::span(good).first(n)));
  EXPECT_FALSE(parse_root(Bytes(static_cast<std::size_t>(slot_bytes))));
}

TEST(ChunkRoot, another_version_is_refused) {
  auto bytes = print_root(sample_root());
  for (Count copy = 0; copy < root_form.copies; ++copy) {
    std::byte* at = bytes.data() + copy * slot_bytes / root_form.copies;
    store_be(at + 8, std::uint32_t{5});
    store_be(at + copy_bytes - 8, hash_of({at, static_cast<std::size_t>(copy_bytes) - 8}));
  }
  EXPECT_TRUE(refuses([&] { parse_root(bytes); }));
}

// Its hash was at byte 56, so that the slot is not whole by today's rules.
TEST(ChunkRoot, an_earlier_version_is_not_taken_for_damage) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(slot_bytes));
  for (const std::size_t at : {0, 256}) {
    store_be(bytes.data() + at, std::uint64_t{0x4642'4348'524f'4f54});  // FBCHROOT
    store_be(bytes.data() + at + 8, std::uint32_t{1});
    store_be(bytes.data() + at + 56, hash_of({bytes.data() + at, 56}));
  }
  EXPECT_TRUE(refuses([&] { parse_root(bytes); }));
}

TEST(ChunkRoot, a_negative_shift_is_refused) {
  Root root = sample_root();
  root.shift = -1;
  EXPECT_TRUE(refuses([&] { parse_root(print_root(root)); }));
}

Entry sample_entry(Count i) {
  Entry e;
  if (i % 3 == 1) return e;
  e.offset = 1000 * i;
  e.bytes = 10 + i;
  e.hash = 0x1234567890abcdefu * static_cast<std::uint64_t>(i + 1);
  e.skipped = static_cast<std::uint32_t>(i % 4);
  e.file = static_cast<std::uint32_t>(i % 3);
  return e;
}

Page sample_page(Count used) {
  Page page;
  page.entries.resize(static_cast<std::size_t>(used));
  for (Count i = 0; i < used; ++i) page.entries[static_cast<std::size_t>(i)] = sample_entry(i);
  return page;
}

TEST(ChunkPage, is_read_back_without_its_empty_end) {
  for (const Count used : {0, 1, 2, 6, 511, 512}) {
    const auto bytes = print_page(sample_page(used));
    EXPECT_LE(static_cast<Count>(bytes.size()), used * entry_bytes);
    Page page;
    parse_page(bytes, page);
    page.entries.resize(chunks_per_page);
    for (Count i = 0; i < chunks_per_page; ++i) {
      const Entry& got = page.entries[static_cast<std::size_t>(i)];
      const Entry want = i < used ? sample_entry(i) : Entry{};
      EXPECT_EQ(got.present(), want.present()) << i;
      if (!want.present()) continue;
      EXPECT_EQ(got.offset, want.offset);
      EXPECT_EQ(got.bytes, want.bytes);
      EXPECT_EQ(got.hash, want.hash);
      EXPECT_EQ(got.skipped, want.skipped);
      EXPECT_EQ(got.file, want.file);
    }
  }
}

TEST(ChunkPage, impossible_entries_are_refused) {
  Page page;
  EXPECT_TRUE(refuses([&] { parse_page(Bytes(33), page); }));
  EXPECT_TRUE(refuses([&] { parse_page(Bytes(513 * 32), page); }));
  const auto with = [](Offset offset, Count bytes) {
    Page made;
    made.entries.resize(1);
    made.entries[0].offset = 0;  // so that it is printed
    auto printed = print_page(made);
    store_be(printed.data(), offset);
    store_be(printed.data() + 8, bytes);
    return printed;
  };
  EXPECT_TRUE(refuses([&] { parse_page(with(-2, 1), page); }));
  EXPECT_TRUE(refuses([&] { parse_page(with(0, -1), page); }));
  EXPECT_TRUE(refuses([&] { parse_page(with(INT64_MAX, INT64_MAX), page); }));
  EXPECT_TRUE(refuses([&] { parse_page(with(INT64_MAX, 1), page); }));
}

TEST(ChunkTables, hold_what_was_set) {
  ChunkTable table;
  EXPECT_FALSE(table.get(1'000'000).present());
  table.set(5) = sample_entry(5);
  table.set(5'000) = sample_entry(6);
  EXPECT_EQ(table.get(5).offset, 5000);
  EXPECT_EQ(table.get(5'000).offset, 6000);
  EXPECT_FALSE(table.get(6).present());
  EXPECT_FALSE(table.pages()[1]);
  EXPECT_TRUE(table.pages()[0]->dirty);
  std::vector<Count> ids;
  table.for_each([&](Count id, const Entry&) { ids.push_back(id); });
  EXPECT_EQ(ids, (std::vector<Count>{5, 5000}));
}

Directory::Item item_of(VarId var, std::vector<BlockRef> pages) {
  Directory::Item item;
  item.var = var;
  item.type = Type::float32;
  item.lengths = {0, 50, 60};
  item.codec = "shuffle,zstd:3";
  item.shape = {4, 5, 6};
  item.reason = "the ranks' blocks";
  item.pages = std::move(pages);
  return item;
}

Directory sample_directory() {
  Directory directory;
  directory.end = 100'000;
  directory.numrecs = 17;
  directory.items.push_back(item_of(0, {{512, 64, 1}, {}, {1024, 96, 2}}));
  directory.items.push_back({7, Type::int64, {3}, "none", {}, "", {}, {}});
  directory.items.push_back(item_of(3, {{2048, page_bytes, 3}}));
  directory.items.back().boxes = {{1, {{0, 0, 2}, {5, 9, 9}}}, {4, {{3, 1, 0}, {3, 1, 0}}}};
  return directory;
}

TEST(ChunkDirectory, is_read_back) {
  const Directory want = sample_directory();
  const Directory got = parse_directory(print_directory(want), 100'000);
  EXPECT_EQ(got.end, want.end);
  EXPECT_EQ(got.numrecs, want.numrecs);
  ASSERT_EQ(got.items.size(), want.items.size());
  for (std::size_t i = 0; i < want.items.size(); ++i) {
    EXPECT_EQ(got.items[i].var, want.items[i].var);
    EXPECT_EQ(got.items[i].type, want.items[i].type);
    EXPECT_EQ(got.items[i].lengths, want.items[i].lengths);
    EXPECT_EQ(got.items[i].codec, want.items[i].codec);
    EXPECT_EQ(got.items[i].shape, want.items[i].shape);
    EXPECT_EQ(got.items[i].reason, want.items[i].reason);
    EXPECT_EQ(got.items[i].boxes, want.items[i].boxes);
    ASSERT_EQ(got.items[i].pages.size(), want.items[i].pages.size());
    for (std::size_t p = 0; p < want.items[i].pages.size(); ++p) {
      EXPECT_EQ(got.items[i].pages[p].offset, want.items[i].pages[p].offset);
      if (want.items[i].pages[p].offset < 0) continue;
      EXPECT_EQ(got.items[i].pages[p].bytes, want.items[i].pages[p].bytes);
      EXPECT_EQ(got.items[i].pages[p].hash, want.items[i].pages[p].hash);
    }
  }
}

TEST(ChunkDirectory, every_truncation_is_refused) {
  const auto good = print_directory(sample_directory());
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_TRUE(refuses([&] { parse_directory(std::span(good).first(n), 100'000); })) << n;
}

TEST(ChunkDirectory, flipped_bits_never_crash) {
  const auto good = print_directory(sample_directory());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_TRUE(survives([&] { parse_directory(bytes, 100'000); })) << at << ", bit " << bit;
    }
  }
}

TEST(ChunkDirectory, huge_counts_are_refused_before_memory_is_taken) {
  const auto good = print_directory(sample_directory());
  // Each 4- and 8-byte word in turn becomes huge or negative. Only counts matter, but no word may
  // do harm.
  for (std::size_t at = 8; at + 8 <= good.size(); at += 4) {
    for (const std::int64_t value : {INT64_MAX, INT64_MIN, std::int64_t{-1}, INT64_MAX / 24}) {
      Bytes bytes = good;
      store_be(bytes.data() + at, value);
      EXPECT_TRUE(survives([&] { parse_directory(bytes, 100'000); })) << at << ": " << value;
    }
    Bytes bytes = good;
    store_be(bytes.data() + at, std::uint32_t{0xffffffff});
    EXPECT_TRUE(survives([&] { parse_directory(bytes, 100'000); })) << at;
  }
}

TEST(ChunkDirectory, pages_that_cannot_be_are_refused) {
  const auto with = [](BlockRef ref) {
    Directory directory;
    directory.items.push_back(item_of(0, {ref}));
    return print_directory(directory);
  };
  parse_directory(with({900, 96, 0}), 1000);
  EXPECT_TRUE(refuses([&] { parse_directory(with({905, 96, 0}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with({-5, 96, 0}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with({0, -96, 0}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with({0, page_bytes + 32, 0}), 1 << 20); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with({INT64_MAX, INT64_MAX, 0}), 1000); }));
}

TEST(ChunkDirectory, boxes_that_cannot_be_are_refused) {
  const auto with = [](std::uint32_t file, ChunkBox box) {
    Directory directory;
    directory.items.push_back(item_of(0, {}));  // 10 × 10 chunks a record
    directory.items[0].boxes = {{file, std::move(box)}};
    return print_directory(directory);
  };
  parse_directory(with(1, {{7, 0, 0}, {8, 9, 9}}), 1000);
  EXPECT_TRUE(refuses([&] { parse_directory(with(0, {{7, 0, 0}, {8, 9, 9}}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with(1, {{9, 0, 0}, {8, 9, 9}}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with(1, {{7, -1, 0}, {8, 9, 9}}), 1000); }));
  EXPECT_TRUE(refuses([&] { parse_directory(with(1, {{7, 0, 0}, {8, 9, 10}}), 1000); }));
  Directory without_shape;
  without_shape.items.push_back({7, Type::int64, {3}, "none", {}, "", {}, {}});
  without_shape.items[0].boxes = {{1, {}}};
  EXPECT_TRUE(refuses([&] { parse_directory(print_directory(without_shape), 1000); }));
}

TEST(FileBoxes, contain_all_chunks_that_were_added) {
  FileBoxes boxes(std::array<Count, 3>{0, 50, 61}, std::array<Count, 3>{4, 5, 6}, 3);
  const auto entry = [](Count t, Count y, Count x, Count part) {
    return ((t * 10 + y) * 11 + x) * 3 + part;
  };
  EXPECT_FALSE(boxes.contains(entry(0, 0, 0, 0), 1));
  boxes.add(entry(0, 2, 9, 1), 1);
  boxes.add(entry(0, 4, 3, 2), 1);
  boxes.add(entry(1000, 0, 10, 0), 2);
  EXPECT_EQ(boxes.boxes().at(1), (ChunkBox{{0, 2, 3}, {0, 4, 9}}));
  EXPECT_EQ(boxes.boxes().at(2), (ChunkBox{{1000, 0, 10}, {1000, 0, 10}}));
  for (const Count part : {0, 1, 2}) EXPECT_TRUE(boxes.contains(entry(0, 3, 5, part), 1));
  for (const Count id :
       {entry(1, 3, 5, 0), entry(0, 5, 5, 0), entry(0, 3, 2, 2), entry(0, 3, 10, 0)})
    EXPECT_FALSE(boxes.contains(id, 1)) << id;
  EXPECT_FALSE(boxes.contains(entry(0, 3, 5, 0), 2));
  using Files = std::vector<std::uint32_t>;
  EXPECT_EQ(boxes.meeting({{0, 0, 0}, {2000, 9, 10}}), (Files{1, 2}));
  EXPECT_EQ(boxes.meeting({{0, 4, 9}, {0, 9, 10}}), (Files{1}));
  EXPECT_EQ(boxes.meeting({{1, 0, 0}, {1000, 0, 10}}), (Files{2}));
  EXPECT_EQ(boxes.meeting({{1, 1, 0}, {999, 9, 10}}), Files{});
}

// A reader must not allocate 16 KiB again and again for 24 bytes of a directory.
TEST(ChunkDirectory, one_page_named_many_times_is_refused) {
  Directory directory;
  directory.items.push_back(item_of(0, std::vector<BlockRef>(1000, {0, page_bytes, 0})));
  EXPECT_TRUE(refuses([&] { parse_directory(print_directory(directory), 100'000); }));
  directory.items[0].pages.assign(100'000, {0, 0, 0});
  EXPECT_TRUE(refuses([&] { parse_directory(print_directory(directory), 10'000'000); }));
}

Journal sample_record(Count number) {
  Journal record;
  record.end = 50'000 + number;
  record.numrecs = number;
  record.items.push_back(item_of(static_cast<VarId>(10 + number), {}));
  for (const Count id : {number, Count{700}}) {
    record.changes.push_back({static_cast<VarId>(10 + number), id, sample_entry(3 * number)});
  }
  return record;
}

Bytes sample_journal() {
  Bytes bytes;
  for (Count n = 0; n < 3; ++n) {
    const auto record = print_journal(sample_record(n));
    EXPECT_EQ(std::ssize(record), printed_bytes(sample_record(n)));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

TEST(ChunkJournal, records_add_up) {
  const Journal journal = parse_journal(sample_journal());
  EXPECT_EQ(journal.end, 50'002);
  EXPECT_EQ(journal.numrecs, 2);
  ASSERT_EQ(journal.items.size(), 3u);
  EXPECT_EQ(journal.items[1].var, 11);
  ASSERT_EQ(journal.changes.size(), 6u);
  EXPECT_EQ(journal.changes[2].var, 11);
  EXPECT_EQ(journal.changes[2].id, 1);
  EXPECT_EQ(journal.changes[5].id, 700);
  EXPECT_EQ(journal.changes[5].entry.offset, sample_entry(6).offset);
  EXPECT_EQ(journal.changes[5].entry.hash, sample_entry(6).hash);
}

TEST(ChunkJournal, the_directory_becomes_what_it_tells) {
  Directory directory = sample_directory();
  const std::size_t before = directory.items.size();
  Journal journal = parse_journal(sample_journal());
  journal.items.push_back(item_of(3, {}));
  journal.items.back().shape = {9};
  apply(journal, directory, 100'000);
  EXPECT_EQ(directory.end, 50'002);
  EXPECT_EQ(directory.numrecs, 2);
  ASSERT_EQ(directory.items.size(), before + 3);
  EXPECT_EQ(directory.items.back().var, 12);
  EXPECT_EQ(directory.items.back().pages.size(), 2u);
  EXPECT_EQ(directory.items[before - 1].var, 3);
  EXPECT_EQ(directory.items[before - 1].shape, std::vector<Count>{9});
  EXPECT_EQ(directory.items[before - 1].pages.size(), 1u);
}

// A reader must not allocate a page, or a list of millions of pages, for 44 bytes of a journal.
TEST(ChunkJournal, changes_that_no_file_of_this_size_could_list_are_refused) {
  const auto with = [](std::vector<Count> ids) {
    Journal record;
    record.items.push_back(item_of(0, {}));
    for (const Count id : ids) record.changes.push_back({0, id, sample_entry(3)});
    return record;
  };
  Directory directory;
  apply(with({0, 511}), directory, 100'000);
  EXPECT_TRUE(refuses([&] { apply(with({INT64_MAX}), directory, 100'000); }));
  EXPECT_TRUE(refuses([&] { apply(with({512 * 5000}), directory, 100'000); }));
  std::vector<Count> last_of_pages;
  for (Count p = 0; p < 10; ++p) last_of_pages.push_back(512 * p + 511);
  EXPECT_TRUE(refuses([&] { apply(with(last_of_pages), directory, 100'000); }));
  directory = {};
  Journal unknown;
  unknown.changes.push_back({0, 0, sample_entry(3)});
  EXPECT_TRUE(refuses([&] { apply(unknown, directory, 100'000); }));
}

TEST(ChunkJournal, damage_never_crashes) {
  const auto good = sample_journal();
  const auto read = [](std::span<const std::byte> bytes) {
    Directory directory = sample_directory();
    apply(parse_journal(bytes), directory, 100'000);
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    EXPECT_TRUE(survives([&] { read(std::span(good).first(at)); })) << at;
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_TRUE(survives([&] { read(bytes); })) << at << ", bit " << bit;
    }
    if (at + 8 > good.size()) continue;
    for (const std::int64_t value : {INT64_MAX, INT64_MIN, std::int64_t{-1}, INT64_MAX / 24}) {
      Bytes bytes = good;
      store_be(bytes.data() + at, value);
      EXPECT_TRUE(survives([&] { read(bytes); })) << at << ": " << value;
    }
  }
}

TEST(ChunkIndexParsers, random_bytes_never_crash) {
  std::mt19937 random(5);
  const auto good = print_directory(sample_directory());
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 400);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    // Half of them begin as a directory does.
    if (round % 2 == 0)
      std::copy_n(good.begin(), std::min(bytes.size(), random() % good.size()), bytes.begin());
    EXPECT_TRUE(survives([&] { parse_directory(bytes, 100'000); }));
    EXPECT_TRUE(survives([&] { parse_root(bytes); }));
    EXPECT_TRUE(survives([&] {
      Directory directory;
      apply(parse_journal(bytes), directory, 100'000);
    }));
    EXPECT_TRUE(survives([&] {
      Page page;
      parse_page(bytes, page);
    }));
  }
}

}  // namespace chunk_index_test
}  // namespace forebay::chunked
