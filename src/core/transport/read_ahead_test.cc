#include "transport/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/memory_file_testing.h"

namespace forebay {
namespace read_ahead_test {

constexpr Count file_bytes = 3 << 20;

class Counted : public MemoryFile {
 public:
  explicit Counted(std::shared_ptr<MemoryDisk> disk) : MemoryFile("f", std::move(disk)) {}
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    ++calls;
    if (offset + std::ssize(into) > readable) throw Error(Errc::eread, "a bad block");
    const std::size_t got = MemoryFile::read_at(offset, into);
    bytes += static_cast<Count>(got);
    return got;
  }
  std::int64_t changes() const override { return changed; }
  std::int64_t least_latency(bool) const override { return slow ? 500'000 : 1'000; }

  int calls = 0;
  Count bytes = 0, readable = INT64_MAX;
  std::int64_t changed = 0;
  bool slow = true;
};

/// A stream of one piece.
class Piece : public ExtentStream {
 public:
  explicit Piece(const Extent& e) : e_(e) {}
  StreamSummary summary() const override { return {e_.offset, e_.end(), e_.length, 1}; }
  std::size_t next(std::span<Extent> out) override {
    if (done_) return 0;
    done_ = true;
    out[0] = e_;
    return 1;
  }
  void rewind() override { done_ = false; }
  std::unique_ptr<ExtentStream> clone() const override { return std::make_unique<Piece>(e_); }

 private:
  Extent e_;
  bool done_ = false;
};

class ReadAheadOfBytes : public testing::Test {
 protected:
  ReadAheadOfBytes() {
    for (Offset i = 0; i < file_bytes; ++i) disk_->bytes.push_back(byte_of(i));
  }
  static std::byte byte_of(Offset i) { return static_cast<std::byte>((i * 2654435761) >> 13); }

  void expect(Offset offset, Count bytes) {
    std::vector<std::byte> memory(static_cast<std::size_t>(bytes)), is = memory;
    Piece piece({offset, bytes, memory.data(), 0, 1});
    ahead_.read(piece, 4096, report_);
    ahead_.note(piece.summary());
    for (Offset i = offset; i < std::min<Offset>(offset + bytes, std::ssize(disk_->bytes)); ++i)
      is[static_cast<std::size_t>(i - offset)] = disk_->bytes[static_cast<std::size_t>(i)];
    EXPECT_TRUE(memory == is) << offset << ' ' << bytes;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  Counted file_{disk_};
  Report report_;
  ReadAhead ahead_{file_, 1 << 20};
};

// It reads as much again as was asked for: twice the bytes at most, in few calls.
TEST_F(ReadAheadOfBytes, takes_few_calls_for_pieces_that_follow_each_other) {
  for (const Count piece : {4096, 47'008}) {
    const Count n = (1 << 20) / piece;
    file_.calls = 0, file_.bytes = 0;
    for (Count i = 0; i < n; ++i) expect(i * piece, piece);
    EXPECT_LE(file_.calls, 11) << piece;
    EXPECT_LE(file_.bytes, 2 * n * piece) << piece;
    ahead_.note({0, 1, 1, 1});
  }
}

// Ranks that take turns have such pieces.
TEST_F(ReadAheadOfBytes, takes_few_calls_for_pieces_that_are_equally_far_from_each_other) {
  for (Offset at = 1000; at < 1 << 20; at += 16384) expect(at, 4096);
  EXPECT_LE(file_.calls, 9);
  EXPECT_LE(file_.bytes, 2 << 20);
}

TEST_F(ReadAheadOfBytes, reads_no_more_than_asked_for_where_pieces_jump) {
  Count asked = 0;
  for (Offset at = 0, jump = 0; at + 4096 < file_bytes; at += 8192 + ++jump % 2, asked += 4096)
    expect(at, 4096);
  EXPECT_EQ(file_.bytes, asked);
}

TEST_F(ReadAheadOfBytes, gives_bytes_behind_the_end_as_zeros) {
  for (Offset at = file_bytes - 10'000; at < file_bytes + 5000; at += 1000) expect(at, 1000);
}

// Whoever asks for what cannot be read gets the error.
TEST_F(ReadAheadOfBytes, keeps_to_what_was_asked_for_where_the_file_cannot_be_read_further) {
  file_.readable = 20'000;
  for (Offset at = 0; at + 1000 <= file_.readable; at += 1000) expect(at, 1000);
  EXPECT_THROW(expect(20'000, 1000), Error);
}

TEST_F(ReadAheadOfBytes, reads_anew_what_may_have_been_written) {
  for (Offset at = 0; at < 40'000; at += 1000) {
    if (at % 3000 == 0) {
      std::fill(disk_->bytes.begin() + at, disk_->bytes.begin() + at + 1000, std::byte{1});
      ++file_.changed;
    }
    expect(at, 1000);
  }
}

// Otherwise all that was asked for so far would be read in vain each time.
TEST_F(ReadAheadOfBytes, begins_with_little_again_where_what_is_held_goes) {
  for (const bool agrees : {false, true}) {
    file_.bytes = 0;
    for (Offset at = 0; at < 1 << 20; at += 4096) {
      if (at % 16384 == 0) {
        ++file_.changed;
        if (agrees) ahead_.agreed(ahead_.need({at, at + 4096, 4096, 1}), false);
      }
      expect(at, 4096);
    }
    EXPECT_LE(file_.bytes, 2 << 20) << agrees;
    ahead_.note({0, 1, 1, 1});
  }
}

TEST_F(ReadAheadOfBytes, is_right_for_any_pieces) {
  std::mt19937 random(3);
  Offset next = 0;
  for (int i = 0; i < 3000; ++i) {
    file_.slow = random() % 2 == 0;
    if (random() % 7 == 0) next = static_cast<Offset>(random() % (file_bytes + 5000));
    const auto bytes = static_cast<Count>(1 + random() % (random() % 9 == 0 ? 700'000 : 9000));
    expect(next, bytes);
    next += bytes;
  }
}

TEST_F(ReadAheadOfBytes, tells_what_a_rank_needs) {
  const auto need = [&](Offset first, Count bytes) {
    const auto found = ahead_.need({first, first + bytes, bytes, 1});
    ahead_.agreed(found, false);
    return found;
  };
  EXPECT_EQ(need(0, 1000), ReadAhead::anew);
  expect(0, 1000);
  EXPECT_EQ(need(1000, 1000), ReadAhead::what_follows);
  EXPECT_EQ(need(5000, 1000), ReadAhead::other);
  EXPECT_EQ(ahead_.need({}), ReadAhead::nothing);
  expect(1000, 1000);
  EXPECT_EQ(need(2000, 1000), ReadAhead::nothing);
  ++file_.changed;
  EXPECT_EQ(need(2000, 1000), ReadAhead::anew);
  EXPECT_EQ(need(2000, 1000), ReadAhead::what_follows);  // the held bytes are gone
  file_.changed = -1;                                    // not known
  EXPECT_EQ(need(2000, 1000), ReadAhead::other);
}

}  // namespace read_ahead_test
}  // namespace forebay
