#include "store/slots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "storage/file.h"

namespace forebay::store {
namespace slots_test {

// The library looks up only once whether system calls may be made to fail (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 0);

constexpr std::uint64_t seed = 4711;

struct Record {
  std::uint64_t count = 0;
  bool synced = false;

  std::uint64_t number() const { return count; }
};

std::vector<std::byte> print(const Record& record) {
  std::byte contents[9];
  store_be(contents, record.count);
  contents[8] = std::byte{record.synced};
  return print_slot(contents, {.seed = seed});
}

std::optional<Record> parse(std::span<const std::byte> slot) {
  const auto contents = parse_slot(slot, {.seed = seed});
  if (!contents) return std::nullopt;
  return Record{load_be<std::uint64_t>(contents->data()), (*contents)[8] != std::byte{0}};
}

TEST(Slots, come_back_unless_a_byte_of_every_copy_is_damaged) {
  const std::vector<std::byte> contents(9, std::byte{7});
  for (const SlotForm& form : {SlotForm{1, slot_bytes, seed}, SlotForm{2, 32, seed}}) {
    const auto good = print_slot(contents, form);
    ASSERT_EQ(std::ssize(good), slot_bytes);
    EXPECT_FALSE(parse_slot(good, {form.copies, form.copy_bytes, seed + 1}));
    for (std::size_t at = 0; at < static_cast<std::size_t>(form.copy_bytes); ++at) {
      auto bytes = good;
      bytes[at] ^= std::byte{1};
      EXPECT_EQ(parse_slot(bytes, form).has_value(), form.copies == 2) << at;
      if (form.copies == 2) bytes[at + good.size() / 2] ^= std::byte{1};
      EXPECT_FALSE(parse_slot(bytes, form)) << at;
      EXPECT_FALSE(parse_slot(std::span(good).first(at), form)) << at;
    }
    const auto found = parse_slot(good, form);
    ASSERT_TRUE(found);
    EXPECT_TRUE(std::equal(contents.begin(), contents.end(), found->begin()));
    EXPECT_TRUE(is_zero(found->subspan(contents.size())));
  }
}

TEST(Slots, what_is_neither_whole_nor_empty_is_damaged) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(slots * slot_bytes));
  EXPECT_EQ(read_slots<Record>(bytes, parse).damaged, -1);
  EXPECT_TRUE(read_slots<Record>({}, parse).empty);
  const auto slot = print({3, true});
  std::copy(slot.begin(), slot.end(), bytes.begin() + slot_bytes);
  const auto later = print({4, false});
  std::copy(later.begin(), later.end(), bytes.begin());
  EXPECT_EQ(read_slots<Record>(bytes, parse).newest_of(OpenState::synced), 1);
  EXPECT_EQ(read_slots<Record>(bytes, parse).newest_of(OpenState::newest), 0);
  EXPECT_EQ(read_slots<Record>(bytes, parse).last(), 4U);
  bytes.back() = std::byte{1};
  EXPECT_EQ(read_slots<Record>(bytes, parse).damaged, 2);
  bytes.back() = std::byte{0};
  bytes.pop_back();
  EXPECT_EQ(read_slots<Record>(bytes, parse).damaged, 2);
}

// A failed commit leaves its first `arrives` bytes in the file, and nobody knows this.
TEST(Slots, whatever_call_fails_the_last_commit_that_is_known_and_the_synced_one_are_there) {
  const std::string path = testing::TempDir() + "slots." + std::to_string(::getpid());
  Report report;
  int failures = 0, in_doubt = 0;
  const auto try_all = [&](const std::string& plan, std::size_t arrives) {
    ::setenv("FOREBAY_FAULT", "none", 1);
    std::filesystem::remove(path);
    File file(path, true, 0, report);
    file.create(false);  // calls are counted anew from here
    ::setenv("FOREBAY_FAULT", plan.c_str(), 1);
    Commits<Record> commits({}, slots - 1);
    std::uint64_t known = 0, on_device = 0;
    std::pair<int, std::vector<std::byte>> last;
    const auto put = [&](int slot, const Record& record) {
      last = {slot, print(record)};
      file.write_at(slot * slot_bytes, last.second);
    };
    const auto mark = [&] {
      file.sync();
      commits.mark_synced(put);
      file.sync();
      commits.marked();
      on_device = known;
    };
    for (std::uint64_t number = 1; number < 20; ++number) {
      const Record next{number, false};
      if (attempt_to([&] { commits.write(next, put); })) {
        file.write_at(last.first * slot_bytes, std::span(last.second).first(arrives));
        ++failures;
      } else {
        commits.written(next);
        known = number;
        if (number % 5 == 0 && attempt_to(mark)) ++failures;
      }
      std::vector<std::byte> all(static_cast<std::size_t>(slots * slot_bytes));
      all.resize(file.read_at(0, all));
      const auto found = read_slots<Record>(all, parse);
      EXPECT_TRUE(found.last() == known || found.last() == number) << plan << ", " << number;
      in_doubt += found.last() != known;
      const int last = found.newest_of(OpenState::synced);
      EXPECT_GE(last < 0 ? 0 : found.at(last).number(), on_device) << plan << ", " << number;
    }
  };
  for (const char* call : {"pwrite", "fsync"})
    for (int at = 1; at <= 24; ++at)
      for (const std::size_t arrives : {0, 8, 300, 512})
        try_all(std::string(call) + ":call=" + std::to_string(at) + ":errno=EIO", arrives);
  ::setenv("FOREBAY_FAULT", "none", 1);
  std::filesystem::remove(path);
  EXPECT_GT(failures, 80);
  EXPECT_GT(in_doubt, 10);
}

// An older state is opened, or a slot is damaged. The state is written again.
TEST(Commits, what_is_given_up_is_overruled_by_one_write) {
  for (int opened = 0; opened < slots; ++opened) {
    for (int damaged = -1; damaged < slots; ++damaged) {
      if (damaged == opened) continue;
      std::vector<std::optional<Record>> records;
      for (int slot = 0; slot < slots; ++slot)
        records.push_back(
            Record{slot == opened ? 5U : 6U + static_cast<unsigned>(slot), slot == opened});
      if (damaged >= 0) records[static_cast<std::size_t>(damaged)].reset();
      Commits<Record> commits({5, true}, opened, opened, damaged);
      for (std::uint64_t number = 10; number < 20; ++number) {
        int written = 0;
        commits.write({number, false}, [&](int slot, const Record& record) {
          records[static_cast<std::size_t>(slot)] = record;
          ++written;
        });
        commits.written({number, false});
        EXPECT_EQ(written, 1);
        const Slots<Record> found{records};
        EXPECT_EQ(found.last(), number);
        EXPECT_EQ(found.newest_of(OpenState::synced), opened);
        for (const auto& record : records) EXPECT_TRUE(record) << opened << ", " << damaged;
      }
    }
  }
}

TEST(Commits, no_number_follows_the_highest_one) {
  EXPECT_EQ(next_number(std::uint32_t{7}), 8U);
  EXPECT_EQ(next_number(UINT64_MAX - 1), UINT64_MAX);
  EXPECT_THROW(next_number(UINT32_MAX), Error);
  EXPECT_THROW(next_number(UINT64_MAX), Error);
}

}  // namespace slots_test
}  // namespace forebay::store
