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
#include "layout/patches/planning.h"
#include "plan/patch_distribution_testing.h"

namespace forebay::patches {
namespace {

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
    run_as_threads(ranks,
                   [](const Comm& comm) { EXPECT_TRUE(distribute_patches(comm, {}).empty()); });
  }
}

TEST(PatchPlanning, a_rank_that_fails_makes_all_fail) {
  constexpr int ranks = 4;
  const Parts parts = random_parts(ranks, 1);
  std::vector<std::optional<Error>> errors(ranks);
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    errors[rank] = attempt_together(comm, [&] {
      auto mine = parts[rank];
      if (rank == 2) mine.push_back({-1, 1});
      distribute_patches(comm, mine);
    });
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), Errc::einternal);
  }
}

}  // namespace
}  // namespace forebay::patches
