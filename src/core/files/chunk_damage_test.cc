// Damages every byte, or every fifth, of a file with chunked variables in turn. A reader gives the
// written values or an error, and check finds all damage.
#include <random>
#include <set>

#include "base/hash.h"
#include "files/file_check.h"
#include "files/file_chunks_testing.h"
#include "support/cases.h"

namespace forebay {
namespace chunk_damage_test {

using forebay_test::few_of, forebay_test::next_place;

class ChunkDamageTest : public ChunkedFileTest {
 protected:
  struct Range {
    Offset begin, end;
    bool holds(Offset at) const { return begin <= at && at < end; }
  };

  void SetUp() override {
    ChunkedFileTest::SetUp();
    const ClassicFile file(path_);
    const IndexFacts& index = file.chunks()->index();
    for (std::size_t s = 0; s < index.slots.size(); ++s) {
      const Offset at = index.root + static_cast<Offset>(s) * chunked::slot_bytes;
      if (index.slots[s].state == RootSlot::State::valid)
        roots_.push_back({at, at + chunked::slot_bytes});
      if (index.slots[s].root.generation == index.generation)
        add(index_, index.slots[s].root.directory.offset, index.slots[s].root.directory.bytes);
    }
    for (const VarId var : {0, 1, 3}) {
      for (const auto& page : file.chunks()->table(var).pages())
        add(index_, page->place.offset, page->place.bytes);
      file.chunks()->table(var).for_each(
          [&](Count, const chunked::Entry& e) { add(chunks_, e.offset, e.bytes); });
    }
    const Variable& plain = file.schema().vars[2];
    plain_ = {plain.begin, plain.begin + plain.inner_bytes()};
    header_ = file.schema().header_size;
  }

  static void add(std::vector<Range>& list, Offset offset, Count bytes) {
    list.push_back({offset, offset + bytes});
  }
  static bool holds(const std::vector<Range>& list, Offset at) {
    return std::any_of(list.begin(), list.end(), [&](const Range& r) { return r.holds(at); });
  }

  // Returns whether name, type, dimensions and fill value are the same, so that values can be
  // compared.
  static bool same_definition(const Schema& schema, VarId id, const Schema& good) {
    const Variable& b = good.vars[static_cast<std::size_t>(id)];
    if (schema.vars.size() != good.vars.size() || schema.numrecs < good.numrecs) return false;
    const Variable& a = schema.vars[static_cast<std::size_t>(id)];
    return a.name == b.name && a.type == b.type && a.shape == b.shape &&
           external_fill(a) == external_fill(b) && a.chunking.has_value() == b.chunking.has_value();
  }

  struct Outcome {
    bool opened = false;
    std::set<VarId> failed;
  };

  Outcome read_all(bool plain_may_differ, const Schema& good) {
    Outcome outcome;
    try {
      const ClassicFile file(path_);
      outcome.opened = true;
      for (const VarId var : {0, 1, 2, 3}) {
        if (!same_definition(file.schema(), var, good)) continue;
        const Errc code = fault([&] {
          const auto right = agrees(file, var, whole(var));
          EXPECT_TRUE(right || (var == 2 && plain_may_differ)) << right.message();
        });
        if (code != Errc::ok) outcome.failed.insert(var);
      }
    } catch (const Error& error) {
      EXPECT_FALSE(error.message().empty());
    }
    return outcome;
  }

