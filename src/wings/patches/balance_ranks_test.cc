#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "comm/thread_ranks.h"
#include "patches/balance.h"
#include "patches/plan/balanced_files.h"
#include "patches/plan/morton.h"

namespace forebay::patches {
namespace balance_test {

using chunked::SizedChunk, chunked::WrittenVariable;

Variable variable(std::vector<Count> shape, bool is_record = false) {
  Variable var;
  var.type = Type::float64;
  var.shape = std::move(shape);
  var.dimids.resize(var.shape.size());
  var.is_record = is_record;
  return var;
}

// A few large chunks among many small ones.
Count size_of_chunk(Count id) { return id % 7 == 3 ? 5000 + 13 * id : 40 + id % 5; }

/// Chunk i belongs to the rank i * 31 % (ranks - 1), and the last of several ranks has none. The
/// first rank is late. Returns the file of each chunk.
std::vector<std::uint32_t> shared_out(int ranks, std::span<const WrittenVariable> written,
                                      std::span<const SizedChunk> chunks, Count files) {
  std::vector<std::uint32_t> all(chunks.size(), UINT32_MAX);
  run_as_threads(ranks, [&](const Comm& comm) {
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<SizedChunk> mine;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (static_cast<Rank>(i * 31) % std::max(ranks - 1, 1) != comm.rank()) continue;
      mine.push_back(chunks[i]);
      numbers.push_back(i);
    }
    const auto found = share_out(comm, written, mine, files);
    ASSERT_EQ(found.size(), mine.size());
    for (std::size_t k = 0; k < found.size(); ++k) all[numbers[k]] = found[k];
  });
  return all;
}

TEST(ShareOut, files_are_runs_of_morton_order_about_equally_large) {
  const Variable var = variable({40, 24, 56});
  const ChunkGrid grid(var, std::array<Count, 3>{8, 8, 8});
  std::vector<SizedChunk> chunks;
  Count largest = 0, total = 0;
  for (Count id = 0; id < grid.chunks(0); ++id) {
    chunks.push_back({0, id, size_of_chunk(id)});
    largest = std::max(largest, chunks.back().bytes);
    total += chunks.back().bytes;
  }
  const WrittenVariable written[] = {{&var, &grid}};
  for (const auto& [ranks, files] : std::vector<std::pair<int, Count>>{
           {1, 1}, {1, 200}, {2, 2}, {3, 5}, {4, 16}, {7, 5}, {7, 200}}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, " << files << " files");
    const auto found = shared_out(ranks, written, chunks, files);
    std::vector<Count> bytes(static_cast<std::size_t>(files));
    for (std::size_t i = 0; i < chunks.size(); ++i) bytes.at(found[i]) += chunks[i].bytes;
    EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()), total / files + 1 + largest);
    const MortonOrder order(std::array<Count, 3>{5, 3, 7});
    std::vector<std::uint32_t> along(chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i)
      along.at(static_cast<std::size_t>(order.number_of(grid.coordinates(chunks[i].id)))) =
          found[i];
    EXPECT_TRUE(std::is_sorted(along.begin(), along.end())) << files;
  }
}

TEST(ShareOut, what_lies_at_one_place_stays_together) {
  const Variable plain = variable({16, 32, 32}), more = variable({0, 2, 16, 32, 32}, true),
                 flat = variable({20, 20});
  const ChunkGrid grid(plain, std::array<Count, 3>{8, 8, 8});
  const ChunkGrid of_records(more, std::array<Count, 5>{1, 1, 8, 8, 8});
  const ChunkGrid in_2d(flat, std::array<Count, 2>{10, 10});
  std::vector<SizedChunk> chunks;
  const WrittenVariable written[] = {{&flat, &in_2d}, {&plain, &grid}, {&more, &of_records}};
  for (Count id = 0; id < in_2d.chunks(0); ++id) chunks.push_back({0, id, 8000});
  for (Count id = 0; id < grid.chunks(0); ++id) chunks.push_back({1, id, size_of_chunk(id)});
  for (Count id = 0; id < of_records.chunks(3); ++id)
    chunks.push_back({2, id, size_of_chunk(id + 1)});
  const auto found = shared_out(4, written, chunks, 9);
  std::map<std::vector<Count>, std::uint32_t> file_at;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    auto at = written[chunks[i].written].grid->coordinates(chunks[i].id);
    if (chunks[i].written == 2) at.erase(at.begin(), at.begin() + 2);
    EXPECT_EQ(file_at.try_emplace(at, found[i]).first->second, found[i]) << i;
  }
  EXPECT_EQ(file_at.size(), 4u + 32u);
  // By the sizes of all positions: those of the first grid, and then those of the other.
  const MortonOrder first(std::array<Count, 2>{2, 2}), other(std::array<Count, 3>{2, 4, 4});
  std::vector<std::size_t> position;
  std::vector<Count> sizes(4 + 32);
  for (const SizedChunk& chunk : chunks) {
    auto at = written[chunk.written].grid->coordinates(chunk.id);
    if (chunk.written == 2) at.erase(at.begin(), at.begin() + 2);
    position.push_back(static_cast<std::size_t>(chunk.written == 0 ? first.number_of(at)
                                                                   : 4 + other.number_of(at)));
    sizes[position.back()] += chunk.bytes;
  }
  const auto total = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto here = sizes.begin() + static_cast<std::ptrdiff_t>(position[i]);
    EXPECT_EQ(found[i], file_of(std::accumulate(sizes.begin(), here, Count{0}), *here, total, 9));
  }
  EXPECT_EQ(*std::max_element(found.begin(), found.end()), 8u);
}

TEST(ShareOut, nothing_to_share_and_chunks_without_bytes) {
  const Variable var = variable({16});
  const ChunkGrid grid(var, std::array<Count, 1>{8});
  const WrittenVariable written[] = {{&var, &grid}};
  EXPECT_TRUE(shared_out(3, written, {}, 4).empty());
  const std::vector<SizedChunk> chunks = {{0, 0, 0}, {0, 1, 0}};
  for (const int ranks : {1, 3})
    EXPECT_EQ(shared_out(ranks, written, chunks, 4), (std::vector<std::uint32_t>{0, 0}));
}

}  // namespace balance_test
}  // namespace forebay::patches
