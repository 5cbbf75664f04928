#include "hdf5/log/write_behind.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "hdf5/log/log_writer.h"
#include "hdf5/log/tail_reader.h"
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
    for (const int n : {5, 2, 3}) {
      const auto failed = attempt_to([&] { all.at(static_cast<std::size_t>(n))->wait(for_ever); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
    }
    for (const auto& one : {all[0], all[1]}) EXPECT_TRUE(one->wait(0)) << "it is in the file";
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

class LogWriterTest : public ::testing::Test {
 protected:
  static constexpr Count limit = 4096;
  void write(Count size, std::byte value, bool lent) {
    const Steps steps{0, size, 1};
    bytes.assign(static_cast<std::size_t>(size), value);
    writer.write(1, box_pattern(std::vector<Count>{5000}, std::span(&steps, 1)), bytes, lent);
  }
  void expect_written(std::size_t n, Count size, std::byte value) {
    std::vector<std::byte> found(static_cast<std::size_t>(size));
    writer.read_pending(n, 0, found);
    EXPECT_EQ(found, std::vector<std::byte>(found.size(), value)) << n;
  }

  std::vector<std::byte> bytes;
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  Gated file{"f", disk};
  CountingSpace space;
  Report report;
  LogWriter writer{
      Comm(),     file,
      space,      std::nullopt,
      {limit, 1}, [] {
                     return std::make_unique<MemoryFile>("t", std::make_shared<MemoryDisk>()); },
      nullptr,    report};
};

// Every third write is larger than the limit, so it is written in the call, from the caller's
// memory. Before that all others are written, too.
TEST_F(LogWriterTest, copies_for_the_thread_keep_within_the_buffer_limit) {
  constexpr Count writes = 18;
  constexpr Count sizes[] = {1000, 3000, 5000};
  disk->bytes.reserve(1 << 20);
  for (int i = 0; i < writes; ++i) {
    const Count size = sizes[i % 3];
    writer.begin(true);
    writer.lend(Lent::in_call, true);
    write(size, static_cast<std::byte>(i + 1), true);
    writer.flush_data(true);
    EXPECT_LE(writer.write_behind().copied(), limit);
    EXPECT_EQ(writer.handed() != nullptr, size < limit);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  }
  EXPECT_EQ(writer.write_behind().started(), writes * 2 / 3);
  writer.settle();
  for (std::size_t i = 0; i < writes; ++i)
    expect_written(i, sizes[i % 3], static_cast<std::byte>(i + 1));
}

TEST_F(LogWriterTest, what_is_held_and_what_the_thread_has_keep_within_the_buffer_limit) {
  for (int round = 0; round < 5; ++round) {
    file.shut = true;
    writer.begin(true);
    writer.lend(Lent::in_call, true);
    write(3000, std::byte{1}, true);
    writer.flush_data(true);
    ASSERT_EQ(writer.write_behind().copied(), 3000);
    for (int i = 0; i < 6; ++i) {
      writer.begin(false);
      writer.lend(Lent::never, true);
      write(500, std::byte{2}, false);
      writer.make_room();
      EXPECT_LE(writer.held() + writer.write_behind().copied(), limit);
    }
    file.shut = false;
    writer.flush_data();
  }
  for (std::size_t i = 0; i < 35; ++i)
    expect_written(i, i % 7 == 0 ? 3000 : 500, i % 7 == 0 ? std::byte{1} : std::byte{2});
}

TEST_F(LogWriterTest, a_call_without_data_hands_nothing_over) {
  file.shut = true;
  for (int i = 0; i < 5; ++i) {
    for (const Count size : {1000, 0}) {
      writer.begin(true);
      writer.lend(Lent::until_landed, true);
      if (size > 0) write(size, std::byte{7}, true);  // the same memory each time
      writer.flush_data(true);
      EXPECT_EQ(writer.handed() != nullptr, size > 0);
    }
  }
  file.shut = false;
  writer.settle();
}

/// What a rank shows to others.
class RecordedTails : public Tails {
 public:
  RecordedTails() : Tails(Comm()) {}
  bool copies() const override { return false; }
  void append(std::uint32_t kind, std::span<const std::byte>) override {
    placed += static_cast<TailRecord>(kind) == TailRecord::placed ? 1 : 0;
  }
  std::uint64_t address_of(const PendingData&, Offset, Count) override { return 1; }
  void read_stream(int, Offset, std::span<std::byte>) override {}
  void read_data(int, Offset, std::uint64_t, std::span<std::byte>) override {}
  int placed = 0;

 private:
  Count stream_bytes() const override { return 0; }
  void show(const Shown&, Count) override {}
  void look(std::span<Shown>) override {}
  void clear() override {}
};

TEST_F(LogWriterTest, the_next_write_of_any_kind_shows_what_the_thread_has_written) {
  RecordedTails tails;
  LogWriter shown(Comm(), file, space, std::nullopt, {limit, 1}, {}, &tails, report);
  const std::vector<std::byte> lent(100, std::byte{7});
  const Steps steps{0, 100, 1};
  for (int i = 0; i < 5; ++i) {
    const double before = shown.write_behind().seconds().written;
    shown.begin(true);
    shown.lend(Lent::until_landed, true);
    shown.write(1, box_pattern(std::vector<Count>{100}, std::span(&steps, 1)), lent, true);
    shown.flush_data(true);
    while (shown.write_behind().seconds().written == before) std::this_thread::yield();
    EXPECT_EQ(tails.placed, i);
    shown.begin(false);
    EXPECT_EQ(tails.placed, i + 1);
  }
}

}  // namespace
}  // namespace forebay::logged
