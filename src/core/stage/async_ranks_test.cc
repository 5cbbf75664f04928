// Stage async over ranks that are threads. The layout is a plain array, and ranks pass their writes
// to their queues.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/memory_file_testing.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "layout/layout.h"
#include "method/method.h"
#include "stage/stage.h"
#include "storage/write_queue.h"

namespace forebay {

extern const StageEntry async_stage;

namespace async_ranks_test {

using namespace std::chrono_literals;

constexpr int ranks = 4;
constexpr Count elements = 400, own = elements / ranks;
constexpr Count memory = 1600;

/// What the ranks share.
struct World {
  std::mutex mutex;  // of the file
  std::vector<std::int32_t> file = std::vector<std::int32_t>(elements, -1);
  std::atomic<bool> shut = false, fails = false;  ///< writes of rank 1 alone
  std::atomic<int> under_way = 0;                 ///< elements
  std::atomic<int> published = 0, too_early = 0;
};

/// The access of one rank to the file.
class WorldFile : public MemoryFile {
 public:
  WorldFile(World& world, Rank rank)
      : MemoryFile("f", std::make_shared<MemoryDisk>()), world_(world), rank_(rank) {}
  using MemoryFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    if (rank_ == 1) {
      while (world_.shut) std::this_thread::sleep_for(100us);
      if (world_.fails) throw Error(Errc::eno_space, "full");
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * rank_));
    }
    const std::lock_guard lock(world_.mutex);
    auto* to = reinterpret_cast<std::byte*>(world_.file.data()) + offset;
    for (const iovec& piece : pieces) {
      std::memcpy(to, piece.iov_base, piece.iov_len);
      to += piece.iov_len;
      world_.under_way -= static_cast<int>(piece.iov_len / 4);
    }
  }

 private:
  World& world_;
  Rank rank_;
};

class ArrayLayout : public Layout {
 public:
  ArrayLayout(const Comm& comm, World& world, WriteQueue& queue)
      : comm_(comm), world_(world), queue_(queue), file_(world, comm.rank()) {}
  ~ArrayLayout() override { queue_.drop(file_); }  // as files do

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    const auto failed = attempt_to([&] {
      for (Request& r : requests) move(r, write);
    });
    if (collective) return agree_on_error(comm_, failed);
    if (failed) throw *failed;
  }
  ByteRange in_place(std::span<const Request> writes) const override {
    ByteRange all;
    for (const Request& r : writes) {
      const Offset first = 4 * std::get<Subarray>(r.selection).start[0];
      all.add({first, first + 4 * r.elements});
    }
    return all;
  }

 private:
  void move(Request& r, bool write) {
    const Count start = std::get<Subarray>(r.selection).start[0];
    const auto bytes = static_cast<std::size_t>(4 * r.elements);
    if (write) {
      world_.under_way += static_cast<int>(r.elements);
      EXPECT_TRUE(queue_.is_open());
      return queue_.add(file_, 4 * start, {r.packed, bytes});
    }
    const std::lock_guard lock(world_.mutex);
    std::memcpy(r.packed, world_.file.data() + start, bytes);
  }

  const Comm& comm_;
  World& world_;
  WriteQueue& queue_;
  WorldFile file_;
};

class Host : public StageHost {
 public:
  Host(const Comm& comm, World& world, WriteQueue& queue)
      : comm_(comm), world_(world), queue_(queue) {}
  bool is_regular() override { return true; }
  void write_agreed_numrecs() override {}
  void publish() override {
    if (world_.under_way != 0) ++world_.too_early;
    comm_.barrier();
    if (comm_.is_root()) ++world_.published;
  }
  WriteQueue* later() override { return &queue_; }
  std::unique_ptr<Aside> aside() override { return nullptr; }

 private:
  const Comm& comm_;
  World& world_;
  WriteQueue& queue_;
};

/// The state of one rank.
class Staged {
 public:
  Staged(const Comm& comm, World& world)
      : comm_(comm),
        queue_(memory, report_),
        layout_(comm, world, queue_),
        host_(comm, world, queue_) {
    stage = async_stage.make({comm, path_, method_, schema_, layout_, report_, host_});
  }
  ~Staged() { stage->close(false); }
  Staged(const Staged&) = delete;

  /// Makes one collective call. The data is changed afterwards, which programs may do.
  std::optional<Error> put(Count start, Count count, std::int32_t value) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count), value);
    auto failed = attempt_to([&] { call(values, start, true); });
    std::fill(values.begin(), values.end(), -7);
    return failed;
  }
  std::vector<std::int32_t> get(Count start, Count count) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count), -2);
    call(values, start, false);
    return values;
  }
  /// Each rank writes its part of the array.
  std::optional<Error> put_own(std::int32_t value, Count at = 0, Count count = own) {
    return put(own * comm_.rank() + at, count, value);
  }
  void wait_until_idle() {
    while (!queue_.is_idle()) std::this_thread::sleep_for(100us);
    comm_.barrier();
  }

  std::unique_ptr<Stage> stage;

 private:
  void call(std::vector<std::int32_t>& values, Count start, bool write) {
    std::vector<Request> requests, none;
    if (!values.empty()) {
      Request& r = requests.emplace_back();
      r.write = write;
      r.elements = std::ssize(values);
      r.selection = Subarray{{start}, {r.elements}, {}};
      r.packed = reinterpret_cast<std::byte*>(values.data());
      r.element_size = 4;
    }
    const StageNeeds mine = write ? stage->offer(requests, none) : stage->offer(none, requests);
    std::array<std::int64_t, 4> all{mine.flush, mine.staged, mine.first, mine.last};
    comm_.all_reduce(all, Reduce::max);
    StageNeeds needs;
    needs.flush = all[0], needs.staged = all[1], needs.first = all[2], needs.last = all[3];
    stage->submit(requests, write, true, needs);
  }

  const Comm& comm_;
  Report report_;
  WriteQueue queue_;
  ArrayLayout layout_;
  Host host_;
  Method method_;
  Schema schema_;
  std::string path_ = "/data/out.nc";
};

