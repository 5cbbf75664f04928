// xxHash's own code, compiled for x86-64 processors with AVX-512.
#include "base/hash.h"

#if FOREBAY_HAVE_AVX2_HASH

// As in hash_avx2.cc: nothing but xxHash is compiled for AVX-512.
#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in GCC 12's own headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f")
#endif
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX512
#include <xxhash.h>

#include "base/hash_pieces.h"

namespace forebay::hash_detail {

std::uint64_t hash_avx512(const iovec* pieces, std::size_t n) { return hash_pieces(pieces, n); }

void update_128_avx512(void* state, const void* bytes, std::size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

}  // namespace forebay::hash_detail

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
