#include "checkpoints/format/checkpoint.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay::checkpoint {
namespace checkpoint_test {

Part part_of(std::vector<Count> shape, const std::string& codec) {
  Part part{"theta", Type::float64, std::move(shape), codec, {}};
  const Cut cut = cut_of(part);
  for (Count i = 0; i < cut.pieces; ++i) {
    const Count bytes = bytes_of_piece(part, cut, i);
    part.pieces.push_back({codec == "none" ? bytes : bytes / 3, 2, 0x1234567890abcdefU + 7 * i});
  }
  return part;
}

Record sample() {
  Record record{{Kind::adjoint, 42}, 7, 4096, 0, {}};
  record.parts.push_back(part_of({3, 100, 1000}, "zfp:accuracy=0.001"));
  record.parts.push_back(part_of({}, "none"));
  record.parts.push_back(part_of({5, 0}, "zstd:3"));
  record.parts.push_back({"tape", Type::none, {17}, "none", {{17, 0, 9}}});
  record.parts.push_back(part_of({125, 1000}, "none"));
  for (const Part& part : record.parts) record.bytes += part.stored_bytes();
  return record;
}

TEST(CheckpointFormat, an_entry_comes_back) {
  std::vector<std::byte> bytes;
  print_entry(sample(), 5, bytes);
  print_entry(Dropped{7}, 5, bytes);
  const auto first = parse_entry(bytes, 5);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes % 8, 0U);
  const auto& got = std::get<Record>(first->entry);
  const Record wanted = sample();
  EXPECT_EQ(got.id, wanted.id);
  EXPECT_EQ(got.serial, 7U);
  EXPECT_EQ(got.place, 4096);
  EXPECT_EQ(got.bytes, wanted.bytes);
  ASSERT_EQ(got.parts.size(), wanted.parts.size());
  for (std::size_t i = 0; i < got.parts.size(); ++i) {
    EXPECT_EQ(got.parts[i].name, wanted.parts[i].name);
    EXPECT_EQ(got.parts[i].shape, wanted.parts[i].shape);
    EXPECT_EQ(got.parts[i].codec, wanted.parts[i].codec);
    ASSERT_EQ(got.parts[i].pieces.size(), wanted.parts[i].pieces.size());
    for (std::size_t p = 0; p < got.parts[i].pieces.size(); ++p)
      EXPECT_EQ(got.parts[i].pieces[p].hash, wanted.parts[i].pieces[p].hash);
  }
  const auto second = parse_entry(std::span(bytes).subspan(first->bytes), 5);
  ASSERT_TRUE(second);
  EXPECT_EQ(std::get<Dropped>(second->entry).serial, 7U);
}

TEST(CheckpointFormat, what_is_cut_changed_or_of_another_session_is_no_entry) {
  std::vector<std::byte> bytes;
  print_entry(sample(), 5, bytes);
  EXPECT_FALSE(parse_entry(bytes, 6));
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(parse_entry(std::span(bytes).first(n), 5)) << n;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{4};
    EXPECT_FALSE(parse_entry(bytes, 5)) << i;
    bytes[i] ^= std::byte{4};
  }
}

TEST(CheckpointFormat, a_record_that_makes_no_sense_is_none_though_its_hash_holds) {
  const auto refused = [](const auto& change) {
    Record record = sample();
    change(record);
    std::vector<std::byte> bytes;
    print_entry(record, 5, bytes);
    return !parse_entry(bytes, 5);
  };
  EXPECT_FALSE(refused([](Record&) {}));
  EXPECT_TRUE(refused([](Record& r) { r.parts[0].pieces.pop_back(); }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[1].pieces[0].bytes = 9; }));
  EXPECT_TRUE(
      refused([](Record& r) { r.parts[4].pieces[3].bytes += r.parts[4].pieces[0].bytes--; }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[4].pieces.resize(2, {}); }));
  EXPECT_FALSE(refused([](Record& r) { r.parts[4].pieces = {{1'000'000, 0, 5}}; }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[0].shape[0] = INT64_MAX / 1000; }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[0].type = static_cast<Type>(99); }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[0].shape.resize(40, 1); }));
  EXPECT_TRUE(refused([](Record& r) { r.parts[3].codec = "zstd:3"; }));
  EXPECT_TRUE(refused([](Record& r) { r.id.kind = static_cast<Kind>(4); }));
  // The next state would have a lower number, and be taken for the earlier one.
  EXPECT_TRUE(refused([](Record& r) { r.serial = UINT64_MAX; }));
}

