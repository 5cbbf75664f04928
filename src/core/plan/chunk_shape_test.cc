#include "plan/chunk_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"

namespace forebay {
namespace chunk_shape_test {

using Shape = std::vector<Count>;

constexpr Count mib = Count{1} << 20;

// A leading 0 makes a record variable.
Variable variable(const Shape& lengths, Type type = Type::float64) {
  Schema schema;
  Variable var;
  var.name = "v";
  var.type = type;
  for (Count length : lengths)
    var.dimids.push_back(schema.add_dim({"d" + std::to_string(schema.dims.size()), length}));
  return schema.vars[static_cast<std::size_t>(schema.add_var(std::move(var)))];
}

Count bytes_of(const Variable& var, const Shape& shape) {
  Count bytes = size_of(var.type);
  for (Count n : shape) bytes *= n;
  return bytes;
}

// blocks[r] are those of rank r. Simulates the reductions over ranks.
ShapeChoice choose(const Variable& var, const std::vector<std::vector<Subarray>>& blocks) {
  std::vector<std::vector<const Subarray*>> views(blocks.size());
  AccessFacts combined(var.ndims());
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    for (const Subarray& b : blocks[r]) views[r].push_back(&b);
    const AccessFacts mine = describe_access(var, views[r]);
    for (std::size_t i = 0; i < mine.values().size(); ++i)
      combined.values()[i] = std::min(combined.values()[i], mine.values()[i]);
  }
  const auto lattice = candidate_lattice(var, combined);
  const bool holds = std::all_of(views.begin(), views.end(),
                                 [&](const auto& view) { return aligned(var, lattice, view); });
  return choose_chunk_shape(var, combined, holds);
}

// One block a rank on a regular grid that covers the variable; the last ones may be shorter.
std::vector<std::vector<Subarray>> grid(const Shape& lengths, const Shape& block) {
  std::vector<std::vector<Subarray>> ranks;
  Shape start(lengths.size(), 0);
  while (true) {
    Subarray b{start, {}, {}};
    for (std::size_t d = 0; d < lengths.size(); ++d)
      b.count.push_back(std::min(block[d], lengths[d] - start[d]));
    ranks.push_back({b});
    std::size_t d = lengths.size();
    while (d > 0 && (start[d - 1] += block[d - 1]) >= lengths[d - 1]) start[--d] = 0;
    if (d == 0) return ranks;
  }
}

// Blocks of these lengths, stacked along dimension 0.
std::vector<std::vector<Subarray>> stack(const Variable& var, const Shape& lengths) {
  std::vector<std::vector<Subarray>> ranks;
  Count at = 0;
  for (Count n : lengths) {
    Subarray b{Shape(var.shape.size(), 0), var.shape, {}};
    b.start[0] = at;
    b.count[0] = n;
    at += n;
    ranks.push_back({b});
  }
  return ranks;
}

// -- shapes from blocks ----------

TEST(ChunkShape, a_block_of_a_good_size_is_a_chunk) {
  const Variable var = variable({2048, 2048});
  const ShapeChoice choice = choose(var, grid(var.shape, {512, 512}));
  EXPECT_EQ(choice.shape, (Shape{512, 512}));
  EXPECT_EQ(choice.reason, "blocks of 512 x 512 that the ranks access, 2 MiB each");
}

// Hou 2023, §5.5.1.
TEST(ChunkShape, the_papers_checkerboard_block_is_cut_into_parts_that_tile_it) {
  const Variable var = variable({16384, 16384}, Type::int32);
  const ShapeChoice choice = choose(var, grid(var.shape, {4096, 4096}));
  EXPECT_EQ(choice.shape, (Shape{256, 4096}));
  EXPECT_EQ(choice.reason, "blocks of 4096 x 4096 that the ranks access, in 16 parts of 4 MiB");
}

TEST(ChunkShape, a_large_block_is_cut_in_its_slowest_dimension_first) {
  const Variable var = variable({12, 2, 600, 1000}, Type::float32);
  EXPECT_EQ(choose(var, grid(var.shape, {6, 2, 600, 1000})).shape, (Shape{1, 1, 600, 1000}));
  const Variable flat = variable({2, 3 * mib, 8}, Type::byte);
  EXPECT_EQ(choose(flat, grid(flat.shape, {1, 3 * mib, 8})).shape, (Shape{1, mib / 2, 8}));
}

TEST(ChunkShape, parts_are_of_equal_length_where_the_block_divides) {
  const Variable var = variable({4 * 1030, 1024});  // 3 parts would suffice, but only 5 are equal
  EXPECT_EQ(choose(var, grid(var.shape, {1030, 1024})).shape, (Shape{206, 1024}));
  const Variable prime = variable({4 * 1031, 1024});
  EXPECT_EQ(choose(prime, grid(prime.shape, {1031, 1024})).shape, (Shape{344, 1024}));
}

TEST(ChunkShape, small_blocks_are_put_together_fastest_dimension_first) {
  const Variable var = variable({1024, 1024});
  const ShapeChoice choice = choose(var, grid(var.shape, {64, 64}));
  EXPECT_EQ(choice.shape, (Shape{128, 1024}));
  EXPECT_EQ(choice.reason, "blocks of 64 x 64 that the ranks access, neighbours together: 1 MiB");
}

TEST(ChunkShape, neighbours_are_put_together_in_numbers_that_divide_the_row) {
  const Variable var = variable({4, 16 * 24576});  // 192 KiB a block: 6 make 1 MiB, 8 divide 16
  EXPECT_EQ(choose(var, grid(var.shape, {1, 24576})).shape, (Shape{1, 8 * 24576}));
}

TEST(ChunkShape, the_last_blocks_of_a_lattice_may_be_shorter) {
  const Variable var = variable({1000, 1000});
  EXPECT_EQ(choose(var, grid(var.shape, {334, 1000})).shape, (Shape{334, 1000}));
}

TEST(ChunkShape, blocks_of_several_cells_are_aligned_to_the_cell) {
  const Variable var = variable({1800, 512});
  EXPECT_EQ(choose(var, stack(var, {600, 900, 300})).shape, (Shape{300, 512}));
}

TEST(ChunkShape, a_rank_may_have_many_blocks_or_none) {
  const Variable var = variable({2048, 512});
  auto ranks = grid(var.shape, {256, 512});
  ranks[0].push_back(ranks[5][0]);
  ranks[5].clear();
  ranks[1].push_back({{0, 0}, {0, 512}, {}});  // an empty block
  EXPECT_EQ(choose(var, ranks).shape, (Shape{256, 512}));
}

// Hou 2023, §5.5.2: the ranks' blocks differ by one, so there is no lattice.
TEST(ChunkShape, unequal_blocks_give_a_chunk_of_about_their_length) {
  const Variable var = variable({43065, 16, 16, 16});
  const ShapeChoice choice = choose(var, stack(var, {10767, 10766, 10766, 10766}));
  ASSERT_EQ(choice.shape.size(), 4U);
  EXPECT_EQ(Shape(choice.shape.begin() + 1, choice.shape.end()), (Shape{16, 16, 16}));
  EXPECT_GE(bytes_of(var, choice.shape), mib);
  EXPECT_LE(bytes_of(var, choice.shape), 4 * mib);
  EXPECT_NE(choice.reason.find("unequal blocks of about 10767 x 16 x 16 x 16"), std::string::npos)
      << choice.reason;
  const Variable small = variable({1000, 16, 16, 16});
  EXPECT_EQ(choose(small, stack(small, {60, 40, 50, 50})).shape, (Shape{50, 16, 16, 16}));
}

TEST(ChunkShape, a_single_writer_gives_parts_of_the_whole_variable) {
  const Variable var = variable({64, mib});
  EXPECT_EQ(choose(var, {{}, {{{0, 0}, {64, mib}, {}}}}).shape, (Shape{1, mib / 2}));
}

TEST(ChunkShape, small_variables_are_one_chunk) {
  const Variable var = variable({100, 100});
  const ShapeChoice choice = choose(var, grid(var.shape, {10, 10}));
  EXPECT_EQ(choice.shape, (Shape{100, 100}));
  EXPECT_EQ(choice.reason, "the whole variable, 78.1 KiB");
  EXPECT_EQ(choose(variable({}), {{}}).shape, Shape{});
}

// -- records ----------

TEST(ChunkShape, a_chunk_spans_one_record) {
  const Variable var = variable({0, 2048, 1024});
  std::vector<std::vector<Subarray>> ranks;
  for (Count r = 0; r < 4; ++r) ranks.push_back({{{7, 512 * r, 0}, {1, 512, 1024}, {}}});
  EXPECT_EQ(choose(var, ranks).shape, (Shape{1, 512, 1024}));
}

TEST(ChunkShape, strided_records_are_whole_records_all_the_same) {
  const Variable var = variable({0, 2048, 1024});
  EXPECT_EQ(choose(var, {{{{0, 0, 0}, {5, 256, 1024}, {3, 1, 1}}}}).shape, (Shape{1, 256, 1024}));
}

TEST(ChunkShape, small_records_are_kept_whole) {
  const Variable var = variable({0, 512});
  const ShapeChoice choice = choose(var, {{{{0, 0}, {1, 256}, {}}}});
  EXPECT_EQ(choice.shape, (Shape{1, 512}));
  EXPECT_EQ(choice.reason, "whole records, 4 KiB; one record a chunk");
}

TEST(ChunkShape, tiny_records_share_chunks) {
  EXPECT_EQ(choose(variable({0, 100}), {}).shape, (Shape{6, 100}));
  EXPECT_EQ(choose(variable({0}), {}).shape, Shape{512});
  EXPECT_EQ(choose(variable({0}, Type::byte), {}).shape, Shape{512});
  EXPECT_EQ(choose(variable({0, 511}), {}).shape, (Shape{2, 511}));
}

// -- no pattern ----------

TEST(ChunkShape, scattered_and_strided_access_gives_contiguous_parts_near_1_mib) {
  const Variable var = variable({72, 777602}, Type::float32);
  AccessFacts facts = describe_access(var, {}, true);
  EXPECT_TRUE(candidate_lattice(var, facts).empty());
  const ShapeChoice scattered = choose_chunk_shape(var, facts, false);
  EXPECT_EQ(scattered.shape, (Shape{1, 388801}));
  EXPECT_EQ(scattered.reason, "scattered pieces: contiguous parts of 1.48 MiB");
  const ShapeChoice strided = choose(var, {{{{0, 0}, {72, 300000}, {1, 2}}}});
  EXPECT_EQ(strided.shape, scattered.shape);
  EXPECT_EQ(strided.reason.rfind("strided access", 0), 0U);
  EXPECT_EQ(choose(var, {{}, {}}).reason.rfind("nothing accessed yet", 0), 0U);
}

TEST(ChunkShape, scattered_requests_of_one_rank_decide_for_all) {
  const Variable var = variable({4096, 512});
  const Subarray block{{1024, 0}, {1024, 512}, {}};
  const Subarray* view[] = {&block};
  AccessFacts combined = describe_access(var, view);
  const AccessFacts other = describe_access(var, {}, true);
  for (std::size_t i = 0; i < other.values().size(); ++i)
    combined.values()[i] = std::min(combined.values()[i], other.values()[i]);
  EXPECT_TRUE(combined.scattered());
}

// -- alignment ----------

TEST(Aligned, starts_and_ends_must_be_on_the_lattice_or_at_the_end) {
  const Variable var = variable({100, 10});
  const auto holds = [&](Shape start, Shape count) {
    const Subarray b{std::move(start), std::move(count), {}};
    const Subarray* view[] = {&b};
    return aligned(var, Shape{30, 10}, view);
  };
  EXPECT_TRUE(holds({30, 0}, {60, 10}));
  EXPECT_TRUE(holds({90, 0}, {10, 10}));
  EXPECT_FALSE(holds({30, 0}, {31, 10}));
  EXPECT_FALSE(holds({31, 0}, {29, 10}));
  EXPECT_FALSE(holds({0, 1}, {30, 9}));
  EXPECT_TRUE(holds({7, 3}, {0, 3}));
  EXPECT_FALSE(holds({30, 0}, {std::numeric_limits<Count>::max(), 10}));
}

TEST(Aligned, no_blocks_fit_any_lattice_and_no_lattice_fits_no_block) {
  const Variable var = variable({100});
  const Subarray b{{0}, {100}, {}};
  const Subarray* view[] = {&b};
  EXPECT_TRUE(aligned(var, Shape{30}, {}));
  EXPECT_TRUE(aligned(var, Shape{}, {}));
  EXPECT_FALSE(aligned(var, Shape{}, view));
  EXPECT_FALSE(aligned(var, Shape{0}, view));
}

// -- invariants ----------

TEST(ChunkShape, random_patterns_give_chunks_of_1_to_4_mib_within_the_variable) {
  int exact = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](Count n) { return static_cast<Count>(random()) % n; };
    Shape lengths;
    const Count ndims = 1 + below(5);
    const bool record = below(3) == 0;
    if (record) lengths.push_back(0);
    for (Count d = 0; d < ndims; ++d)
      lengths.push_back(1 + below(Count{1} << (1 + below(64 / ndims > 22 ? 22 : 40 / ndims))));
    const Type types[] = {Type::byte, Type::int16, Type::float32, Type::float64};
    const Variable var = variable(lengths, types[below(4)]);
    std::vector<std::vector<Subarray>> ranks(4);
    for (auto& rank : ranks) {
      for (Count i = below(3); i > 0; --i) {
        Subarray b;
        for (std::size_t d = 0; d < lengths.size(); ++d) {
          const Count n = lengths[d] == 0 ? 10 : lengths[d];
          b.start.push_back(below(2) ? 0 : below(n));
          b.count.push_back(below(8) == 0 ? 0 : 1 + below(n - b.start[d]));
        }
        rank.push_back(std::move(b));
      }
    }
    const ShapeChoice choice = choose(var, ranks);
    EXPECT_NO_THROW(check_chunk_shape(var, choice.shape)) << "seed " << seed;
    EXPECT_EQ(clipped_chunk_shape(var, choice.shape), choice.shape) << "seed " << seed;
    EXPECT_FALSE(choice.reason.empty());
    const Count whole = var.inner_elements * size_of(var.type);
    const Count bytes = bytes_of(var, choice.shape);
    if (whole >= mib) {
      ++exact;
      EXPECT_GE(bytes, mib) << "seed " << seed << " " << choice.reason;
      EXPECT_LE(bytes, 4 * mib) << "seed " << seed << " " << choice.reason;
    } else if (!record) {
      EXPECT_EQ(choice.shape, var.shape) << "seed " << seed;
    } else {
      EXPECT_TRUE(bytes >= 4096 || choice.shape[0] == 512) << "seed " << seed;
    }
  }
  EXPECT_GT(exact, 300);  // the test does reach this case often
}

