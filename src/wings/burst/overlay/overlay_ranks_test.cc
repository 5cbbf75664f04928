// Several ranks read a file with staged writes laid over: an error of one is an error of all.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "burst/recovery/recovery_testing.h"
#include "comm/thread_ranks.h"

namespace forebay {
namespace overlay_ranks_test {

class OverlayRanks : public RecoveryTest {
 protected:
  static constexpr int ranks = 4;

  // Each rank but the last, which is empty, reads all of P; the first one is late.
  std::vector<double> read(const Comm& comm, Dataset& ds, bool together) {
    if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<double> values(nx);
    const bool empty = comm.rank() == ranks - 1;
    std::vector<Request> reads(empty ? 0 : 1);
    if (!empty) {
      reads[0].var = P;
      reads[0].elements = nx;
      reads[0].selection = Subarray{{0}, {nx}, {}};
      reads[0].memory.data = reinterpret_cast<std::byte*>(values.data());
      reads[0].memory.type = Type::float64;
    }
    ds.execute(reads, together);
    return empty ? std::vector<double>() : values;
  }
};

TEST_F(OverlayRanks, all_read_the_same) {
  leave_two_ranks();
  run_as_threads(ranks, [&](const Comm& comm) {
    auto ds = Dataset::open(comm, file_, false, {{"recover", "overlay"}});
    EXPECT_EQ(ds->schema().numrecs, 3);
    for (int time = 0; time < 5; ++time) {
      if (time % 2 == 1) ds->begin_independent();
      const auto values = read(comm, *ds, time % 2 == 0);
      if (!values.empty()) {
        EXPECT_EQ(values, (std::vector<double>{0, 1, -1, -1, -1, -1, -1, -1}));
      }
      if (time % 2 == 1) ds->end_independent();
      ds->sync();
    }
    ds->close();
  });
}

TEST_F(OverlayRanks, damage_is_an_error_on_all_ranks) {
  leave_two_ranks();
  const std::string path = data_path(stem(1));
  std::string bytes = load(path);
  for (char& byte : bytes) byte ^= 0x11;
  save(path, bytes.substr(0, journal::data_begin / 2));
  run_as_threads(ranks, [&](const Comm& comm) {
    EXPECT_THROW(Dataset::open(comm, file_, false, {{"recover", "overlay"}}), Error);
  });
  save(path, load(data_path(stem(0))));
  std::filesystem::remove(path);
  run_as_threads(ranks, [&](const Comm& comm) {
    EXPECT_THROW(Dataset::open(comm, file_, false, {{"recover", "overlay"}}), Error);
    auto ds = Dataset::open(comm, file_, false, {{"recover", "ignore"}});
    ds->close();
  });
}

TEST_F(OverlayRanks, damaged_data_fail_a_collective_read_on_all_ranks) {
  leave_two_ranks();
  const std::string path = data_path(stem(1));
  std::string bytes = load(path);
  bytes.back() ^= 1;
  save(path, bytes);
  run_as_threads(ranks, [&](const Comm& comm) {
    auto ds = Dataset::open(comm, file_, false, {{"recover", "overlay"}});
    for (int time = 0; time < 5; ++time) {
      EXPECT_THROW(read(comm, *ds, true), Error);
    }
    ds->close();
  });
}

}  // namespace overlay_ranks_test
}  // namespace forebay
