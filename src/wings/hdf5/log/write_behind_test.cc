#include "hdf5/log/write_behind.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "hdf5/log/log_writer.h"
#include "storage/gated_file_testing.h"

namespace forebay::logged {
namespace {

constexpr Count batch_bytes = 100;
constexpr Offset apart = 120;  // batches that touch go in one call, and fail together
constexpr int batches = 6;
constexpr auto for_ever = UINT64_MAX;

class WriteBehindTest : public ::testing::Test {
 protected:
  /// Hands over the nth batch, whose bytes are lent, or copied in several parts.
  std::shared_ptr<WriteBehind::Progress> start(int n, bool lent) {
    std::string& text = texts.at(static_cast<std::size_t>(n));
    text.assign(batch_bytes, static_cast<char>('a' + n));
    const auto bytes = std::as_bytes(std::span(text));
    PendingData data(1 << 20, {});
    if (lent)
      data.lend(bytes);
    else
      for (std::size_t at = 0; at < bytes.size(); at += 20) data.add(bytes.subspan(at, 20));
    wanted.replace(static_cast<std::size_t>(n * apart), batch_bytes, text);
    behind.prepare();
    return behind.start({data.give(), &file, n * apart, static_cast<std::uint64_t>(n),
                         static_cast<std::uint64_t>(n) + 1, 0, lent, lent ? 0 : batch_bytes});
  }
  std::string found() const {
    return {reinterpret_cast<const char*>(disk->bytes.data()), disk->bytes.size()};
  }
  /// The program uses lent memory anew.
  void spoil() {
    for (std::string& text : texts) text.assign(text.size(), '?');
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  Gated file{"f", disk};
  Report report;
  std::vector<std::string> texts = std::vector<std::string>(batches);
  std::string wanted = std::string((batches - 1) * apart + batch_bytes, '\0');
  std::vector<std::uint64_t> landed;
  WriteBehind behind{report,
                     [this](const WriteBehind::Batch& one) { landed.push_back(one.first); }};
};

TEST_F(WriteBehindTest, batches_land_in_order_and_keep_their_memory_until_they_are_retired) {
  file.shut = true;
  std::vector<std::shared_ptr<WriteBehind::Progress>> all;
  for (int n = 0; n < batches; ++n) all.push_back(start(n, n % 2 == 0));
  EXPECT_EQ(behind.copied(), batches / 2 * batch_bytes);
  for (const auto& one : all) EXPECT_FALSE(one->wait(1000));
  EXPECT_TRUE(landed.empty());
  file.shut = false;
  EXPECT_TRUE(all[3]->wait(for_ever));
  EXPECT_GE(landed.size(), 4U);
  for (const auto& one : all) EXPECT_TRUE(one->wait(for_ever));
  behind.settle();
  EXPECT_EQ(landed, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found(), wanted);
  EXPECT_EQ(behind.copied(), batches / 2 * batch_bytes);
  PendingData data(1 << 20, {});
  behind.retire(data);
  EXPECT_EQ(behind.copied(), 0);
}

TEST_F(WriteBehindTest, what_failed_is_told_and_written_in_a_later_call_from_a_copy) {
  for (int round = 0; round < 5; ++round) {
    disk->bytes.clear();
    landed.clear();
    file.shut = true;
    std::vector<std::shared_ptr<WriteBehind::Progress>> all;
    for (int n = 0; n < batches; ++n) all.push_back(start(n, n % 2 == 0));
    disk->room = 250;  // the third does not fit
    file.shut = false;
    EXPECT_TRUE(all[1]->wait(for_ever));
    for (const int n : {5, 2, 3}) {
      const auto failed = attempt_to([&] { all.at(static_cast<std::size_t>(n))->wait(for_ever); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
    }
    EXPECT_TRUE(behind.has_failed());
    spoil();
    disk->room = 50;
    EXPECT_THROW(behind.settle(), Error) << "it fails again";
    EXPECT_TRUE(behind.has_failed());
    EXPECT_EQ(landed.size(), 2U);
    disk->room = 1 << 20;
    behind.settle();
    EXPECT_FALSE(behind.has_failed());
    EXPECT_EQ(found(), wanted);
    EXPECT_EQ(landed.size(), static_cast<std::size_t>(batches));
    EXPECT_THROW(all[2]->wait(0), Error) << "the program was told so";
    EXPECT_TRUE(all[4]->wait(0)) << "nobody has asked before it was written";
    PendingData data(1 << 20, {});
    behind.retire(data);
  }
}

TEST_F(WriteBehindTest, settling_tries_once_more_before_it_fails) {
  disk->room = 0;
  start(0, true);
  EXPECT_THROW(behind.settle(), Error);
  EXPECT_EQ(disk->writes, 2);
  spoil();
  disk->room = 1 << 20;
  behind.settle();
  EXPECT_EQ(found(), wanted.substr(0, batch_bytes));
}

TEST_F(WriteBehindTest, progress_outlives_what_was_never_written) {
  std::shared_ptr<WriteBehind::Progress> lost, done;
  {
    WriteBehind other(report, [](const WriteBehind::Batch&) {});
    const std::string text(batch_bytes, 'x');
    const auto begin = [&](Offset at) {
      PendingData data(1 << 20, {});
      data.lend(std::as_bytes(std::span(text)));
      other.prepare();
      return other.start({data.give(), &file, at, 0, 1, 0, true, 0});
    };
    done = begin(0);
    EXPECT_TRUE(done->wait(for_ever));
    disk->room = 0;
    lost = begin(apart);
  }
  EXPECT_TRUE(done->wait(0));
  EXPECT_THROW(lost->wait(for_ever), Error);
}

class CountingSpace : public BlockSpace {
 public:
  Offset allot(Use, Count bytes) override { return std::exchange(end_, end_ + bytes + 8); }

 private:
  Offset end_ = 0;
};

// Every third write is larger than the limit, so it is written in the call, from the caller's
// memory. Before that all others are written, too.
TEST(LogWriter, copies_for_the_thread_keep_within_the_buffer_limit) {
  constexpr Count limit = 4096, writes = 18;
  constexpr Count sizes[] = {1000, 3000, 5000};
  auto disk = std::make_shared<MemoryDisk>();
  disk->bytes.reserve(1 << 20);
  Gated file("f", disk);
  CountingSpace space;
  Report report;
  LogWriter writer(Comm(), file, space, std::nullopt, {limit, 1}, {}, nullptr, report);
  for (int i = 0; i < writes; ++i) {
    const Count size = sizes[i % 3];
    std::vector<std::byte> bytes(static_cast<std::size_t>(size), static_cast<std::byte>(i + 1));
    const Steps steps{0, size, 1};
    writer.begin(true);
    writer.lend(Lent::in_call, true);
    writer.write(1, box_pattern(std::vector<Count>{5000}, std::span(&steps, 1)), bytes, true);
    writer.flush_data(true);
    EXPECT_LE(writer.write_behind().copied(), limit);
    EXPECT_EQ(writer.handed() != nullptr, size < limit);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  }
  EXPECT_EQ(writer.write_behind().started(), writes * 2 / 3);
  writer.settle();
  for (int i = 0; i < writes; ++i) {
    std::vector<std::byte> found(static_cast<std::size_t>(sizes[i % 3]));
    writer.read_pending(static_cast<std::size_t>(i), 0, found);
    EXPECT_EQ(found, std::vector<std::byte>(found.size(), static_cast<std::byte>(i + 1))) << i;
  }
}

}  // namespace
}  // namespace forebay::logged
