// Stages memory and auto over ranks that are threads. The layout is a plain array. It carries out
// the ranks' parts in the order that is most likely wrong: the highest rank first.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "layout/layout.h"
#include "method/method.h"
#include "stage/shared_stage.h"

namespace forebay {

extern const StageEntry auto_stage, memory_stage;

namespace memory_ranks_test {

/// Has room, and no others.
class SharedByOne : public SharedStage {
 public:
  void write() override {}
  Count room() const override { return 1 << 20; }
  std::unique_ptr<std::byte[]> take_memory(Count bytes) override {
    return std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
  }
  void give_memory(std::unique_ptr<std::byte[]> /*block*/, Count /*bytes*/) noexcept override {}
};

const StageEntry holding_stage{{"holding", "a shared stage's", 0},
                               [](const StageSite& site) -> std::unique_ptr<Stage> {
                                 static SharedByOne stage;
                                 return make_holding_stage(site, stage);
                               }};

constexpr int ranks = 4;
constexpr Count elements = 4000, own = elements / ranks, length = 50;

/// What the ranks share.
struct World {
  std::vector<std::int32_t> file = std::vector<std::int32_t>(elements, -1);
  std::vector<int> writer = std::vector<int>(elements);  ///< in the current operation
  std::atomic<bool> slow = false, fails = false;
  std::atomic<bool> blind = false, rank_0_first = false;  ///< no overlaps detected; the other order
  std::atomic<bool> turns_quick = false;                  ///< the next operation finds that out
  std::atomic<int> published = 0;
};

class ArrayLayout : public Layout {
 public:
  /// `always`: it detects overlaps even if the file answers quickly.
  ArrayLayout(const Comm& comm, World& world, bool always)
      : comm_(comm), world_(world), always_(always) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    operations += write;
    if (!collective) return move(requests, write);
    if (comm_.is_root()) std::fill(world_.writer.begin(), world_.writer.end(), -1);
    overlapped_ = false;
    agree_on_error(comm_, attempt_to([&] {
                     if (world_.fails && comm_.rank() == 1) throw Error(Errc::eno_space, "full");
                   }));
    if (world_.turns_quick) world_.slow = false;
    for (int turn = comm_.size() - 1; turn >= 0; --turn) {
      const int rank = world_.rank_0_first ? comm_.size() - 1 - turn : turn;
      if (comm_.rank() == rank) move(requests, write);
      comm_.barrier();
    }
    std::array<std::int64_t, 1> told{overlapped_};
    comm_.all_reduce(told, Reduce::max);
    overlapped_ = told[0] != 0;
  }
  bool answers_slowly() const override { return world_.slow; }
  bool overlapped() const override { return overlapped_ && sees_overlaps(); }
  bool sees_overlaps() const override { return !world_.blind && (always_ || world_.slow); }

  int operations = 0;  ///< writes

 private:
  void move(std::span<Request> requests, bool write) {
    for (Request& r : requests) {
      const auto start = static_cast<std::size_t>(std::get<Subarray>(r.selection).start[0]);
      auto* values = reinterpret_cast<std::int32_t*>(r.packed);
      for (std::size_t i = 0; i < static_cast<std::size_t>(r.elements); ++i) {
        if (!write) {
          values[i] = world_.file[start + i];
          continue;
        }
        int& writer = world_.writer[start + i];
        overlapped_ = overlapped_ || (writer >= 0 && writer != comm_.rank());
        writer = comm_.rank();
        world_.file[start + i] = values[i];
      }
    }
  }

  const Comm& comm_;
  World& world_;
  bool always_;
  bool overlapped_ = false;
};

class CountingHost : public StageHost {
 public:
  explicit CountingHost(World& world) : world_(world) {}
  bool is_regular() override { return true; }
  void write_agreed_numrecs() override { ++world_.published; }
  std::unique_ptr<Aside> aside() override { return nullptr; }

