// Tests every transport that works without MPI, with threads as ranks: on one node, on nodes of
// which the last has one rank, and on a node for each rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/memory_file_testing.h"
#include "comm/thread_ranks.h"
#include "storage/file.h"
#include "storage/gated_file_testing.h"
#include "storage/write_queue.h"
#include "support/cases.h"
#include "transport/aggregation_rules.h"
#include "transport/transport.h"

namespace forebay {
namespace transport_ranks_test {

// Windows have 4 KiB, and there are eight slots: an operation goes six times round the ring.
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

std::string name_of(const testing::TestParamInfo<Case>& each) {
  const char* const nodes[] = {"", "_by_messages", "_on_nodes"};
  return std::string(each.param.entry->name) + nodes[each.param.ranks_per_node];
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Part* part : parts(PartKind::transport)) {
    const auto* entry = static_cast<const TransportEntry*>(part);
    for (const int ranks_per_node : {0, 1, 2})
      if (entry->needs == nullptr) all.push_back({entry, ranks_per_node});
  }
  return all;
}

/// A stream of given extents. It, its n-th clone, or all of them may fail on the way.
class Listed : public ExtentStream {
 public:
  static constexpr int all = -1, itself = 0;
  explicit Listed(std::vector<Extent> list, std::size_t fails_at = SIZE_MAX, int which = all)
      : list_(std::move(list)), fails_at_(fails_at), which_(which) {}
  StreamSummary summary() const override {
    StreamSummary s;
    if (list_.empty()) return s;
    s.first = list_.front().offset, s.last = list_.back().end();
    s.pieces = std::ssize(list_);
    for (const Extent& e : list_) s.bytes += e.length;
    return s;
  }
  std::size_t next(std::span<Extent> out) override {
    if (at_ >= fails_at_ && which_ <= itself) throw Error(Errc::enomem);
    const std::size_t n = std::min({out.size(), list_.size() - at_, std::size_t{20}});
    std::copy_n(list_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    at_ += n;
    return n;
  }
  void rewind() override { at_ = 0; }
  int clones() const { return clones_; }
  std::unique_ptr<ExtentStream> clone() const override {
    ++clones_;
    const bool fails = which_ == all || which_ == clones_;
    return std::make_unique<Listed>(list_, fails ? fails_at_ : SIZE_MAX);
  }

 private:
  std::vector<Extent> list_;
  std::size_t fails_at_, at_ = 0;
  int which_;
  mutable int clones_ = 0;
};

/// Returns which strips a rank has in an operation: the last rank none; one in eleven has no rank.
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
    options_.least_trial = 0;
  }
  ~TransportRanks() override { std::filesystem::remove(path_); }

  /// Calls f(comm, transport, report) on every rank.
  template <typename F>
  void with_transport(F&& f) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      const auto file = std::make_shared<File>(opened_, true, comm.rank(), report);
      file->share(caches_);
      const auto transport = make_transport(comm, file, options_, report);
      f(comm, *transport, report);
      transport->close();
    });
  }

  /// One rank's extents of an operation, and their memory.
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
  /// Each operation first fails on one rank; `write` and `reads_that_fail` say in which streams.
  void fail_and_go_on(int write, const std::vector<int>& reads_that_fail);
  /// Rank 0 comes late.
  void write_and_read(const Comm& comm, Transport& transport, int operation) {
    come(comm);
    Memory mine = to_write(comm.rank(), operation);
    Listed stream(mine.extents);
    transport.write_all(stream);
    comm.barrier();
    if (comm.is_root()) note(operation);
    comm.barrier();
    expect_read(transport, comm.rank(), operation, true);
  }
  static void come(const Comm& comm) {
    if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const std::string path_;
  std::string opened_ = path_;
  ClientCaches caches_ = ClientCaches::coherent;
  TransportOptions options_;
  std::vector<std::uint32_t> model_;  // of the file; only rank 0 changes it, between two barriers
};

void TransportRanks::fail_and_go_on(int write, const std::vector<int>& reads_that_fail) {
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    for (int operation = 0; operation < operations; ++operation) {
      come(comm);
      Memory mine = to_write(comm.rank(), operation);
      Listed failing(mine.extents, comm.rank() == operation % writers ? 40 : SIZE_MAX, write);
      const auto failed = attempt_to([&] { transport.write_all(failing); });
      EXPECT_TRUE(failed);
      if (failed) EXPECT_EQ(failed->code(), Errc::enomem);
      for (const int which : reads_that_fail) {
        Memory wanted = memory_for([&](Count s) { return reads(comm.rank(), s, operation); });
        Listed failing_read(wanted.extents, comm.rank() == operation % 3 ? 20 : SIZE_MAX, which);
        const auto lost = attempt_to([&] { transport.read_all(failing_read); });
        if (which <= Listed::itself) EXPECT_TRUE(lost);  // not all make a second clone
        if (lost) EXPECT_EQ(lost->code(), Errc::enomem);
      }
      Listed whole(mine.extents);
      transport.write_all(whole);
      comm.barrier();
      if (comm.is_root()) note(operation);
      comm.barrier();
      expect_read(transport, comm.rank(), operation, true);
    }
  });
}