TEST(ChunkShape, a_lattice_that_holds_makes_no_chunk_of_more_than_one_rank_that_it_need_not) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](Count n) { return static_cast<Count>(random()) % n; };
    const Shape block{1 + below(600), 200 + below(1000), 1 + below(9)};
    const Shape lengths{block[0] * (1 + below(3)), block[1] * (1 + below(3)), block[2]};
    const Variable var = variable(lengths);
    const ShapeChoice choice = choose(var, grid(lengths, block));
    if (bytes_of(var, block) < mib) continue;
    for (std::size_t d = 0; d < 3; ++d) EXPECT_LE(choice.shape[d], block[d]) << "seed " << seed;
  }
}

TEST(ChunkShape, variables_of_petabytes_have_chunks_that_can_be_counted) {
  const Variable var = variable({Count{1} << 28, Count{1} << 28}, Type::float64);  // 2^59 bytes
  for (const ShapeChoice& choice :
       {choose(var, grid({Count{1} << 28, Count{1} << 28}, {Count{1} << 27, Count{1} << 27})),
        default_chunk_shape(var, "test"), choose(var, {{{{1, 1}, {1, 1}, {}}}})}) {
    EXPECT_NO_THROW(check_chunk_shape(var, choice.shape)) << choice.reason;
  }
  const Variable largest = variable({(Count{1} << 62) - 1}, Type::byte);
  EXPECT_GE(default_chunk_shape(largest, "test").shape[0], 1);
}

