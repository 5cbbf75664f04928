// Tests tables and text for people.
#include "base/text_table.h"

#include <gtest/gtest.h>

namespace forebay {
namespace text_table_test {

TEST(TextTable, columns_line_up_and_lines_end_early) {
  TextTable table("lrl");
  table.add({"a", "1", "x"});
  table.add({"°°°", "22"});
  EXPECT_EQ(table.text(), "  a     1  x\n  °°°  22\n");
}

TEST(Printable, control_characters_are_shown_not_sent) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\tc\x7f"), "a\\x1b[2Jb\\n\\tc\\x7f");
  EXPECT_EQ(printable("°°°°", 2), "°°…");
  EXPECT_EQ(printable("°°", 2), "°°");
}

TEST(Grouped, digits_by_threes) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

}  // namespace text_table_test
}  // namespace forebay