TEST_P(TransportRanks, what_is_written_is_read_and_holes_stay) {
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    for (int operation = 0; operation < operations; ++operation) {
      write_and_read(comm, transport, operation);
      expect_read(transport, comm.rank(), operation + 1, false);
      comm.barrier();  // nobody writes while others read by themselves
    }
  });
  std::ifstream in(path_, std::ios::binary);
  std::string found{std::istreambuf_iterator<char>(in), {}}, expected(file_bytes, 0);
  copy_swapped(reinterpret_cast<std::byte*>(expected.data()),
               reinterpret_cast<const std::byte*>(model_.data()), file_bytes, 4);
  EXPECT_TRUE(found == expected);
}

/// The same, but some streams take their time at the beginning.
class Slow : public Listed {
 public:
  Slow(std::vector<Extent> list, bool slow) : Listed(list), copy_(std::move(list)), slow_(slow) {}
  std::size_t next(std::span<Extent> out) override {
    if (slow_ && !std::exchange(begun_, true))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Listed::next(out);
  }
  void rewind() override { begun_ = false, Listed::rewind(); }
  std::unique_ptr<ExtentStream> clone() const override { return std::make_unique<Listed>(copy_); }

 private:
  std::vector<Extent> copy_;
  bool slow_, begun_ = false;
};

// The time of an operation is that of the slowest rank, so that ranks choose alike.
TEST_P(TransportRanks, ranks_that_take_longer_than_others_go_the_same_way) {
  options_.patience = 1e6;
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    for (int operation = 0; operation < 24; ++operation) {
      Memory mine = to_write(comm.rank(), operation);
      Slow stream(mine.extents, comm.rank() == 1);
      transport.write_all(stream);
      comm.barrier();
      if (comm.is_root()) note(operation);
      comm.barrier();
    }
    expect_read(transport, comm.rank(), 0, true);
    // Tries are quick because the copies of a stream are; whole operations are not.
    const std::string told = transport.reasons();
    const auto at = told.find("windows, ", told.find("writes: "));
    if (at != std::string::npos) EXPECT_LT(std::stod(told.substr(at + 9)), 40) << told;
  });
}

// Parts of the first operation of each direction go through windows, twice, and directly. A direct
// try without patience ends amid its pieces, and windows do all of it again.
TEST_P(TransportRanks, both_ways_between_nodes_are_tried_and_values_are_right) {
  const bool tries = options_.kind == "auto" && options_.ranks_per_node != 0;
  for (const double patience : {0.0, 1e9}) {
    options_.patience = patience;
    with_transport([&](const Comm& comm, Transport& transport, Report& report) {
      for (int operation = 0; operation < operations; ++operation)
        write_and_read(comm, transport, operation);
      const std::string told = transport.reasons();
      for (const char* const what : {"writes: ", "reads: "}) {
        const auto at = told.find(what);
        ASSERT_EQ(at != std::string::npos, tries) << told;
        const auto end = told.find(';', at);
        if (tries)
          EXPECT_EQ(told.substr(at, end - at).ends_with(", less directly"), patience == 0) << told;
      }
    });
  }
}

// Every two pieces of ranks 0 and 1 adjoin, and of 2 and 3. In an operation of few windows, a try
// is all of it; the third is direct.
TEST_P(TransportRanks, pieces_of_a_node_that_adjoin_are_one_call_where_nodes_write_apart) {
  if (options_.kind != "auto" || options_.ranks_per_node == 0) return;
  options_.patience = 1e9;
  options_.window_size = 64 << 10;
  options_.buffer_limit = 1 << 20;
  options_.hole_threshold = 64 << 10;
  with_transport([&](const Comm& comm, Transport& transport, Report& report) {
    for (int operation = 0; operation < 3; ++operation) {
      Memory mine = memory_for([&](Count s) { return s % 5 == comm.rank() && s % 5 < writers; });
      std::fill(mine.values.begin(), mine.values.end(), value(operation, comm.rank()));
      Listed stream(mine.extents);
      std::array<std::int64_t, 2> calls_and_read{-report[Counter::write_calls],
                                                 -report[Counter::bytes_read]};
      transport.write_all(stream);
      calls_and_read[0] += report[Counter::write_calls];
      calls_and_read[1] += report[Counter::bytes_read];
      comm.all_reduce(calls_and_read, Reduce::sum);
      if (operation < 2) continue;
      const Count runs = strips / 5 * (options_.ranks_per_node == 2 ? 2 : writers);
      EXPECT_GE(calls_and_read[0], runs);
      EXPECT_LE(calls_and_read[0], runs + 2 * (file_bytes / options_.window_size));
      EXPECT_EQ(calls_and_read[1], 0);  // no hole is written
    }
    Memory all = memory_for([&](Count s) { return s % 5 < writers; });
    Listed stream(all.extents);
    transport.read_all(stream);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.values.size(); ++i)
      wrong += all.values[i] != value(2, static_cast<Count>(i / (strip / 4) % writers));
    EXPECT_EQ(wrong, 0U) << "rank " << comm.rank();
  });
}

