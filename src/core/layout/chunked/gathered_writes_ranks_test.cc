#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "layout/chunked/gathered_writes.h"
#include "plan/file_space.h"

namespace forebay::chunked {
namespace gathered_writes_test {

constexpr Count most_bytes = 200;

/// A part that any rank may own.
struct AnyPart {
  Rank owner;
  std::uint32_t file;
  OwnPart::Order order;
  std::vector<std::byte> bytes;
};

/// Parts of random sizes; one is larger than a window. The last of several ranks owns none.
std::vector<AnyPart> random_parts(int ranks, std::uint32_t files, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<AnyPart> parts;
  for (std::uint32_t i = 0; i < 120; ++i) {
    AnyPart part{static_cast<Rank>(random() % std::max(1U, static_cast<unsigned>(ranks) - 1)),
                 static_cast<std::uint32_t>(random() % files),
                 {static_cast<std::uint32_t>(random() % 3), i},
                 {}};
    part.bytes.resize(i == 60 ? most_bytes + 77 : 1 + random() % 40, std::byte(1 + i % 255));
    parts.push_back(std::move(part));
  }
  return parts;
}

/// A space with holes, in which places do not increase with the order of parts.
FileSpace torn_space() {
  FileSpace space(0, {{0, 16}, {48, 64}, {256, 512}});
  return space;
}

using Contents = std::map<Offset, std::byte>;

/// What a file should contain, and the place of each of its parts.
Contents expected_of(const std::vector<AnyPart>& parts, std::uint32_t file,
                     std::map<OwnPart::Order, Offset>& places) {
  std::map<OwnPart::Order, const AnyPart*> in_order;
  for (const AnyPart& part : parts)
    if (part.file == file) in_order[part.order] = &part;
  FileSpace space = torn_space();
  Contents contents;
  for (const auto& [order, part] : in_order) {
    const Offset at = places[order] = space.allocate(std::ssize(part->bytes));
    for (Count b = 0; b < round_up(std::ssize(part->bytes), FileSpace::unit); ++b)
      contents[at + b] = b < std::ssize(part->bytes) ? part->bytes[0] : std::byte{0};
  }
  return contents;
}

std::vector<OwnPart> own_of(const std::vector<AnyPart>& parts, Rank rank) {
  std::vector<OwnPart> own;
  for (const AnyPart& part : parts)
    if (part.owner == rank)
      own.push_back({part.file, part.order, std::ssize(part.bytes), part.bytes.data()});
  return own;
}

TEST(GatheredWrites, files_have_all_parts_in_the_places_that_their_writers_find) {
  for (const auto& [ranks, files] :
       std::vector<std::pair<int, std::uint32_t>>{{1, 1}, {2, 1}, {3, 2}, {4, 4}, {7, 3}}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, " << files << " files");
    const auto parts = random_parts(ranks, files, static_cast<unsigned>(ranks));
    std::vector<Rank> writers;
    for (std::uint32_t f = 0; f < files; ++f)
      writers.push_back(static_cast<Rank>(files - 1 - f) * ranks / static_cast<int>(files));
    std::vector<Contents> found(files);
    run_as_threads(ranks, [&, ranks = ranks](const Comm& comm) {
      if (comm.rank() == ranks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const auto own = own_of(parts, comm.rank());
      FileSpace space = torn_space();
      const auto find_place = [&](Count bytes) { return space.allocate(bytes); };
      GatheredWrites gathered(comm, writers, own, find_place, most_bytes);
      EXPECT_GE(gathered.windows(), 5U);
      const auto file = std::find(writers.begin(), writers.end(), comm.rank()) - writers.begin();
      for (std::uint32_t window = 0; window < gathered.windows(); ++window) {
        gathered.gather(window);
        for (const Extent& run : gathered.runs(window)) {
          EXPECT_LE(run.length, most_bytes + 80);
          for (Count b = 0; b < run.length; ++b)
            EXPECT_TRUE(found.at(static_cast<std::size_t>(file))
                            .emplace(run.offset + b, run.memory[b])
                            .second);
        }
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        std::map<OwnPart::Order, Offset> places;
        expected_of(parts, own[i].file, places);
        EXPECT_EQ(gathered.places()[i], places.at(own[i].order));
      }
    });
    for (std::uint32_t f = 0; f < files; ++f) {
      std::map<OwnPart::Order, Offset> places;
      EXPECT_EQ(found[f], expected_of(parts, f, places)) << "file " << f;
    }
  }
}

TEST(GatheredWrites, a_writer_that_finds_no_place_makes_all_fail) {
  constexpr int ranks = 4;
  const auto parts = random_parts(ranks, 2, 1);
  const Rank writers[] = {3, 1};
  std::vector<std::optional<Error>> errors(ranks);
  run_as_threads(ranks, [&](const Comm& comm) {
    int calls = 0;
    const auto find_place = [&](Count /*bytes*/) -> Offset {
      if (comm.rank() == 3 && ++calls == 5) throw Error(Errc::enomem, "no place");
      return 8 * 1000 * ++calls;
    };
    errors[static_cast<std::size_t>(comm.rank())] = attempt_together(comm, [&] {
      GatheredWrites(comm, writers, own_of(parts, comm.rank()), find_place, most_bytes);
    });
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), Errc::enomem);
  }
}

TEST(GatheredWrites, nobody_has_anything) {
  run_as_threads(3, [&](const Comm& comm) {
    const Rank writers[] = {0, 2};
    const GatheredWrites gathered(
        comm, writers, {}, [](Count) { return Offset{0}; }, most_bytes);
    EXPECT_EQ(gathered.windows(), 0U);
  });
}

}  // namespace gathered_writes_test
}  // namespace forebay::chunked
