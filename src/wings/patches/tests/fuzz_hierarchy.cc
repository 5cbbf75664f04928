// Fuzz target over patches: parts that decode at every level, and values that encode.
//
// The first byte chooses a pipeline, the second a type and a shape; the others are taken as the
// parts of a patch, and as its values. Whatever they are, decode fills the level or throws
// forebay::Error, and what encode made comes back: exactly, or, where it is finite, within the
// bound.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "array/chunk_grid.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "fuzz_hierarchy_cases.h"
#include "must.h"

namespace {

using forebay::ChunkInfo;
using forebay::EncodedChunk;
using forebay::Pipeline;

std::vector<std::byte> decode(const Pipeline& pipeline, const ChunkInfo& chunk, int level,
                              std::span<const EncodedChunk> parts,
                              forebay::CodecWorkspace& workspace) {
  ChunkInfo coarse = chunk;
  coarse.shape = forebay::level_shape(chunk.shape, level);
  std::vector<std::byte> raw(static_cast<std::size_t>(coarse.bytes()));
  pipeline.decode(chunk, parts.first(parts.size() - static_cast<std::size_t>(level)), raw,
                  workspace);
  return raw;
}

void check_decode(const Pipeline& pipeline, const ChunkInfo& chunk,
                  std::span<const std::byte> bytes, forebay::CodecWorkspace& workspace) {
  std::vector<EncodedChunk> parts(static_cast<std::size_t>(pipeline.parts()));
  for (EncodedChunk& part : parts) {
    if (bytes.size() < 2) break;
    const std::size_t size =
        std::to_integer<std::size_t>(bytes[0]) << 8U | std::to_integer<std::size_t>(bytes[1]);
    bytes = bytes.subspan(2);
    part.bytes = bytes.first(std::min(size, bytes.size()));
    bytes = bytes.subspan(part.bytes.size());
  }
  for (int level = 0; level < pipeline.parts(); ++level) {
    try {
      decode(pipeline, chunk, level, parts, workspace);
    } catch (const forebay::Error& error) {
      must(error.code() == forebay::Errc::enotnc, "bytes that do not decode are no patch");
    }
  }
}

double value(const ChunkInfo& chunk, const std::byte* at) {
  return chunk.type == forebay::Type::float32 ? static_cast<double>(forebay::load_be<float>(at))
                                              : forebay::load_be<double>(at);
}

void check_encode(const Pipeline& pipeline, const ChunkInfo& chunk,
                  std::span<const std::byte> bytes, forebay::CodecWorkspace& workspace) {
  std::vector<std::byte> raw(static_cast<std::size_t>(chunk.bytes()), std::byte{0});
  for (std::size_t i = 0; i < raw.size() && !bytes.empty(); ++i) raw[i] = bytes[i % bytes.size()];
  std::vector<EncodedChunk> parts(static_cast<std::size_t>(pipeline.parts()));
  pipeline.encode(chunk, raw, parts, workspace);
  std::vector<std::vector<std::byte>> kept;
  forebay::Count all = 0;
  for (const EncodedChunk& part : parts) {
    kept.emplace_back(part.bytes.begin(), part.bytes.end());
    all += std::ssize(part.bytes);
  }
  must(all <= pipeline.most_bytes(chunk), "a patch takes no more than was said");
  must(!kept[0].empty(), "the coarsest level is there");
  for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = {kept[p], 0};
  for (int level = 1; level < pipeline.parts(); ++level)
    decode(pipeline, chunk, level, parts, workspace);
  const auto decoded = decode(pipeline, chunk, 0, parts, workspace);
  if (!pipeline.lossy()) must(decoded == raw, "without loss a patch comes back exactly");
  const std::size_t width = chunk.type == forebay::Type::float32 ? 4 : 8;
  for (std::size_t at = 0; at < raw.size(); at += width) {
    const double was = value(chunk, raw.data() + at), is = value(chunk, decoded.data() + at);
    if (std::isfinite(was))
      must(std::fabs(was - is) <= 1e-2, "a value is within the bound");
    else
      must(std::isnan(was) ? std::isnan(is) : was == is, "what is not finite stays so");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static forebay::CodecWorkspace workspace;
  const std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  const auto chunk = fuzz_hierarchy::chunk(data[1]);
  const Pipeline pipeline = fuzz_hierarchy::pipeline(data[0]);
  check_decode(pipeline, chunk, rest, workspace);
  check_encode(pipeline, chunk, rest, workspace);
  return 0;
}
