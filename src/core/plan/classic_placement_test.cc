#include "plan/classic_placement.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"

namespace forebay {
namespace classic_placement_test {

// The first dimension, time, is the record dimension; then there is one for each length.
Schema schema_with(std::vector<Count> lengths, int version = 1) {
  Schema schema;
  schema.version = version;
  schema.add_dim({"time", 0});
  for (Count length : lengths) schema.add_dim({"d" + std::to_string(schema.dims.size()), length});
  return schema;
}

void add(Schema& schema, Type type, std::vector<DimId> dimids) {
  Variable var;
  var.name = "v" + std::to_string(schema.vars.size());
  var.type = type;
  var.dimids = std::move(dimids);
  schema.add_var(std::move(var));
}

std::vector<Move> relocation(const Schema& old, const Schema& now) {
  std::vector<Move> moves;
  for_each_move(old, now, [&](const Move& m) { moves.push_back(m); });
  return moves;
}

std::vector<Offset> begins(const Schema& schema) {
  std::vector<Offset> all;
  for (const Variable& var : schema.vars) all.push_back(var.begin);
  return all;
}

Errc code_of_placing(Schema schema, Alignment alignment = {}) {
  try {
    place_variables(schema, nullptr, alignment, 100);
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

using Begins = std::vector<Offset>;

// -- new files ------------------------------------------------------------------------------------

TEST(PlaceVariables, data_begin_at_512_and_fixed_come_before_record_variables) {
  Schema schema = schema_with({3, 5});
  add(schema, Type::byte, {0, 1});     // 3 bytes a record
  add(schema, Type::int16, {1});       // 6 bytes
  add(schema, Type::float64, {0, 2});  // 40 bytes a record
  add(schema, Type::chr, {});
  place_variables(schema, nullptr, {}, 244);
  EXPECT_EQ(begins(schema), (Begins{524, 512, 528, 520}));
  EXPECT_EQ(schema.header_size, 244);
  EXPECT_EQ(schema.header_extent, 512);
  EXPECT_EQ(schema.begin_rec, 524);
  EXPECT_EQ(schema.recsize, 44);
}

TEST(PlaceVariables, a_record_variable_that_is_alone_is_not_padded) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {0, 1});
  place_variables(schema, nullptr, {}, 100);
  EXPECT_EQ(schema.recsize, 3);
  add(schema, Type::byte, {0, 1});
  place_variables(schema, nullptr, {}, 140);
  EXPECT_EQ(schema.recsize, 8);
}

TEST(PlaceVariables, without_record_variables_the_record_section_follows_the_fixed_ones) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1});
  place_variables(schema, nullptr, {}, 600);
  EXPECT_EQ(begins(schema), Begins{1024});
  EXPECT_EQ(schema.begin_rec, 1028);
  EXPECT_EQ(schema.recsize, 0);
}

TEST(PlaceVariables, without_variables_alignment_of_the_header_does_not_matter) {
  Schema schema = schema_with({});
  place_variables(schema, nullptr, {.header_align = 4096}, 60);
  EXPECT_EQ(schema.header_extent, 60);
  EXPECT_EQ(schema.begin_rec, 60);
}

TEST(PlaceVariables, hints_align_the_header_each_fixed_variable_and_the_record_section) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {0, 1});
  place_variables(schema, nullptr, {.header_align = 100, .var_align = 64, .record_align = 1000},
                  244);
  // The header's extent of 300 is aligned again, as the begin of the first variable.
  EXPECT_EQ(begins(schema), (Begins{320, 384, 1000}));
  EXPECT_EQ(schema.header_extent, 320);
}

TEST(PlaceVariables, alignments_are_rounded_up_to_four) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {0, 1});
  place_variables(schema, nullptr, {.header_align = 9, .var_align = 1, .record_align = 5}, 244);
  EXPECT_EQ(begins(schema), (Begins{252, 256}));
}

TEST(PlaceVariables, arguments_reserve_space_after_the_header_and_after_the_fixed_variables) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {0, 1});
  const Alignment alignment{.h_minfree = 300, .v_align = 8, .v_minfree = 10, .r_align = 16};
  place_variables(schema, nullptr, alignment, 244);
  EXPECT_EQ(begins(schema), (Begins{544, 560}));  // 544 + 4 + 10 = 558
  EXPECT_EQ(schema.begin_rec, 560);
}

