#include "format/data_file_front.h"

#include <gtest/gtest.h>

namespace forebay::data_files {
namespace {

TEST(DataFileFront, comes_back_unless_it_is_torn) {
  const Front front{3, 4};
  auto printed = print_front(front);
  EXPECT_EQ(static_cast<Count>(printed.size()), store::slot_bytes);
  EXPECT_EQ(parse_front(printed), front);
  printed[20] ^= std::byte{1};
  EXPECT_THROW(parse_front(printed), Error);
  EXPECT_THROW(parse_front(store::print_slot({})), Error);
}

}  // namespace
}  // namespace forebay::data_files
