// Encodes the variables of a state to stored bytes, and decodes them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/raw_bytes.h"
#include "checkpoints/coding_threads.h"
#include "checkpoints/format/checkpoint.h"
#include "codec/pipeline.h"

namespace forebay::checkpoint {

/// Returns the codec of a stored variable: `wanted` without the stages that its type does not
/// allow, or none if the variable is too small. Errc::einval for a hierarchy, as its levels are
/// never read.
Pipeline codec_of(const Part& part, const Pipeline& wanted);

/// Returns the words of a codec with an error of at most `bound`: its lossy stage gets that bound.
/// If it has no lossy stage, zfp comes before the others. 0: without lossy stages.
std::string codec_within(const std::string& codec, double bound);

/// Appends bytes. It is faster than insert(), which copies byte by byte.
void append(RawBytes& to, std::span<const std::byte> from);

/// Encodes `values` (part.raw_bytes() bytes in native order) piece by piece, and sets part.codec
/// and part.pieces. Returns the stored bytes. They are empty if `values` are stored unchanged; the
/// pieces then have no checksums yet.
RawBytes encode(Part& part, const Pipeline& wanted, std::span<const std::byte> values, Team& team);

/// Fetches stored bytes of the part, from byte `offset` of the part on. Several threads call it.
using Fetch = std::function<void(Count offset, std::span<std::byte> into)>;

/// Decodes the values. Errc::ebadlog if the bytes are not those that were stored; the message
/// contains `where`.
void decode(const Part& part, const Fetch& fetch, std::span<std::byte> values, Team& team,
            const std::string& where);

}  // namespace forebay::checkpoint
