// Every transport against a plain in-memory file: random interleaved pieces of all ranks, holes,
// far-apart regions, pieces that windows cut in the middle of an element, empty ranks, overlapping
// reads; small windows so that rounds, rings and messages are all exercised.
#include "transport/transport.h"

#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "comm/mpi.h"
#include "storage/file.h"

namespace {

bool slow_writes = false;  // so that writes of different threads and ranks overtake each other

}  // namespace

// The library's writes, and MPI's, some of them delayed.
extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from,
                                                                 size_t bytes, off_t offset) {
  thread_local std::minstd_rand random(static_cast<unsigned>(::syscall(SYS_gettid)));
  if (slow_writes && random() % 4 == 0) ::usleep(static_cast<useconds_t>(random() % 3000));
  return ::syscall(SYS_pwrite64, fd, from, bytes, offset);
}

namespace {

using namespace forebay;

class VectorStream : public ExtentStream {
 public:
  explicit VectorStream(std::vector<Extent> extents) : extents_(std::move(extents)) {}
  StreamSummary summary() const override {
    StreamSummary s;
    for (const Extent& e : extents_) {
      s.first = s.bytes == 0 ? e.offset : std::min(s.first, e.offset);
      s.last = s.bytes == 0 ? e.end() : std::max(s.last, e.end());
      s.bytes += e.length;
      ++s.pieces;
    }
    return s;
  }
  std::size_t next(std::span<Extent> out) override {
    const std::size_t n = std::min(out.size(), extents_.size() - at_);
    std::copy_n(extents_.begin() + static_cast<long>(at_), n, out.begin());
    at_ += n;
    return n;
  }
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<VectorStream>(extents_);
  }

 private:
  std::vector<Extent> extents_;
  std::size_t at_ = 0;
};

struct Case {
  const char* name;
  const char* kind;
  const char* exchange;
  int ranks_per_node;
  int aggregators;
  Count hole_threshold;
  bool bulk = false;  // both writes under way at once
};

constexpr Case cases[] = {
    {"posix", "posix", "auto", 0, 0, 65536},
    {"mpiio-independent", "independent", "auto", 0, 0, 65536},
    {"mpiio-collective", "collective", "auto", 0, 0, 65536},
    {"auto", "auto", "auto", 0, 0, 65536},
    {"shared", "aggregated", "shared", 0, 0, 65536},
    {"shared-no-sieving", "aggregated", "shared", 0, 0, 0},
    {"messages", "aggregated", "message", 0, 0, 65536},
    {"nodes-of-2", "aggregated", "auto", 2, 0, 4096},
    {"nodes-of-2-one-aggregates", "aggregated", "auto", 2, 1, 65536},
    {"nodes-of-3", "aggregated", "auto", 3, 2, 65536},
    {"bulk", "aggregated", "auto", 0, 0, 65536, true},
    {"bulk-auto", "auto", "auto", 0, 0, 65536, true},
    {"bulk-nodes-of-2", "aggregated", "auto", 2, 0, 4096, true},
    {"bulk-messages", "aggregated", "message", 0, 0, 65536, true},
};

int rank, ranks, failures = 0;
unsigned seed = 0;  // FOREBAY_TEST_SEED: other patterns than usual

std::byte content(Offset at, int round) {
  const auto h = static_cast<std::uint64_t>(at) * 0x9E3779B97F4A7C15ULL +
                 static_cast<std::uint64_t>(round) * 77;
  return static_cast<std::byte>(h >> 56);
}

/// The pieces of all ranks, equal on every rank, disjoint and in order; whose[i] is the owner.
struct Pattern {
  std::vector<std::pair<Offset, Count>> pieces;
  std::vector<int> whose;
};

Pattern random_pattern(std::mt19937& random) {
  Pattern p;
  const bool dense = random() % 2, far = random() % 4 == 0;
  const int idle = static_cast<int>(random() % static_cast<unsigned>(ranks + 1));
  Offset at = 100 + random() % 10000;
  const int n = 1 + static_cast<int>(random() % 1500);
  const unsigned longest = random() % 3 == 0 ? 9000 : 40;
  for (int i = 0; i < n; ++i) {
    const Count length = 8 * (1 + static_cast<Count>(random() % longest) / 8);
    if (!dense) at += static_cast<Offset>(random() % (random() % 50 == 0 ? 200000 : 60));
    if (far && random() % 200 == 0) at += Offset{1} << 32;
    int owner = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (owner == idle) owner = (owner + 1) % ranks;
    p.pieces.emplace_back(at, length);
    p.whose.push_back(owner);
    at += length;
  }
  return p;
}

void check(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  if (failures <= 5) std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
}

