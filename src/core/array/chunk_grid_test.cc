#include "array/chunk_grid.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace forebay {
namespace chunk_grid_test {

/// Where one byte of a variable is: its chunk, and the byte of that chunk.
struct Place {
  Count chunk, position;
  auto operator<=>(const Place&) const = default;
};

/// Does what ChunkGrid does, element by element. The record dimension has `records` indices.
class NaiveGrid {
 public:
  NaiveGrid(const Variable& var, const std::vector<Count>& shape, Count records)
      : record_(var.is_record), width_(size_of(var.type)), lengths_(var.shape), shape_(shape) {
    if (record_) lengths_[0] = records;
  }

  Count elements() const {
    return std::accumulate(lengths_.begin(), lengths_.end(), Count{1}, std::multiplies<>());
  }
  const std::vector<Count>& lengths() const { return lengths_; }

  std::vector<Count> index_of(Count element) const {
    std::vector<Count> index(lengths_.size());
    for (std::size_t d = index.size(); d-- > 0;) {
      index[d] = element % lengths_[d];
      element /= lengths_[d];
    }
    return index;
  }

  Place place(Count element) const {
    const auto index = index_of(element);
    Count chunk = 0, position = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const bool endless = d == 0 && record_;
      const Count along = (lengths_[d] + shape_[d] - 1) / shape_[d];
      const Count at = index[d] / shape_[d];
      const Count extent = endless ? shape_[d] : std::min(shape_[d], lengths_[d] - at * shape_[d]);
      chunk = chunk * along + at;
      position = position * extent + index[d] % shape_[d];
    }
    return {chunk, position * width_};
  }

 private:
  bool record_;
  Count width_;
  std::vector<Count> lengths_, shape_;
};

struct Case {
  Variable var;
  std::vector<Count> shape;
  Count records = 0;
};