 private:
  World& world_;
};

/// The state of one rank.
class Staged {
 public:
  Staged(const Comm& comm, World& world, const StageEntry& entry)
      : layout(comm, world, entry.batches), comm_(comm), host_(world) {
    method_.buffer_limit = 16 << 10;  // a quarter of it is held at most
    stage = entry.make({comm, path_, method_, schema_, layout, report_, host_});
  }

  /// Makes one collective call. The data is changed afterwards, which programs may do.
  void put(Count start, Count count, std::int32_t value) {
    if (comm_.is_root()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::vector<std::int32_t> values(static_cast<std::size_t>(count), value);
    std::vector<Request> writes;
    if (count > 0) writes.push_back(access(values, start, true));
    call(writes, true);
    std::fill(values.begin(), values.end(), -7);
  }
  std::vector<std::int32_t> get(Count start, Count count) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count), -2);
    std::vector<Request> reads;
    reads.push_back(access(values, start, false));
    call(reads, false);
    return values;
  }
  static Request access(std::vector<std::int32_t>& values, Count start, bool write) {
    Request r;
    r.write = write;
    r.elements = std::ssize(values);
    r.selection = Subarray{{start}, {r.elements}, {}};
    r.packed = reinterpret_cast<std::byte*>(values.data());
    r.element_size = 4;
    return r;
  }

  ArrayLayout layout;
  std::unique_ptr<Stage> stage;

 private:
  void call(std::vector<Request>& requests, bool write) {
    std::vector<Request> none;
    const StageNeeds mine = write ? stage->offer(requests, none) : stage->offer(none, requests);
    std::array<std::int64_t, 6> all{mine.flush,    mine.direct, mine.staged,
                                    mine.unserved, mine.alike,  mine.unlike};
    comm_.all_reduce(all, Reduce::max);
    stage->submit(requests, write, true, {all[0], all[1], all[2], all[3], all[4], all[5]});
  }

  const Comm& comm_;
  CountingHost host_;
  Method method_;
  Schema schema_;
  Report report_;
  std::string path_ = "/data/out.nc";
};

void on_ranks(const StageEntry& entry, World& world,
              const std::function<void(const Comm&, Staged&)>& body) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Staged staged(comm, world, entry);
    body(comm, staged);
    staged.stage->close(false);
  });
}

TEST(MemoryStage, operations_wait_until_there_is_enough_of_them) {
  World world;
  constexpr int puts = 60;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    const bool writes = comm.rank() < ranks - 1;  // the last rank has nothing
    for (int p = 0; p < puts; ++p) {
      s.put(own * comm.rank() + p % 10 * length, writes ? length : 0, p);
      if (p == 0) {
        EXPECT_TRUE(s.stage->holds_writes());
        EXPECT_EQ(s.layout.operations, 0);
      }
    }
    EXPECT_GE(s.layout.operations, 5);
    EXPECT_LE(s.layout.operations, puts / 5);
    s.stage->flush(true);
    EXPECT_FALSE(s.stage->holds_writes());
  });
  EXPECT_GE(world.published, 5 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    for (Count i = 0; i < 10 * length; ++i)
      ASSERT_EQ(world.file[static_cast<std::size_t>(own * rank + i)],
                rank < ranks - 1 ? puts - 10 + i / length : -1);
  }
}

TEST(MemoryStage, the_later_operation_wins_between_ranks) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    for (int p = 0; p < 30; ++p) s.put(p % 7, comm.rank() == p % ranks ? length : 0, p);
    s.stage->flush(true);
    EXPECT_GT(s.layout.operations, 30);
  });
  std::vector<std::int32_t> expected(elements, -1);
  for (int p = 0; p < 30; ++p) std::fill_n(expected.begin() + p % 7, length, p);
  EXPECT_EQ(world.file, expected);
}

