// Blocks behind an operator of adios2: what its operators zfp, bzip2 and blosc make of a block,
// each with a header of its own, since adios2 2.8.
//
//     u8 operator, u8 version (1), u16 0        then
//     zfp     u64 dimensions, u64 extent of each, u32 type, u8 × 3 version of zfp,
//             u8 parameters, name and value of each as u8 length and text, the stream
//     bzip2   u64 bytes of the values, u64 batches, u32 × 4 for each (where it begins and its
//     bytes,
//             of the values, then of this block), the streams
//     blosc   u64 bytes of the values, u8 × 3 version of blosc, u32 0, u32 chunks (0: the values
//             follow as they are), the chunks; old files have one chunk in place of both u32
//
// Numbers have the byte order of the machine that wrote the file; only little-endian ones are read.
// The bytes may be hostile: sizes are compared with those of the block, which the index has.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "codec/pipeline.h"
#include "groups/format/bp.h"

namespace forebay::operators {

/// Returns why blocks of this operator cannot be read, or nothing if they can.
std::string why_unreadable(const bp::Block& block);

/// Returns how many bytes of values one stored byte of a block can stand for at most.
Count most_ratio(const bp::Block& block);

/// Decodes a block's payload, block.stored bytes, into `out`: block.bytes bytes, aligned for any
/// element. Errc::ebad_file: it is damaged; Errc::enotsupport: a form that is not read;
/// Errc::enomem.
void decode(bp::Type type, const bp::Block& block, std::span<const std::byte> payload,
            std::span<std::byte> out, CodecWorkspace& workspace);

}  // namespace forebay::operators
