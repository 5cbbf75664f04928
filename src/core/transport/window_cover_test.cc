#include "transport/window_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/memory_file_testing.h"

namespace forebay {
namespace window_cover_test {

/// Counts reads as well.
struct Counting : MemoryFile {
  using MemoryFile::MemoryFile;
  int reads = 0;
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    ++reads;
    return MemoryFile::read_at(offset, into);
  }
};

std::vector<std::uint64_t> words_of(const std::string& covered) {
  std::vector<std::uint64_t> words(covered.size() / 64 + 1);
  for (std::size_t i = 0; i < covered.size(); ++i)
    if (covered[i] == 'x') words[i / 64] |= std::uint64_t{1} << (i % 64);
  return words;
}

TEST(WindowCover, runs_are_those_of_the_bits) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string covered(1 + random() % 400, ' ');
    for (unsigned n = random() % 12; n > 0; --n) {
      const std::size_t from = random() % covered.size();
      covered.replace(from, 1 + random() % 90, std::string(1 + random() % 90, 'x'));
    }
    std::string found(covered.size(), ' ');
    Count last = -1;
    for_each_run(words_of(covered).data(), 0, std::ssize(covered), [&](Count from, Count to) {
      EXPECT_GT(from, last);
      std::fill(found.begin() + from, found.begin() + to, 'x');
      last = to;  // a run ends where a hole begins
    });
    EXPECT_EQ(found, covered);
  }
}

// The holes that are bridged keep what the file has. There are too many to read each by itself.
TEST(WindowCover, holes_are_written_with_their_neighbours) {
  std::string covered(300, ' ');
  for (std::size_t i = 0; i < 200; i += 10) covered.replace(i, 7, "xxxxxxx");
  covered.replace(250, 10, std::string(10, 'x'));
  for (const Count bridge : {0, 3, 64}) {
    const auto disk = std::make_shared<MemoryDisk>();
    disk->bytes.assign(20 + covered.size(), std::byte{'-'});
    Counting file("file", disk);
    std::string window(covered.size(), 'x');
    const auto words = words_of(covered);
    const Count written = write_covered(file, 20, reinterpret_cast<std::byte*>(window.data()),
                                        words.data(), 0, std::ssize(window), bridge);
    std::string expected = std::string(20, '-') + covered;
    std::replace(expected.begin(), expected.end(), ' ', '-');
    const std::string found(reinterpret_cast<const char*>(disk->bytes.data()), disk->bytes.size());
    EXPECT_EQ(found, expected) << bridge;
    EXPECT_EQ(disk->writes, bridge == 0 ? 21 : bridge == 3 ? 2 : 1) << bridge;
    EXPECT_EQ(file.reads, bridge == 0 ? 0 : 1) << bridge;
    EXPECT_EQ(written, bridge == 0 ? 150 : bridge == 3 ? 207 : 260) << bridge;
  }
}

}  // namespace window_cover_test
}  // namespace forebay