// The next file on the communicator knows what the first file of a folder found out.
TEST_P(TransportRanks, what_was_tried_is_known_for_the_next_file) {
  if (options_.kind != "auto" || options_.ranks_per_node == 0) return;
  options_.patience = 0;
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    for (int i = 0; i < 3; ++i) {
      const auto file = std::make_shared<File>(opened_, true, comm.rank(), report);
      const auto transport = make_transport(comm, file, options_, report);
      if (i > 0) EXPECT_EQ(transport->reasons().find("writes"), std::string::npos);
      Memory mine = to_write(comm.rank(), i);
      Listed stream(mine.extents);
      transport->write_all(stream);
      // Each try makes two clones, the one by nodes a third, and the rest one. Other operations go
      // through windows at once.
      const int of_tries = options_.ranks_per_node == 1 ? 6 : 7;
      EXPECT_EQ(stream.clones(), i == 0 ? of_tries + 1 : 1) << i;
      transport->close();
    }
  });
}

// Ranks know a folder, the last of the many that are kept, by two names. Afterwards they know the
// same again.
TEST_P(TransportRanks, a_folder_that_ranks_name_differently_parts_nobody) {
  options_.patience = 0;
  constexpr int folders = 9;  // one more than are kept
  const std::filesystem::path root = path_ + "_folders";
  const auto folder = [&](int i) { return root / std::to_string(i % folders); };
  for (int i = 0; i < folders; ++i) {
    std::filesystem::create_directories(folder(i));
    std::ofstream(folder(i) / "f") << ' ';
  }
  std::filesystem::create_directory_symlink(folder(0), root / "other");
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    for (int i = 0; i < folders + 2; ++i) {
      const bool differs = i == folders - 1 && comm.rank() == 1;
      const std::string path = ((differs ? root / "other" : folder(i < folders - 1 ? i : 0)) / "f");
      const auto file = std::make_shared<File>(path, true, comm.rank(), report);
      const auto transport = make_transport(comm, file, options_, report);
      Memory mine = to_write(comm.rank(), i);
      Listed stream(mine.extents);
      const auto failed = attempt_to([&] { transport->write_all(stream); });
      EXPECT_FALSE(failed) << i << ": " << failed->message();
      transport->close();
    }
  });
  std::filesystem::remove_all(root);
}

TEST_P(TransportRanks, ranks_that_find_different_caches_go_the_same_way) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto file = std::make_shared<File>(path_, true, comm.rank(), report);
    file->share(comm.rank() < 2 ? ClientCaches::coherent : ClientCaches::weak);
    const auto transport = make_transport(comm, file, options_, report);
    for (int operation = 0; operation < operations; ++operation)
      write_and_read(comm, *transport, operation);
    transport->close();
  });
}

/// Counts the calls of a node at one time.
class Counted : public File {
 public:
  struct Calls {
    std::atomic<int> now = 0, most = 0;
  };
  Counted(const std::string& path, Rank rank, Report& report, Calls& calls)
      : File(path, true, rank, report), calls_(calls) {}
  using File::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    counted([&] { File::write_at(offset, pieces); });
  }
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    std::size_t got = 0;
    counted([&] { got = File::read_at(offset, into); });
    return got;
  }

 private:
  template <typename F>
  void counted(F&& f) {
    const int now = ++calls_.now;
    for (int most = calls_.most; most < now && !calls_.most.compare_exchange_weak(most, now);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    f();
    --calls_.now;
  }
  Calls& calls_;
};

