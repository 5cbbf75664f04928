#include "base/joined_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "base/attempt.h"
#include "base/memory_file_testing.h"

namespace forebay {
namespace joined_file_test {

constexpr Count unit = JoinedFile::unit;

class JoinedFileTest : public testing::Test {
 protected:
  // Returns byte i of file n. It is never zero.
  static std::byte expected(std::size_t n, std::size_t i) {
    return static_cast<std::byte>(1 + (n + i) % 255);
  }
  JoinedFileTest() {
    for (std::size_t n = 0; n < sizes_.size(); ++n) {
      auto disk = std::make_shared<MemoryDisk>();
      for (std::size_t i = 0; i < 3 * unit; ++i) disk->bytes.push_back(expected(n, i));
      files_.push_back(std::make_unique<MemoryFile>("data." + std::to_string(n), disk));
    }
    joined_.set_sizes(sizes_);
  }
  std::byte at(Offset place) const {
    for (std::uint32_t n = 0; n < sizes_.size(); ++n) {
      const Offset in_file = place - joined_.begin_of(n);
      if (in_file >= 0 && in_file < sizes_[n])
        return expected(n, static_cast<std::size_t>(in_file));
    }
    return std::byte{0};
  }

  std::vector<Count> sizes_{unit + 1, 0, 5, 2 * unit};
  std::vector<std::unique_ptr<MemoryFile>> files_;
  std::map<std::uint32_t, int> opened_;
  JoinedFile joined_{"folder/data", [this](std::uint32_t n) -> ByteFile& {
                       ++opened_[n];
                       return *files_.at(n);
                     }};
};

TEST_F(JoinedFileTest, reads_go_across_files_and_what_is_between_them_is_zero) {
  ASSERT_EQ(joined_.size(), 5 * unit);
  std::vector<std::byte> all(static_cast<std::size_t>(6 * unit));
  for (const Count bytes : {Count{1}, Count{100}, unit, 3 * unit, 6 * unit}) {
    for (Offset from = 0; from <= joined_.size(); from += bytes == 1 ? 97 : bytes / 3) {
      const auto into = std::span(all).first(static_cast<std::size_t>(bytes));
      std::fill(into.begin(), into.end(), std::byte{0xEE});
      const std::size_t got = joined_.read_at(from, into);
      ASSERT_EQ(got, static_cast<std::size_t>(std::min(bytes, joined_.size() - from)));
      for (std::size_t i = 0; i < got; ++i)
        ASSERT_EQ(into[i], at(from + static_cast<Offset>(i))) << from << " " << i;
    }
  }
  EXPECT_EQ(opened_.count(1), 0U);
}

TEST_F(JoinedFileTest, a_file_that_is_shorter_than_was_said_is_an_error) {
  const Offset begin = joined_.begin_of(2);
  std::vector<std::byte> some(20, std::byte{0xEE});
  files_[2]->truncate(5);  // as many bytes as set_sizes() named
  EXPECT_EQ(joined_.read_at(begin, some), some.size());
  EXPECT_EQ(some[4], expected(2, 4));
  EXPECT_EQ(some[5], std::byte{0});
  files_[2]->truncate(4);
  EXPECT_EQ(joined_.read_at(begin, std::span(some).first(4)), 4U);
  for (const Offset from : {begin, begin + 4, begin - 10}) {
    const auto failed = attempt_to([&] { joined_.read_at(from, some); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::etrunc);
    EXPECT_EQ(failed->message(), "data.2 ends before byte 5, where the index has values");
    EXPECT_FALSE(failed->advice().empty());
  }
}

TEST_F(JoinedFileTest, sizes_that_do_not_fit_are_refused_and_the_old_ones_stay) {
  const std::vector<Count> large(3, std::numeric_limits<Count>::max() / 2);
  const auto failed = attempt_to([&] { joined_.set_sizes(large); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::eintoverflow);
  EXPECT_EQ(joined_.size(), 5 * unit);
}

}  // namespace joined_file_test
}  // namespace forebay
