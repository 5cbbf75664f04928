#include "base/hash.h"

#define XXH_STATIC_LINKING_ONLY  // the state on the stack
#include <xxhash.h>

#include <new>

#include "base/hash_pieces.h"

namespace forebay {

std::uint64_t hash_detail::hash_portable(const iovec* pieces, std::size_t n) {
  return hash_pieces(pieces, n);
}

std::uint64_t hash_of(std::span<const iovec> pieces) {
#if FOREBAY_HAVE_AVX2_HASH
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return hash_detail::hash_avx2(pieces.data(), pieces.size());
#endif
  return hash_detail::hash_portable(pieces.data(), pieces.size());
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return hash_of(std::span(&piece, 1));
}

void RunningHash::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }
RunningHash::RunningHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  reset();
}
void RunningHash::reset() { XXH3_64bits_reset(state_.get()); }
void RunningHash::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}
std::uint64_t RunningHash::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace forebay