// This also holds if threads make the calls (bulk).
TEST_P(TransportRanks, no_more_processes_of_a_node_make_calls_at_a_time_than_there_may_be) {
  if (options_.kind != "aggregated") return;
  for (const int most : {1, 2, 0}) {
    for (const bool bulk : {false, true}) {
      options_.aggregators_of_node = most;
      options_.bulk = bulk;
      std::array<Counted::Calls, ranks> of_nodes;
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        const int each = options_.ranks_per_node;
        auto& calls = of_nodes[static_cast<std::size_t>(each == 0 ? 0 : comm.rank() / each)];
        const auto file = std::make_shared<Counted>(path_, comm.rank(), report, calls);
        file->share(caches_);
        const auto transport = make_transport(comm, file, options_, report);
        for (int operation = 0; operation < operations; ++operation)
          write_and_read(comm, *transport, operation);
        transport->close();
      });
      int found = 0;
      for (const auto& calls : of_nodes) found = std::max(found, calls.most.load());
      if (most > 0) EXPECT_LE(found, most) << bulk;
      if (most != 1 && bulk) EXPECT_GT(found, 1);  // if ranks do, one often has them all
    }
  }
}

// Bytes that are read from a hole may be old when they are written.
TEST_P(TransportRanks, nothing_but_what_was_asked_for_is_written_where_caches_are_weak) {
  caches_ = ClientCaches::weak;
  with_transport([&](const Comm& comm, Transport& transport, Report& report) {
    for (int operation = 0; operation < operations; ++operation) {
      Memory mine = to_write(comm.rank(), operation);
      Listed stream(mine.extents);
      std::array<std::int64_t, 2> asked_and_written{stream.summary().bytes,
                                                    -report[Counter::bytes_written]};
      transport.write_all(stream);
      asked_and_written[1] += report[Counter::bytes_written];
      comm.all_reduce(asked_and_written, Reduce::sum);
      EXPECT_EQ(asked_and_written[1], asked_and_written[0]) << operation;
      EXPECT_EQ(report[Counter::bytes_read], 0);
    }
  });
}

// Bytes in a hole may be under way in the queue of any rank.
TEST_P(TransportRanks, what_waits_in_queues_is_not_written_over_by_what_the_file_had_before) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    Gated gate("gate", std::make_shared<MemoryDisk>());
    WriteQueue queue(4 * file_bytes, report);
    const auto file = std::make_shared<File>(opened_, true, comm.rank(), report);
    file->use_queue(&queue);
    const auto transport = make_transport(comm, file, options_, report);
    gate.shut = true;  // and so is what is behind it
    queue.add(gate, 0, std::vector<std::byte>(1));
    for (int half = 0; half < 2; ++half) {
      const WriteQueue::Open open(queue);
      come(comm);
      const auto mine = [&](Count s) { return s % 2 == half && s % writers == comm.rank(); };
      Memory m = memory_for(mine);
      std::fill(m.values.begin(), m.values.end(), value(half, 0));
      Listed stream(m.extents);
      transport->write_all(stream);
    }
    gate.shut = false;
    queue.drain();
    comm.barrier();
    Memory all = memory_for([&](Count) { return true; });
    Listed stream(all.extents);
    transport->read_all(stream);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.values.size(); ++i)
      wrong += all.values[i] != value(static_cast<int>(i / (strip / 4) % 2), 0);
    EXPECT_EQ(wrong, 0U) << "rank " << comm.rank();
    transport->close();
  });
}

TEST_P(TransportRanks, a_failure_of_one_rank_is_thrown_on_all_and_they_go_on) {
  fail_and_go_on(Listed::all, {Listed::all});
}

// A failing rank has told which windows it has pieces in, and comes to them without any: others
// have slots and messages under way for them. In a read, first the look fails, then the marking.
TEST_P(TransportRanks, a_failure_amid_the_windows_is_thrown_on_all_and_they_go_on) {
  options_.least_trial = file_bytes;  // a try would take clones
  fail_and_go_on(Listed::itself, {Listed::itself, 2});
}

// A try in parts makes several clones. Each fails once, for both ends of a direct try.
TEST_P(TransportRanks, a_failure_anywhere_in_a_try_leaves_the_ranks_together) {
  for (const double patience : {0.0, 1e6})
    for (int which = 1; which <= 9; ++which) {
      options_.patience = patience;
      with_transport([&](const Comm& comm, Transport& transport, Report&) {
        const auto fails = [&](const Memory& m) {
          return Listed(m.extents, comm.rank() == 1 ? 5 : SIZE_MAX, which);
        };
        Memory mine = to_write(comm.rank(), 0);
        Listed writing = fails(mine);
        const auto not_written = attempt_to([&] { transport.write_all(writing); });
        Memory wanted = memory_for([&](Count s) { return reads(comm.rank(), s, 0); });
        Listed reading = fails(wanted);
        const auto not_read = attempt_to([&] { transport.read_all(reading); });
        std::array<std::int64_t, 2> failed{not_written.has_value(), not_read.has_value()};
        comm.all_reduce(failed, Reduce::sum);
        for (const std::int64_t of_ranks : failed) EXPECT_EQ(of_ranks % ranks, 0) << which;
        write_and_read(comm, transport, 0);
      });
    }
}

