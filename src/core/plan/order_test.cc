#include "plan/order.h"

#include <gtest/gtest.h>

namespace forebay {
namespace order_test {

TEST(GroupRequests, requests_that_do_not_interleave_stay_alone) {
  std::vector<RequestRange> r{{100, 200, 0}, {0, 50, 1}, {50, 100, 2}};
  const auto ends = group_requests(r);
  EXPECT_EQ(ends, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(r[0].index, 1U);
  EXPECT_EQ(r[2].index, 0U);
}

TEST(GroupRequests, a_wide_request_gathers_all_it_spans) {
  std::vector<RequestRange> r{
      {0, 1000, 0}, {10, 20, 1}, {30, 40, 2}, {999, 1500, 3}, {1500, 1600, 4}};
  EXPECT_EQ(group_requests(r), (std::vector<std::uint32_t>{4, 5}));
}

TEST(GroupRequests, a_narrow_request_after_a_group_does_not_inherit_its_reach) {
  std::vector<RequestRange> r{
      {0, 100, 0}, {50, 60, 1}, {100, 110, 2}, {105, 106, 3}, {110, 120, 4}};
  EXPECT_EQ(group_requests(r), (std::vector<std::uint32_t>{2, 4, 5}));
}

TEST(GroupRequests, nothing_gives_no_group) {
  std::vector<RequestRange> r;
  EXPECT_TRUE(group_requests(r).empty());
}

}  // namespace order_test
}  // namespace forebay