  std::vector<Range> roots_, index_, chunks_;
  Range plain_{0, 0};
  Offset header_ = 0;
};

TEST_F(ChunkDamageTest, any_byte_gives_errors_or_right_values_and_is_reported) {
  const Schema good = ClassicFile(path_).schema();
  const std::string whole_file = bytes_;
  int errors = 0, fine = 0;
  const auto size = static_cast<Offset>(whole_file.size());
  for (Offset at = 0; at < size;) {
    SCOPED_TRACE("byte " + std::to_string(at));
    bytes_ = whole_file;
    bytes_[static_cast<std::size_t>(at)] ^= static_cast<char>(1 << at % 8);
    save(bytes_);
    const bool in_header = at < header_, in_plain = plain_.holds(at);
    const bool in_roots = holds(roots_, at), in_index = holds(index_, at);
    const bool in_chunk = holds(chunks_, at);
    const Outcome outcome = read_all(in_header || in_plain, good);
    const FileCheck check = check_file(path_, {});
    if (!in_header) {
      EXPECT_TRUE(outcome.opened);
      EXPECT_EQ(check.status == CheckStatus::damaged, in_roots || in_index || in_chunk);
      EXPECT_EQ(outcome.failed.empty(), !in_index && !in_chunk);
      EXPECT_FALSE(outcome.failed.contains(2)) << "what is not chunked stays readable";
      EXPECT_LE(outcome.failed.size(), in_index ? 3u : 1u);
    }
    ++(!outcome.opened || !outcome.failed.empty() ? errors : fine);
    // Damages all bytes of small parts, and some bytes of large, uniform ones.
    const bool small = (in_header && at < 2000) || in_roots || in_index;
    at = next_place<Offset>(at, small ? 1 : in_chunk ? 13 : 41, size);
    if (HasFailure()) break;
  }
  EXPECT_GT(errors, few_of(500));
  EXPECT_GT(fine, few_of(300));
}

TEST_F(ChunkDamageTest, many_damaged_bytes_give_errors_or_right_values) {
  const Schema good = ClassicFile(path_).schema();
  const std::string whole_file = bytes_;
  std::mt19937 random(17);
  for (int round = 0; round < few_of(500); ++round) {
    SCOPED_TRACE(round);
    bytes_ = whole_file;
    for (int i = 0; i < 30; ++i) {
      const auto behind = static_cast<std::size_t>(plain_.end);
      const std::size_t at = behind + random() % (bytes_.size() - behind);
      // A root without an undamaged copy looks as if it had never been written.
      if (!holds(roots_, static_cast<Offset>(at))) bytes_[at] = static_cast<char>(random());
    }
    save(bytes_);
    const Outcome outcome = read_all(false, good);
    EXPECT_TRUE(outcome.opened);
    EXPECT_FALSE(outcome.failed.contains(2));
    EXPECT_EQ(check_file(path_, {}).status, CheckStatus::damaged);
    if (HasFailure()) break;
  }
}

// Changes numbers and corrects the checksums, as only a hostile writer does.
TEST_F(ChunkDamageTest, hostile_numbers_in_the_index_give_errors) {
  const Schema good = ClassicFile(path_).schema();
  const std::string whole_file = bytes_;
  const IndexFacts index = ClassicFile(path_).chunks()->index();
  std::size_t newest = 0;
  for (std::size_t s = 0; s < index.slots.size(); ++s)
    if (index.slots[s].root.generation == index.generation) newest = s;
  const chunked::Root root = index.slots[newest].root;
  const auto with_root = [&](const chunked::Root& made) {
    const auto slot = chunked::print_root(made);
    bytes_.replace(static_cast<std::size_t>(index.root) +
                       newest * static_cast<std::size_t>(chunked::slot_bytes),
                   slot.size(), reinterpret_cast<const char*>(slot.data()), slot.size());
  };
  for (const std::int64_t number : {INT64_MIN, std::int64_t{-1}, std::int64_t{1},
                                    std::int64_t{1} << 40, INT64_MAX / 24, INT64_MAX}) {
    const auto behind = static_cast<std::size_t>(root.directory.bytes) - 7;
    for (std::size_t at = 0; at < behind; at = next_place<std::size_t>(at, 4, behind)) {
      SCOPED_TRACE(std::to_string(at) + ": " + std::to_string(number));
      bytes_ = whole_file;
      char* directory = bytes_.data() + root.directory.offset;
      for (int b = 0; b < 8; ++b)
        directory[at + static_cast<std::size_t>(b)] =
            static_cast<char>(static_cast<std::uint64_t>(number) >> (56 - 8 * b));
      chunked::Root made = root;
      made.directory.hash = hash_of({reinterpret_cast<const std::byte*>(directory),
                                     static_cast<std::size_t>(root.directory.bytes)});
      with_root(made);
      save(bytes_);
      try {
        const ClassicFile file(path_);
        for (const VarId var : {0, 1, 2, 3}) {
          if (!same_definition(file.schema(), var, good)) continue;
          fault([&] { file.read_doubles(var, whole(var)); });
          if (var != 2) file.chunks()->facts(var);
        }
      } catch (const Error& error) {
        EXPECT_FALSE(error.message().empty());
      }
      check_file(path_, {});
    }
    for (const auto change : {+[](chunked::Root&r, std::int64_t n) { r.shift = n; },
                              +[](chunked::Root&r, std::int64_t n) { r.directory.offset = n; },
                              +[](chunked::Root&r, std::int64_t n) { r.directory.bytes = n; }}) {
      bytes_ = whole_file;
      chunked::Root made = root;
      change(made, number);
      with_root(made);
      save(bytes_);
      const Outcome outcome = read_all(false, good);
      EXPECT_TRUE(outcome.opened);
      EXPECT_EQ(outcome.failed, (std::set<VarId>{0, 1, 3}));
      EXPECT_EQ(check_file(path_, {}).status, CheckStatus::damaged);
    }
  }
}

}  // namespace chunk_damage_test
}  // namespace forebay
