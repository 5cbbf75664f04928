#include "layout/chunked/pages_on_demand.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/hash.h"

namespace forebay::chunked {
namespace pages_on_demand_test {

constexpr std::size_t most = 5;
constexpr VarId variables = 3;

// Pages of three variables in memory. Every third page was never written, and pages differ in
// length.
class PagesOnDemandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Journal journal;
    for (VarId var = 0; var < variables; ++var) {
      Variable draft;
      draft.type = Type::int32;
      draft.chunking.emplace();
      schema_.vars.push_back(draft);
      Directory::Item item;
      item.var = var;
      item.type = Type::int32;
      item.shape = {7};
      for (std::size_t p = 0; p < 12; ++p) item.pages.push_back(p % 3 == 1 ? BlockRef{} : store(p));
      index_.directory.items.push_back(item);
      journal.changes.push_back({var, 3, entry(1000 + var)});
      journal.changes.push_back({var, 1 * chunks_per_page + 17, entry(2000 + var)});  // a new page
      journal.changes.push_back({var, 3, entry(3000 + var)});                         // once more
    }
    index_.root.generation = 9;
    index_.journal = print_journal(journal);
  }

  static Entry entry(Count number) {
    Entry e;
    e.offset = 4096 * number;
    e.bytes = number;
    return e;
  }

  BlockRef store(std::size_t page) {
    Page its;
    for (Count i = 0; i < 100 + static_cast<Count>(page); ++i)
      its.entries.push_back(entry(++last_));
    const auto bytes = print_page(its);
    const BlockRef place{std::ssize(file_), std::ssize(bytes), hash_of(bytes)};
    file_.insert(file_.end(), bytes.begin(), bytes.end());
    return place;
  }

  std::vector<std::byte> read(Offset offset, Count bytes) {
    ++reads_;
    return {file_.begin() + offset, file_.begin() + offset + bytes};
  }

  PagesOnDemand::Loaded now() const { return {index_, std::ssize(file_)}; }
  PagesOnDemand::LoadAgain again() {
    return [this] {
      ++loads_;
      return now();
    };
  }

  // All tables, as a writer has them.
  std::vector<ChunkTable> whole() const {
    LoadedIndex index = index_;
    index.pages = file_;  // they lie in the order of the directory
    return tables_of(index, schema_);
  }

  Schema schema_;
  LoadedIndex index_;
  std::vector<std::byte> file_;
  Count last_ = 0;
  int reads_ = 0, loads_ = 0;
};

TEST_F(PagesOnDemandTest, has_the_entries_that_a_writer_has) {
  const auto expected = whole();
  PagesOnDemand pages(
      now(), [&](Offset at, Count n) { return read(at, n); }, again(), most);
  std::vector<ChunkTable> tables;
  tables = pages.make_tables(schema_, tables);
  EXPECT_EQ(reads_, 0);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const auto var = random() % variables;
    const auto id = static_cast<Count>(random() % (13 * chunks_per_page));
    const Entry &is = tables[var].get(id), &should = expected[var].get(id);
    ASSERT_EQ(is.offset, should.offset) << var << " " << id;
    ASSERT_EQ(is.bytes, should.bytes);
    ASSERT_EQ(is.birth, should.birth);
  }
  for (std::size_t var = 0; var < variables; ++var) {
    std::vector<Count> is, should;
    tables[var].for_each([&](Count id, const Entry& e) { is.insert(is.end(), {id, e.offset}); });
    expected[var].for_each([&](Count id, const Entry& e) {
      should.insert(should.end(), {id, e.offset});
    });
    EXPECT_EQ(is, should);
  }
}

TEST_F(PagesOnDemandTest, holds_a_bounded_number_of_pages) {
  PagesOnDemand pages(
      now(), [&](Offset at, Count n) { return read(at, n); }, again(), most);
  std::vector<ChunkTable> tables;
  tables = pages.make_tables(schema_, tables);
  const auto held = [&] {
    std::size_t n = 0;
    for (ChunkTable& table : tables)
      for (const auto& page : table.pages()) n += page != nullptr ? 1 : 0;
    return n;
  };
  for (int turn = 0; turn < 3; ++turn)
    for (ChunkTable& table : tables)
      for (Count p = 0; p < 12; ++p) {
        static_cast<void>(table.get(p * chunks_per_page));
        ASSERT_LE(held(), most);
      }
  EXPECT_EQ(held(), most);
  const int before = reads_;
  for (int i = 0; i < 10; ++i) static_cast<void>(tables.back().get(11 * chunks_per_page));
  EXPECT_EQ(reads_, before);  // what is held is not read again
}

TEST_F(PagesOnDemandTest, a_damaged_page_harms_its_chunks_alone) {
  file_[40] ^= std::byte{1};
  PagesOnDemand pages(
      now(), [&](Offset at, Count n) { return read(at, n); }, again(), most);
  std::vector<ChunkTable> tables;
  tables = pages.make_tables(schema_, tables);
  for (int i = 0; i < 2; ++i) {
    try {
      static_cast<void>(tables[0].get(5));
      ADD_FAILURE() << "a damaged page was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enotnc);
    }
  }
  EXPECT_TRUE(tables[0].get(2 * chunks_per_page).present());
  EXPECT_TRUE(tables[1].get(5).present());
}

// A writer has written a page anew, with more pages behind it, and others over the old one.
TEST_F(PagesOnDemandTest, takes_the_present_directory_when_a_page_has_gone) {
  PagesOnDemand pages(
      now(), [&](Offset at, Count n) { return read(at, n); }, again(), most);
  std::vector<ChunkTable> tables;
  tables = pages.make_tables(schema_, tables);
  const Offset untouched = tables[2].get(5).offset;
  BlockRef& its = index_.directory.items[0].pages[0];
  std::fill_n(file_.begin() + its.offset, its.bytes, std::byte{7});
  its = store(0);
  for (std::size_t p = 12; p < 15; ++p) index_.directory.items[0].pages.push_back(store(p));
  const Count first_of_new = last_ - 113;  // of the last page, which has 114 entries
  index_.root.generation = 10;
  EXPECT_TRUE(tables[0].get(5).present());
  EXPECT_EQ(loads_, 1);
  EXPECT_EQ(tables[0].get(14 * chunks_per_page).bytes, first_of_new);
  EXPECT_EQ(tables[2].get(5).offset, untouched);
  EXPECT_EQ(loads_, 1);
}

}  // namespace pages_on_demand_test
}  // namespace forebay::chunked
