#include "checkpoints/parity.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/hash.h"

namespace forebay::checkpoint {
namespace parity_test {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> part_of(const Bytes& blob, std::size_t chunk, std::size_t size) {
  const std::size_t begin = std::min(blob.size(), chunk * size);
  return std::span(blob).subspan(begin, std::min(size, blob.size() - begin));
}

TEST(Parity, any_lost_blob_is_the_xor_of_what_is_left) {
  std::mt19937 random(1);
  for (std::size_t n = 2; n <= most_in_set; ++n) {
    std::vector<Bytes> blobs(n);
    Count most = 0;
    for (Bytes& blob : blobs) {
      blob.resize(random() % 300);
      for (std::byte& byte : blob) byte = static_cast<std::byte>(random());
      most = std::max<Count>(most, std::ssize(blob));
    }
    const auto size = static_cast<std::size_t>(chunk_bytes(most, n));
    std::vector<Bytes> segments(n, Bytes(size));
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i)
        if (i != j) add_xor(segments[j], part_of(blobs[i], chunk_in_segment(i, j, n), size));
    for (std::size_t lost = 0; lost < n; ++lost) {
      Bytes made(size * (n - 1));
      for (std::size_t j = 0; j < n; ++j) {
        if (j == lost) continue;
        const std::span chunk(made.data() + chunk_in_segment(lost, j, n) * size, size);
        add_xor(chunk, segments[j]);
        for (std::size_t i = 0; i < n; ++i)
          if (i != j && i != lost)
            add_xor(chunk, part_of(blobs[i], chunk_in_segment(i, j, n), size));
      }
      made.resize(blobs[lost].size());
      EXPECT_EQ(made, blobs[lost]) << lost << " of " << n;
    }
  }
}

TEST(Parity, a_blob_of_another_group_or_state_is_not_taken) {
  Record record{{Kind::state, 7}, 12, 4096, 3, {}};
  const Bytes values{std::byte{1}, std::byte{2}, std::byte{3}};
  record.parts.push_back({"x", Type::byte, {3}, "none", {{3, 0, hash_of(values)}}});
  Bytes blob = front_of_blob(record, 99);
  blob.insert(blob.end(), values.begin(), values.end());
  std::size_t front = 0;
  const Record back = parse_blob(blob, 99, {Kind::state, 7}, 12, front);
  EXPECT_EQ(back.parts.at(0).name, "x");
  EXPECT_EQ(back.place, 0);
  EXPECT_EQ(front + 3, blob.size());
  EXPECT_THROW(parse_blob(blob, 98, {Kind::state, 7}, 12, front), Error);
  EXPECT_THROW(parse_blob(blob, 99, {Kind::state, 8}, 12, front), Error);
  EXPECT_THROW(parse_blob(blob, 99, {Kind::adjoint, 7}, 12, front), Error);
  EXPECT_THROW(parse_blob(blob, 99, {Kind::state, 7}, 13, front), Error);
  for (std::size_t i = 0; i < blob.size(); ++i) {
    Bytes damaged = blob;
    damaged[i] ^= std::byte{4};
    EXPECT_THROW(parse_blob(damaged, 99, {Kind::state, 7}, 12, front), Error) << i;
    EXPECT_THROW(parse_blob(std::span(blob).first(i), 99, {Kind::state, 7}, 12, front), Error) << i;
  }
}

TEST(Parity, a_table_is_read_as_it_was_written) {
  const ParityTable table{5, {{1, 20, 300, {7, 8}}, {4, 0, 0, {0, 9}}, {6, 1, 100, {1, 2}}}};
  const Bytes bytes = print_table(table);
  const ParityTable back = parse_table(bytes);
  EXPECT_EQ(back.group, 5U);
  ASSERT_EQ(back.members.size(), 3U);
  EXPECT_EQ(back.members[1].rank, 4);
  EXPECT_EQ(back.members[0].sessions[1], 8U);
  EXPECT_EQ(back.place_of(6), 2U);
  EXPECT_EQ(back.find(5), nullptr);
  EXPECT_EQ(back.chunk(), 150);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_THROW(parse_table(std::span(bytes).first(i)), Error);
  for (const ParityTable& no :
       {ParityTable{1, {{1, 1, 1, {}}}}, ParityTable{1, {{2, 1, 1, {}}, {2, 1, 1, {}}}}})
    EXPECT_THROW(parse_table(print_table(no)), Error);
}

}  // namespace parity_test
}  // namespace forebay::checkpoint
