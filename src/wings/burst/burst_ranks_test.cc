// Stage burst over ranks that are threads. Logs are in memory, the layout is a plain array, and a
// host records its calls.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/failing_memory_testing.h"
#include "base/memory_file_testing.h"
#include "burst/burst.h"
#include "burst/log/log_testing.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"

namespace forebay::burst {
namespace burst_ranks_test {

// Rank 0 is late, and the last rank has no data. A batch is smaller than the staged data.
constexpr int ranks = 4, writers = 3, rounds = 6, puts = 40;
constexpr Count elements = 12'000, own = elements / writers, length = 600;

/// What the ranks share: the file's elements and the logs' disks.
struct World {
  std::mutex mutex;
  std::vector<std::int32_t> file = std::vector<std::int32_t>(elements, -1);
  std::map<std::string, std::shared_ptr<MemoryDisk>> disks;
  std::vector<std::string> told;  ///< calls of rank 0's host
  int carried = 0;                ///< calls of the layout with something to write
  bool slow = false;              ///< the file answers slowly; all know it when a flush begins
};

class ArrayLayout : public Layout {
 public:
  explicit ArrayLayout(World& world) : world_(world) {}
  void expect_more(bool more) override { slow_ = more && world_.slow; }
  bool answers_slowly() const override { return slow_; }
  void carry_out(std::span<Request> requests, bool write, bool) override {
    ++calls;
    access(requests, write);
    if (meets != nullptr) meets->meet();
  }

  std::int64_t calls = 0;       ///< of this rank
  const Comm* meets = nullptr;  ///< all ranks, for a barrier after each call

 private:
  void access(std::span<Request> requests, bool write) {
    const std::lock_guard lock(world_.mutex);
    world_.carried += write && !requests.empty();
    for (Request& r : requests) {
      const auto& box = std::get<Subarray>(r.selection);
      for (Count i = 0; i < box.count[0]; ++i) {
        auto& element = world_.file.at(static_cast<std::size_t>(box.start[0] + i));
        std::byte external[4];
        if (write) {
          copy_swapped_range(external, r.packed, 4 * i, 4, r.swap);
          element = load_be<std::int32_t>(external);
        } else {
          store_be(external, element);
          store_swapped_range(r.packed, 4 * i, external, 4, r.swap);
        }
      }
    }
  }

  World& world_;
  bool slow_ = false;
};

class AloneLayout : public ArrayLayout {
 public:
  using ArrayLayout::ArrayLayout;
  bool writes_alone() const override { return true; }
};

class CountingHost : public Host {
 public:
  CountingHost(World& world, bool root) : world_(world), root_(root) {}
  std::unique_ptr<ByteFile> open_log(const std::string& path, bool create) override {
    const std::lock_guard lock(world_.mutex);
    auto& disk = world_.disks[path];
    if (create || !disk) disk = std::make_shared<MemoryDisk>();
    return std::make_unique<MemoryFile>(path, disk);
  }
  void remove_log(const std::string& path) override {
    const std::lock_guard lock(world_.mutex);
    world_.disks.erase(path);
  }
  void lose_log(const std::string& stem) override {
    remove_log(stem + ".records");
    remove_log(stem + ".data");
  }
  void logs_begin() override { tell("begin"); }
  void logs_closing(std::uint64_t epoch) override { tell("closing " + std::to_string(epoch)); }
  void logs_end() override { tell("end"); }
  void before_flush() override { tell("before"); }
  void after_flush() override { tell("after"); }
  void epoch_begins(std::uint64_t epoch) override { tell("epoch " + std::to_string(epoch)); }
  void sync_epoch() override { tell("stored"); }
  std::uint64_t fingerprint() const override { return 7; }
  std::unique_ptr<Aside> aside() override { return nullptr; }

 private:
  void tell(const std::string& what) {
    if (root_) world_.told.push_back(what);
  }

  World& world_;
  bool root_;
};

Request access(std::vector<std::int32_t>& values, Count start, bool write) {
  Request r;
  r.write = write;
  r.elements = std::ssize(values);
  r.selection = Subarray{{start}, {r.elements}, {}};
  r.packed = reinterpret_cast<std::byte*>(values.data());
  r.element_size = r.swap = 4;
  return r;
}

class BurstRanks : public testing::Test {
 protected:
  BurstRanks() {
    schema_.add_dim({"x", elements});
    Variable var;
    var.name = "v";
    var.type = Type::int32;
    var.dimids = {0};
    schema_.add_var(std::move(var));
    options_.dataset = "/data/out.nc";
    options_.session = 4711;
    options_.log_stem = [](Rank rank) { return "log." + std::to_string(rank); };
    options_.flush.buffer = 32 << 10;
  }