/// Sets the entry's hash to the right value for its bytes.
void seal(std::span<std::byte> entry, std::uint64_t session) {
  std::byte front[8];
  store_be(front, session);
  RunningHash hash;
  hash.add(front);
  hash.add(entry.first(entry.size() - 8));
  store_be(entry.data() + entry.size() - 8, hash.value());
}

TEST(CheckpointFormat, whatever_an_entry_says_it_is_refused_or_makes_sense) {
  std::mt19937 random(11);
  std::vector<std::byte> good;
  print_entry(sample(), 5, good);
  int accepted = 0;
  for (int run = 0; run < 30'000; ++run) {
    auto bytes = good;
    for (int change = 0; change <= run % 3; ++change)
      bytes[8 + random() % (bytes.size() - 16)] = static_cast<std::byte>(random());
    seal(bytes, 5);
    const auto parsed = parse_entry(bytes, 5);
    if (!parsed || !std::holds_alternative<Record>(parsed->entry)) continue;
    ++accepted;
    const auto& record = std::get<Record>(parsed->entry);
    Count sum = 0;
    for (const Part& part : record.parts) {
      ASSERT_GE(part.raw_bytes(), part.stored_bytes());
      ASSERT_EQ(cut_of(part).pieces, std::ssize(part.pieces));
      for (const Piece& piece : part.pieces) ASSERT_GE(piece.bytes, 0);
      sum += part.stored_bytes();
    }
    ASSERT_EQ(sum, record.bytes);
    ASSERT_GE(record.place, 0);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(CheckpointFormat, pieces_are_cut_along_the_slowest_dimensions_and_make_up_the_whole) {
  std::mt19937 random(3);
  for (int run = 0; run < 500; ++run) {
    Part part{"x", Type::float32, {}, run % 5 ? "zstd:3" : "none", {}};
    const auto dimensions = std::uniform_int_distribution<int>(0, 5)(random);
    for (int d = 0; d < dimensions; ++d)
      part.shape.push_back(std::uniform_int_distribution<Count>(1, run % 2 ? 60 : 9)(random));
    if (run % 7 == 0) part.shape.push_back(700'000);  // a row of several pieces
    const Cut cut = cut_of(part);
    Count sum = 0;
    for (Count i = 0; i < cut.pieces; ++i) {
      const Count bytes = bytes_of_piece(part, cut, i);
      EXPECT_GT(bytes, 0);
      EXPECT_LE(bytes, part.codec == "none" ? raw_piece_bytes : most_piece_bytes);
      sum += bytes;
      if (cut.pieces > 1000) {
        sum = part.raw_bytes();
        break;
      }
    }
    EXPECT_EQ(sum, part.raw_bytes());
  }
}

TEST(CheckpointFormat, pieces_are_whole_blocks_of_codecs_that_transform) {
  const auto cut = [](std::vector<Count> shape) {
    const Cut made = cut_of({"x", Type::float64, std::move(shape), "zfp:accuracy=1", {}});
    return std::pair(made.axis, made.rows);
  };
  EXPECT_EQ(cut({161, 161, 161}), std::pair(std::size_t{0}, Count{4}));    // 5 would be 1 MiB
  EXPECT_EQ(cut({100, 300, 400}), std::pair(std::size_t{0}, Count{4}));    // of 0.9 MiB each
  EXPECT_EQ(cut({100, 512, 512}), std::pair(std::size_t{1}, Count{256}));  // 4 would be 8 MiB
  EXPECT_EQ(cut({2, 400, 400}), std::pair(std::size_t{0}, Count{2}));
  EXPECT_EQ(cut({1'000'000}), std::pair(std::size_t{0}, Count{131072}));
}

TEST(CheckpointFormat, a_header_comes_back_or_is_refused) {
  auto bytes = print_header({77, 3, 8});
  EXPECT_EQ(std::ssize(bytes), header_bytes);
  EXPECT_EQ(parse_header(bytes)->session, 77U);
  EXPECT_EQ(parse_header(bytes)->rank, 3);
  EXPECT_EQ(parse_header(bytes)->ranks, 8);
  EXPECT_FALSE(parse_header(std::span(bytes).first(63)));
  for (const std::size_t i : {0, 5, 6, 10, 40, 63}) {
    bytes[i] ^= std::byte{1};
    EXPECT_THROW(parse_header(bytes), Error) << i;
    bytes[i] ^= std::byte{1};
  }
}

}  // namespace checkpoint_test
}  // namespace forebay::checkpoint