/// What a write puts into memory so that the file gets content(): element bytes reversed for width
/// > 1.
void fill_memory(std::vector<std::byte>& memory, const Pattern& p, int me, int width, int round) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < p.pieces.size(); ++i)
    total += p.whose[i] == me ? static_cast<std::size_t>(p.pieces[i].second) : 0;
  memory.resize(total);
  std::size_t at = 0;
  for (std::size_t i = 0; i < p.pieces.size(); ++i) {
    if (p.whose[i] != me) continue;
    for (Count b = 0; b < p.pieces[i].second; ++b) {
      memory[(at + static_cast<std::size_t>(b)) ^ static_cast<std::size_t>(width - 1)] =
          content(p.pieces[i].first + b, round);
    }
    at += static_cast<std::size_t>(p.pieces[i].second);
  }
}

std::vector<Extent> extents_of(const Pattern& p, int me, std::vector<std::byte>& memory,
                               int width) {
  std::vector<Extent> out;
  Count at = 0;
  for (std::size_t i = 0; i < p.pieces.size(); ++i) {
    if (p.whose[i] != me) continue;
    out.push_back({p.pieces[i].first, p.pieces[i].second, memory.data(), at, width});
    at += p.pieces[i].second;
  }
  return out;
}

void run_round(const Case& c, const Comm& comm, const std::string& path, int round) {
  std::mt19937 random(seed + static_cast<unsigned>(round * 1000 + 7));
  const int width = 1 << (random() % 4);
  Report report;
  auto file = std::make_shared<File>(path, true, comm.rank(), report);
  if (comm.is_root()) file->create(false);
  comm.barrier();
  TransportOptions options;
  options.kind = c.kind;
  options.ranks_per_node = c.exchange == "message" ? 1 : c.ranks_per_node;
  options.aggregators = c.aggregators;
  options.hole_threshold = c.hole_threshold;
  options.window_size = 4096 << (random() % 4);
  options.buffer_limit = 1 << 16;
  options.bulk = c.bulk;
  slow_writes = false;
  auto transport = make_transport(comm, file, options, report);

  // Two writes: the second must leave the first's bytes outside its pieces alone.
  std::vector<Pattern> patterns;
  transport->expect_more(c.bulk);
  for (int k = 0; k < 2; ++k) {
    patterns.push_back(random_pattern(random));
    std::vector<std::byte> memory;
    fill_memory(memory, patterns[static_cast<std::size_t>(k)], rank, width, round + k);
    const auto before = memory;
    VectorStream stream(extents_of(patterns[static_cast<std::size_t>(k)], rank, memory, width));
    transport->write_all(stream);
    check(memory == before, std::string(c.name) + ": a write changed the caller's memory");
  }
  transport->expect_more(false);
  // Everybody reads somebody else's pieces, and rank 0 everything twice.
  for (int k = 0; k < 2; ++k) {
    const Pattern& p = patterns[static_cast<std::size_t>(k)];
    const int of = (rank + 1) % ranks;
    std::vector<std::byte> memory;
    fill_memory(memory, p, of, width, 0);
    std::fill(memory.begin(), memory.end(), std::byte{0xEE});
    VectorStream stream(extents_of(p, of, memory, width));
    transport->read_all(stream);
    std::size_t at = 0;
    for (std::size_t i = 0; i < p.pieces.size(); ++i) {
      if (p.whose[i] != of) continue;
      for (Count b = 0; b < p.pieces[i].second; ++b, ++at) {
        const Offset place = p.pieces[i].first + b;
        bool overwritten = false;
        if (k == 0) {
          const auto& later = patterns[1].pieces;
          auto it = std::upper_bound(later.begin(), later.end(), std::make_pair(place, INT64_MAX));
          overwritten = it != later.begin() && place < std::prev(it)->first + std::prev(it)->second;
        }
        const std::byte want = content(place, overwritten ? round + 1 : round + k);
        if (memory[at ^ static_cast<std::size_t>(width - 1)] != want) {
          check(false, std::string(c.name) + " round " + std::to_string(round) +
                           ": wrong byte at " + std::to_string(place));
          break;
        }
      }
    }
  }
  // Overlapping reads of one rank.
  {
    const Pattern& p = patterns[1];
    const Offset first = p.pieces.front().first;
    const Count length =
        std::min<Count>(p.pieces.back().first + p.pieces.back().second - first, 50000);
    std::vector<std::byte> a(static_cast<std::size_t>(length)), b(a), d(a);
    VectorStream stream({{first, length, a.data(), 0, 1},
                         {first, length, b.data(), 0, 1},
                         {first, length / 2, d.data(), 0, 1}});
    transport->read_all(stream);
    check(a == b, std::string(c.name) + ": overlapping reads differ");
    check(std::equal(d.begin(), d.begin() + length / 2, a.begin()),
          std::string(c.name) + ": a shorter overlapping read differs");
    check(a[0] == content(first, round + 1),
          std::string(c.name) + ": an overlapping read is wrong");
  }
  transport->close();
  file->close();
  comm.barrier();
}

