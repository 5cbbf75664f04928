#include "transport/direct_io.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/byteorder.h"
#include "transport/extent_reader.h"

namespace forebay {
namespace {

constexpr Offset file_bytes = 6 << 20;

std::byte byte_of(Offset offset) { return static_cast<std::byte>((offset * 2654435761) >> 13); }

// A file of bytes that tell their place; counts what is read of it.
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

// Reads rows into `memory`, and compares with what they say piece by piece.
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
        store_swapped_range(expected.data(), skip + b, &value, 1, row.first.swap);
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

TEST(ReadRows, gives_every_piece_its_bytes) {
  std::mt19937 random(11);
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  std::vector<std::byte> memory(file_bytes);
  for (int round = 0; round < 120; ++round) {
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
      row.count = length > 10'000 ? 1 : pick(1, 300);
      row.stride = length + pick(0, most[pick(0, 2)]);
      row.first = {offset, length, memory.data(), position, swap};
      const Offset end = offset + (row.count - 1) * row.stride + length;
      if (end > file_bytes) break;
      rows.push_back(row);
      position = (position + row.count * length + swap - 1) / swap * swap;
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
  // The buffer holds a part only.
  Reads long_row;
  expect_rows(long_row, {{{0, 8, memory.data(), 0, 8}, 1500, 4000}}, memory, 4096);
  EXPECT_EQ(long_row.calls, 6);
}

}  // namespace
}  // namespace forebay