void on_ranks(World& world, const std::function<void(const Comm&, Staged&)>& body) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Staged staged(comm, world);
    body(comm, staged);
    comm.barrier();
  });
  EXPECT_EQ(world.too_early, 0);
}

TEST(AsyncStage, a_write_returns_before_it_is_in_the_file_and_is_published_when_it_is) {
  World world;
  world.shut = true;
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    EXPECT_FALSE(s.put(10 * comm.rank(), 10, 1));
    EXPECT_FALSE(s.put(40 + 10 * comm.rank(), 10, 2));  // other bytes: does not wait
    EXPECT_TRUE(s.stage->holds_writes());
    EXPECT_GE(world.under_way, 20);
    EXPECT_EQ(world.published, 0);
    comm.barrier();
    world.shut = false;
    s.wait_until_idle();
    EXPECT_EQ(world.published, 0);  // no thread publishes
    comm.barrier();
    EXPECT_FALSE(s.put(80 + 10 * comm.rank(), 10, 3));
    comm.barrier();
    EXPECT_EQ(world.published, 1);
    EXPECT_TRUE(s.stage->holds_writes());
    s.stage->flush(true);
    comm.barrier();
    EXPECT_EQ(world.published, 2);
    EXPECT_FALSE(s.stage->holds_writes());
    EXPECT_FALSE(s.stage->reasons().empty());
  });
}

TEST(AsyncStage, what_ranks_write_later_to_the_same_bytes_wins) {
  World world;
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    for (int round = 0; round < 40; ++round) {
      // The parts rotate among the ranks.
      const int part = (comm.rank() + round) % ranks;
      EXPECT_FALSE(s.put(own * part, own, 100 * round + part));
      if (round % 5 == 4) {
        EXPECT_FALSE(s.put(0, 0, 0));
      }
    }
    s.stage->flush(true);
    comm.barrier();
    for (int part = 0; part < ranks; ++part)
      EXPECT_EQ(world.file[static_cast<std::size_t>(own * part)], 3900 + part);
  });
}

TEST(AsyncStage, reads_see_what_all_ranks_have_written) {
  World world;
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    for (int round = 0; round < 10; ++round) {
      EXPECT_FALSE(s.put_own(round));
      const int other = (comm.rank() + 1) % ranks;
      EXPECT_EQ(s.get(own * other, own), std::vector<std::int32_t>(own, round));
      comm.barrier();
    }
    comm.barrier();
    EXPECT_EQ(world.published, 10);
  });
}

TEST(AsyncStage, a_rank_with_half_of_its_memory_full_makes_all_wait) {
  World world;
  world.shut = true;
  std::atomic<int> calls = 0;
  std::thread opens([&] {
    while (calls < 6 * ranks) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(30ms);
    EXPECT_EQ(calls, 6 * ranks);  // of 160 bytes each
    EXPECT_EQ(world.published, 0);
    world.shut = false;
  });
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_FALSE(comm.rank() == 1 ? s.put(40 * i, 40, i) : s.put(0, 0, 0));
      ++calls;
    }
    comm.barrier();
    EXPECT_GE(world.published, 1);
  });
  opens.join();
}

TEST(AsyncStage, what_failed_is_told_to_all_by_the_next_call_and_tried_again) {
  World world;
  world.fails = true;
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    EXPECT_FALSE(s.put_own(1, 0, 10));
    for (int i = 0; i < 3; ++i) {
      const auto failed = attempt_to([&] { s.stage->flush(true); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
      const auto told = s.put_own(2, 20, 10);  // this write is dropped
      ASSERT_TRUE(told);
      EXPECT_EQ(told->code(), Errc::eno_space);
    }
    EXPECT_EQ(world.published, 0);
    comm.barrier();
    world.fails = false;
    EXPECT_FALSE(s.put_own(3, 30, 10));
    comm.barrier();
    EXPECT_EQ(world.published, 1);
    s.stage->flush(true);
    comm.barrier();
    for (int part = 0; part < ranks; ++part) {
      const auto at = static_cast<std::size_t>(own * part);
      EXPECT_EQ(world.file[at], 1);
      EXPECT_EQ(world.file[at + 20], -1);
      EXPECT_EQ(world.file[at + 30], 3);
    }
  });
}

TEST(AsyncStage, independent_mode_begins_when_all_is_written) {
  World world;
  on_ranks(world, [&](const Comm& comm, Staged& s) {
    EXPECT_FALSE(s.put_own(1));
    s.stage->begin_alone();
    EXPECT_EQ(world.under_way, 0);
    comm.barrier();
    EXPECT_EQ(world.published, 1);
    EXPECT_FALSE(s.stage->publishes_later());
    comm.barrier();
    s.stage->end_alone();
    EXPECT_FALSE(s.put_own(2));
    EXPECT_TRUE(s.stage->holds_writes());
  });
}

}  // namespace async_ranks_test
}  // namespace forebay
