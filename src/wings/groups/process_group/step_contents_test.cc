#include "groups/process_group/step_contents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace forebay::process_group {
namespace step_contents_test {

constexpr std::uint32_t step = 1, file = 0;

GroupDraft draft() { return {{"g", false, step}, step, file, {}}; }

Name name(const std::string& text, Kind kind = Kind::local) {
  return {{text, bp::Type::float64}, kind, 1};
}

Catalogue knowing(const std::vector<Name>& names) {
  Catalogue known;
  known.learn(Comm(), names);
  return known;
}

/// Adds a block of two elements, copied or lent.
void add(StepBlocks& blocks, const std::string& text, const std::vector<double>& two, bool lent,
         const Catalogue& known = {}) {
  auto block = blocks.made_of({text, bp::Type::float64}, {{}, {}, {2}},
                              std::as_bytes(std::span(two)), known);
  block->lent = lent;
  if (!lent) blocks.copy(*block);
  blocks.add(std::move(*block));
}

TEST(OwnNames, are_numbered_once_and_new_until_the_catalogue_has_them) {
  OwnNames own;
  const Catalogue none, known = knowing({name("b"), name("a")});
  EXPECT_EQ(own.number_of(name("a"), none), 0U);
  EXPECT_EQ(own.number_of(name("b"), none), 1U);
  EXPECT_EQ(own.number_of(name("a"), none), 0U);
  EXPECT_EQ(own.new_ones().size(), 2U);
  own.find_places(known);
  EXPECT_TRUE(own.new_ones().empty());
  EXPECT_EQ(own.place(0), 1U);
  EXPECT_EQ(own.place(1), 0U);
}

TEST(OwnNames, one_that_is_known_otherwise_is_refused_and_leaves_nothing) {
  OwnNames own;
  const Catalogue known = knowing({name("a")});
  EXPECT_THROW(own.number_of(name("a", Kind::global), known), Error);
  EXPECT_EQ(own.size(), 0U);
  own.number_of(name("b"), known);
  EXPECT_THROW(own.number_of(name("b", Kind::global), known), Error);
  EXPECT_EQ(own.number_of(name("b"), known), 0U);
  EXPECT_EQ(own.number_of(name("a"), known), 1U);
}

TEST(StepBlocks, what_was_lent_waits_unless_a_copy_of_its_variable_goes) {
  StepBlocks blocks(bp::Form::bp4);
  const std::vector<double> two{1, 2};
  add(blocks, "lent", two, true);
  EXPECT_FALSE(blocks.has_copies());
  add(blocks, "both", two, true);
  add(blocks, "both", two, false);
  EXPECT_TRUE(blocks.has_copies());
  GroupDraft group = draft();
  EXPECT_EQ(blocks.put_copies(group), 32);
  EXPECT_EQ(group.blocks.entries.size(), 2U);
  blocks.forget_copies();
  EXPECT_EQ(blocks.bytes(), 16);
  EXPECT_EQ(blocks.last().name, 0U);
  EXPECT_EQ(blocks.copies().taken(), 0U);
}

TEST(StepBlocks, are_put_in_the_order_of_the_catalogue_and_of_their_coming) {
  StepBlocks blocks(bp::Form::bp4);
  const std::vector<double> two{1, 2};
  for (const char* text : {"b", "a", "b"}) add(blocks, text, two, true);
  blocks.names().find_places(knowing({name("a"), name("b")}));
  GroupDraft group = draft();
  blocks.put_all(group);
  std::vector<Count> numbers;
  for (const auto& entry : group.blocks.entries) numbers.push_back(entry.number);
  EXPECT_EQ(numbers, (std::vector<Count>{1, 0, 2}));
}

TEST(StepBlocks, joined_ones_of_bp3_follow_those_of_lower_ranks) {
  StepBlocks blocks(bp::Form::bp3);
  const std::vector<double> two{1, 2};
  for (int n = 0; n < 2; ++n)
    blocks.add(*blocks.made_of({"j", bp::Type::float64}, {{bp::joined}, {}, {2}},
                               std::as_bytes(std::span(two)), {}));
  blocks.names().find_places(knowing({{{"j", bp::Type::float64}, Kind::global, 1}}));
  std::vector<std::int64_t> extents{0};
  blocks.add_joined(extents);
  EXPECT_EQ(extents[0], 4);
  std::vector<std::int64_t> before{10}, total{20};
  blocks.place_joined(before, total);
  EXPECT_EQ(blocks.last().block.at, (bp::Shape{{20}, {12}, {2}}));
}

// "a" is added after "b", and then another block of "b".
TEST(WrittenGroups, entries_are_in_the_order_of_the_catalogue_wherever_groups_lie) {
  StepBlocks blocks(bp::Form::bp4);
  const Catalogue known = knowing({name("a"), name("b")});
  const std::vector<double> two{1, 2};
  WrittenGroups written;
  std::vector<bp::Bytes> single;
  Offset at = 4096;
  for (const char* text : {"b", "a", "b"}) {
    add(blocks, text, two, true);
    blocks.names().find_places(known);
    GroupDraft group = draft();
    blocks.put_all(group);
    blocks.forget();
    single.push_back(group.blocks.bytes);
    bp::move_entry(single.back(), at);
    written.make_room(group, at > 4096);
    written.keep(std::move(group), at, at > 4096);
    at += 4096;
  }
  EXPECT_EQ(written.size(), 3U);
  bp::Bytes expected;
  for (const std::size_t n : {1, 0, 2})
    expected.insert(expected.end(), single[n].begin(), single[n].end());
  const auto entries = written.in_order(blocks.names());
  EXPECT_EQ(bp::Bytes(entries.begin(), entries.end()), expected);
  written.clear();
  EXPECT_TRUE(written.in_order(blocks.names()).empty());
}

TEST(StepAttributes, each_is_written_once_and_by_its_owner) {
  const bp::Attribute mine{"mine", bp::Type::string, {}, {"m"}},
      others{"others", bp::Type::string, {}, {"o"}};
  StepAttributes attributes;
  attributes.add(mine, {});
  attributes.add(others, {});
  std::vector<Name> names;
  attributes.add_new_names({}, names);
  ASSERT_EQ(names.size(), 2U);
  const Catalogue known = knowing({names[0]});  // rank 0 owns what a file has
  attributes.add(mine, known);
  StepAttributes of_another = attributes;
  const Catalogue both = knowing(names);
  of_another.keep_own(both, 1);
  EXPECT_TRUE(of_another.empty());
  attributes.keep_own(both, 0);
  bp::GroupImage image("g", false, step);
  RankSums sums;
  sums.start(2);
  const auto entries =
      attributes.put(image, step, file, both, sums, std::vector<std::size_t>{0, 1});
  EXPECT_EQ(sums.mine[3], 1);
  EXPECT_EQ(sums.mine[2] + sums.mine[4], std::ssize(entries));
  attributes.note_written(both, std::vector<std::size_t>{0, 1});
  EXPECT_TRUE(attributes.empty());
  EXPECT_TRUE(attributes.is_written(1));
}

}  // namespace step_contents_test
}  // namespace forebay::process_group