// -- shapes that users give ----------

Errc code_of(const Variable& var, const Shape& shape) {
  try {
    check_chunk_shape(var, shape);
  } catch (const Error& error) {
    EXPECT_FALSE(error.advice().empty());
    return error.code();
  }
  return Errc::ok;
}

TEST(CheckChunkShape, what_makes_no_sense_is_refused) {
  constexpr Count huge = std::numeric_limits<Count>::max();
  const Variable var = variable({100, 200});
  EXPECT_EQ(code_of(var, {10, 20}), Errc::ok);
  EXPECT_EQ(code_of(var, {1000, 20}), Errc::ok);
  EXPECT_EQ(code_of(var, {10}), Errc::einval);
  EXPECT_EQ(code_of(var, {}), Errc::einval);
  EXPECT_EQ(code_of(var, {10, 20, 1}), Errc::einval);
  EXPECT_EQ(code_of(var, {0, 20}), Errc::einval);
  EXPECT_EQ(code_of(var, {10, -1}), Errc::einval);
  EXPECT_EQ(code_of(var, {huge, huge}), Errc::einval);
  EXPECT_EQ(code_of(var, {-huge, -huge}), Errc::einval);
  EXPECT_EQ(code_of(var, clipped_chunk_shape(var, Shape{huge, huge})), Errc::ok);
  EXPECT_EQ(code_of(variable({}), {}), Errc::ok);
}

