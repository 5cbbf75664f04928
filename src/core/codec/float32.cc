// float32: rounds float64 elements to float32, half the bytes. Later stages see float32.
//
// The bound is checked for every element x and its float32 y: |x - y| <= 2^-24 |x|, or |x| is below
// float32's normal range and |x - y| <= 2^-150. Both are half a unit in the last place, so they
// hold for every finite value whose float32 is finite. A chunk with NaN or infinities is left as it
// is.
#include <cmath>
#include <limits>

#include "base/byteorder.h"
#include "codec/codec_stage.h"

namespace forebay {

namespace {

bool within_bound(double x, float y) {
  const double error = std::fabs(x - static_cast<double>(y));
  // The products are exact wherever they decide. False for values that are not finite.
  const bool relative = error <= std::fabs(x) * 0x1p-24;
  const bool tiny = (std::fabs(x) < std::numeric_limits<float>::min()) & (error <= 0x1p-150);
  return relative | tiny;
}

class Float32Stage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::convert; }
  std::string text() const override { return "float32"; }
  bool lossy() const override { return true; }
  bool applies_to(Type type) const override { return type == Type::float64; }
  Type type_after(Type) const override { return Type::float32; }
  double encode_work() const override { return 0.02; }
  double decode_work() const override { return 0.01; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State&) const override {
    const std::size_t n = in.bytes.size() / sizeof(double);
    const auto to = out.reserve(n * sizeof(float));
    bool all = true;
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = load_be<double>(in.bytes.data() + i * sizeof(double));
      const auto y = static_cast<float>(x);
      all &= within_bound(x, y);
      store_be(to.data() + i * sizeof(float), y);
    }
    if (!all) return std::nullopt;
    return to.size();
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State&) const override {
    const auto n = static_cast<std::size_t>(chunk.elements());
    if (in.size() != n * sizeof(float))
      throw_damaged("float32", "its size is not that of the chunk");
    for (std::size_t i = 0; i < n; ++i)
      store_be(out.data() + i * sizeof(double),
               static_cast<double>(load_be<float>(in.data() + i * sizeof(float))));
    return out.size();
  }
};

}  // namespace

extern const CodecEntry float32_codec{
    50,
    {"float32", "none",
     "float64 as the nearest float32: half the bytes, relative error at most 2^-24.", true, true},
    make_plain<Float32Stage>,
    ""};

}  // namespace forebay