// All ranks hold what they read, and one fails alone: nobody waits for it, nor it for anybody.
TEST_P(TransportRanks, a_failure_where_all_have_read_ahead_is_one_ranks_own_matter) {
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    constexpr Count piece = 64, own = file_bytes / ranks / 4 * 4;
    int alone = 0;
    for (Offset at = 0; at + piece < own; at += piece) {
      std::vector<std::byte> memory(piece);
      const bool fails = comm.rank() == 2 && at / piece % 5 == 4;
      Listed stream({{comm.rank() * own + at, piece, memory.data(), 0, 1}}, fails ? 0 : SIZE_MAX);
      const auto failed = attempt_to([&] { transport.read_all(stream); });
      alone += failed && failed->is_own_matter();
      if (!failed) EXPECT_EQ(memory, std::vector(piece, std::byte{0xEE}));
      if (!fails) EXPECT_TRUE(!failed || !failed->is_own_matter());
      if (fails) EXPECT_TRUE(failed);
    }
    if (options_.kind == "auto" && comm.rank() == 2) EXPECT_GT(alone, 100);
  });
}

TEST_P(TransportRanks, the_report_tells_what_was_read_ahead_from_what_was_large) {
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    constexpr Count piece = 64, pieces = 20;
    std::vector<std::byte> memory(piece);
    for (Count i = 0; i < pieces; ++i) {
      Listed stream({{(comm.rank() * pieces + i) * piece, piece, memory.data(), 0, 1}});
      transport.read_all(stream);
    }
    const std::string told = transport.reasons();
    const bool ahead = told.find("19 small reads one behind the other") != std::string::npos;
    EXPECT_EQ(ahead, options_.kind == "auto") << told;
  });
}

// Ranks have agreed on what they foresaw, so they do not reduce again before they wait for its
// pieces.
TEST_P(TransportRanks, a_rank_that_cannot_do_what_it_foresaw_stops_nobody) {
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    for (int operation = 0; operation < operations; ++operation) {
      for (const bool writing : {true, false}) {
        come(comm);
        Memory mine = to_write(comm.rank(), operation);
        Listed stream(mine.extents), nothing({});
        auto foreseen = transport.foresee(stream.summary());
        if (!foreseen) return;
        comm.max_and_sum(foreseen->values, Foreseen::maxima);
        std::optional<Error> mine_failed;
        if (comm.rank() == operation % writers) mine_failed = Error(Errc::enomem);
        const auto failed = attempt_to([&] {
          transport.carry_out_foreseen(mine_failed ? nothing : stream, writing, *foreseen,
                                       mine_failed);
        });
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->code(), Errc::enomem);
      }
      write_and_read(comm, transport, operation);
    }
  });
}

// Pieces have any size, and some windows are mostly holes.
TEST_P(TransportRanks, drawn_pieces_are_written_and_read_in_whatever_way) {
  for (unsigned seed = 0; seed < forebay_test::few_of(12U); ++seed) {
    options_.patience = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 0.3 : 1e6;
    const Count longest = seed % 4 == 0 ? 20000 : 1500;
    const Offset base = seed % 2 == 0 ? 1000 * 4096 + 777 : 0;
    std::vector<std::byte> model(file_bytes);
    std::filesystem::resize_file(path_, 0);  // it reads as zeros
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(base + file_bytes));
    with_transport([&](const Comm& comm, Transport& transport, Report&) {
      std::mt19937 random(seed);
      const auto draw = [&](Count below) { return static_cast<Count>(random()) % below; };
      std::vector<std::byte> memory(file_bytes);
      for (int operation = 0; operation < 4; ++operation) {
        std::vector<Extent> mine, wanted;
        for (Offset at = draw(300); at + longest < file_bytes;) {
          const Count n = 1 + draw(longest);
          const bool is_mine = draw(ranks) == comm.rank(), is_hole = draw(4) == 0;
          const auto value = static_cast<std::byte>(draw(256));
          if (!is_hole && is_mine) mine.push_back({base + at, n, &memory[at], 0, 1});
          if (!is_hole && is_mine) std::fill_n(&memory[at], n, value);
          if (!is_hole && comm.is_root()) std::fill_n(&model[at], n, value);
          at += n;
        }
        Listed stream(std::move(mine));
        transport.write_all(stream);
        comm.barrier();
        std::mt19937 own(seed * 1000 + static_cast<unsigned>(operation * ranks + comm.rank()));
        std::vector<std::byte> found(file_bytes);
        for (Offset at = static_cast<Offset>(own() % 700); at + longest < file_bytes;) {
          const Count n = 1 + static_cast<Count>(own()) % longest;
          wanted.push_back({base + at, n, &found[at], 0, 1});
          at += n + static_cast<Count>(own() % 700);
        }
        Listed read(wanted);
        transport.read_all(read);
        for (const Extent& e : wanted)
          EXPECT_EQ(std::memcmp(e.memory, &model[e.offset - base], e.length), 0)
              << "seed " << seed << ", rank " << comm.rank() << ", at " << e.offset;
        comm.barrier();
      }
    });
  }
}