TEST(MemoryStage, auto_waits_only_where_the_file_answers_slowly) {
  World world;
  on_ranks(auto_stage, world, [&](const Comm& comm, Staged& s) {
    for (int p = 0; p < 5; ++p) s.put(own * comm.rank(), length, p);
    EXPECT_EQ(s.layout.operations, 5);
    comm.barrier();
    world.slow = true;
    comm.barrier();
    for (int p = 0; p < 3; ++p) s.put(own * comm.rank(), length, 10 + p);
    EXPECT_EQ(s.layout.operations, 5);
    comm.barrier();
    world.slow = false;  // held writes come first
    comm.barrier();
    s.put(own * comm.rank(), length, 20);
    EXPECT_EQ(s.layout.operations, 5 + 1 + 3 + 1);  // overlaps undetected: one by one, too
    EXPECT_FALSE(s.stage->holds_writes());
    EXPECT_NE(s.stage->reasons().find("3 collective writes waited"), std::string::npos);
  });
  EXPECT_EQ(world.file[0], 20);
}

TEST(MemoryStage, auto_gives_up_where_ranks_write_the_same_bytes) {
  World world;
  world.slow = true;
  on_ranks(auto_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(0, comm.rank() == 0 ? 1 : 0, 1);
    s.put(0, comm.rank() == 1 ? 1 : 0, 2);
    s.stage->flush(true);
    EXPECT_EQ(s.layout.operations, 3);  // all together, then each
    s.put(0, 1, 3);
    EXPECT_EQ(s.layout.operations, 4);
  });
  EXPECT_EQ(world.file[0], 3);
}

// The file becomes fast, so that overlaps are not detected, and the higher rank comes first.
TEST(MemoryStage, the_later_operation_wins_where_nobody_looked) {
  for (const StageEntry* entry : {&auto_stage, &holding_stage}) {
    for (const bool meanwhile : {false, true}) {
      SCOPED_TRACE(std::string(entry->name) + (meanwhile ? ", meanwhile" : ""));
      World world;
      world.slow = true;
      on_ranks(*entry, world, [&](const Comm& comm, Staged& s) {
        s.put(0, comm.rank() == 0 ? 1 : 0, 1);
        s.put(0, comm.rank() == 3 ? 1 : 0, 2);
        comm.barrier();
        (meanwhile ? world.turns_quick : world.slow) = meanwhile;
        comm.barrier();
        s.stage->flush(true);
        EXPECT_FALSE(s.stage->holds_writes());
      });
      EXPECT_EQ(world.file[0], 2);
    }
  }
}

// Chunks, and transports that leave I/O to each rank, detect no overlaps.
TEST(MemoryStage, a_rank_overwrites_its_own_with_what_all_write_where_overlaps_are_not_seen) {
  World world;
  world.blind = world.rank_0_first = true;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    for (int p = 0; p < 6; ++p) {
      s.put(own * comm.rank(), length, p);
      s.put(0, elements / 2, 100 + p);
    }
    s.stage->flush(true);
  });
  EXPECT_EQ(std::vector(world.file.begin(), world.file.begin() + elements / 2),
            std::vector<std::int32_t>(elements / 2, 105));
}

TEST(MemoryStage, what_all_ranks_write_waits_once) {
  World world;
  world.slow = true;
  on_ranks(auto_stage, world, [&](const Comm& comm, Staged& s) {
    for (int p = 0; p < 20; ++p) {
      s.put(p, 1, p);
      s.put(100 + own * comm.rank() / 2, length, p);
    }
    s.stage->flush(true);
    EXPECT_LE(s.layout.operations, 8);
    EXPECT_EQ(s.stage->reasons().find("same bytes"), std::string::npos);
  });
  for (int p = 0; p < 20; ++p) EXPECT_EQ(world.file[static_cast<std::size_t>(p)], p);
}

TEST(MemoryStage, nothing_waits_when_the_header_is_written) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(own * comm.rank(), length, comm.rank());
    s.stage->before_header();
    EXPECT_EQ(s.layout.operations, 1);
  });
}

TEST(MemoryStage, reads_see_what_waits) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(own * comm.rank(), length, comm.rank());
    const int next = (comm.rank() + 1) % ranks;
    EXPECT_EQ(s.get(own * next, length), std::vector<std::int32_t>(length, next));
  });
}

