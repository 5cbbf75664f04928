// shuffle: bytes of equal significance of all elements are stored together, as in HDF5's shuffle
// filter and numcodecs (transpose.h has the layout). The elements are big-endian, so the first
// plane holds their most significant bytes.

#include "codec/codec_stage.h"
#include "codec/transpose.h"

namespace forebay {

namespace {

class ShuffleStage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::shuffle; }
  std::string text() const override { return "shuffle"; }
  bool applies_to(Type type) const override { return size_of(type) > 1; }
  double encode_work() const override { return 0.03; }
  double decode_work() const override { return 0.03; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State&) const override {
    shuffle_bytes(out.reserve(in.bytes.size()).data(), in.bytes.data(),
                  static_cast<std::size_t>(in.chunk.elements()), size_of(in.chunk.type));
    return in.bytes.size();
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State&) const override {
    if (in.size() != out.size()) throw_damaged("shuffle", "its size is not that of the chunk");
    unshuffle_bytes(out.data(), in.data(), static_cast<std::size_t>(chunk.elements()),
                    size_of(chunk.type));
    return out.size();
  }
};

}  // namespace

extern const CodecEntry shuffle_codec{
    30,
    {"shuffle", "none",
     "Groups bytes of equal rank, so that a compressor after it does better on numbers.", false,
     true},
    make_plain<ShuffleStage>,
    ""};

}  // namespace forebay
