// The xxh3-64 of a write's data: the one pass over it that the log adds to writing it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::log {

/// Of the bytes of all pieces, one after another. The same as format's hash_of, and twice as fast
/// where the processor has AVX2: the library is built for the processors that are everywhere.
std::uint64_t hash_of_data(std::span<const iovec> pieces);

namespace data_hash_detail {

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_HAVE_AVX2_HASH 1
std::uint64_t hash_avx2(const iovec* pieces, std::size_t n);
#endif
std::uint64_t hash_portable(const iovec* pieces, std::size_t n);

}  // namespace data_hash_detail
}  // namespace forebay::log
