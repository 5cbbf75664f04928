// Variables of a state to stored bytes, and back.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/raw_bytes.h"
#include "checkpoint/team.h"
#include "codec/pipeline.h"
#include "format/checkpoint.h"

namespace forebay::checkpoint {

/// The codec that a variable is stored with: `wanted` less what its type cannot go through, or none
/// where it is too small for one. Errc::einval for a hierarchy, whose levels nobody would read.
Pipeline codec_of(const Part& part, const Pipeline& wanted);

/// The words of a codec whose values are off by at most `bound`: its lossy stage with that bound,
/// or zfp before the others where there is none; 0: without lossy stages.
std::string codec_within(const std::string& codec, double bound);

/// Not by insert(), which takes one byte after another.
void append(RawBytes& to, std::span<const std::byte> from);

/// Encodes `values` (part.raw_bytes() of them, in native order), piece by piece: part.codec and
/// part.pieces tell of it then. Returns the stored bytes; none where they are `values` as they are,
/// whose checksums are not there yet.
RawBytes encode(Part& part, const Pipeline& wanted, std::span<const std::byte> values, Team& team);

/// Fetches stored bytes of the part, from `offset` among them on; called by several threads.
using Fetch = std::function<void(Count offset, std::span<std::byte> into)>;

/// The values again. Errc::ebadlog where bytes are not those that were stored; `where` is in the
/// message.
void decode(const Part& part, const Fetch& fetch, std::span<std::byte> values, Team& team,
            const std::string& where);

}  // namespace forebay::checkpoint
