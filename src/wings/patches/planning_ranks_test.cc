#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "patches/plan/balanced_files_testing.h"
#include "patches/plan/patch_distribution_testing.h"
#include "patches/planning.h"

namespace forebay::patches {
namespace planning_ranks_test {

constexpr int all_sizes[] = {1, 2, 3, 4, 7};
constexpr Count patches = 90;

using Parts = std::vector<std::vector<PatchPart>>;  // of each rank

/// The last of several ranks has nothing, the others any parts; the first ones more.
Parts random_parts(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  Parts parts(static_cast<std::size_t>(ranks));
  const int active = ranks > 2 ? ranks - 1 : ranks;
  for (Count p = 0; p < patches; ++p) {
    for (int r = 0; r < active; ++r) {
      if (random() % static_cast<unsigned>(r + 2) < 2)
        parts[static_cast<std::size_t>(r)].push_back({p, 1 + static_cast<Count>(random() % 100)});
    }
  }
  return parts;
}

void be_late(const Comm& comm) {
  if (comm.rank() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(PatchPlanning, ranks_come_to_what_one_process_does) {
  for (const int ranks : all_sizes) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const Parts parts = random_parts(ranks, seed);
      const auto parts_of = [&](Rank r, auto& its) { its = parts[static_cast<std::size_t>(r)]; };
      const PatchOwners known = distribute(ranks, patches, parts_of);
      std::vector<std::vector<PatchVerdict>> verdicts(parts.size());
      run_as_threads(ranks, [&](const Comm& comm) {
        be_late(comm);
        const auto rank = static_cast<std::size_t>(comm.rank());
        verdicts[rank] = distribute_patches(comm, parts[rank]);
      });
      for (std::size_t r = 0; r < parts.size(); ++r) {
        std::map<Count, PatchVerdict> told;
        Count owned = 0;
        for (const PatchVerdict& v : verdicts[r]) {
          EXPECT_TRUE(told.emplace(v.patch, v).second);
          EXPECT_EQ(v.owner, known.owners[static_cast<std::size_t>(v.patch)]);
          owned += v.owner == static_cast<Rank>(r);
        }
        EXPECT_EQ(owned, patch_counts(known.owners, ranks)[r]);
        for (const PatchPart& part : parts[r]) EXPECT_TRUE(told.contains(part.patch));
      }
    }
  }
}

// Parts arrive where they are waited for.
TEST(PatchPlanning, owners_know_what_they_get) {
  constexpr int ranks = 4;
  const Parts parts = random_parts(ranks, 3);
  std::map<Count, std::pair<Count, Count>> all;  // parts and bytes of each patch
  for (const auto& its : parts) {
    for (const PatchPart& part : its) {
      ++all[part.patch].first;
      all[part.patch].second += part.bytes;
    }
  }
  run_as_threads(ranks, [&](const Comm& comm) {
    for (const PatchVerdict& v :
         distribute_patches(comm, parts[static_cast<std::size_t>(comm.rank())])) {
      EXPECT_EQ(v.parts, all.at(v.patch).first);
      EXPECT_EQ(v.bytes, all.at(v.patch).second);
    }
  });
}

TEST(PatchPlanning, nobody_has_anything) {
  for (const int ranks : all_sizes) {
    run_as_threads(ranks, [](const Comm& comm) {
      EXPECT_TRUE(distribute_patches(comm, {}).empty());
      EXPECT_TRUE(balance_files(comm, {}, 0, 1).empty());
    });
  }
}

TEST(PatchPlanning, files_are_those_of_one_process) {
  const auto sizes = flame_sizes({8, 6, 3}, 1000000);
  for (const int ranks : all_sizes) {
    for (int files = 1; files <= ranks; ++files) {
      const auto known = by_middles(sizes, files);
      run_as_threads(ranks, [&](const Comm& comm) {
        be_late(comm);
        std::vector<PatchSize> mine;
        for (Count n = 0; n < std::ssize(sizes); ++n) {
          // Two variables at each position: one with this rank, the other with all.
          const Count size = sizes[static_cast<std::size_t>(n)];
          if (n * 31 % ranks == comm.rank()) mine.push_back({n, size - size / ranks * ranks});
          mine.push_back({n, size / ranks});
        }
        std::reverse(mine.begin(), mine.end());
        const auto found = balance_files(comm, mine, std::ssize(sizes), files);
        ASSERT_EQ(found.size(), sizes.size());
        for (std::size_t n = 0; n < found.size(); ++n) {
          EXPECT_EQ(found[n].position, static_cast<Count>(n));
          EXPECT_EQ(found[n].file, known[n]);
        }
      });
    }
  }
}

TEST(PatchPlanning, a_rank_that_fails_makes_all_fail) {
  constexpr int ranks = 4;
  const Parts parts = random_parts(ranks, 1);
  for (const bool in_files : {false, true}) {
    std::vector<std::optional<Error>> errors(ranks);
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto rank = static_cast<std::size_t>(comm.rank());
      errors[rank] = attempt_together(comm, [&] {
        auto mine = parts[rank];
        std::vector<PatchSize> sizes{{comm.rank(), 10}};
        if (rank == 2) {
          mine.push_back({-1, 1});
          sizes.push_back({ranks, 1});
        }
        if (in_files) {
          balance_files(comm, sizes, ranks, 2);
        } else {
          distribute_patches(comm, mine);
        }
      });
    });
    for (const auto& error : errors) {
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->code(), Errc::einternal);
    }
  }
}

}  // namespace planning_ranks_test
}  // namespace forebay::patches
