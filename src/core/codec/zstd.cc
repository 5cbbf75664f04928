// zstd: one Zstandard frame (RFC 8878) that states the size of its content.
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>

#include "codec/codec_stage.h"
#include "codec/owned.h"

namespace forebay {

namespace {

using ZstdCompressor = Owned<ZSTD_CCtx, ZSTD_freeCCtx>;
using ZstdDecompressor = Owned<ZSTD_DCtx, ZSTD_freeDCtx>;

constexpr int least_zstd_level = -5, most_zstd_level = 19, default_zstd_level = 3;

class ZstdStage final : public CodecStage {
 public:
  explicit ZstdStage(int level) : level_(level) {}

  Kind kind() const override { return Kind::compress; }
  std::string text() const override { return "zstd:" + std::to_string(level_); }

  double encode_work() const override {
    static constexpr double work[most_zstd_level + 1] = {0.15, 0.1, 0.1, 0.15, 0.3, 0.55, 0.6,
                                                         0.65, 0.7, 0.8, 1.0,  1.2, 1.5,  1.8,
                                                         2.0,  2.3, 4,   6,    8,   11};
    return level_ < 0 ? 0.05 : work[level_];
  }
  double decode_work() const override { return 0.06; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    // One context for each level: a change of level would set up its tables again.
    const auto& compressor = state.context<ZstdCompressor>(
        level_, [] { return made_or_no_memory<ZstdCompressor>(ZSTD_createCCtx(), "zstd"); });
    // The result does not fit if it would not be smaller, and zstd then gives up.
    const auto to = out.reserve(in.bytes.size() - 1);
    const std::size_t size = ZSTD_compressCCtx(compressor.get(), to.data(), to.size(),
                                               in.bytes.data(), in.bytes.size(), level_);
    if (!ZSTD_isError(size)) return size;
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
      throw Error(Errc::enomem, "no memory to compress with zstd");
    return std::nullopt;
  }

  std::size_t decode(const ChunkInfo&, std::span<const std::byte> in, std::span<std::byte> out,
                     CodecWorkspace::State& state) const override {
    const auto content = ZSTD_getFrameContentSize(in.data(), in.size());
    if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || content == 0)
      throw_damaged("zstd", "it is no frame that tells its content's size");
    if (content > out.size()) throw_damaged("zstd", "it decodes to more bytes than the chunk has");
    if (ZSTD_findFrameCompressedSize(in.data(), in.size()) != in.size())
      throw_damaged("zstd", "it is cut short, or bytes follow its end");
    const auto& decompressor = state.context<ZstdDecompressor>(
        0, [] { return made_or_no_memory<ZstdDecompressor>(ZSTD_createDCtx(), "zstd"); });
    const std::size_t size =
        ZSTD_decompressDCtx(decompressor.get(), out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(size)) throw_damaged("zstd", ZSTD_getErrorName(size));
    return size;
  }

 private:
  int level_;
};

std::shared_ptr<const CodecStage> make_zstd(const StageParameter& parameter) {
  const int level = parameter.whole("level", least_zstd_level, most_zstd_level, default_zstd_level);
  return std::make_shared<ZstdStage>(level == 0 ? default_zstd_level : level);  // as in zstd itself
}

}  // namespace

extern const CodecEntry zstd_codec{
    20,
    {"zstd", "level -5 to 19; 3 if not given",
     "Zstandard: at its low levels several times faster than deflate, at the same ratio.", false,
     true},
    make_zstd,
    ""};

}  // namespace forebay