// Windows are looked at in parts of 32 MiB here. Pieces lie in every other one of twelve parts.
// Nobody writes the bytes behind them in each window.
constexpr Count far = 16 << 20;
constexpr int far_pieces = 24;
Listed far_pieces_of(Rank rank, std::vector<std::uint32_t>& values, std::size_t fails_at) {
  std::vector<Extent> extents;
  values.resize(far_pieces * 3);
  for (int i = 0; i < far_pieces; ++i) {
    if (i / 2 % 2 == 1 || rank == ranks - 1) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint32_t& v = values[static_cast<std::size_t>(i) * 3 + k];
      const Offset offset = i * far + static_cast<Offset>(k) * 5000 + rank * 4;
      extents.push_back({offset, 4, reinterpret_cast<std::byte*>(&v), 0, 4});
    }
  }
  return Listed(std::move(extents), fails_at);
}

TEST_P(TransportRanks, pieces_far_apart_are_found_also_behind_a_failure) {
  options_.buffer_limit = 4096;
  for (const bool bulk : {false, true}) {
    options_.bulk = bulk;
    const int first = bulk ? operations / 2 : 0;
    with_transport([&](const Comm& comm, Transport& transport, Report&) {
      for (int operation = first; operation < first + operations / 2; ++operation) {
        come(comm);
        std::vector<std::uint32_t> written, read;
        Listed whole = far_pieces_of(comm.rank(), written, SIZE_MAX);
        Listed wanted = far_pieces_of(comm.rank(), read, SIZE_MAX);
        if (comm.rank() < writers) {
          for (std::size_t i = 0; i < written.size(); ++i)
            if (i / 6 % 2 == 0)
              written[i] =
                  value(operation * 10 + comm.rank(), std::ssize(read) + static_cast<Count>(i));
        }
        std::vector<std::uint32_t> other;
        const bool fails = comm.rank() == operation % writers;
        Listed failing = far_pieces_of(comm.rank(), other, fails ? 20 : SIZE_MAX);
        EXPECT_TRUE(attempt_to([&] { transport.write_all(failing); }));
        transport.write_all(whole);
        Listed failing_read = far_pieces_of(comm.rank(), other, fails ? 20 : SIZE_MAX);
        EXPECT_TRUE(attempt_to([&] { transport.read_all(failing_read); }));
        transport.read_all(wanted);
        EXPECT_TRUE(read == written) << "rank " << comm.rank() << ", operation " << operation;
      }
    });
  }
}

// Every rank asks for every other byte of everything. The wishes of others for one window take more
// than a rank keeps for several.
TEST_P(TransportRanks, all_read_all_in_pieces) {
  options_.buffer_limit = 4096;
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    Memory mine = to_write(comm.rank(), 0);
    Listed stream(mine.extents);
    transport.write_all(stream);
    comm.barrier();
    if (comm.is_root()) note(0);
    comm.barrier();
    come(comm);
    std::vector<std::byte> found(file_bytes / 2);
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < found.size(); ++i)
      extents.push_back({static_cast<Offset>(i) * 2, 1, &found[i], 0, 1});
    Listed all(std::move(extents));
    transport.read_all(all);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      wrong += found[i] != static_cast<std::byte>(model_[i / 2] >> (i % 2 == 0 ? 24 : 8));
    EXPECT_EQ(wrong, 0U) << "rank " << comm.rank();
  });
}