TEST(CheckChunkShape, a_chunk_has_at_most_1_gib) {
  const Variable var = variable({0, 1024}, Type::byte);
  EXPECT_EQ(code_of(var, {mib, 1024}), Errc::ok);
  EXPECT_EQ(code_of(var, {mib + 1, 1024}), Errc::einval);
}

TEST(CheckChunkShape, a_variable_or_record_has_fewer_than_2_31_chunks) {
  constexpr Count limit = Count{1} << 31;
  EXPECT_EQ(code_of(variable({limit - 1}, Type::byte), {1}), Errc::ok);
  EXPECT_EQ(code_of(variable({limit}, Type::byte), {1}), Errc::einval);
  EXPECT_EQ(code_of(variable({limit}, Type::byte), {2}), Errc::ok);
  EXPECT_EQ(code_of(variable({0, limit}, Type::byte), {1, 1}), Errc::einval);
  EXPECT_EQ(code_of(variable({0, limit - 1}, Type::byte), {1, 1}), Errc::ok);
}

TEST(ClippedChunkShape, entries_end_at_the_dimension_but_records_may_grow) {
  EXPECT_EQ(clipped_chunk_shape(variable({100, 200}), Shape{1000, 20}), (Shape{100, 20}));
  EXPECT_EQ(clipped_chunk_shape(variable({0, 200}), Shape{1000, 1000}), (Shape{1000, 200}));
  EXPECT_EQ(clipped_chunk_shape(variable({}), Shape{}), Shape{});
}

}  // namespace chunk_shape_test
}  // namespace forebay
