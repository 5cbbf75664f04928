#include "base/processors.h"

#include <gtest/gtest.h>

namespace forebay {
namespace processors_test {

TEST(IdleProcessors, are_those_that_nobody_runs_on) {
  EXPECT_EQ(idle_processors("0.00 0.01 0.05 1/180 4711\n", 2), 1);
  EXPECT_EQ(idle_processors("9.99 4.00 1.00 2/180 4711\n", 2), 0);
  EXPECT_EQ(idle_processors("27.4 20.0 9.00 31/244 20498\n", 2), 0);
  EXPECT_EQ(idle_processors("99.0 90.0 80.0 100/9000 1\n", 128), 28);
  EXPECT_EQ(idle_processors("0.00 0.00 0.00 0/180 1\n", 4), 3);  // the caller runs
}

TEST(IdleProcessors, are_many_where_the_system_does_not_tell) {
  for (const char* text : {"", "0.1 0.2 0.3", "0.1 0.2 0.3 x/5 1", "0.1 0.2 0.3 /5 1"})
    EXPECT_GT(idle_processors(text, 2), 1000) << text;
  EXPECT_GE(idle_processors(), 0);
}

}  // namespace processors_test
}  // namespace forebay