// Each rank's windows are random. Successive windows in a slot mostly belong to others, so that
// ranks wait for each other's copies.
TEST_P(TransportRanks, windows_of_few_ranks_each_hold_nobody_up) {
  constexpr Count window = 4096;
  with_transport([&](const Comm& comm, Transport& transport, Report&) {
    for (int operation = 0; operation < 20; ++operation) {
      std::mt19937 random(static_cast<unsigned>(operation));
      std::vector<Offset> places;
      for (Offset w = 0; w + window <= file_bytes; w += window) {
        const auto one = static_cast<Rank>(random() % ranks),
                   other = static_cast<Rank>(random() % 9);
        if (one == comm.rank() || other == comm.rank()) places.push_back(w + 16 * comm.rank());
      }
      std::vector<std::uint32_t> written(places.size()), found(places.size());
      for (std::size_t i = 0; i < places.size(); ++i)
        written[i] = value(operation, static_cast<Count>(i));
      const auto stream_of = [&](std::vector<std::uint32_t>& values) {
        std::vector<Extent> list;
        for (std::size_t i = 0; i < places.size(); ++i)
          list.push_back({places[i], 4, reinterpret_cast<std::byte*>(&values[i]), 0, 4});
        return Listed(std::move(list));
      };
      Listed whole = stream_of(written), wanted = stream_of(found);
      transport.write_all(whole);
      transport.read_all(wanted);
      EXPECT_EQ(found, written) << "rank " << comm.rank() << ", operation " << operation;
    }
  });
}

/// Calls `before` with the place of each read.
class Watched : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    before(offset);
    return MemoryFile::read_at(offset, into);
  }
  std::function<void(Offset)> before;
};

// A rank that waits for a slot has copied half a ring of windows, so that others find as many slots
// free. Otherwise all would wait for each other at each window.
TEST(ReadsThroughWindows, give_half_a_ring_back_at_one_go) {
  constexpr Count window = 4096, ring = least_rings({}).home, half = ring / 2, windows = 3 * ring;
  const auto file = std::make_shared<Watched>("watched", std::make_shared<MemoryDisk>());
  file->write_at(0, std::vector<std::byte>(windows * window, std::byte{1}));
  std::vector<std::byte> found(windows);
  std::vector<Count> copied;  // bytes at each read of a window, in order
  file->before = [&](Offset) {
    copied.push_back(std::count(found.begin(), found.end(), std::byte{1}));
  };
  std::vector<Extent> pieces;
  for (Count w = 0; w < windows; ++w)
    pieces.push_back({w * window + 8, 1, &found[static_cast<std::size_t>(w)], 0, 1});
  TransportOptions options;
  options.kind = "aggregated";
  options.window_size = window;
  Report report;
  const Comm alone;
  const auto transport = make_transport(alone, file, options, report);
  Listed all(std::move(pieces));
  transport->read_all(all);
  transport->close();
  std::vector<Count> expected;
  for (Count given_back = 0; std::ssize(expected) < windows; given_back += half)
    expected.insert(expected.end(), half, given_back);
  EXPECT_EQ(copied, expected);
}

/// One rank's file: it fails while it is told to, and counts what is read.
class Failing : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    if (fails) throw Error(Errc::eread, "it is told to fail");
    bytes += std::ssize(into);
    return MemoryFile::read_at(offset, into);
  }
  bool fails = false;
  std::atomic<Count> bytes = 0;
};

// This holds if threads read, and if the rank itself does.
TEST(ReadsThroughWindows, tell_all_ranks_what_fails_and_the_timeline_what_they_read) {
  constexpr Count window = 4096, windows = 40;
  const auto disk = std::make_shared<MemoryDisk>();
  disk->bytes.assign(windows * window, std::byte{7});
  for (const bool bulk : {false, true})
    for (const int ranks_per_node : {0, 1, 2})
      run_as_threads(ranks, [&](const Comm& comm) {
        TransportOptions options;
        options.kind = "aggregated";
        options.window_size = window;
        options.bulk = bulk;
        options.ranks_per_node = ranks_per_node;
        const auto file = std::make_shared<Failing>("failing", disk);
        Report report;
        report.timeline = std::make_shared<Timeline>(4096);
        const auto transport = make_transport(comm, file, options, report);
        std::vector<std::byte> found(windows);
        std::vector<Extent> pieces;
        for (Count w = 0; w < windows; ++w)
          pieces.push_back(
              {w * window + comm.rank() * 8, 1, &found[static_cast<std::size_t>(w)], 0, 1});
        for (Rank fails = 0; fails < ranks; ++fails) {
          Listed all(pieces), again(pieces);
          file->fails = true;  // chance decides who reads which window
          const auto failed = attempt_to([&] { transport->read_all(all); });
          EXPECT_TRUE(failed && failed->code() == Errc::eread) << comm.rank();
          file->fails = false;
          std::fill(found.begin(), found.end(), std::byte{});
          transport->read_all(again);
          EXPECT_EQ(std::count(found.begin(), found.end(), std::byte{7}), windows) << comm.rank();
        }
        Count told = 0;
        for (const TimeSpan& span : report.timeline->spans())
          if (span.step == Step::read) told += span.bytes;
        EXPECT_EQ(told, file->bytes) << comm.rank();
        transport->close();
      });
}

