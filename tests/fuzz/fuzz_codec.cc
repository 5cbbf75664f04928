// Fuzz target over the codecs: pipelines' text, stored bytes that decode, and chunks that encode.
//
// The first byte chooses a pipeline, the second a type and a shape, the third is the mask of
// skipped stages; the others are taken as the text of a pipeline, as a stored chunk, and as a
// chunk's own bytes. Whatever they are, decode fills the chunk or throws forebay::Error, and what
// encode made decodes to the same bytes where nothing lossy was applied.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/quantise.h"
#include "fuzz_codec_cases.h"
#include "must.h"

namespace {

using forebay::Error;
using forebay::Pipeline;

void check_parse(std::string_view text) {
  try {
    const Pipeline pipeline = Pipeline::parse(text);
    must(Pipeline::parse(pipeline.text()).text() == pipeline.text(), "text reads back as itself");
    must(pipeline.size() <= Pipeline::most_stages, "a pipeline is not longer than it may be");
    must(!pipeline.lossless().lossy(), "lossless is lossless");
  } catch (const Error& error) {
    must(!error.message().empty(), "an error says what it is");
  }
}

void check_decode(const Pipeline& pipeline, const forebay::ChunkInfo& chunk,
                  std::span<const std::byte> stored, std::uint32_t skipped,
                  forebay::CodecWorkspace& workspace) {
  std::vector<std::byte> raw(static_cast<std::size_t>(chunk.bytes()));
  try {
    pipeline.decode(chunk, stored, skipped, raw, workspace);
  } catch (const Error& error) {
    must(error.code() == forebay::Errc::enotnc, "bytes that do not decode are no chunk");
  }
}

void check_encode(const Pipeline& pipeline, const forebay::ChunkInfo& chunk,
                  std::span<const std::byte> bytes, forebay::CodecWorkspace& workspace) {
  std::vector<std::byte> raw(static_cast<std::size_t>(chunk.bytes()), std::byte{0});
  for (std::size_t i = 0; i < raw.size() && !bytes.empty(); ++i) raw[i] = bytes[i % bytes.size()];
  const auto encoded = pipeline.encode(chunk, raw, workspace);
  must(encoded.bytes.size() <= raw.size(), "a chunk does not become larger");
  const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
  const std::uint32_t skipped = encoded.skipped;
  std::vector<std::byte> decoded(raw.size());
  pipeline.decode(chunk, stored, skipped, decoded,
                  workspace);  // throws, and so fails, if it cannot
  const bool untouched =
      skipped + 1 == 1U << pipeline.size() && !forebay::quantisation_of(pipeline.text());
  if (!pipeline.lossy() || untouched) must(decoded == raw, "a lossless chunk comes back exactly");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static forebay::CodecWorkspace workspace;
  const std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data) + 3, size - 3);
  const auto chunk = fuzz_codec::chunk(data[1]);
  const Pipeline pipeline = fuzz_codec::pipeline(data[0]).for_type(chunk.type);
  check_parse({reinterpret_cast<const char*>(rest.data()), std::min<std::size_t>(rest.size(), 80)});
  check_decode(pipeline, chunk, rest, data[2], workspace);
  check_encode(pipeline, chunk, rest, workspace);
  return 0;
}
