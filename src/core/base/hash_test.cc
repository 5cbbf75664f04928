#include "base/hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace forebay {
namespace hash_test {

std::vector<std::byte> some_bytes() {
  std::vector<std::byte> bytes(20'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i / 3);
  return bytes;
}

TEST(Hash, is_that_of_the_whole_whatever_the_pieces) {
  auto bytes = some_bytes();
  for (const std::size_t size : {0, 1, 16, 17, 128, 240, 241, 1000, 1024, 1025, 20'000}) {
    const auto whole = XXH3_64bits(bytes.data(), size);
    EXPECT_EQ(hash_of(std::span<const std::byte>(bytes).first(size)), whole);
    for (const std::size_t step : {1, 7, 64, 1000, 20'000}) {
      std::vector<iovec> pieces;
      for (std::size_t at = 0; at < size; at += step)
        pieces.push_back({bytes.data() + at, std::min(step, size - at)});
      EXPECT_EQ(hash_of(pieces), whole) << size << ", " << step;
    }
  }
}

TEST(Hash, of_128_bits_takes_parts_as_xxhash_does) {
  const auto bytes = some_bytes();
  for (const std::size_t step : {1, 48, 4096, 20'000}) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         &XXH3_freeState);
    XXH3_128bits_reset(state.get());
    for (std::size_t at = 0; at < bytes.size(); at += step)
      update_128(state.get(), bytes.data() + at, std::min(step, bytes.size() - at));
    const auto whole = XXH3_128bits(bytes.data(), bytes.size());
    EXPECT_TRUE(XXH128_isEqual(XXH3_128bits_digest(state.get()), whole)) << step;
  }
}

TEST(RunningHash, parts_hash_as_the_whole) {
  const auto bytes = some_bytes();
  RunningHash hash;
  hash.add(bytes);
  hash.reset();
  hash.add(std::span(bytes).first(33));
  hash.add(std::span(bytes).subspan(33));
  EXPECT_EQ(hash.value(), hash_of(bytes));
}

}  // namespace hash_test
}  // namespace forebay