  /// What all ranks do for the writes of one collective call.
  static void put(const Comm& comm, Stage& stage, std::vector<Request> requests) {
    const StageNeeds mine = stage.offer(requests, {});
    std::array<std::int64_t, 4> all{mine.flush, mine.direct, mine.staged, mine.unserved};
    comm.all_reduce(all, Reduce::max);
    stage.submit(requests, true, true, {all[0], all[1], all[2], all[3]});
  }
  static std::int32_t value(int round, int put, Count i) {
    return static_cast<std::int32_t>(round * 100'000 + put * 1000 + i);
  }
  /// Stages overlapping writes within the rank's own part of the array.
  void stage_round(const Comm& comm, Stage& stage, int round) {
    auto& mine = expected_[static_cast<std::size_t>(comm.rank())];
    for (int p = 0; p < puts; ++p) {
      std::vector<std::int32_t> values(comm.rank() < writers ? length : 0);
      const Count start = own * comm.rank() + (p * 311 + round * 17) % (own - length);
      std::vector<Request> requests;
      for (std::size_t i = 0; i < values.size(); ++i)
        mine[start + static_cast<Count>(i)] = values[i] = value(round, p, static_cast<Count>(i));
      if (!values.empty()) requests.push_back(access(values, start, true));
      put(comm, stage, std::move(requests));
    }
  }
  /// Reads without other ranks: staged data overlays the file.
  void expect_own(const Comm& comm, Stage& stage) {
    if (comm.rank() >= writers) return;
    std::vector<std::int32_t> values(own, -2);
    std::vector<Request> reads;
    reads.push_back(access(values, own * comm.rank(), false));
    std::vector<Request> none;
    stage.submit(reads, false, false, stage.offer(none, reads));
    for (Count i = 0; i < own; ++i) {
      const auto found =
          expected_[static_cast<std::size_t>(comm.rank())].find(own * comm.rank() + i);
      const std::int32_t wanted =
          found == expected_[static_cast<std::size_t>(comm.rank())].end() ? -1 : found->second;
      ASSERT_EQ(values[static_cast<std::size_t>(i)], wanted) << comm.rank() << ", " << i;
    }
  }
  void expect_file() {
    std::vector<std::int32_t> all(elements, -1);
    for (const auto& part : expected_)
      for (const auto& [place, v] : part) all[static_cast<std::size_t>(place)] = v;
    EXPECT_TRUE(world_.file == all);
  }
  static void come(const Comm& comm) {
    if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::unique_ptr<Stage> make(const Comm& comm, Layout& layout, Report& report) {
    return make_burst_stage(comm, schema_, layout,
                            std::make_unique<CountingHost>(world_, comm.is_root()), options_,
                            report);
  }

  Schema schema_;
  BurstOptions options_;
  World world_;
  std::array<std::map<Count, std::int32_t>, ranks> expected_;  // each rank changes only its own
};

TEST_F(BurstRanks, flushes_bring_what_all_ranks_staged) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    ArrayLayout layout(world_);
    const auto stage = make(comm, layout, report);
    for (int round = 0; round < rounds; ++round) {
      come(comm);
      stage_round(comm, *stage, round);
      expect_own(comm, *stage);
      if (comm.is_root()) EXPECT_EQ(std::ssize(world_.told), 1 + 3 * round);  // nothing was flushed
      stage->flush(true);
      comm.barrier();
      if (comm.is_root()) expect_file();
      comm.barrier();
    }
    EXPECT_EQ(report[Counter::writes_staged], comm.rank() < writers ? rounds * puts : 0);
    stage->close(false);
  });
  std::vector<std::string> told{"begin"};
  for (int round = 1; round <= rounds; ++round)
    told.insert(told.end(), {"before", "after", "epoch " + std::to_string(round)});
  told.insert(told.end(), {"closing " + std::to_string(rounds), "end"});
  EXPECT_EQ(world_.told, told);
  EXPECT_TRUE(world_.disks.empty());
  EXPECT_GE(world_.carried, 5 * rounds);  // number of batches
}

// The buffer could hold all of the data. A fast file still gets several batches, so that reading
// overlaps writing; a slow file gets one, since few large writes are worth the wait.
TEST_F(BurstRanks, a_slow_file_gets_few_large_batches) {
  options_.flush.buffer = 64 << 20;
  for (const bool slow : {false, true}) {
    world_.slow = slow;
    world_.carried = 0;
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      ArrayLayout layout(world_);
      const auto stage = make(comm, layout, report);
      for (int round = 0; round < 5 * rounds; ++round) stage_round(comm, *stage, round);
      stage->flush(true);
      comm.barrier();
      if (comm.is_root()) expect_file();
      stage->close(false);
    });
    if (slow) EXPECT_EQ(world_.carried, writers);
    if (!slow) EXPECT_GE(world_.carried, 3 * writers);
  }
}

