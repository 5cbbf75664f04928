#include "layout/chunked/coder.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/byteorder.h"
#include "base/hash.h"

namespace forebay::chunked {
namespace coder_test {

ChunkCache::Bytes bytes_of(std::size_t n) { return std::make_shared<std::vector<std::byte>>(n); }

TEST(ChunkCacheTest, drops_what_was_used_least_recently) {
  ChunkCache cache(100);
  cache.keep(0, 1, bytes_of(40));
  cache.keep(0, 2, bytes_of(40));
  EXPECT_NE(cache.find(0, 1), nullptr);  // now chunk 2 is the older one
  cache.keep(1, 1, bytes_of(40));
  EXPECT_NE(cache.find(0, 1), nullptr);
  EXPECT_EQ(cache.find(0, 2), nullptr);
  EXPECT_NE(cache.find(1, 1), nullptr);
  EXPECT_EQ(cache.held(), 80);
}

TEST(ChunkCacheTest, never_holds_more_than_its_limit) {
  ChunkCache cache(100);
  for (Count id = 0; id < 50; ++id) {
    cache.keep(0, id, bytes_of(static_cast<std::size_t>(id * 7 % 60)));
    EXPECT_LE(cache.held(), 100);
  }
  cache.keep(0, 99, bytes_of(101));
  EXPECT_EQ(cache.find(0, 99), nullptr) << "too large to be kept";
  ChunkCache none(0);
  none.keep(0, 0, bytes_of(1));
  EXPECT_EQ(none.find(0, 0), nullptr);
}

TEST(ChunkCacheTest, replaces_and_forgets) {
  ChunkCache cache(100);
  cache.keep(0, 1, bytes_of(40));
  cache.keep(0, 1, bytes_of(30));
  EXPECT_EQ(cache.held(), 30);
  EXPECT_EQ(cache.find(0, 1)->size(), 30u);
  cache.keep(0, 1, bytes_of(200));
  EXPECT_EQ(cache.find(0, 1), nullptr) << "an old version must not stay";
  EXPECT_EQ(cache.held(), 0);
  cache.keep(0, 2, bytes_of(10));
  cache.drop(0, 2);
  cache.drop(0, 3);
  EXPECT_EQ(cache.held(), 0);
  cache.keep(0, 2, bytes_of(10));
  cache.clear();
  EXPECT_EQ(cache.find(0, 2), nullptr);
  EXPECT_EQ(cache.held(), 0);
}

TEST(TaskTeamTest, runs_every_task_once_and_throws_the_first_error) {
  for (const int threads : {1, 3}) {
    TaskTeam team(threads);
    std::array<std::atomic<int>, 100> runs{};
    const auto run = [&](std::size_t i, auto&) {
      ++runs[i];
      if (i == 17) throw Error(Errc::enotnc, "seventeen");
    };
    try {
      team.run(runs.size(), run);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "seventeen");
    }
    for (const auto& n : runs) EXPECT_EQ(n, 1);
    team.run(0, run);
  }
}

TEST(FillChunk, repeats_the_value) {
  const std::array value{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::vector<std::byte> chunk(4 * 777);
  fill_chunk(value, chunk);
  for (std::size_t i = 0; i < chunk.size(); ++i) ASSERT_EQ(chunk[i], value[i % 4]);
  const std::array zero{std::byte{0}, std::byte{0}};
  fill_chunk(zero, chunk);
  for (const std::byte b : chunk) ASSERT_EQ(b, std::byte{0});
  fill_chunk(value, {});
}

class CoderTest : public ::testing::Test {
 protected:
  CoderTest() {
    var_.type = Type::float32;
    var_.dimids = {0, 1};
    var_.shape = {50, 70};
    var_.inner_elements = 50 * 70;
    coding_.emplace(VariableCoding{ChunkGrid(var_, std::array<Count, 2>{20, 70}),
                                   Pipeline::parse("shuffle,zstd:3"), var_.type,
                                   std::vector<std::byte>(4)});
    raw_.resize(static_cast<std::size_t>(coding_->grid.bytes(0)));
    for (std::size_t i = 0; i < raw_.size() / 4; ++i)
      store_be(raw_.data() + 4 * i, std::round(30 * std::sin(static_cast<float>(i) / 90)));
    arena_.reset(1 << 20);
  }

  StoredChunk encode(bool in_place) {
    StoredChunk stored;
    encode_chunk(*coding_, coding_->info(0), raw_, arena_, in_place, workspace_, {&stored, 1});
    return stored;
  }
  Errc decode(const StoredChunk& stored, std::uint64_t hash) {
    Entry entry;
    entry.offset = 0;
    entry.bytes = static_cast<Count>(stored.bytes.size());
    entry.hash = hash;
    entry.skipped = stored.skipped;
    decoded_.assign(raw_.size(), std::byte{0xff});
    try {
      const StoredPart part{&entry, stored.bytes};
      decode_chunk(*coding_, "T", 0, {&part, 1}, decoded_, workspace_);
    } catch (const Error& error) {
      message_ = error.message();
      return error.code();
    }
    return Errc::ok;
  }

  Variable var_;
  std::optional<VariableCoding> coding_;
  std::vector<std::byte> raw_, decoded_;
  Arena arena_;
  CodecWorkspace workspace_;
  std::string message_;
};

TEST_F(CoderTest, a_chunk_comes_back) {
  const StoredChunk stored = encode(true);
  EXPECT_LT(stored.bytes.size(), raw_.size());
  EXPECT_EQ(stored.skipped, 0u);
  EXPECT_EQ(decode(stored, stored.hash), Errc::ok);
  EXPECT_EQ(decoded_, raw_);
}

TEST_F(CoderTest, a_chunk_that_does_not_become_smaller_stays_where_it_is_or_is_copied) {
  for (std::size_t i = 0; i < raw_.size() / 8; ++i)
    store_be(raw_.data() + 8 * i, (i + 1) * 0x9e3779b97f4a7c15u * (i + 7));
  const StoredChunk kept = encode(true);
  EXPECT_EQ(kept.bytes.data(), raw_.data());
  EXPECT_EQ(kept.skipped, 3u);
  const StoredChunk copied = encode(false);
  EXPECT_NE(copied.bytes.data(), raw_.data());
  EXPECT_EQ(copied.hash, kept.hash);
  EXPECT_EQ(decode(copied, copied.hash), Errc::ok);
  EXPECT_EQ(decoded_, raw_);
}

TEST_F(CoderTest, damage_is_told_with_the_chunks_place) {
  const StoredChunk stored = encode(true);
  EXPECT_EQ(decode(stored, stored.hash ^ 1), Errc::enotnc);
  EXPECT_NE(
      message_.find("chunk 0 of variable T, which is T[0:20, 0:70], is damaged: the checksum"),
      std::string::npos)
      << message_;
  // The checksum is right, but the codec does not make such bytes.
  StoredChunk nonsense = stored;
  nonsense.bytes = stored.bytes.first(stored.bytes.size() - 3);
  EXPECT_EQ(decode(nonsense, hash_of(nonsense.bytes)), Errc::enotnc);
  EXPECT_NE(message_.find("is damaged: "), std::string::npos) << message_;
  nonsense = stored;
  nonsense.skipped = 0x80;
  EXPECT_EQ(decode(nonsense, stored.hash), Errc::enotnc);
}

TEST_F(CoderTest, a_box_is_written_as_people_write_it) {
  EXPECT_EQ(describe_chunk("T", coding_->grid, 2), "T[40:50, 0:70]");
  const ChunkGrid single(var_, std::array<Count, 2>{1, 35});
  EXPECT_EQ(describe_chunk("T", single, 3), "T[1, 35:70]");
}

}  // namespace coder_test
}  // namespace forebay::chunked
