#include "transport/stream_between.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace forebay {
namespace stream_between_test {

// Extents of 10 bytes at every 8th byte, as a read may have them, a few at a time.
class Overlapping : public ExtentStream {
 public:
  explicit Overlapping(Count n) : n_(n) {}
  StreamSummary summary() const override { return {0, 8 * n_ + 2, 10 * n_, n_}; }
  std::size_t next(std::span<Extent> out) override {
    std::size_t given = 0;
    for (; at_ < n_ && given < std::min<std::size_t>(out.size(), 7); ++at_)
      out[given++] = {8 * at_, 10, nullptr, 10 * at_, 1};
    return given;
  }
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override { return std::make_unique<Overlapping>(n_); }

 private:
  Count n_, at_ = 0;
};

std::vector<Extent> all_of(ExtentStream& stream) {
  std::vector<Extent> all;
  std::array<Extent, 5> batch;
  while (const std::size_t n = stream.next(batch))
    all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(n));
  return all;
}

TEST(StreamBetween, parts_are_the_whole) {
  constexpr Count n = 100, last = 8 * n + 2;
  for (const Count step : {1, 3, 8, 64, 1000}) {
    std::vector<int> times(static_cast<std::size_t>(10 * n));  // by place in memory
    for (Offset from = 0; from < last; from += step) {
      StreamBetween part(Overlapping(n), from, from + step);
      Offset before = from;
      for (const Extent& e : all_of(part)) {
        EXPECT_GE(e.offset, before);
        EXPECT_GT(e.length, 0);
        EXPECT_LE(e.end(), from + step);
        before = e.offset;
        for (Count i = 0; i < e.length; ++i) {
          const Count extent = (e.skip + i) / 10;
          EXPECT_EQ(e.offset + i, 8 * extent + (e.skip + i) % 10);
          ++times[static_cast<std::size_t>(e.skip + i)];
        }
      }
      EXPECT_FALSE(part.is_late());
    }
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), 10 * n) << step;
  }
}

TEST(StreamBetween, walks_again_and_beside) {
  StreamBetween part(Overlapping(50), 100, 200);
  const auto first = all_of(part);
  EXPECT_FALSE(first.empty());
  part.rewind();
  EXPECT_EQ(all_of(part).size(), first.size());
  EXPECT_EQ(all_of(*part.clone()).size(), first.size());
  EXPECT_EQ(part.summary().first, 100);
  EXPECT_EQ(part.summary().last, 200);
  EXPECT_TRUE(StreamBetween(Overlapping(5), 100, 200).summary().empty());
}

TEST(StreamBetween, ends_behind_its_deadline_but_not_before_it_began) {
  StreamBetween late(Overlapping(50), 100, 300, StreamBetween::Clock::now());
  const auto some = all_of(late);
  EXPECT_TRUE(late.is_late());
  EXPECT_FALSE(some.empty());
  EXPECT_LT(some.size(), 25U);
  StreamBetween patient(Overlapping(50), 100, 300,
                        StreamBetween::Clock::now() + std::chrono::hours(1));
  EXPECT_GT(all_of(patient).size(), 25U);
  EXPECT_FALSE(patient.is_late());
}

}  // namespace stream_between_test
}  // namespace forebay
