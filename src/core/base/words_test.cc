#include "base/words.h"

#include <gtest/gtest.h>

#include "base/text_table.h"

namespace forebay {
namespace words_test {

using Items = std::vector<std::string_view>;

TEST(Words, a_list_has_one_item_more_than_separators) {
  EXPECT_EQ(items_of("", ','), Items{""});
  EXPECT_EQ(items_of(" a ,b,\tc d\n", ','), (Items{"a", "b", "c d"}));
  EXPECT_EQ(items_of("a;;b;", ';'), (Items{"a", "", "b", ""}));
}

TEST(Words, a_pair_has_a_key_and_an_equals_sign) {
  const auto pair = key_and_value(" key = a=b ");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->first, "key");
  EXPECT_EQ(pair->second, "a=b");
  EXPECT_EQ(key_and_value("key=")->second, "");
  for (const char* none : {"", "key", "=value", " = value"}) EXPECT_FALSE(key_and_value(none));
}

TEST(Words, what_is_joined_may_be_empty_and_of_any_kind) {
  EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(joined(std::vector<std::string>{"", "b", ""}, ", "), ", b, ");
  EXPECT_EQ(joined(std::vector<long>{3, -1}, " x "), "3 x -1");
  EXPECT_EQ(joined(Items{"a", "bc"}, "|", [](auto word) { return word.substr(0, 1); }), "a|b");
}

TEST(TextTable, lines_below_a_row_do_not_widen_its_columns) {
  TextTable table("lr");
  table.add({"name", "1"});
  table.add_below("    a long line");
  table.add({"b", "20"});
  EXPECT_EQ(table.text(""), "name   1\n    a long line\nb     20\n");
}

TEST(TextTable, one_is_no_plural) {
  EXPECT_EQ(counted(1, "chunk"), "1 chunk");
  EXPECT_EQ(counted(0, "chunk"), "0 chunks");
  EXPECT_EQ(counted(1234, "data file"), "1,234 data files");
}

}  // namespace words_test
}  // namespace forebay
