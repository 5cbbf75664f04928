#include "transport/direct_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "base/memory_file_testing.h"
#include "storage/file.h"
#include "support/cases.h"
#include "transport/extent_reader.h"

namespace forebay {
namespace direct_io_test {

constexpr Offset file_bytes = 6 << 20;

std::byte byte_of(Offset offset) { return static_cast<std::byte>((offset * 2654435761) >> 13); }

// A file whose bytes depend on their place. Counts what is read of it.
struct Reads {
  int calls = 0;
  Count bytes = 0;
  ReadInto read = [this](Offset offset, std::span<std::byte> into) {
    ++calls;
    bytes += std::ssize(into);
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = byte_of(offset + static_cast<Offset>(i));
  };
};

// Reads rows into `memory`, and compares it with the rows piece by piece.
void expect_rows(Reads& reads, const std::vector<ExtentRow>& rows, std::vector<std::byte>& memory,
                 Count hole_threshold) {
  std::fill(memory.begin(), memory.end(), std::byte{0});
  StreamSummary summary{rows.front().first.offset, 0, 0, 0};
  std::vector<std::byte> expected(memory.size());
  for (const ExtentRow& row : rows) {
    for (Count i = 0; i < row.count; ++i) {
      const Offset offset = row.first.offset + i * row.stride;
      const Offset skip = row.first.skip + i * row.first.length;
      for (Count b = 0; b < row.first.length; ++b) {
        const std::byte value = byte_of(offset + b);
        store_swapped_range(expected.data() + i * row.apart, skip + b, &value, 1, row.first.swap);
      }
      summary.last = std::max(summary.last, offset + row.first.length);
      summary.bytes += row.first.length;
      ++summary.pieces;
    }
  }
  std::size_t at = 0;
  const auto next = [&] { return at < rows.size() ? std::optional(rows[at++]) : std::nullopt; };
  read_rows(reads.read, summary, next, hole_threshold);
  ASSERT_TRUE(memory == expected);
}

// Two selections of one slab give such pieces. One that lies before the buffer begins it anew.
TEST(ReadRows, takes_pieces_that_go_back) {
  std::vector<std::byte> memory(4096);
  Reads reads;
  const auto row = [&](Offset offset, Count skip) {
    return ExtentRow{{offset, 100, memory.data(), skip, 1}, 1, 0};
  };
  expect_rows(reads, {row(5000, 0), row(1000, 100), row(5200, 200), row(900, 300)}, memory, 8192);
}

TEST(ReadRows, gives_every_piece_its_bytes) {
  std::mt19937 random(11);
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  std::vector<std::byte> memory(file_bytes + 8192);
  for (int round = 0; round < forebay_test::few_of(120); ++round) {
    std::vector<ExtentRow> rows;
    const int swap = 1 << pick(0, 3);
    Offset offset = pick(0, 1000);
    Count position = 0;
    while (rows.size() < 200) {
      const Count most[] = {8, 32, 3000, 300'000};
      ExtentRow row;
      Count length = pick(1, most[pick(0, 3)]);
      // Elements may be cut, but for most rows they are not.
      if (pick(0, 3) > 0) length = (length + swap - 1) / swap * swap;
      if (pick(0, 3) == 0) position += pick(0, swap - 1);
      row.count = length > 10'000 ? 1 : pick(1, 300);
      row.stride = length + pick(0, most[pick(0, 2)]);
      if (row.count > 1) row.apart = pick(0, (row.stride - length) / 8) * 8;
      row.first = {offset, length, memory.data(), position, swap};
      const Offset end = offset + (row.count - 1) * row.stride + length;
      if (end > file_bytes) break;
      rows.push_back(row);
      position += row.count * (length + row.apart);
      position = (position + swap - 1) / swap * swap;
      offset = end + pick(0, 200);
    }
    if (rows.empty()) continue;
    Reads reads;
    expect_rows(reads, rows, memory, pick(0, 1) * 4096);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(ReadRows, neighbours_share_a_call_and_what_is_far_apart_does_not) {
  std::vector<std::byte> memory(1 << 16);
  Reads near;
  expect_rows(near, {{{100, 8, memory.data(), 0, 8}, 1000, 24}}, memory, 4096);
  EXPECT_EQ(near.calls, 1);
  EXPECT_EQ(near.bytes, 999 * 24 + 8);
  Reads two;
  expect_rows(two, {{{100, 8, memory.data(), 0, 8}, 2, 24}}, memory, 4096);
  EXPECT_EQ(two.calls, 1);
  Reads far;
  expect_rows(far, {{{100, 8, memory.data(), 0, 8}, 100, 5000}}, memory, 4096);
  EXPECT_EQ(far.calls, 100);
  EXPECT_EQ(far.bytes, 800);
  // The buffer holds only a part.
  Reads long_row;
  expect_rows(long_row, {{{0, 8, memory.data(), 0, 8}, 1500, 4000}}, memory, 4096);
  EXPECT_EQ(long_row.calls, 6);
}

TEST(ReadRows, single_pieces_share_a_call_unless_a_hole_is_too_large) {
  std::vector<std::byte> memory(1 << 16);
  const auto calls = [&](Count hole) {
    Reads reads;
    expect_rows(reads, {{{100, 8, memory.data(), 0, 8}}, {{108 + hole, 8, memory.data(), 8, 8}}},
                memory, 4096);
    return reads.calls;
  };
  EXPECT_EQ(calls(0), 1);
  EXPECT_EQ(calls(4096), 1);
  EXPECT_EQ(calls(4097), 2);
}

TEST(ReadRows, a_piece_may_lie_within_one_before_it) {
  std::vector<std::byte> memory(2048);
  Reads reads;
  expect_rows(reads, {{{0, 1000, memory.data(), 0, 1}}, {{100, 50, memory.data(), 1000, 1}}},
              memory, 4096);
  EXPECT_EQ(reads.bytes, 1000);
}

/// A stream of given extents.
class Listed : public ExtentStream {
 public:
  explicit Listed(std::vector<Extent> list) : list_(std::move(list)) {}
  StreamSummary summary() const override {
    StreamSummary s;
    for (const Extent& e : list_) s.add({e.offset, e.end(), e.length, 1});
    return s;
  }
  std::size_t next(std::span<Extent> out) override {
    const std::size_t n = std::min(out.size(), list_.size() - at_);
    std::copy_n(list_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    at_ += n;
    return n;
  }
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override { return std::make_unique<Listed>(list_); }

 private:
  std::vector<Extent> list_;
  std::size_t at_ = 0;
};

TEST(ReadDirectly, bytes_beyond_the_end_of_the_file_are_zero) {
  const std::string path =
      testing::TempDir() + "forebay_direct_io_test_" + std::to_string(::getpid());
  std::ofstream(path) << "abcdef";
  Report report;
  File file(path, false, 0, report);
  for (const Count hole_threshold : {0, 4096}) {
    std::string memory(12, '#');
    auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
    Listed extents({Extent{2, 8, bytes, 0, 1}, Extent{20, 2, bytes, 9, 1}});
    read_directly(file, extents, hole_threshold, report);
    EXPECT_EQ(memory, std::string("cdef\0\0\0\0#\0\0#", 12));
  }
  std::remove(path.c_str());
}

/// A file whose calls take a given time.
class Timed : public MemoryFile {
 public:
  Timed(std::chrono::microseconds call, std::chrono::microseconds kib)
      : MemoryFile("timed", std::make_shared<MemoryDisk>()), call_(call), kib_(kib) {}
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    ++calls;
    bytes += std::ssize(into);
    const auto end = std::chrono::steady_clock::now() + call_ + kib_ * (std::ssize(into) / 1024);
    while (std::chrono::steady_clock::now() < end) {
    }
    return MemoryFile::read_at(offset, into);
  }
  Count calls = 0, bytes = 0;

 private:
  std::chrono::microseconds call_, kib_;
};

// The pieces are 1 KiB in each 64 KiB. A call that bridges has 16 of them.
TEST(ReadDirectly, holes_are_read_where_calls_take_longer) {
  constexpr Count piece = 1024, stride = 64 * piece, pieces = 320;
  const auto read = [&](Timed& file) {
    file.write_at(0, std::vector<std::byte>(pieces * stride, std::byte{7}));
    std::vector<std::byte> found(pieces * piece);
    std::vector<Extent> list;
    for (Count i = 0; i < pieces; ++i)
      list.push_back({i * stride, piece, found.data(), i * piece, 1});
    Listed extents(std::move(list));
    Report report;
    read_directly(file, extents, stride, report);
    EXPECT_EQ(std::count(found.begin(), found.end(), std::byte{7}), std::ssize(found));
  };
  using std::chrono::microseconds;
  Timed quick(microseconds(1), microseconds(20)), slow(microseconds(2000), microseconds(0));
  read(quick);
  EXPECT_GT(quick.calls, pieces - 20);
  EXPECT_LT(quick.bytes, (pieces + 20) * piece + (1 << 20));
  read(slow);
  EXPECT_LT(slow.calls, pieces / 16 + 12);
}

/// A file whose calls take long. Keeps their sizes.
class Slow : public MemoryFile {
 public:
  Slow() : MemoryFile("slow", std::make_shared<MemoryDisk>()) {}
  using ByteFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    Count bytes = 0;
    for (const iovec& piece : pieces) bytes += static_cast<Count>(piece.iov_len);
    calls.emplace_back(offset, bytes);
    MemoryFile::write_at(offset, pieces);
  }
  std::int64_t least_latency(bool) const override { return 1'000'000; }
  std::vector<std::pair<Offset, Count>> calls;
};

// The elements have 8 bytes in another order, so that all goes through the buffer.
TEST(WriteDirectly, large_calls_hold_no_more_than_a_rank_may) {
  constexpr Count mib = 1 << 20, bytes = 20 * mib;
  std::vector<std::byte> memory(bytes);
  for (const auto& [limit, call] : {std::pair(64 * mib, 8 * mib), std::pair(8 * mib, 8 * mib),
                                    std::pair(5 * mib, 4 * mib), std::pair(Count{4096}, mib)}) {
    Slow file;
    Report report;
    Listed extents({Extent{4, bytes, memory.data(), 0, 8}});
    write_directly(file, extents, report, limit);
    Offset at = 4;
    for (const auto& [offset, n] : file.calls) {
      EXPECT_EQ(offset, at);
      EXPECT_LE(n, call);
      at += n;
      if (at < 4 + bytes) EXPECT_EQ(at % call, 0) << limit;
    }
    EXPECT_EQ(at, 4 + bytes);
    EXPECT_EQ(direct_memory(true, direct_call(true, limit)), call);
  }
}

}  // namespace direct_io_test
}  // namespace forebay