// The data file of one rank becomes full during each round. Writes that do not fit go to the file
// at once, after the earlier staged ones.
TEST_F(BurstRanks, a_full_log_is_flushed_and_order_is_kept) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    ArrayLayout layout(world_);
    const auto stage = make(comm, layout, report);
    for (int round = 0; round < rounds; ++round) {
      come(comm);
      if (comm.rank() == 1) {
        const std::lock_guard lock(world_.mutex);
        world_.disks.at("log.1.data")->room = 13 * length * 4;
      }
      stage_round(comm, *stage, round);
      expect_own(comm, *stage);
    }
    stage->flush(true);
    comm.barrier();
    if (comm.is_root()) expect_file();
    if (comm.rank() == 1) EXPECT_LT(report[Counter::writes_staged], rounds * puts);
    EXPECT_GE(report[Counter::flushes], rounds);
    stage->close(false);
  });
}

// Otherwise a recovery would replay it over what is written from then on.
TEST_F(BurstRanks, a_log_that_cannot_be_emptied_ends_with_the_next_collective_flush) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    AloneLayout layout(world_);
    const auto stage = make(comm, layout, report);
    stage_round(comm, *stage, 0);
    if (comm.rank() == 1) {
      {
        const std::lock_guard lock(world_.mutex);
        world_.disks.at("log.1.records")->room = 0;
      }
      std::vector<std::int32_t> values(length);
      std::vector<Request> requests;
      requests.push_back(access(values, own, true));
      const StageNeeds needs = stage->offer(requests, {});
      EXPECT_TRUE(attempt_to([&] { stage->submit(requests, true, false, needs); }));
    } else {
      stage->flush(false);
    }
    comm.barrier();
    if (comm.is_root()) EXPECT_EQ(std::ssize(world_.told), 1);
    expect_own(comm, *stage);
    stage->flush(true);
    if (comm.is_root()) EXPECT_EQ(world_.told.back(), "epoch 1");
    if (comm.rank() == 1) {
      const std::lock_guard lock(world_.mutex);
      EXPECT_FALSE(world_.disks.contains("log.1.records"));
    }
    stage->close(false);
  });
}

// The devices of the logs store what is staged, and nothing that follows unless they are told to.
TEST_F(BurstRanks, after_a_sync_no_power_failure_brings_staged_writes_back) {
  for (const bool alone : {false, true}) {
    world_.told.clear();
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      AloneLayout layout(world_);
      const auto stage = make(comm, layout, report);
      stage_round(comm, *stage, 0);
      staging::TestLog log;
      {
        const std::lock_guard lock(world_.mutex);
        log.records = world_.disks.at(options_.log_stem(comm.rank()) + ".records");
        log.data = world_.disks.at(options_.log_stem(comm.rank()) + ".data");
      }
      for (const auto& disk : {log.records, log.data}) disk->stored = disk->bytes;
      stage->flush(!alone);
      stage->synced();
      const staging::TestLog left = log.copy();
      for (const auto& disk : {left.records, left.data}) disk->bytes = disk->stored;
      EXPECT_TRUE(staging::walk(left).ids.empty()) << comm.rank();
      EXPECT_EQ(left.reader()->state().epoch, alone ? 0U : 1U) << comm.rank();
      stage->synced();  // nothing was dropped since
      stage->close(false);
    });
    const std::vector<std::string> alone_told{"begin", "stored", "closing 0", "end"};
    const std::vector<std::string> together_told{"begin",  "before",    "after", "epoch 1",
                                                 "stored", "closing 1", "end"};
    EXPECT_EQ(world_.told, alone ? alone_told : together_told);
  }
}

