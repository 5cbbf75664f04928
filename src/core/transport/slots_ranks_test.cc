#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "storage/file.h"
#include "transport/slots.h"

namespace forebay {
namespace slots_ranks_test {

// There are many more windows than slots. The last rank has nothing; rank 0 comes late.
constexpr int ranks = 4, writers = 3, slots = 3;
constexpr Count window = 8192, windows = 24, width = 8, file_bytes = window * windows;
constexpr auto before = static_cast<char>(0xEE);

class SlotsTest : public testing::Test {
 protected:
  SlotsTest()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("forebay_slots_" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << std::string(file_bytes, before);
  }
  ~SlotsTest() override { std::filesystem::remove(path_); }
  /// Calls f(comm, ring, file, report) on every rank.
  template <typename F>
  void with_ring(F&& f) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      File file(opened_, true, comm.rank(), report);
      const Topology& topology = Topology::of(comm, 0);
      leave_traces(topology);
      Slots ring(topology, window, {slots - 1, 1});
      ASSERT_TRUE(ring.ok());
      comm.barrier();
      f(comm, ring, file, report);
      comm.barrier();
    });
  }
  /// Leaves in the node's memory what an earlier file leaves there amid a failed operation.
  static void leave_traces(const Topology& topology) {
    Slots ring(topology, window / 2, {slots, slots});
    ASSERT_TRUE(ring.ok());
    topology.node().barrier();
    for (Count p = 0; p < 2 * slots; ++p) {
      const auto use = ring.use_at(p < slots, p % slots, p * window / 2);
      ring.need(use, use.begin, window / 2);
      const std::uint64_t mark = ~std::uint64_t{0};
      const Count at = p * 64 + topology.node().rank() * 8;  // bytes of its own: see slots.h
      Slots::Placer(ring, use).add_bytes(at, reinterpret_cast<const std::byte*>(&mark), 8);
      ring.arrive(use, 99);
    }
  }
  std::string contents() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string path_;
  std::string opened_ = path_;
};

/// Returns the rank that writes an element of the file; -1: nobody does.
Rank owner_of(Count element) {
  const Count of_window = window / width;
  if (element / of_window == 5) return -1;              // a whole window
  if (element % of_window > of_window - 40) return -1;  // its end
  return element % 7 == 0 ? -1 : static_cast<Rank>(element % writers);
}
std::uint64_t value_of(Count element) {
  return 0x0102030405060708U * static_cast<std::uint64_t>(element % 31 + 1);
}

const Slots::Meanwhile nothing = [] { return Slots::Left::nothing; };

/// Returns the use for the window at this position of the sequence. Both kinds take turns.
Slots::Use use_of(const Slots& ring, Count position) {
  return ring.use_at(position % 2 == 0, position / 2, position * window);
}

/// Returns the same use once it is free.
Slots::Use free_use(Slots& ring, Count position) {
  const auto use = use_of(ring, position);
  ring.wait_until_free(use, nothing);
  return use;
}

void come(const Comm& comm) {
  if (comm.is_root()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// Places this rank's elements of a window, byte-swapped.
void place(Slots& ring, const Slots::Use& use, Rank rank) {
  Slots::Placer placer(ring, use);
  for (Count e = use.begin / width; e < (use.begin + window) / width; ++e) {
    if (owner_of(e) != rank) continue;
    std::uint64_t value = value_of(e);
    placer.add({e * width, width, reinterpret_cast<std::byte*>(&value), 0, width});
  }
}

std::string written() {
  std::string expected(file_bytes, before);
  for (Count e = 0; e < file_bytes / width; ++e)
    for (Count b = 0; owner_of(e) >= 0 && b < width; ++b)
      expected[static_cast<std::size_t>(e * width + b)] =
          static_cast<char>(value_of(e) >> (8 * (width - 1 - b)));
  return expected;
}

TEST_F(SlotsTest, windows_are_written_by_whoever_comes_last) {
  for (const Count bridged : {0, 8, 4096}) {
    with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
      for (Count w = 0; w < windows; ++w) {
        come(comm);
        const auto use = free_use(ring, w);
        place(ring, use, comm.rank());
        if (ring.arrive(use, ranks)) ring.write_out(use, file, bridged, report);
      }
    });
    EXPECT_TRUE(contents() == written()) << bridged;  // holes hold what they held
    std::ofstream(path_, std::ios::binary) << std::string(file_bytes, before);
  }
}

