// deflate: streams in zlib's format (RFC 1950), which zlib, HDF5 and Zarr read and write.
#include <libdeflate.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "codec/codec_stage.h"
#include "codec/owned.h"

namespace forebay {

namespace {

using DeflateCompressor = Owned<libdeflate_compressor, libdeflate_free_compressor>;
using DeflateDecompressor = Owned<libdeflate_decompressor, libdeflate_free_decompressor>;

constexpr int least_deflate_level = 1, most_deflate_level = 12, default_deflate_level = 6;

constexpr std::size_t window_bytes = 32 << 10;  // how far back deflate looks
constexpr std::size_t least_probed = 8 * window_bytes;

// Returns whether deflate cannot compress a window of bytes: all byte values are about equally
// frequent, and hardly any four bytes repeat earlier ones.
bool is_noise(std::span<const std::byte> sample) {
  std::array<std::uint32_t, 256> frequency{};
  for (const std::byte b : sample) ++frequency[static_cast<std::size_t>(b)];
  // For random bytes chi-square has 255 degrees of freedom; 400 is far out in its tail.
  const double expected = static_cast<double>(sample.size()) / 256;
  double chi_square = 0;
  for (const std::uint32_t f : frequency) {
    const double off = static_cast<double>(f) - expected;
    chi_square += off * off / expected;
  }
  if (chi_square > 400) return false;
  std::vector<std::uint32_t> last(1 << 14, 0);  // the latest four bytes for each hash
  std::size_t matches = 0;
  for (std::size_t i = 0; i + 4 <= sample.size(); ++i) {
    std::uint32_t word;
    std::memcpy(&word, sample.data() + i, 4);
    std::uint32_t& seen = last[word * 2654435761u >> 18];
    matches += seen == word;
    seen = word;
  }
  return matches < sample.size() / 1024;
}

// Encoding noise would take as long as encoding other data, without gain. So three windows of a
// chunk are tested, in a fiftieth of the time. If all are noise, the whole chunk counts as noise.
// Bytes that repeat only at a distance beyond the window are noise to deflate, too.
bool is_noise_throughout(std::span<const std::byte> bytes) {
  if (bytes.size() < least_probed) return false;
  for (const std::size_t sixth : {1, 3, 5}) {
    const std::size_t begin = bytes.size() / 6 * sixth - window_bytes / 2;
    if (!is_noise(bytes.subspan(begin, window_bytes))) return false;
  }
  return true;
}

class DeflateStage final : public CodecStage {
 public:
  explicit DeflateStage(int level) : level_(level) {}

  Kind kind() const override { return Kind::compress; }
  std::string text() const override { return "deflate:" + std::to_string(level_); }

  double encode_work() const override {
    static constexpr double work[most_deflate_level + 1] = {0,   0.6, 0.9, 0.9, 0.9, 0.95, 1.0,
                                                            1.0, 1.1, 1.1, 2.3, 2.7, 3.2};
    return work[level_];
  }
  double decode_work() const override { return 0.19; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    if (is_noise_throughout(in.bytes)) return std::nullopt;
    const auto& compressor = state.context<DeflateCompressor>(level_, [this] {
      return made_or_no_memory<DeflateCompressor>(libdeflate_alloc_compressor(level_), "deflate");
    });
    // The result does not fit if it would not be smaller, and libdeflate then gives up.
    const auto to = out.reserve(in.bytes.size() - 1);
    const std::size_t size = libdeflate_zlib_compress(compressor.get(), in.bytes.data(),
                                                      in.bytes.size(), to.data(), to.size());
    if (size == 0) return std::nullopt;
    return size;
  }

  std::size_t decode(const ChunkInfo&, std::span<const std::byte> in, std::span<std::byte> out,
                     CodecWorkspace::State& state) const override {
    const auto& decompressor = state.context<DeflateDecompressor>(0, [] {
      return made_or_no_memory<DeflateDecompressor>(libdeflate_alloc_decompressor(), "deflate");
    });
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

std::shared_ptr<const CodecStage> make_deflate(const StageParameter& parameter) {
  return std::make_shared<DeflateStage>(
      parameter.whole("level", least_deflate_level, most_deflate_level, default_deflate_level));
}

}  // namespace

extern const CodecEntry deflate_codec{
    10,
    {"deflate", "level 1 to 12; 6 if not given",
     "zlib's format, which every HDF5 and Zarr reader knows.", false, true},
    make_deflate,
    ""};

}  // namespace forebay
