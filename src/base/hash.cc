#include "base/hash.h"

#define XXH_STATIC_LINKING_ONLY  // the state on the stack
#include <xxhash.h>

#include <new>

#include "base/hash_pieces.h"

namespace forebay {

std::uint64_t hash_detail::hash_portable(const iovec* pieces, std::size_t n) {
  return hash_pieces(pieces, n);
}

namespace {

#if FOREBAY_HAVE_AVX2_HASH
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
#endif

}  // namespace

void update_128(XXH3_state_s* state, const void* bytes, std::size_t size) {
#if FOREBAY_HAVE_AVX2_HASH
  if (has_avx512) return hash_detail::update_128_avx512(state, bytes, size);
  if (has_avx2) return hash_detail::update_128_avx2(state, bytes, size);
#endif
  XXH3_128bits_update(state, bytes, size);
}

std::uint64_t hash_of(std::span<const iovec> pieces) {
#if FOREBAY_HAVE_AVX2_HASH
  if (has_avx512) return hash_detail::hash_avx512(pieces.data(), pieces.size());
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
  update_128(state_.get(), bytes.data(), bytes.size());  // the two differ in the end alone
}
std::uint64_t RunningHash::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace forebay