class ChunkGridTest : public ::testing::Test {
 protected:
  Count pick(Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random_);
  }

  Case random_case() {
    static constexpr Type types[] = {Type::byte, Type::int16, Type::float32, Type::float64};
    Case c;
    const Count ndims = pick(1, 4);
    c.var.type = types[pick(0, 3)];
    c.var.is_record = pick(0, 1) == 1;
    c.records = pick(1, 6);
    for (Count d = 0; d < ndims; ++d) {
      c.var.dimids.push_back(static_cast<DimId>(d));
      const Count length = pick(1, pick(0, 1) == 0 ? 4 : 9);
      const bool endless = d == 0 && c.var.is_record;
      c.var.shape.push_back(endless ? 0 : length);
      // Whole dimensions are frequent in practice.
      c.shape.push_back(endless ? pick(1, 4) : pick(0, 2) == 0 ? length : pick(1, length));
      if (!endless) c.var.inner_elements *= length;
    }
    return c;
  }

  Request random_subarray(const NaiveGrid& naive, std::vector<Count>& elements) {
    Subarray sub;
    const bool strided = pick(0, 1) == 1;
    for (const Count length : naive.lengths()) {
      const Count start = pick(0, length - 1), stride = strided ? pick(1, 4) : 1;
      sub.start.push_back(start);
      sub.count.push_back(pick(0, 12) == 0 ? 0 : pick(1, (length - 1 - start) / stride + 1));
      if (strided) sub.stride.push_back(stride);
    }
    const Count n = sub.elements();
    for (Count i = 0; i < n; ++i) {
      Count rest = i, element = 0, weight = 1;
      for (std::size_t d = sub.start.size(); d-- > 0;) {
        const Count stride = strided ? sub.stride[d] : 1;
        element += (sub.start[d] + rest % sub.count[d] * stride) * weight;
        rest /= sub.count[d];
        weight *= naive.lengths()[d];
      }
      elements.push_back(element);
    }
    Request request;
    request.elements = n;
    request.selection = std::move(sub);
    return request;
  }

  /// Returns runs in increasing order of file; with `overlapping`, some select the same elements.
  Request random_runs(const NaiveGrid& naive, Count width, bool overlapping, bool shuffled,
                      std::vector<Count>& elements) {
    std::vector<forebay::Run> runs;
    for (Count at = pick(0, 3); at < naive.elements();) {
      const Count n = std::min(pick(1, 9), naive.elements() - at);
      runs.push_back({at * width, n * width});
      at = overlapping ? at + pick(0, n) : at + n + pick(0, 5);
      if (overlapping && runs.size() > 30) break;
    }
    auto list = std::make_shared<RunList>();
    list->overlapping = overlapping;
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), 0);
    if (shuffled) {
      std::shuffle(order.begin(), order.end(), random_);
      list->memory.resize(runs.size());
    }
    for (const std::size_t i : order) {  // in memory order
      if (shuffled) list->memory[i] = static_cast<Offset>(elements.size()) * width;
      for (Count e = 0; e < runs[i].length / width; ++e)
        elements.push_back(runs[i].offset / width + e);
      list->bytes += runs[i].length;
    }
    list->runs = std::move(runs);
    const Offset base = pick(0, 5) * width;
    for (forebay::Run& run : list->runs) run.offset -= base;
    Request request;
    request.elements = static_cast<Count>(elements.size());
    request.selection = Runs{std::move(list), base};
    return request;
  }

  /// Both enumerations must give the same place for every byte of the request's memory.
  void compare(const ChunkGrid& grid, const NaiveGrid& naive, const Request& request,
               const std::vector<Count>& elements) {
    const Count width = grid.width();
    std::map<Count, Count> touched;
    for (const Count e : elements) touched[naive.place(e).chunk] += width;
    const auto found = touched_chunks(grid, request);
    ASSERT_EQ(found.size(), touched.size());
    std::size_t i = 0;
    for (const auto& [chunk, bytes] : touched) {
      EXPECT_EQ(found[i].chunk, chunk);
      EXPECT_EQ(found[i].bytes, bytes);
      ++i;
    }
    const bool box = std::holds_alternative<Subarray>(request.selection);
    std::vector<Offset> positions;
    if (!box) {
      positions = run_positions(*std::get<Runs>(request.selection).list);
    }
    std::vector<int> seen(elements.size(), 0);
    for (const auto& [chunk, bytes] : touched) {
      Count sum = 0, last = -1;
      ChunkPieces(grid, request, chunk, positions).for_each([&](const ChunkPiece& p) {
        ASSERT_EQ(p.length % width, 0);
        ASSERT_EQ(p.memory % width, 0);
        for (Count b = 0; b < p.length; b += width) {
          const auto m = static_cast<std::size_t>((p.memory + b) / width);
          ASSERT_LT(m, elements.size());
          ++seen[m];
          const Place expected = naive.place(elements[m]);
          ASSERT_EQ(expected.chunk, chunk);
          ASSERT_EQ(expected.position, p.position + b);
        }
        const Count key = box ? p.memory : p.position;
        EXPECT_LE(last, key) << "pieces come in order";
        last = key;
        sum += p.length;
      });
      EXPECT_EQ(sum, bytes);
    }
    for (const int times : seen) ASSERT_EQ(times, 1);
    // A chunk that the request does not touch has no pieces.
    for (Count chunk = 0; chunk < grid.chunks(naive.lengths().empty() ? 1 : naive.lengths()[0]);
         ++chunk) {
      if (touched.contains(chunk)) continue;
      ChunkPieces(grid, request, chunk, positions).for_each([&](const ChunkPiece& p) {
        ADD_FAILURE() << "chunk " << chunk << " is not touched, but has " << p.length << " bytes";
      });
    }
  }

  std::mt19937 random_{11};
};

TEST_F(ChunkGridTest, boxes_tile_the_variable_in_the_order_of_their_ids) {
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Case c = random_case();
    const ChunkGrid grid(c.var, c.shape);
    const NaiveGrid naive(c.var, c.shape, c.records);
    std::map<Count, Count> bytes_of;
    for (Count e = 0; e < naive.elements(); ++e) {
      const Place place = naive.place(e);
      bytes_of[place.chunk] += grid.width();
      const auto box = grid.box(place.chunk);
      const auto index = naive.index_of(e);
      for (std::size_t d = 0; d < index.size(); ++d) {
        ASSERT_LE(box.first[d], index[d]);
        ASSERT_LT(index[d], box.first[d] + box.extent[d]);
      }
    }
    EXPECT_EQ(grid.chunks(c.records), static_cast<Count>(bytes_of.size()));
    for (const auto& [chunk, bytes] : bytes_of) {
      // A chunk along the record dimension is not cut off where the records end today.
      if (c.var.is_record) {
        EXPECT_GE(grid.bytes(chunk), bytes);
      } else {
        EXPECT_EQ(grid.bytes(chunk), bytes);
      }
    }
  }
}

