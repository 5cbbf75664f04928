// One rank lacks memory once, at one place after another, while chunked members are written. This
// is at most one file's error, and nobody waits for ever.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/failing_memory_testing.h"
#include "bundles/bundle.h"
#include "comm/thread_ranks.h"
#include "support/cases.h"

#ifdef FOREBAY_FAILING_MEMORY

namespace forebay {
namespace bundle_memory_ranks_test {

constexpr int files = 4, ranks = 2;
constexpr Count width = 1000;

std::string path_of(int file) {
  return ::testing::TempDir() + "/forebay_no_memory_" + std::to_string(::getpid()) + "_" +
         std::to_string(file) + ".nc";
}

Request row(Count record, Count begin, Count elements, std::vector<std::int32_t>& values) {
  Request request;
  request.selection = Subarray{{record, begin}, {1, elements}, {}};
  request.elements = elements;
  request.last_record = record + 1;
  request.memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
  return request;
}

std::unique_ptr<Dataset> write_member(const Comm& comm, Bundle& bundle, int file) {
  auto ds = Dataset::create(comm, path_of(file), 5, false, {{"layout", "chunked"}});
  EXPECT_TRUE(bundle.add(*ds));
  const VarId v = ds->def_var("v", Type::int32,
                              std::array{ds->def_dim("t", 0), ds->def_dim("x", ranks * width)});
  if (file % 2 == 1) ds->set_chunk(v, std::array<Count, 2>{1, 300});
  ds->enddef();
  for (Count record = 0; record < 2; ++record) {
    std::vector<std::int32_t> values(width, file + 1);
    std::vector<Request> list;
    list.push_back(row(record, width * comm.rank(), width, values));
    list[0].write = true;
    ds->execute(list, true);
  }
  return ds;
}

/// Returns whether a member that was reported as written has all values.
bool is_whole(const std::string& path) {
  std::vector<std::int32_t> values(ranks * width);
  const auto failed = attempt_to([&] {
    auto ds = Dataset::open(Comm(), path, false, {});
    for (Count record = 0; record < 2; ++record) {
      std::vector<Request> list;
      list.push_back(row(record, 0, ranks * width, values));
      ds->execute(list, true);
      for (const std::int32_t value : values)
        if (path_of(value - 1) != path) throw Error(Errc::eread, "a wrong value");
    }
  });
  return !failed;
}

/// Returns how many members are lost. `hit`: an allocation failed.
int lost_at(long allocation, int who, bool& hit) {
  int lost = 0;
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, {});
    std::vector<std::unique_ptr<Dataset>> all;
    for (int f = 0; f < files; ++f) all.push_back(write_member(comm, bundle, f));
    for (auto& ds : all) bundle.close(std::move(ds));
    comm.barrier();
    auto& memory = FailingMemory::mine();
    if (comm.rank() == who) memory.begin(allocation);
    attempt_to([&] {
      const FailingMemory::Armed armed;
      bundle.complete();
    });
    if (comm.rank() == who) hit = memory.has_failed;
    attempt_to([&] { bundle.complete(); });
    attempt_to([&] { bundle.tell(); });
    const auto outcomes = bundle.take_outcomes();
    EXPECT_EQ(std::ssize(outcomes), files) << allocation;
    std::int64_t mine = 0;
    for (const auto& [path, code] : outcomes) mine += code != 0;
    const auto most = comm.all_reduce(mine, Reduce::max);
    EXPECT_EQ(comm.all_reduce(mine, Reduce::min), most) << allocation;
    if (!comm.is_root()) return;
    lost = static_cast<int>(most);
    for (const auto& [path, code] : outcomes)
      EXPECT_TRUE(code != 0 || is_whole(path)) << path << " at allocation " << allocation;
  });
  return lost;
}

TEST(BundleMemory, one_failure_of_one_rank_is_one_files_at_most) {
  for (int who = 0; who < ranks; ++who) {
    long any = 0;
    constexpr long apart = 7;  // not each allocation: a run takes long
    const auto tried = forebay_test::try_places(who, apart, [&](long n) {
      bool hit = false;
      const int lost = lost_at(n, who, hit);
      EXPECT_LE(lost, 1) << "rank " << who << ", allocation " << n;
      any += lost > 0;
      return hit && n < 4000;
    });
    EXPECT_GT(tried.end, 100);
    EXPECT_LT(10 * any, tried.places) << "rank " << who;
  }
  for (int f = 0; f < files; ++f) std::filesystem::remove(path_of(f));
}

/// Lets definitions of a member fail when `who` has no memory. Returns whether they failed.
bool definitions_fail_at(long allocation, int who, const char* layout) {
  bool hit = false;
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, {});
    auto other = write_member(comm, bundle, 0);
    auto ds = Dataset::create(comm, path_of(1), 5, false, {{"layout", layout}});
    EXPECT_TRUE(bundle.add(*ds));
    ds->def_var("v", Type::int32, std::array{ds->def_dim("t", 0), ds->def_dim("x", ranks * width)});
    auto& memory = FailingMemory::mine();
    if (comm.rank() == who) memory.begin(allocation);
    const auto failed = attempt_to([&] {
      const FailingMemory::Armed armed;
      ds->enddef();
    });
    if (comm.rank() == who) hit = memory.has_failed;
    EXPECT_EQ(comm.all_reduce(failed.has_value(), Reduce::min), std::int64_t{failed.has_value()});
    // The ranks may have got differently far. The other members go on, and this one is tried again.
    bundle.close(std::move(other));
    bundle.complete();
    const auto first = bundle.take_outcomes();
    ASSERT_EQ(first.size(), 1U) << allocation;
    EXPECT_EQ(first[0].second, 0) << allocation;
    if (failed) EXPECT_NO_THROW(ds->enddef()) << allocation;
    for (Count record = 0; record < 2; ++record) {
      std::vector<std::int32_t> values(width, 2);
      std::vector<Request> list;
      list.push_back(row(record, width * comm.rank(), width, values));
      list[0].write = true;
      ds->execute(list, true);
    }
    bundle.close(std::move(ds));
    bundle.complete();
    EXPECT_NO_THROW(bundle.tell()) << allocation;
    comm.barrier();
    for (int f = 0; comm.is_root() && f < 2; ++f) EXPECT_TRUE(is_whole(path_of(f))) << allocation;
  });
  return hit;
}

TEST(BundleMemory, definitions_that_fail_on_one_rank_hold_up_no_other_member) {
  for (const char* layout : {"canonical", "chunked"}) {
    for (int who = 0; who < ranks; ++who) {
      const auto tried = forebay_test::try_places(
          0, 1, [&](long n) { return definitions_fail_at(n, who, layout); });
      EXPECT_GT(tried.end, 10) << layout;
    }
  }
  for (int f = 0; f < 2; ++f) std::filesystem::remove(path_of(f));
}

}  // namespace bundle_memory_ranks_test
}  // namespace forebay

#endif
