// checksum: changes nothing. Encoded data always has a checksum. Where a layout keeps none for data
// that is not encoded (slabs of layout decomposed), this stage makes it keep one.

#include "codec/codec_stage.h"

namespace forebay {

namespace {

class ChecksumStage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::check; }
  std::string text() const override { return "checksum"; }
  double encode_work() const override { return 0.02; }
  double decode_work() const override { return 0.02; }

  // The stage is skipped for every chunk, so the bytes stay as they are.
  std::optional<std::size_t> encode(const StageInput&, ScratchBuffer&,
                                    CodecWorkspace::State&) const override {
    return std::nullopt;
  }
  std::size_t decode(const ChunkInfo&, std::span<const std::byte>, std::span<std::byte>,
                     CodecWorkspace::State&) const override {
    throw_damaged("checksum", "it claims to have been encoded");
  }
};

}  // namespace

extern const CodecEntry checksum_codec{
    90,
    {"checksum", "none",
     "Values as they are, with checksums, in slabs of layout=decomposed; stands alone. Chunks, and "
     "what is encoded, have checksums in any case.",
     false, true},
    make_plain<ChecksumStage>,
    ""};

}  // namespace forebay