TEST_F(ChunkGridTest, segments_and_chunk_at_agree_with_the_model) {
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Case c = random_case();
    const ChunkGrid grid(c.var, c.shape);
    const NaiveGrid naive(c.var, c.shape, c.records);
    const Count width = grid.width();
    for (Count e = 0; e < naive.elements(); ++e) {
      Offset end = 0;
      const Count chunk = grid.chunk_at(e * width, end);
      ASSERT_EQ(chunk, naive.place(e).chunk);
      ASSERT_GT(end, e * width);
      for (Count next = e; next * width < end && next < naive.elements(); ++next)
        ASSERT_EQ(naive.place(next).chunk, chunk);
    }
    for (Count chunk = 0; chunk < grid.chunks(c.records); ++chunk) {
      const auto segments = grid.segments(chunk);
      Count position = 0;
      for (const Offset begin : segments.begins) {
        for (Offset at = begin; at < begin + segments.bytes; at += width, position += width) {
          if (at / width >= naive.elements()) continue;  // records to come
          ASSERT_EQ(naive.place(at / width), (Place{chunk, position}));
        }
      }
      EXPECT_EQ(position, grid.bytes(chunk));
    }
  }
}

TEST_F(ChunkGridTest, subarrays_are_cut_as_the_model_cuts_them) {
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const Case c = random_case();
    const NaiveGrid naive(c.var, c.shape, c.records);
    std::vector<Count> elements;
    const Request request = random_subarray(naive, elements);
    compare(ChunkGrid(c.var, c.shape), naive, request, elements);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ChunkGridTest, run_lists_are_cut_as_the_model_cuts_them) {
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const Case c = random_case();
    const NaiveGrid naive(c.var, c.shape, c.records);
    std::vector<Count> elements;
    const ChunkGrid grid(c.var, c.shape);
    const Request request =
        random_runs(naive, grid.width(), round % 4 >= 2, round % 2 == 1, elements);
    compare(grid, naive, request, elements);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ChunkGridTest, a_scalar_is_one_chunk) {
  Variable var;
  var.type = Type::float64;
  const ChunkGrid grid(var, {});
  EXPECT_EQ(grid.chunks(0), 1);
  EXPECT_EQ(grid.bytes(0), 8);
  Offset end = 0;
  EXPECT_EQ(grid.chunk_at(0, end), 0);
  EXPECT_EQ(end, 8);
  Request request;
  request.selection = Subarray{};
  request.elements = 1;
  EXPECT_EQ(touched_chunks(grid, request), (std::vector<ChunkTouch>{{0, 8}}));
}

TEST_F(ChunkGridTest, a_shape_longer_than_the_variable_is_as_long) {
  Variable var;
  var.type = Type::int16;
  var.dimids = {0, 1};
  var.shape = {3, 5};
  const ChunkGrid grid(var, std::vector<Count>{100, 2});
  EXPECT_EQ(grid.shape(), (std::vector<Count>{3, 2}));
  EXPECT_EQ(grid.chunks(0), 3);
  EXPECT_EQ(grid.bytes(2), 3 * 1 * 2);
}

TEST_F(ChunkGridTest, records_number_chunks_without_end) {
  Variable var;
  var.type = Type::float32;
  var.is_record = true;
  var.dimids = {0, 1};
  var.shape = {0, 10};
  var.inner_elements = 10;
  const ChunkGrid grid(var, std::vector<Count>{4, 5});
  EXPECT_EQ(grid.chunks(0), 0);
  EXPECT_EQ(grid.chunks(1), 2);
  EXPECT_EQ(grid.chunks(9), 6);
  const auto box = grid.box(2'000'000'001);
  EXPECT_EQ(box.first, (std::vector<Count>{4'000'000'000, 5}));
  EXPECT_EQ(box.extent, (std::vector<Count>{4, 5}));
}

}  // namespace chunk_grid_test
}  // namespace forebay
