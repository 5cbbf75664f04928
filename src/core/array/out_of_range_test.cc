#include "array/out_of_range.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/byteorder.h"

namespace forebay {
namespace out_of_range_test {

Variable grid() {
  Variable var;
  var.name = "T";
  var.type = Type::int16;
  var.dimids = {0, 1, 2};
  var.shape = {0, 10, 20};
  var.is_record = true;
  return var;
}

Conversion written(const std::vector<double>& values) {
  return {true, Type::int16, Type::float64, reinterpret_cast<const std::byte*>(values.data()),
          std::ssize(values)};
}

TEST(OutOfRange, names_variable_index_and_value) {
  Request request;
  request.selection = Subarray{{7, 1, 2}, {1, 2, 3}, {1, 4, 5}};
  const Error error = out_of_range(written({1, 2, 3, 4, 1.5e12, 99999}), grid(), request);
  EXPECT_EQ(error.code(), Errc::erange);
  EXPECT_EQ(error.message(),
            "variable T at (7, 5, 7): 1.5e+12 does not fit type short, which it is converted to");
}

TEST(OutOfRange, finds_the_place_in_pieces) {
  // Two elements at (1, 0, 3), then one at (0, 2, 1), which comes first in memory.
  RunList list;
  list.runs = {{(2 * 20 + 1) * 2, 2}, {(200 + 3) * 2, 4}};
  list.memory = {0, 2};
  list.bytes = 6;
  Request request;
  request.selection = Runs{std::make_shared<const RunList>(list), 400};
  EXPECT_TRUE(out_of_range(written({-70000, 1, 1}), grid(), request)
                  .message()
                  .starts_with("variable T at (1, 2, 1): -70000 "));
  EXPECT_TRUE(out_of_range(written({1, 2, 70000}), grid(), request)
                  .message()
                  .starts_with("variable T at (2, 0, 4): 70000 "));
}

TEST(OutOfRange, finds_one_among_many) {
  std::vector<double> values(100'000, 1);
  values[77'777] = 40'000;
  Variable line;
  line.name = "line";
  line.type = Type::int16;
  line.dimids = {0};
  line.shape = {100'000};
  Request request;
  request.selection = Subarray{{0}, {100'000}, {}};
  EXPECT_TRUE(out_of_range(written(values), line, request)
                  .message()
                  .starts_with("variable line at (77777): 40000 "));
}

TEST(OutOfRange, tells_values_of_a_file_as_they_are) {
  std::array<std::byte, 6> stored;
  for (int i = 0; i < 3; ++i)
    store_be<std::int16_t>(stored.data() + 2 * i, static_cast<std::int16_t>(100 * i));
  const Conversion read{false, Type::int16, Type::byte, stored.data(), 3};
  Variable scalar;
  scalar.name = "n";
  scalar.type = Type::int16;
  Attribute attribute;
  attribute.name = "valid_range";
  EXPECT_EQ(out_of_range(read, attribute).message(),
            "attribute valid_range, value 2: 200 does not fit type byte, which it is converted to");
  EXPECT_TRUE(out_of_range({false, Type::int16, Type::byte, stored.data() + 4, 1}, scalar, {})
                  .message()
                  .starts_with("variable n: 200 "));
}

}  // namespace out_of_range_test
}  // namespace forebay