// -- settle ---------------------------------------------------------------------------------------

TEST(Settle, hints_win_over_arguments_and_arguments_over_defaults) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1});
  const Alignment hinted =
      settle({.header_align = 64, .record_align = 8, .v_align = 128, .r_align = 16}, schema);
  EXPECT_EQ(hinted.header_align, 64);
  EXPECT_EQ(hinted.record_align, 8);
  const Alignment asked = settle({.v_align = 128, .r_align = 16}, schema);
  EXPECT_EQ(asked.header_align, 128);
  EXPECT_EQ(asked.var_align, 4);  // the argument applies to the section, not to each variable
  EXPECT_EQ(asked.record_align, 16);
  const Alignment plain = settle({}, schema);
  EXPECT_EQ(plain.header_align, 512);
  EXPECT_EQ(plain.var_align, 4);
  EXPECT_EQ(plain.record_align, 4);
}

TEST(Settle, a_record_alignment_alone_moves_the_header_if_there_are_fixed_variables) {
  Schema schema = schema_with({3});
  EXPECT_EQ(settle({.r_align = 16}, schema).header_align, 512);
  add(schema, Type::byte, {1});
  EXPECT_EQ(settle({.r_align = 16}, schema).header_align, 16);
}

TEST(Settle, data_of_more_than_four_stripes_begin_at_a_stripe) {
  Schema schema = schema_with({4096});
  add(schema, Type::byte, {1});
  EXPECT_EQ(settle({.striping_unit = 1024}, schema).header_align, 512);
  add(schema, Type::byte, {});
  EXPECT_EQ(settle({.striping_unit = 1024}, schema).header_align, 1024);
}

TEST(Settle, what_is_settled_stays) {
  Schema schema = schema_with({3});
  Alignment alignment = settle({}, schema);
  add(schema, Type::byte, {1});
  alignment.v_align = 4096;
  alignment.r_align = 4096;
  alignment = settle(alignment, schema);
  EXPECT_EQ(alignment.header_align, 512);
  EXPECT_EQ(alignment.record_align, 4);
}

// -- redefinition ---------------------------------------------------------------------------------

TEST(PlaceVariables, redefinition_leaves_what_fits_where_it_is) {
  Schema old = schema_with({3});
  add(old, Type::int32, {1});
  add(old, Type::int32, {0});
  place_variables(old, nullptr, {.v_minfree = 100}, 200);
  ASSERT_EQ(begins(old), (Begins{512, 624}));
  Schema now = old;
  add(now, Type::int32, {1});
  place_variables(now, &old, {}, 260);
  EXPECT_EQ(begins(now), (Begins{512, 624, 524}));
  EXPECT_TRUE(relocation(old, now).empty());
}

TEST(PlaceVariables, a_header_that_outgrows_its_extent_pushes_all_data) {
  Schema old = schema_with({3});
  add(old, Type::int32, {1});
  add(old, Type::int32, {0});
  old.numrecs = 5;
  place_variables(old, nullptr, {}, 500);
  Schema now = old;
  place_variables(now, &old, {}, 520);
  EXPECT_EQ(begins(now), (Begins{1024, 1036}));
  EXPECT_EQ(relocation(old, now), (std::vector<Move>{{524, 1036, 20}, {512, 1024, 12}}));
}

TEST(PlaceVariables, nothing_moves_towards_the_front) {
  Schema old = schema_with({3});
  add(old, Type::int32, {1});
  add(old, Type::int32, {0});
  place_variables(old, nullptr, {.h_minfree = 5000, .v_minfree = 5000}, 100);
  Schema now = old;
  place_variables(now, &old, {.header_align = 4}, 100);
  EXPECT_EQ(begins(now), begins(old));
  EXPECT_EQ(now.begin_rec, old.begin_rec);
  EXPECT_EQ(now.header_extent, old.header_extent);
}

TEST(PlaceVariables, a_record_section_that_is_not_aligned_as_asked_moves_to_the_next_place) {
  Schema old = schema_with({3});
  add(old, Type::byte, {1});
  add(old, Type::byte, {0, 1});
  place_variables(old, nullptr, {.v_minfree = 4}, 100);
  ASSERT_EQ(old.begin_rec, 520);
  Schema now = old;
  place_variables(now, &old, {.var_align = 64}, 100);
  EXPECT_EQ(begins(now), (Begins{512, 576}));
}

