// Every transport that can do without MPI, over ranks that are threads: on one node, and on nodes
// of which the last has one rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "comm/thread_ranks.h"
#include "transport/transport.h"

namespace forebay {
namespace {

// Windows of 4 KiB, eight slots: a whole operation takes the ring six times round.
constexpr int ranks = 5, writers = 4, operations = 6;
constexpr Count strip = 400, strips = 500, file_bytes = strip * strips;
constexpr std::uint32_t before = 0xEEEEEEEE;

struct Case {
  const TransportEntry* entry;
  int ranks_per_node;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.entry->name << ", " << c.ranks_per_node << " ranks a node";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Part* part : parts(PartKind::transport)) {
    const auto* entry = static_cast<const TransportEntry*>(part);
    for (const int ranks_per_node : {0, 2})
      if (entry->needs == nullptr) all.push_back({entry, ranks_per_node});
  }
  return all;
}

/// Extents that are there already. May fail on the way.
class Listed : public ExtentStream {
 public:
  explicit Listed(std::vector<Extent> list, std::size_t fails_at = SIZE_MAX)
      : list_(std::move(list)), fails_at_(fails_at) {}
  StreamSummary summary() const override {
    StreamSummary s;
    if (list_.empty()) return s;
    s.first = list_.front().offset, s.last = list_.back().end();
    s.pieces = std::ssize(list_);
    for (const Extent& e : list_) s.bytes += e.length;
    return s;
  }
  std::size_t next(std::span<Extent> out) override {
    if (at_ >= fails_at_) throw Error(Errc::enomem);
    const std::size_t n = std::min({out.size(), list_.size() - at_, std::size_t{20}});
    std::copy_n(list_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    at_ += n;
    return n;
  }
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<Listed>(list_, fails_at_);
  }

 private:
  std::vector<Extent> list_;
  std::size_t fails_at_, at_ = 0;
};

/// Which strips a rank has in an operation: the last rank none, one in eleven nobody.
bool writes(Rank rank, Count s, int operation) {
  return rank < writers && s % writers == rank && s % 11 != 0 && (s / writers + operation) % 3 != 0;
}
bool reads(Rank rank, Count s, int operation) {  // some are read by several ranks
  return rank != 3 && ((s + operation) % ranks == rank || s % 9 == 0);
}
std::uint32_t value(int operation, Count place) {
  return static_cast<std::uint32_t>((operation + 1) * 1'000'000 + place);
}

class TransportRanks : public testing::TestWithParam<Case> {
 protected:
  TransportRanks()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("forebay_transport_" + std::to_string(::getpid()))),
        model_(file_bytes / 4, before) {
    std::ofstream(path_, std::ios::binary) << std::string(file_bytes, static_cast<char>(0xEE));
    options_.kind = GetParam().entry->name;
    options_.ranks_per_node = GetParam().ranks_per_node;
    options_.window_size = 4096;
    options_.buffer_limit = 64 << 10;
    options_.hole_threshold = 600;
  }
  ~TransportRanks() override { std::filesystem::remove(path_); }

  /// One rank's extents of an operation, in memory that is theirs.
  struct Memory {
    std::vector<std::uint32_t> values;
    std::vector<Extent> extents;
  };
  template <typename Has>
  static Memory memory_for(Has&& has) {
    Memory m;
    const Count n = strip / 4;
    for (Count s = 0; s < strips; ++s)
      if (has(s)) m.extents.push_back({s * strip, strip, nullptr, 0, 4});
    m.values.resize(m.extents.size() * static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < m.extents.size(); ++i)
      m.extents[i].memory =
          reinterpret_cast<std::byte*>(m.values.data() + i * static_cast<std::size_t>(n));
    return m;
  }
  static Memory to_write(Rank rank, int operation) {
    Memory m = memory_for([&](Count s) { return writes(rank, s, operation); });
    std::size_t at = 0;
    for (const Extent& e : m.extents)
      for (Count i = 0; i < strip / 4; ++i) m.values[at++] = value(operation, e.offset / 4 + i);
    return m;
  }