TEST(MemoryStage, large_operations_go_at_once_behind_what_waits) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(own * comm.rank(), own, 1);  // 4000 bytes and the request: too much
    EXPECT_EQ(s.layout.operations, 1);
    s.put(own * comm.rank(), length, 2);
    EXPECT_EQ(s.layout.operations, 1);
    s.put(own * comm.rank(), comm.rank() == 2 ? own : length, 3);  // one of them has too much
    EXPECT_EQ(s.layout.operations, 3);
    EXPECT_FALSE(s.stage->holds_writes());
  });
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(world.file[static_cast<std::size_t>(own * rank)], 3);
    EXPECT_EQ(world.file[static_cast<std::size_t>(own * rank + length)], rank == 2 ? 3 : 1);
  }
}

TEST(MemoryStage, what_could_not_be_carried_out_stays) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    for (int p = 0; p < 3; ++p) s.put(own * comm.rank() + p * length, length, p);
    comm.barrier();
    world.fails = true;
    comm.barrier();
    for (int i = 0; i < 2; ++i) {
      const auto failed = attempt_together(comm, [&] { s.stage->flush(true); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
      EXPECT_TRUE(s.stage->holds_writes());
    }
    // Memory is bounded, so calls fail at the limit.
    int failures = 0;
    for (int p = 0; p < 40; ++p)
      failures += attempt_together(comm, [&] { s.put(own * comm.rank(), length, 9); }).has_value();
    EXPECT_GE(failures, 20);
    comm.barrier();
    world.fails = false;
    comm.barrier();
    s.put(own * comm.rank(), length, 4);
    s.stage->flush(true);
  });
  for (int rank = 0; rank < ranks; ++rank)
    for (int p = 0; p < 3; ++p)
      EXPECT_EQ(world.file[static_cast<std::size_t>(own * rank + p * length)], p == 0 ? 4 : p);
}

TEST(MemoryStage, nothing_waits_while_ranks_write_alone) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(own * comm.rank(), length, 1);
    s.stage->begin_alone();
    EXPECT_EQ(s.layout.operations, 1);
    std::vector<std::int32_t> values(length, 2);
    std::vector<Request> writes;
    writes.push_back(Staged::access(values, own * comm.rank(), true));
    s.stage->submit(writes, true, false, s.stage->offer(writes, {}));
    EXPECT_EQ(s.layout.operations, 2);
    s.stage->end_alone();
    s.put(own * comm.rank() + length, length, 3);
    EXPECT_EQ(s.layout.operations, 2);
    s.stage->flush(true);
  });
  EXPECT_EQ(world.file[0], 2);
  EXPECT_EQ(world.file[length], 3);
}

TEST(MemoryStage, an_offer_that_was_not_agreed_on_is_not_flushed) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    s.put(own * comm.rank() + length, length, 1);
    std::vector<std::int32_t> values(length, 8);
    std::vector<Request> writes;
    writes.push_back(Staged::access(values, own * comm.rank(), true));
    s.stage->offer(writes, {});
    s.stage->flush(true);
  });
  EXPECT_EQ(world.file[0], -1);
  EXPECT_EQ(world.file[length], 1);
}

// An error of a rank between offer() and submit() replaces the reduction.
TEST(MemoryStage, an_offer_that_was_not_agreed_on_is_forgotten) {
  World world;
  on_ranks(memory_stage, world, [&](const Comm& comm, Staged& s) {
    std::vector<std::int32_t> values(length, 8);
    std::vector<Request> writes;
    writes.push_back(Staged::access(values, own * comm.rank(), true));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(s.stage->offer(writes, {}).direct, 0);
    s.put(own * comm.rank() + length, length, 1);
    s.stage->flush(true);
  });
  EXPECT_EQ(world.file[0], -1);
  EXPECT_EQ(world.file[length], 1);
}

}  // namespace memory_ranks_test
}  // namespace forebay
