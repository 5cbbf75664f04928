// xxHash's own code, compiled for x86-64 processors with AVX2.
#include "base/hash.h"

#if FOREBAY_HAVE_AVX2_HASH

// All that xxhash.h includes comes first: nothing but xxHash is compiled for AVX2.
#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#include <xxhash.h>

#include "base/hash_pieces.h"

namespace forebay::hash_detail {

std::uint64_t hash_avx2(const iovec* pieces, std::size_t n) { return hash_pieces(pieces, n); }

// The state that xxHash's own code makes and reads is the same.
void update_128_avx2(void* state, const void* bytes, std::size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

}  // namespace forebay::hash_detail

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