TEST(PlaceVariables, a_record_section_beyond_the_next_aligned_place_stays) {
  Schema old = schema_with({3});
  add(old, Type::byte, {1});
  add(old, Type::byte, {0, 1});
  place_variables(old, nullptr, {.v_minfree = 5000}, 100);
  ASSERT_EQ(old.begin_rec, 5516);
  Schema now = old;
  place_variables(now, &old, {.var_align = 64}, 100);
  EXPECT_EQ(begins(now), (Begins{512, 5516}));
}

TEST(PlaceVariables, fixed_variables_added_to_a_file_of_records_begin_where_the_records_began) {
  Schema old = schema_with({3});
  add(old, Type::byte, {0, 1});
  place_variables(old, nullptr, {.h_minfree = 5000}, 100);
  ASSERT_EQ(begins(old), Begins{5120});
  Schema now = old;
  add(now, Type::byte, {1});
  place_variables(now, &old, {}, 140);
  EXPECT_EQ(begins(now), (Begins{5124, 5120}));
}

TEST(Relocation, records_that_grow_move_one_by_one_from_the_last) {
  Schema old = schema_with({3});
  add(old, Type::byte, {0, 1});
  old.numrecs = 3;
  place_variables(old, nullptr, {}, 100);
  Schema now = old;
  add(now, Type::int32, {0});
  place_variables(now, &old, {}, 140);
  EXPECT_EQ(old.recsize, 3);
  EXPECT_EQ(now.recsize, 8);
  EXPECT_EQ(relocation(old, now), (std::vector<Move>{{518, 528, 3}, {515, 520, 3}}));
}

TEST(Relocation, takes_no_memory_for_records_that_do_not_change) {
  Schema old = schema_with({3});
  add(old, Type::int32, {0});
  old.numrecs = std::numeric_limits<Count>::max() / 16;
  place_variables(old, nullptr, {}, 500);
  Schema now = old;
  place_variables(now, &old, {}, 520);
  EXPECT_EQ(relocation(old, now), (std::vector<Move>{{512, 1024, old.numrecs * 4}}));
}

// The bytes of every variable and record in `file`.
std::vector<char> contents(const Schema& where, const Schema& what, const std::vector<char>& file) {
  std::vector<char> all;
  for (std::size_t i = 0; i < what.vars.size(); ++i) {
    const Count bytes = what.vars[i].inner_elements * size_of(what.vars[i].type);
    for (Count r = 0; r < (what.vars[i].is_record ? what.numrecs : 1); ++r) {
      const auto from = file.begin() + where.vars[i].begin + r * where.recsize;
      all.insert(all.end(), from, from + bytes);
    }
  }
  return all;
}

TEST(Relocation, keeps_every_byte_over_random_redefinitions) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<Count>(random() % n); };
    Schema old = schema_with({1 + below(9), 1 + below(40)}, 5);
    Offset header = 100;
    Alignment alignment{.header_align = below(2) * 16, .var_align = below(2) * 32};
    const auto grow = [&](Schema& schema, Count more) {
      for (Count i = 0; i < more; ++i) {
        std::vector<DimId> dimids;
        if (below(2)) dimids.push_back(0);
        if (below(2)) dimids.push_back(static_cast<DimId>(1 + below(2)));
        add(schema, below(2) ? Type::byte : Type::int32, dimids);
        header += 40;
      }
    };
    grow(old, 1 + below(5));
    old.numrecs = below(6);
    place_variables(old, nullptr, alignment, header);
    Schema now = old;
    grow(now, below(4));
    alignment = {.header_align = below(2) * 64,
                 .var_align = below(2) * 8,
                 .h_minfree = below(300),
                 .v_minfree = below(300),
                 .r_align = below(2) * 128};
    place_variables(now, &old, alignment, header);

    std::vector<char> file(100000);
    for (char& byte : file) byte = static_cast<char>(random());
    const std::vector<char> before = contents(old, old, file);
    Offset last = std::numeric_limits<Offset>::max();
    for (const Move& move : relocation(old, now)) {
      EXPECT_LT(move.from, move.to) << "seed " << seed;
      EXPECT_LE(move.from + move.bytes, last) << "seed " << seed;
      last = move.from;
      std::memmove(&file[static_cast<std::size_t>(move.to)],
                   &file[static_cast<std::size_t>(move.from)],
                   static_cast<std::size_t>(move.bytes));
    }
    EXPECT_EQ(contents(now, old, file), before) << "seed " << seed;
  }
}

