#include "log/data_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "format/log_record.h"

namespace forebay::log {
namespace {

TEST(DataHash, is_that_of_the_whole_whatever_the_pieces) {
  std::vector<std::byte> bytes(20'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i / 3);
  for (const std::size_t size : {0, 1, 16, 17, 128, 240, 241, 1000, 1024, 1025, 20'000}) {
    const auto whole = std::span<const std::byte>(bytes).first(size);
    for (const std::size_t step : {1, 7, 64, 1000, 20'000}) {
      std::vector<iovec> pieces;
      for (std::size_t at = 0; at < size; at += step)
        pieces.push_back({bytes.data() + at, std::min(step, size - at)});
      EXPECT_EQ(hash_of_data(pieces), hash_of(whole)) << size << ", " << step;
      EXPECT_EQ(data_hash_detail::hash_portable(pieces.data(), pieces.size()), hash_of(whole));
    }
  }
}

}  // namespace
}  // namespace forebay::log
