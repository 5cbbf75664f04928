#include "log/data_hash.h"

#define XXH_STATIC_LINKING_ONLY  // the state on the stack
#include <xxhash.h>

#include "log/data_hash_pieces.h"

namespace forebay::log {

std::uint64_t data_hash_detail::hash_portable(const iovec* pieces, std::size_t n) {
  return hash_pieces(pieces, n);
}

std::uint64_t hash_of_data(std::span<const iovec> pieces) {
#if FOREBAY_HAVE_AVX2_HASH
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return data_hash_detail::hash_avx2(pieces.data(), pieces.size());
#endif
  return data_hash_detail::hash_portable(pieces.data(), pieces.size());
}

}  // namespace forebay::log