// -- limits ---------------------------------------------------------------------------------------

constexpr Count gib = Count{1} << 30;

TEST(SizeLimits, cdf1_has_no_variable_of_2_gib_but_the_last) {
  Schema schema = schema_with({2 * gib - 4, 2 * gib - 3}, 1);
  add(schema, Type::byte, {2});
  EXPECT_EQ(code_of_placing(schema), Errc::ok);
  add(schema, Type::byte, {});
  EXPECT_EQ(code_of_placing(schema), Errc::evarsize);
}

TEST(SizeLimits, cdf1_begins_stay_below_2_gib) {
  Schema schema = schema_with({2 * gib - 4 - 512, 2 * gib - 4}, 1);
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {});
  EXPECT_EQ(code_of_placing(schema), Errc::ok);
  Schema larger = schema_with({2 * gib - 4 - 512, 2 * gib - 4}, 1);
  add(larger, Type::byte, {2});
  add(larger, Type::byte, {});
  EXPECT_EQ(code_of_placing(larger), Errc::evarsize);
  larger.version = 2;
  EXPECT_EQ(code_of_placing(larger), Errc::ok);
}

TEST(SizeLimits, cdf2_has_no_variable_of_4_gib_but_the_last) {
  Schema schema = schema_with({4 * gib - 4, 4 * gib - 3}, 2);
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {2});
  EXPECT_EQ(code_of_placing(schema), Errc::ok);
  add(schema, Type::byte, {});
  EXPECT_EQ(code_of_placing(schema), Errc::evarsize);
}

TEST(SizeLimits, a_large_fixed_variable_allows_no_record_variables_and_a_large_record_one_does) {
  Schema fixed = schema_with({4 * gib}, 2);
  add(fixed, Type::byte, {0});
  add(fixed, Type::byte, {1});
  EXPECT_EQ(code_of_placing(fixed), Errc::evarsize);
  Schema record = schema_with({4 * gib}, 2);
  add(record, Type::byte, {0, 1});
  add(record, Type::byte, {});
  EXPECT_EQ(code_of_placing(record), Errc::ok);
  add(record, Type::byte, {0});
  EXPECT_EQ(code_of_placing(record), Errc::evarsize);
}

TEST(SizeLimits, cdf5_refuses_offsets_beyond_63_bits_and_leaves_the_schema_alone) {
  Schema schema = schema_with({Count{1} << 62}, 5);
  add(schema, Type::byte, {1});
  add(schema, Type::byte, {1});
  Schema before = schema;
  EXPECT_THROW(place_variables(schema, nullptr, {}, 100), Error);
  EXPECT_EQ(begins(schema), begins(before));
  EXPECT_EQ(schema.header_extent, before.header_extent);
}

TEST(SizeLimits, records_that_grow_must_still_end_within_63_bits) {
  Schema old = schema_with({}, 5);
  add(old, Type::int32, {0});
  old.numrecs = std::numeric_limits<Count>::max() / 5;
  place_variables(old, nullptr, {}, 100);
  Schema now = old;
  add(now, Type::int32, {0});
  EXPECT_THROW(place_variables(now, &old, {}, 140), Error);
}

TEST(SizeLimits, enormous_free_space_or_alignment_is_an_error) {
  Schema schema = schema_with({3}, 5);
  add(schema, Type::byte, {1});
  constexpr Count huge = std::numeric_limits<Count>::max();
  EXPECT_EQ(code_of_placing(schema, {.header_align = huge}), Errc::evarsize);
  EXPECT_EQ(code_of_placing(schema, {.h_minfree = huge}), Errc::evarsize);
  EXPECT_EQ(code_of_placing(schema, {.v_minfree = huge}), Errc::evarsize);
  EXPECT_EQ(code_of_placing(schema, {.r_align = huge - 2}), Errc::evarsize);
}

}  // namespace classic_placement_test
}  // namespace forebay
