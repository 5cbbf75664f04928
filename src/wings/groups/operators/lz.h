// Decoders of the two LZ77 formats that blosc chunks often have and no library here knows: BloscLZ
// and LZ4's block format.
//
// The bytes may be hostile: nothing is read or written outside the two spans. Errc::enotnc if `in`
// does not decode to exactly as many bytes as `out` has.
#pragma once

#include <cstddef>
#include <span>

namespace forebay::operators {

void decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out);
void decode_lz4(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace forebay::operators