// Operations under way at once, each beginning amid the windows of the one before and writing into
// its holes.
void run_consecutive(const Case& c, const Comm& comm, const std::string& path) {
  constexpr Count cell = 64, step = 50, cells = 100, operations = 12;
  Report report;
  auto file = std::make_shared<File>(path, true, comm.rank(), report);
  if (comm.is_root()) file->create(false);
  comm.barrier();
  TransportOptions options;
  options.kind = c.kind;
  options.ranks_per_node = c.exchange == "message" ? 1 : c.ranks_per_node;
  options.window_size = 4096;
  options.bulk = slow_writes = true;
  auto transport = make_transport(comm, file, options, report);
  std::vector<std::byte> expected((operations + 1) * step * cell);
  transport->expect_more(true);
  for (Count k = 0; k < operations; ++k) {
    std::vector<std::byte> memory(static_cast<std::size_t>(cell), std::byte(k + 1));
    std::vector<Extent> extents;
    for (Count i = k % 2; i < cells; i += 2) {
      const Offset at = (k * step + i) * cell;
      std::fill_n(expected.begin() + at, cell, std::byte(k + 1));
      if (i / 2 % ranks == rank) extents.push_back({at, cell, memory.data(), 0, 1});
    }
    VectorStream stream(std::move(extents));
    transport->write_all(stream);
  }
  transport->expect_more(false);
  std::vector<std::byte> found(expected.size());
  found.resize(file->read_at(0, found));
  found.resize(expected.size());
  check(found == expected, std::string(c.name) + ": operations under way at once are mixed up");
  transport->close();
  file->close();
  comm.barrier();
}

// Operations in which another rank writes the bytes of the one before: of those the later one wins,
// however long calls take.
void run_over_each_other(const Case& c, const Comm& comm, const std::string& path) {
  constexpr Count cell = 40, cells = 400, operations = 8;
  Report report;
  auto file = std::make_shared<File>(path, true, comm.rank(), report);
  if (comm.is_root()) file->create(false);
  comm.barrier();
  TransportOptions options;
  options.kind = c.kind;
  options.ranks_per_node = c.exchange == "message" ? 1 : c.ranks_per_node;
  options.aggregators = c.aggregators;
  options.hole_threshold = c.hole_threshold;
  options.window_size = options.buffer_limit = 4096;
  auto transport = make_transport(comm, file, options, report);
  slow_writes = true;
  std::vector<std::byte> expected(cells * cell);
  for (Count k = 0; k < operations; ++k) {
    std::vector<std::byte> memory(static_cast<std::size_t>(cell), std::byte(k + 1));
    std::vector<Extent> extents;
    for (Count i = k; i < cells; i += 1 + k % 2) {
      std::fill_n(expected.begin() + i * cell, cell, std::byte(k + 1));
      if ((i + k) % ranks == rank) extents.push_back({i * cell, cell, memory.data(), 0, 1});
    }
    VectorStream stream(std::move(extents));
    transport->write_all(stream);
  }
  slow_writes = false;
  std::vector<std::byte> found(expected.size());
  VectorStream all({{0, cells * cell, found.data(), 0, 1}});
  transport->read_all(all);
  check(found == expected, std::string(c.name) + ": an earlier operation has won over a later one");
  transport->close();
  file->close();
  comm.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string path =
      (argc > 1 ? std::string(argv[1]) : std::string(".")) + "/transport_test.bin";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 8;
  if (const char* given = std::getenv("FOREBAY_TEST_SEED")) seed = std::strtoul(given, nullptr, 10);
  {
    const Comm comm = make_comm(MPI_COMM_WORLD);
    rank = comm.rank();
    ranks = comm.size();
    for (const Case& c : cases) {
      const int before = failures;
      try {
        for (int round = 0; round < rounds; ++round) run_round(c, comm, path, round);
        if (c.bulk) run_consecutive(c, comm, path);
        if (!c.bulk) run_over_each_other(c, comm, path);
      } catch (const Error& e) {
        check(false, std::string(c.name) + ": " + e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      const auto bad = comm.all_reduce(failures - before, Reduce::sum);
      if (rank == 0) std::printf("%-28s %s\n", c.name, bad ? "FAILED" : "ok");
    }
    failures = static_cast<int>(comm.all_reduce(failures, Reduce::sum));
    if (rank == 0) ::unlink(path.c_str());
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