  void expect_read(Transport& transport, Rank rank, int operation, bool together) const {
    Memory m = memory_for([&](Count s) { return reads(rank, s, operation); });
    Listed stream(m.extents);
    together ? transport.read_all(stream) : transport.read(stream);
    std::size_t wrong = 0, at = 0;
    for (const Extent& e : m.extents)
      for (Count i = 0; i < strip / 4; ++i)
        wrong += m.values[at++] != model_[static_cast<std::size_t>(e.offset / 4 + i)];
    EXPECT_EQ(wrong, 0U) << "rank " << rank << ", operation " << operation;
  }
  void note(int operation) {
    for (Rank rank = 0; rank < writers; ++rank) {
      const Memory m = to_write(rank, operation);
      for (const Extent& e : m.extents)
        std::memcpy(&model_[static_cast<std::size_t>(e.offset / 4)], e.memory, strip);
    }
  }
  static void come(const Comm& comm) {
    if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const std::string path_;
  TransportOptions options_;
  std::vector<std::uint32_t> model_;  // of the file; only rank 0 changes it, between two barriers
};

TEST_P(TransportRanks, what_is_written_is_read_and_holes_stay) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto transport = make_transport(
        comm, std::make_shared<File>(path_, true, comm.rank(), report), options_, report);
    for (int operation = 0; operation < operations; ++operation) {
      come(comm);
      Memory mine = to_write(comm.rank(), operation);
      Listed stream(mine.extents);
      transport->write_all(stream);
      comm.barrier();
      if (comm.is_root()) note(operation);
      comm.barrier();
      expect_read(*transport, comm.rank(), operation, true);
      expect_read(*transport, comm.rank(), operation + 1, false);
      comm.barrier();  // nobody writes while others read by themselves
    }
    transport->close();
  });
  std::ifstream in(path_, std::ios::binary);
  std::string found{std::istreambuf_iterator<char>(in), {}}, expected(file_bytes, 0);
  copy_swapped(reinterpret_cast<std::byte*>(expected.data()),
               reinterpret_cast<const std::byte*>(model_.data()), file_bytes, 4);
  EXPECT_TRUE(found == expected);
}

// What is read of a hole may be old when it is written.
TEST_P(TransportRanks, nothing_but_what_was_asked_for_is_written_where_caches_are_weak) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto file = std::make_shared<File>(path_, true, comm.rank(), report);
    file->share(ClientCaches::weak);
    const auto transport = make_transport(comm, file, options_, report);
    for (int operation = 0; operation < operations; ++operation) {
      Memory mine = to_write(comm.rank(), operation);
      Listed stream(mine.extents);
      std::array<std::int64_t, 2> asked_and_written{stream.summary().bytes,
                                                    -report[Counter::bytes_written]};
      transport->write_all(stream);
      asked_and_written[1] += report[Counter::bytes_written];
      comm.all_reduce(asked_and_written, Reduce::sum);
      EXPECT_EQ(asked_and_written[1], asked_and_written[0]) << operation;
      EXPECT_EQ(report[Counter::bytes_read], 0);
    }
    transport->close();
  });
}

TEST_P(TransportRanks, a_failure_of_one_rank_is_thrown_on_all_and_they_go_on) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto transport = make_transport(
        comm, std::make_shared<File>(path_, true, comm.rank(), report), options_, report);
    for (int operation = 0; operation < operations; ++operation) {
      come(comm);
      Memory mine = to_write(comm.rank(), operation);
      Listed failing(mine.extents, comm.rank() == operation % writers ? 40 : SIZE_MAX);
      const auto failed = attempt_to([&] { transport->write_all(failing); });
      EXPECT_TRUE(failed);
      if (failed) EXPECT_EQ(failed->code(), Errc::enomem);
      Memory wanted = memory_for([&](Count s) { return reads(comm.rank(), s, operation); });
      Listed failing_read(wanted.extents, comm.rank() == operation % 3 ? 20 : SIZE_MAX);
      EXPECT_TRUE(attempt_to([&] { transport->read_all(failing_read); }));
      Listed whole(mine.extents);
      transport->write_all(whole);
      comm.barrier();
      if (comm.is_root()) note(operation);
      comm.barrier();
      expect_read(*transport, comm.rank(), operation, true);
    }
    transport->close();
  });
}

INSTANTIATE_TEST_SUITE_P(All, TransportRanks, testing::ValuesIn(cases()), [](const auto& each) {
  return each.param.entry->name + std::string(each.param.ranks_per_node ? "_on_nodes" : "");
});

}  // namespace
}  // namespace forebay
