// Keeps the missing values of a chunk apart from stages that look at values.
//
// A fill value of 1e20 on land, or a NaN, would ruin the bound of a lossy stage or the compression
// of the chunk; and if it came back as almost 1e20, it would no longer be recognised as missing. So
// the stages get a plausible value in place of each missing one. The missing values are stored bit
// for bit in front of the output of the stages (docs/formats.md):
//
//     u8(flags) {edge}0..2 varint(m) [varint(b) u8(skipped) {byte}b] stages
//
// Bits 0 and 1 of flags stand for the least and the greatest valid value, one element each; decoded
// values are clamped to them. m elements are missing. The b bytes hold a bit for each element, then
// the m elements, encoded with zstd.
//
// A valid value must not become a missing one. So values that are too close to a missing value for
// the loss of the stages are kept apart, too. If a stage promises no bound, the chunk is decoded
// again, and the values that have become missing are kept apart.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "codec/codec_stage.h"
#include "codec/pipeline.h"

namespace forebay {

/// The largest change that the stages make to a value: an absolute part, and a part relative to it.
struct Reach {
  double absolute = 0, relative = 0;
  bool unbounded = false;  ///< a stage promises no bound
};

struct Masked {
  std::span<const std::byte> values;  ///< native elements for the stages; in the workspace
  std::vector<std::byte> front;       ///< the bytes in front; empty: nothing is kept apart
  EncodedChunk::Bound bound = EncodedChunk::Bound::unknown;
};

/// Encodes and decodes native elements. Returns false if no stage changes any value.
using DecodedAgain =
    std::function<bool(std::span<const std::byte> values, std::span<std::byte> decoded)>;

/// Prepares a chunk of a floating-point type for its stages. `reach` is called with the range of
/// the valid values. `decode` is called with the input of the stages if a stage promises no bound.
Masked keep_apart(const ChunkInfo& chunk, std::span<const std::byte> raw,
                  const std::function<Reach(double range)>& reach, const DecodedAgain& decode,
                  CodecWorkspace::State& state);

/// Splits the front off a chunk's stored bytes; `stored` becomes the bytes of the stages.
/// Errc::enotnc.
struct KeptApart {
  std::span<const std::byte> edges[2];  // in external form; empty if there is none
  std::size_t count = 0;
  std::span<const std::byte> coded;  // the encoded bit mask and values
  std::uint32_t skipped = 0;
};
KeptApart take_front(const ChunkInfo& chunk, std::span<const std::byte>& stored);
/// Restores missing values, and clamps the others to the edges. Errc::enotnc.
void put_back(const KeptApart& apart, const ChunkInfo& chunk, std::span<std::byte> raw,
              CodecWorkspace::State& state);

}  // namespace forebay
