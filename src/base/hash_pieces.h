// Included by hash.cc, hash_avx2.cc and hash_avx512.cc after xxhash.h, each time for another
// processor. No templates: the linker must not take an instance compiled for AVX2 into other code.
#pragma once

#include "base/hash.h"

namespace forebay::hash_detail {
namespace {

inline std::uint64_t hash_pieces(const iovec* pieces, std::size_t n) {
  if (n == 1) return XXH3_64bits(pieces[0].iov_base, pieces[0].iov_len);
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (std::size_t i = 0; i < n; ++i)
    XXH3_64bits_update(&state, pieces[i].iov_base, pieces[i].iov_len);
  return XXH3_64bits_digest(&state);
}

}  // namespace
}  // namespace forebay::hash_detail
