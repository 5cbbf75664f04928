#include "base/hash.h"

#define XXH_STATIC_LINKING_ONLY  // allows the state on the stack
#include <xxhash.h>
// xxHash's functions then choose their code when they run, for the processor that they run on.
#ifdef FOREBAY_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

#include <new>

namespace forebay {

void update_128(XXH3_state_s* state, const void* bytes, std::size_t size) {
  XXH3_128bits_update(state, bytes, size);
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash_of(std::span<const iovec> pieces) {
  if (pieces.size() == 1) return XXH3_64bits(pieces[0].iov_base, pieces[0].iov_len);
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (const iovec& piece : pieces) XXH3_64bits_update(&state, piece.iov_base, piece.iov_len);
  return XXH3_64bits_digest(&state);
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