TEST_F(SlotsTest, a_complete_window_is_one_ranks_to_read) {
  std::ofstream(path_, std::ios::binary) << std::string(file_bytes, 'x');
  with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
    for (Count w = 0; w < windows; ++w) {
      const auto use = free_use(ring, w);
      ring.need(use, use.begin, window);
      EXPECT_FALSE(ring.take(use));
      comm.barrier();
      if (ring.arrive(use, ranks)) ring.complete(use, false);
      comm.barrier();
      const bool mine = ring.take(use);
      EXPECT_EQ(comm.all_reduce(mine, Reduce::sum), 1);
      EXPECT_TRUE(ring.is_taken(use));
      EXPECT_FALSE(ring.take(use));
      if (mine) ring.read_in(use, file, window, report);
      ring.wait_until_read(use, nothing);
      EXPECT_EQ(*ring.data(use, use.begin + window - 1), std::byte{'x'});
      ring.depart(use, ranks);
    }
  });
}

TEST_F(SlotsTest, a_window_is_read_once_for_all_who_need_it) {
  std::string content(file_bytes, 0);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 2654435761U >> 11);
  std::ofstream(path_, std::ios::binary) << content;
  std::atomic<std::int64_t> calls = 0;
  with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
    for (Count w = 0; w < windows; ++w) {
      come(comm);
      const auto use = free_use(ring, w);
      const bool needs = comm.rank() < writers && w != 5;
      const Offset first = use.begin + 100 * comm.rank(), bytes = window - 1000;
      if (needs) ring.need(use, first, bytes);
      if (ring.arrive(use, ranks)) ring.read_in(use, file, window, report);
      ring.wait_until_read(use, nothing);
      if (needs)
        EXPECT_EQ(std::memcmp(ring.data(use, first), content.data() + first,
                              static_cast<std::size_t>(bytes)),
                  0);
      ring.depart(use, ranks);
    }
    calls += report[Counter::read_calls];
  });
  EXPECT_EQ(calls, windows - 1);
}

// Rank r leaves out each window whose number modulo `ranks` is r. All know who comes.
TEST_F(SlotsTest, ranks_leave_out_windows_that_they_have_nothing_in) {
  with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
    for (Count w = 0; w < windows; ++w) {
      if (w % ranks == comm.rank()) continue;
      come(comm);
      const auto use = free_use(ring, w);
      const auto mark = static_cast<std::byte>(w * ranks + comm.rank());
      Slots::Placer(ring, use).add_bytes(comm.rank(), &mark, 1);
      if (ring.arrive(use, ranks - 1)) ring.write_out(use, file, 0, report);
    }
  });
  const std::string found = contents();
  for (Count w = 0; w < windows; ++w) {
    for (Rank r = 0; r < ranks; ++r) {
      const char expected = w % ranks == r ? before : static_cast<char>(w * ranks + r);
      EXPECT_EQ(found[static_cast<std::size_t>(w * window + r)], expected) << w << ", rank " << r;
    }
  }
}

// All sequences write the same few windows, in other slots each time, by ranks that take turns.
// Later bytes replace earlier ones, also if the earlier writer is slow.
TEST_F(SlotsTest, earlier_uses_of_a_window_come_first) {
  constexpr int sequences = 20, few = 2;
  with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
    for (int s = 0; s < sequences; ++s) {
      for (Count w = 0; w < few && comm.rank() % 2 == s % 2; ++w) {
        const auto use = free_use(ring, w);
        const auto mark = static_cast<std::byte>(s + 1);
        Slots::Placer(ring, use).add_bytes(comm.rank() / 2, &mark, 1);
        if (!ring.arrive(use, ranks / 2)) continue;
        if (s % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ring.write_out(use, file, 0, report);
      }
      ring.go_on_behind(few, [&](std::size_t i) { return use_of(ring, static_cast<Count>(i)); });
    }
  });
  const std::string found = contents();
  for (Count w = 0; w < few; ++w)
    for (Rank r = 0; r < ranks / 2; ++r)
      EXPECT_EQ(found[static_cast<std::size_t>(w * window + r)], sequences) << w << ", rank " << r;
}

// A rank whose system call fails keeps the error, and the ring turns on.
TEST_F(SlotsTest, a_full_disk_stops_nobody) {
  opened_ = "/dev/full";
  std::atomic<int> failures = 0;
  with_ring([&](const Comm& comm, Slots& ring, File& file, Report& report) {
    for (Count w = 0; w < windows; ++w) {
      come(comm);
      const auto use = free_use(ring, w);
      place(ring, use, comm.rank());
      if (!ring.arrive(use, ranks)) continue;
      const auto failed = attempt_to([&] { ring.write_out(use, file, 0, report); });
      if (failed) EXPECT_EQ(failed->code(), Errc::eno_space);
      failures += failed.has_value();
    }
  });
  EXPECT_EQ(failures, windows - 1);  // in one window there is nothing to write
}

}  // namespace slots_ranks_test
}  // namespace forebay
