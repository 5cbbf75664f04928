#include "decomposed/part_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory_file_testing.h"
#include "layout/list_stream.h"

namespace forebay::decomposed {
namespace part_reader_test {

constexpr Count part_elements = 700;
constexpr std::size_t parts = 9;

std::int32_t value_of(Count element) { return static_cast<std::int32_t>(element * 3); }

class PartsTest : public testing::Test {
 protected:
  void make(const std::string& codec) {
    Variable var;
    var.name = "v";
    var.type = Type::int32;
    var.slab_codec = codec;
    coding_ = &codings_.of(var);
    CodecWorkspace workspace;
    Offset at = 100;
    entry_ = {};
    for (std::size_t p = 0; p < parts; ++p) {
      std::vector<std::byte> raw(part_elements * 4);
      for (Count i = 0; i < part_elements; ++i)
        store_be(raw.data() + 4 * i, value_of(static_cast<Count>(p) * part_elements + i));
      const EncodedChunk encoded =
          coding_->pipeline.encode(coding_->info(part_elements), raw, workspace);
      file_->write_at(at, encoded.bytes);
      entry_.parts.push_back(
          {part_elements, at, std::ssize(encoded.bytes), encoded.skipped, hash_of(encoded.bytes)});
      at += round_up(std::ssize(encoded.bytes), 8) + 8;
    }
    entry_.bytes = static_cast<Count>(parts) * part_elements * 4;
  }
  // Reads runs of `length` elements, one of every `every`.
  void read(PartReader& reader, const Entry& slab, std::vector<Extent> extents) {
    ListStream stream(std::move(extents));
    reader.read(*file_, 3, slab, *coding_, nullptr, stream);
  }
  void read(PartReader& reader, Count length, Count every) {
    constexpr Count all = static_cast<Count>(parts) * part_elements;
    std::vector<std::int32_t> found(static_cast<std::size_t>(all), -1);
    std::vector<Extent> extents;
    for (Count i = 0; i + length <= all; i += length * every)
      extents.push_back({i * 4, length * 4,
                         reinterpret_cast<std::byte*>(&found[static_cast<std::size_t>(i)]), 0, 4});
    ListStream stream(extents);
    reader.read(*file_, 3, entry_, *coding_, nullptr, stream);
    for (Count i = 0; i < all; ++i) {
      const bool wanted = i / length % every == 0 && i / length * length + length <= all;
      ASSERT_EQ(found[static_cast<std::size_t>(i)], wanted ? value_of(i) : -1) << i;
    }
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<MemoryFile> file_ = std::make_shared<MemoryFile>("data/3", disk_);
  SlabCodings codings_;
  const SlabCoding* coding_ = nullptr;
  Entry entry_;
  Report report_;
};

TEST_F(PartsTest, elements_are_found_whatever_is_held_and_by_however_many_threads) {
  for (const char* codec : {"shuffle,zstd:1", "deflate:1", "none"}) {
    make(codec);
    for (const Count cache : {0, 3000, 8000, 1 << 20}) {
      for (const int threads : {1, 3}) {
        PartReader reader({cache, threads}, report_);
        for (const Count length : {1, 7, 650, 700, 1500, 6300}) {
          read(reader, length, 1);
          read(reader, length, 2);
          read(reader, length, 40);
        }
      }
    }
  }
}

TEST_F(PartsTest, a_part_is_decoded_once_while_there_is_room_and_only_if_it_is_needed) {
  make("shuffle,zstd:1");
  const auto decoded = [&] { return report_[Counter::chunks_decoded]; };
  PartReader large({1 << 20, 1}, report_), small({0, 1}, report_);
  read(large, 10, 200);  // one run in every third part
  EXPECT_EQ(decoded(), 4);
  read(large, 10, 1);
  EXPECT_EQ(decoded(), static_cast<std::int64_t>(parts));
  read(large, 1, 1);
  EXPECT_EQ(decoded(), static_cast<std::int64_t>(parts));
  large.forget();
  read(large, 1, 1);
  EXPECT_EQ(decoded(), static_cast<std::int64_t>(2 * parts));
  read(small, 10, 1);  // every part is used completely before it is dropped
  EXPECT_EQ(decoded(), static_cast<std::int64_t>(3 * parts));
}

TEST_F(PartsTest, a_damaged_part_is_told_and_the_others_are_read) {
  make("shuffle,zstd:1");
  PartReader reader({1 << 20, 2}, report_);
  disk_->flip(entry_.parts[4].offset + 20, 3);
  try {
    read(reader, 10, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::enotnc);
    EXPECT_EQ(error.message(), "data/3: the part of a slab at byte " +
                                   std::to_string(entry_.parts[4].offset) +
                                   " is damaged: the checksum of its " +
                                   std::to_string(entry_.parts[4].bytes) + " bytes is wrong");
  }
  read(reader, part_elements, static_cast<Count>(parts));
  disk_->flip(entry_.parts[4].offset + 20, 3);
  read(reader, 10, 1);
  // With a right checksum, as an attacker would make it.
  const StoredPart good = entry_.parts[4];
  std::vector<std::byte> bytes(static_cast<std::size_t>(good.bytes));
  file_->read_at(good.offset, bytes);
  bytes.resize(bytes.size() - 5);
  entry_.parts[4].bytes -= 5;
  entry_.parts[4].hash = hash_of(bytes);
  reader.forget();
  EXPECT_THROW(read(reader, 10, 1), Error);
  entry_.parts[4] = good;
  read(reader, 10, 1);
  entry_.parts[2].skipped = 0x80;
  reader.forget();
  EXPECT_THROW(read(reader, 10, 1), Error);
  disk_->bytes.resize(static_cast<std::size_t>(entry_.parts[8].offset) + 3);
  EXPECT_THROW(read(reader, part_elements, 8), Error);
}

TEST_F(PartsTest, whatever_number_of_threads_is_asked_for_there_is_one) {
  make("shuffle,zstd:1");
  PartReader reader({1 << 20, 2}, report_);
  for (const int threads : {0, -3, 5, 1}) {
    reader.use_threads(threads);
    reader.forget();
    read(reader, 50, 2);
  }
}

// No written file has such slabs.
TEST_F(PartsTest, parts_of_two_slabs_at_one_place_are_not_taken_for_each_other) {
  make("shuffle,zstd:1");
  std::vector<std::int32_t> values(300000, -1);
  auto* const memory = reinterpret_cast<std::byte*>(values.data());
  PartReader reader({32 << 20, 1}, report_);
  Entry small;
  small.parts = {entry_.parts[0]};
  small.bytes = 4 * part_elements;
  read(reader, small, {{0, small.bytes, memory, 0, 4}});
  EXPECT_EQ(values[part_elements - 1], value_of(part_elements - 1));
  Entry large = small;
  large.parts[0].elements = std::ssize(values);
  large.bytes = 4 * std::ssize(values);
  EXPECT_THROW(read(reader, large, {{0, large.bytes, memory, 0, 4}}), Error);
}

TEST_F(PartsTest, extents_that_go_back_by_more_than_a_part_are_refused) {
  make("shuffle,zstd:1");
  std::vector<std::int32_t> values(3 * part_elements, -1);
  auto* const memory = reinterpret_cast<std::byte*>(values.data());
  PartReader reader({1 << 20, 1}, report_);
  constexpr Count part = 4 * part_elements;
  EXPECT_THROW(
      read(reader, entry_, {{0, 2 * part, memory, 0, 4}, {part / 2, part / 4, memory, 0, 4}}),
      Error);
}

}  // namespace part_reader_test
}  // namespace forebay::decomposed
