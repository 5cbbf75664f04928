// checksum: nothing is changed. What is encoded has a checksum in any case; where a layout keeps
// none of what is not (slabs of layout decomposed), this makes it keep one.

#include "codec/stage.h"

namespace forebay {

namespace {

class ChecksumStage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::check; }
  std::string text() const override { return "checksum"; }
  double encode_work() const override { return 0.02; }
  double decode_work() const override { return 0.02; }

  // Left out of every chunk, so that bytes stay where they are.
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