/// A write waits until another one is under way, if there is ever one.
class Paired : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  using MemoryFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    ++inside;
    for (int i = 0; i < 1000 && !side_by_side && !gave_up; ++i) {
      side_by_side = side_by_side || inside > 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    gave_up = !side_by_side;
    {
      const std::lock_guard<std::mutex> alone(one_at_a_time_);
      MemoryFile::write_at(offset, pieces);
    }
    --inside;
  }
  inline static std::atomic<int> inside = 0;
  inline static std::atomic<bool> side_by_side = false, gave_up = false;

 private:
  inline static std::mutex one_at_a_time_;  // the files of all ranks are on one disk
};

/// Returns pieces of one byte in each window, `at` bytes into it.
Listed one_a_window(std::vector<std::byte>& bytes, Count window, Offset at) {
  std::vector<Extent> pieces;
  for (std::size_t w = 0; w < bytes.size(); ++w)
    pieces.push_back({static_cast<Count>(w) * window + at, 1, &bytes[w], 0, 1});
  return Listed(std::move(pieces));
}

// Otherwise the rank that comes last at one window would be last at all others.
TEST(ThroughWindows, ranks_that_wait_write_those_of_several_files_side_by_side) {
  constexpr Count window = 4096, windows = 40;
  const auto disk = std::make_shared<MemoryDisk>();
  run_as_threads(ranks, [&](const Comm& comm) {
    const PlannedWindows planned{window, [](Count w) { return static_cast<Rank>(w % ranks); }};
    TransportOptions options;
    options.kind = "aggregated";
    options.planned = &planned;
    Report report;
    const auto transport =
        make_transport(comm, std::make_shared<Paired>("paired", disk), options, report);
    std::vector<std::byte> bytes(windows, std::byte{7});
    Listed all = one_a_window(bytes, window, comm.rank());
    transport->write_all(all);
    transport->close();
    EXPECT_GE(report[Step::wait], 0) << comm.rank();
  });
  EXPECT_TRUE(Paired::side_by_side);
  EXPECT_EQ(std::count(disk->bytes.begin(), disk->bytes.end(), std::byte{7}), windows * ranks);
}

/// A file whose calls take a while.
class SlowFile : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  using MemoryFile::write_at;
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard<std::mutex> alone(one_at_a_time_);
    return MemoryFile::read_at(offset, into);
  }
  void write_at(Offset offset, std::span<iovec> pieces) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard<std::mutex> alone(one_at_a_time_);
    MemoryFile::write_at(offset, pieces);
  }

 private:
  inline static std::mutex one_at_a_time_;  // the files of all ranks are on one disk
};

// A rank that waits while its threads move bytes still waits.
TEST(ThroughWindows, time_of_threads_is_not_taken_off_that_of_waiting) {
  constexpr Count window = 4096, windows = 40;
  for (const bool writing : {false, true})
    for (const int ranks_per_node : {0, 2}) {
      const auto disk = std::make_shared<MemoryDisk>();
      disk->bytes.assign(windows * window, std::byte{7});
      run_as_threads(ranks, [&](const Comm& comm) {
        const PlannedWindows planned{window, [](Count w) { return static_cast<Rank>(w % ranks); },
                                     nullptr, true};
        TransportOptions options;
        options.kind = "aggregated";
        options.window_size = window;
        options.bulk = true;
        options.ranks_per_node = ranks_per_node;
        if (writing) options.planned = &planned;
        Report report;
        const auto transport =
            make_transport(comm, std::make_shared<SlowFile>("slow", disk), options, report);
        std::vector<std::byte> bytes(windows, std::byte{7});
        Listed all = one_a_window(bytes, window, comm.rank() * 8);
        writing ? transport->write_all(all) : transport->read_all(all);
        transport->close();
        EXPECT_GE(report[Step::wait], 0) << writing << ranks_per_node << comm.rank();
      });
    }
}

TEST_P(TransportRanks, a_full_disk_is_told_to_all_and_they_go_on) {
  opened_ = "/dev/full";
  options_.hole_threshold = 0;
  for (const bool bulk : {false, true}) {
    options_.bulk = bulk;
    with_transport([&](const Comm& comm, Transport& transport, Report&) {
      for (int operation = 0; operation < operations; ++operation) {
        come(comm);
        Memory mine = to_write(comm.rank(), operation);
        Listed stream(mine.extents);
        const auto failed = attempt_to([&] { transport.write_all(stream); });
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->code(), Errc::eno_space);
      }
      EXPECT_EQ(transport.reasons().find("MB/s"), std::string::npos);  // failing quickly is no pace
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransportRanks, testing::ValuesIn(cases()), name_of);

}  // namespace transport_ranks_test
}  // namespace forebay
