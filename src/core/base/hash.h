// xxh3-64, the checksum of everything that Forebay stores.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace forebay {

std::uint64_t hash_of(std::span<const std::byte> bytes);
/// Returns the checksum of all pieces, one after another.
std::uint64_t hash_of(std::span<const iovec> pieces);

/// Does XXH3_128bits_update with the fastest code that libxxhash has for this processor.
void update_128(XXH3_state_s* state, const void* bytes, std::size_t size);

/// Computes the same checksum of bytes that are added part by part.
class RunningHash {
 public:
  RunningHash();
  void reset();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace forebay