// A sync drops nothing before the file is on its device. If that fails, a recovery finds all in the
// logs, unless a later sync succeeds.
TEST_F(BurstRanks, a_failed_sync_leaves_the_logs) {
  for (const bool succeeds_later : {false, true}) {
    world_.told.clear();
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      ArrayLayout layout(world_);
      const auto stage = make(comm, layout, report);
      const auto log = [&] {
        const std::lock_guard lock(world_.mutex);
        staging::TestLog log;
        log.records = world_.disks.at(options_.log_stem(comm.rank()) + ".records");
        log.data = world_.disks.at(options_.log_stem(comm.rank()) + ".data");
        return log;
      };
      const auto staged = [&] { return std::ssize(staging::walk(log()).ids); };
      stage_round(comm, *stage, 0);
      const auto first = staged();
      EXPECT_EQ(first > 0, comm.rank() < writers);
      stage->flush_to_sync();
      comm.barrier();
      if (comm.is_root()) expect_file();
      comm.barrier();
      EXPECT_EQ(staged(), first);
      // The sync of the file has failed, so synced() is not called.
      const auto failed = attempt_to([&] { stage->flush(true); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::ewrite);
      stage_round(comm, *stage, 1);
      expect_own(comm, *stage);
      EXPECT_TRUE(attempt_to([&] { stage->flush(true); }));
      comm.barrier();
      if (comm.is_root()) expect_file();
      comm.barrier();
      EXPECT_EQ(staged(), 2 * first);
      if (succeeds_later) {
        stage->flush_to_sync();
        stage->synced();
        EXPECT_EQ(staged(), 0);
        stage->flush(true);
      }
      stage->close(false);
      if (!succeeds_later) EXPECT_EQ(staged(), 2 * first);
    });
    EXPECT_EQ(world_.disks.empty(), succeeds_later);
    const std::vector<std::string> kept{"begin", "before", "after", "before", "after"};
    std::vector<std::string> dropped = kept;
    dropped.insert(dropped.end(), {"epoch 1", "stored", "closing 1", "end"});
    EXPECT_EQ(world_.told, succeeds_later ? dropped : kept);
    world_.disks.clear();
    world_.file.assign(elements, -1);
    for (auto& part : expected_) part.clear();
  }
}

// One rank's part cannot be written: all ranks throw, keep their staged writes, and flush again.
TEST_F(BurstRanks, a_failed_flush_is_repeated) {
  run_as_threads(ranks, [&](const Comm& comm) {
    struct Failing : ArrayLayout {
      Failing(World& world, const Comm& all) : ArrayLayout(world), comm(all) {}
      void carry_out(std::span<Request> requests, bool write, bool collective) override {
        const auto mine = attempt_to([&] {
          if (fails) throw Error(Errc::eno_space, "full");
          ArrayLayout::carry_out(requests, write, collective);
        });
        if (collective) agree_on_error(comm, mine);
      }
      const Comm& comm;
      bool fails = false;
    };
    Report report;
    Failing layout(world_, comm);
    const auto stage = make(comm, layout, report);
    for (int round = 0; round < rounds; ++round) {
      come(comm);
      stage_round(comm, *stage, round);
      layout.fails = comm.rank() == round % ranks;
      try {
        stage->flush(true);
        ADD_FAILURE() << "rank " << comm.rank() << " heard of no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::eno_space);
      }
      layout.fails = false;
      expect_own(comm, *stage);
      stage->flush(true);
      comm.barrier();
      if (comm.is_root()) expect_file();
      comm.barrier();
    }
    stage->close(false);
  });
}

#ifdef FOREBAY_FAILING_MEMORY
// One rank cannot read back its staged data, and memory allocation fails at one place after
// another. If it missed a round, the others would wait for it forever.
TEST_F(BurstRanks, a_rank_without_memory_takes_part_in_all_rounds) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    ArrayLayout layout(world_);
    const auto stage = make(comm, layout, report);
    stage_round(comm, *stage, 0);
    layout.meets = &comm;
    const bool poor = comm.rank() == 1;
    if (poor) {
      const std::lock_guard lock(world_.mutex);
      MemoryDisk& disk = *world_.disks.at("log.1.data");
      disk.flip(std::ssize(disk.bytes) / 2, 1);
    }
    std::int64_t some = 1;
    for (long place = 0; some != 0; ++place) {
      const std::int64_t before = layout.calls;
      FailingMemory& memory = FailingMemory::mine();
      if (poor) memory.begin(place);
      const auto failed = attempt_to([&] {
        const FailingMemory::Armed armed;
        stage->flush(true);
      });
      ASSERT_TRUE(failed) << place;
      const std::int64_t calls = layout.calls - before;
      EXPECT_EQ(comm.all_reduce(calls, Reduce::min), comm.all_reduce(calls, Reduce::max)) << place;
      some = comm.all_reduce(std::int64_t{poor && memory.has_failed}, Reduce::max);
    }
    layout.meets = nullptr;
    stage->close(true);
  });
}
#endif

}  // namespace burst_ranks_test
}  // namespace forebay::burst
