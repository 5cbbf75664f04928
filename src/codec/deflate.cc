// deflate: streams of zlib's format (RFC 1950), as zlib, HDF5 and Zarr read and write them.
#include <libdeflate.h>

#include <memory>

#include "codec/stage.h"

namespace forebay {

namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};
using Compressor = std::unique_ptr<libdeflate_compressor, FreeCompressor>;
using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

template <typename Owner>
Owner made_or_no_memory(typename Owner::pointer made) {
  if (made == nullptr) throw Error(Errc::enomem, "no memory for a deflate context");
  return Owner(made);
}

constexpr int least_level = 1, most_level = 12, default_level = 6;

class DeflateStage final : public CodecStage {
 public:
  explicit DeflateStage(int level) : level_(level) {}

  Kind kind() const override { return Kind::compress; }
  std::string text() const override { return "deflate:" + std::to_string(level_); }

  double encode_work() const override {
    static constexpr double work[most_level + 1] = {0,   0.6, 0.9, 0.9, 0.9, 0.95, 1.0,
                                                    1.0, 1.1, 1.1, 2.3, 2.7, 3.2};
    return work[level_];
  }
  double decode_work() const override { return 0.19; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    const auto& compressor = state.context<Compressor>(level_, [this] {
      return made_or_no_memory<Compressor>(libdeflate_alloc_compressor(level_));
    });
    // A result that would not be smaller does not fit, and libdeflate then gives up.
    const auto to = out.reserve(in.bytes.size() - 1);
    const std::size_t size = libdeflate_zlib_compress(compressor.get(), in.bytes.data(),
                                                      in.bytes.size(), to.data(), to.size());
    if (size == 0) return std::nullopt;
    return size;
  }

  std::size_t decode(const ChunkInfo&, std::span<const std::byte> in, std::span<std::byte> out,
                     CodecWorkspace::State& state) const override {
    const auto& decompressor = state.context<Decompressor>(
        0, [] { return made_or_no_memory<Decompressor>(libdeflate_alloc_decompressor()); });
    std::size_t used = 0, size = 0;
    const auto result = libdeflate_zlib_decompress_ex(decompressor.get(), in.data(), in.size(),
                                                      out.data(), out.size(), &used, &size);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
      throw_damaged("deflate", "it decodes to more bytes than the chunk has");
    if (result != LIBDEFLATE_SUCCESS) throw_damaged("deflate", "it is no zlib stream");
    if (used != in.size()) throw_damaged("deflate", "bytes follow its end");
    return size;
  }

 private:
  int level_;
};

std::shared_ptr<const CodecStage> make(const StageParameter& parameter) {
  return std::make_shared<DeflateStage>(
      parameter.whole("level", least_level, most_level, default_level));
}

}  // namespace

const CodecEntry deflate_codec{
    {"deflate", "level 1 to 12; 6 if not given",
     "zlib's format, which every HDF5 and Zarr reader knows.", false, true},
    make,
    ""};

}  // namespace forebay
