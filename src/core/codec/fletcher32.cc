// fletcher32: HDF5's checksum of each chunk. Only HDF5 files store it (layout/chunked/
// filtered_chunks.h); elsewhere chunks have checksums of their own, and the stage does nothing.
#include "codec/codec_stage.h"

namespace forebay {

namespace {

class Fletcher32Stage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::compress; }
  std::string text() const override { return "fletcher32"; }
  double encode_work() const override { return 0.02; }
  double decode_work() const override { return 0.02; }

  std::optional<std::size_t> encode(const StageInput&, ScratchBuffer&,
                                    CodecWorkspace::State&) const override {
    return std::nullopt;
  }
  std::size_t decode(const ChunkInfo&, std::span<const std::byte>, std::span<std::byte>,
                     CodecWorkspace::State&) const override {
    throw_damaged("fletcher32", "it claims to have been encoded");
  }
};

}  // namespace

extern const CodecEntry fletcher32_codec{
    85,
    {"fletcher32", "none",
     "HDF5's checksum of each chunk, in netCDF-4 files, as the last stage. Chunks of other files "
     "have checksums in any case.",
     false, true},
    make_plain<Fletcher32Stage>,
    ""};

}  // namespace forebay
