#include "groups/process_group/step_log.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "store/journal_testing.h"

namespace forebay::process_group {
namespace step_log_test {

/// The numbers of an entry in the order of docs/formats.md, without its hash.
template <typename... Numbers>
std::vector<std::byte> bytes_of(const Numbers&... numbers) {
  std::vector<std::byte> bytes;
  const auto put = [&](const auto& number) {
    const auto at = std::as_bytes(std::span(&number, 1));
    bytes.insert(bytes.end(), at.begin(), at.end());
  };
  (put(numbers), ...);
  return bytes;
}

// Logs of earlier versions are replayed, and `forebay log` shows steps, so the form is fixed.
TEST(StepLog, a_piece_is_a_write_to_a_box_of_bytes) {
  const journal::TestJournal<> log;
  Report report;
  MemoryFile file("data.1", std::make_shared<MemoryDisk>());
  StepLog steps(log.writer(), {}, report);
  const std::array<std::byte, 3> data{std::byte{1}, std::byte{2}, std::byte{3}};
  const FilePiece piece{40, data};
  ASSERT_TRUE(steps.add(file, {LoggedPiece::data + 1, 5, 6, 0}, {&piece, 1}));
  const auto& records = log.records->bytes;
  ASSERT_EQ(records.size(), journal::header_bytes + 128U);
  const auto entry = std::span(records).subspan(journal::header_bytes);
  EXPECT_TRUE(journal::is_whole(entry, 4711));
  const auto expected = bytes_of(
      std::uint32_t{0x46424c45}, std::uint8_t{1}, std::uint8_t{0}, std::uint16_t{0},
      std::uint32_t{16}, std::uint32_t{0}, std::uint64_t{0},  // the front
      std::int32_t{3}, std::int32_t{7}, std::int64_t{0}, std::int64_t{4096}, std::int64_t{3});
  EXPECT_EQ(std::memcmp(entry.data() + 8, expected.data(), expected.size()), 0);
  const auto box = bytes_of(std::uint32_t{3}, std::uint32_t{0}, std::int64_t{5}, std::int64_t{6},
                            std::int64_t{40}, std::int64_t{1}, std::int64_t{1}, std::int64_t{3});
  EXPECT_EQ(std::memcmp(entry.data() + 72, box.data(), box.size()), 0);
}

// Whatever else is whole in a log is told to the visitor, and is no piece.
TEST(StepLog, entries_that_are_no_pieces_are_visited_as_such) {
  const journal::TestJournal<> log;
  Report report;
  MemoryFile file("md.0", std::make_shared<MemoryDisk>());
  StepLog steps(log.writer(), {}, report);
  const std::array<std::byte, 3> data{};
  const FilePiece piece{40, data};
  ASSERT_TRUE(steps.add(file, {LoggedPiece::metadata, 5, 6, 0}, {&piece, 1}));
  const auto whole = log.copy();
  const auto seen = [](const journal::TestJournal<>& there) {
    std::optional<LoggedPiece> found;
    EXPECT_EQ(
        walk_pieces(*there.reader(), [&](auto, const auto& is, const auto&) { found = is; }).writes,
        1);
    return found;
  };
  ASSERT_TRUE(seen(whole));
  EXPECT_EQ(seen(whole)->at, 40);
  // file, type, place and number of data, dimensions, opening, place, counts
  for (const std::size_t at : {32, 36, 48, 56, 72, 80, 96, 104, 120}) {
    const auto other = log.copy();
    const auto entry = std::span(other.records->bytes).subspan(journal::header_bytes);
    std::memset(entry.data() + at, 0xff, 4);
    std::memset(entry.data() + at + 4, 0xff, at == 32 || at == 36 || at == 72 ? 0 : 4);
    journal::seal_entry(entry, 4711);
    EXPECT_FALSE(seen(other)) << at;
  }
}

}  // namespace step_log_test
}  // namespace forebay::process_group
