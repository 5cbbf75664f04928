#include "groups/process_group/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace forebay::process_group {
namespace range_test {

template <typename T>
T as(const bp::Value& value) {
  T number;
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

template <typename T>
Range of(bp::Type type, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  std::vector<std::byte> copy(bytes.size() + 1);
  const Range copied = copy_with_range(type, bytes, copy.data() + 1);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), copy.begin() + 1));
  const Range range = range_of(type, std::span(copy).subspan(1));  // without alignment
  EXPECT_EQ(range.any, copied.any);
  EXPECT_EQ(range.min, copied.min);
  EXPECT_EQ(range.max, copied.max);
  return range;
}

TEST(ProcessGroupRange, every_place_counts) {
  for (const std::size_t n : {1, 31, 32, 33, 100, 20000}) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<std::int32_t> values(n, 5);
      values[at] = -7;
      values[n - 1 - at] += 20;
      const auto range = of(bp::Type::int32, values);
      ASSERT_TRUE(range.any);
      EXPECT_EQ(as<std::int32_t>(range.min), *std::min_element(values.begin(), values.end()));
      EXPECT_EQ(as<std::int32_t>(range.max), *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST(ProcessGroupRange, only_finite_values_count) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values(100, 3);
  values[3] = std::nan("");
  values[40] = inf;
  values[41] = -inf;
  values[99] = -2;
  const auto range = of(bp::Type::float64, values);
  ASSERT_TRUE(range.any);
  EXPECT_EQ(as<double>(range.min), -2);
  EXPECT_EQ(as<double>(range.max), 3);
  const auto none = of(bp::Type::float64, std::vector<double>(50, std::nan("")));
  EXPECT_FALSE(none.any);
  EXPECT_GT(as<double>(none.min), as<double>(none.max));
}

TEST(ProcessGroupRange, extremes_of_integers_are_values) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto range = of(bp::Type::int64, std::vector<std::int64_t>(3, Limits::max()));
  EXPECT_TRUE(range.any);
  EXPECT_EQ(as<std::int64_t>(range.min), Limits::max());
  EXPECT_EQ(as<std::int64_t>(range.max), Limits::max());
  EXPECT_FALSE(of(bp::Type::uint8, std::vector<std::uint8_t>{}).any);
}

TEST(ProcessGroupRange, complex_numbers_have_none) {
  EXPECT_FALSE(of(bp::Type::complex64, std::vector<float>{1, 2}).any);
}

TEST(ProcessGroupRange, sums_are_of_what_is_finite) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - 3;
  values[7] = inf, values[500] = -inf, values[999] = std::numeric_limits<double>::quiet_NaN();
  const auto bytes = std::as_bytes(std::span(values));
  std::vector<double> copy(values.size());
  for (const Range& range :
       {range_of(bp::Type::float64, bytes, Measure::moments),
        copy_with_range(bp::Type::float64, bytes, reinterpret_cast<std::byte*>(copy.data()),
                        Measure::moments)}) {
    EXPECT_EQ(range.moments.count, 997);
    // All of -3 to 996, without 4, 497 and 996.
    EXPECT_EQ(range.moments.sum, 496500.0 - 1497);
    EXPECT_EQ(range.moments.squares, 329845500.0 - 16 - 247009 - 992016);
  }
  EXPECT_EQ(range_of(bp::Type::float64, bytes).moments.count, 0);
  const std::vector<std::uint8_t> small(300, 255);
  const Range range = range_of(bp::Type::uint8, std::as_bytes(std::span(small)), Measure::moments);
  EXPECT_EQ(range.moments.sum, 300.0 * 255);
}

}  // namespace range_test
}  // namespace forebay::process_group
