// zfp: blocks of 4^d neighbours, decorrelated and truncated bit plane by bit plane (libzfp).
//
// Only zfp's stream is stored, as little-endian words: the shape, the type and the mode are known
// from the chunk and the pipeline. The slowest dimensions of arrays of more than four are merged.
// - accuracy=X: an absolute bound for each element, checked unless it follows from the values.
// - relative=R: R times the range of all data that is written together, rounded down to a power of
//   two. Its exponent follows the stream, in two bytes, little-endian.
// - precision=N and rate=X: N bit planes, and X bits an element. They promise no bound.
// - reversible: exact, checked bit for bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/byteorder.h"
#include "codec/codec_stage.h"
#include "codec/values.h"
#include "codec/zfp_stream.h"

namespace forebay {

namespace {

constexpr int least_precision = 1, most_precision = 64;
constexpr double most_rate = 64;

class ZfpStage final : public CodecStage {
 public:
  enum class Mode { accuracy, relative, precision, rate, reversible };

  ZfpStage(Mode mode, double parameter) : mode_(mode), parameter_(parameter) {}

  Kind kind() const override { return Kind::values; }
  bool lossy() const override { return mode_ != Mode::reversible; }
  bool takes_native() const override { return true; }
  bool applies_to(Type type) const override { return is_floating(type); }
  // For three dimensions; with AVX2 in the modes that have a bound.
  double encode_work() const override {
    return mode_ == Mode::reversible ? 0.6 : quick() ? 0.1 : 0.7;
  }
  double decode_work() const override {
    return mode_ == Mode::reversible ? 0.25 : quick() ? 0.06 : 0.2;
  }
  bool quick() const { return mode_ == Mode::accuracy || mode_ == Mode::relative; }

  bool wants_range() const override { return mode_ == Mode::relative; }
  std::optional<double> bound(double range) const override {
    if (mode_ == Mode::accuracy) return parameter_;
    if (mode_ == Mode::relative) return parameter_ * range;
    return std::nullopt;
  }

  std::string text() const override {
    switch (mode_) {
      case Mode::relative:
        return "zfp:relative=" + number_text(parameter_);
      case Mode::accuracy:
        return "zfp:accuracy=" + number_text(parameter_);
      case Mode::precision:
        return "zfp:precision=" + number_text(parameter_);
      case Mode::rate:
        return "zfp:rate=" + number_text(parameter_);
      case Mode::reversible:
        break;
    }
    return "zfp:reversible";
  }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    const auto values = native_values(in, state);
    const auto n = static_cast<std::size_t>(in.chunk.elements());
    const bool single = in.chunk.type == Type::float32;
    if (lossy() && !in_range(values, n, single)) return std::nullopt;

    const double wanted = wanted_of(in.chunk, values);
    const int exponent = exponent_of(wanted);
    const double tolerance = mode_ == Mode::relative ? std::ldexp(1, exponent) : parameter_;
    const auto shape = merged_shape(in.chunk.shape, 4);
    const ZfpMode mode = zfp_mode(tolerance);
    // zfp only reads the values that it encodes.
    const ZfpField field{in.chunk.type, shape, const_cast<std::byte*>(values.data())};
    const std::size_t capacity = zfp_capacity(field, mode);
    const auto to = out.reserve(capacity + behind());
    const std::size_t size = zfp_compress_to(field, mode, to.first(capacity));
    if (size == 0 || size + behind() >= in.bytes.size() || size > capacity) return std::nullopt;
    const double bound = wanted < tolerance ? 0 : tolerance;  // too small for equal values
    const bool proven = bound > 0 && bounded() && keeps_bound(values, shape, single, bound);
    if (verified() && !proven &&
        !comes_back(in.chunk, field, to.first(capacity), mode, bound, state))
      return std::nullopt;
    zfp_order_words(to.first(size));
    for (std::size_t i = 0; i < behind(); ++i)
      to[size + i] = static_cast<std::byte>(static_cast<unsigned>(exponent) >> 8 * i & 0xff);
    return size + behind();
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    const auto values = room_for_native(chunk, out, state);
    if (in.size() < behind()) throw_damaged("zfp", "it is shorter than what follows its stream");
    double tolerance = parameter_;
    if (mode_ == Mode::relative) {
      const auto low = std::to_integer<unsigned>(in[in.size() - 2]);
      const auto high = std::to_integer<unsigned>(in[in.size() - 1]);
      tolerance = std::ldexp(1, static_cast<std::int16_t>(high << 8 | low));
      if (!std::isfinite(tolerance)) throw_damaged("zfp", "its bound is no number");
      state.bound = tolerance;
      in = in.first(in.size() - behind());
    }
    const auto shape = merged_shape(chunk.shape, 4);
    zfp_decompress_from(in, {chunk.type, shape, values.data()}, zfp_mode(tolerance), state.check);
    hand_over(chunk, values, out);
    return out.size();
  }

 private:
  ZfpMode zfp_mode(double tolerance) const {
    switch (mode_) {
      case Mode::precision:
        return {ZfpMode::Kind::precision, parameter_};
      case Mode::rate:
        return {ZfpMode::Kind::rate, parameter_};
      case Mode::reversible:
        return {ZfpMode::Kind::reversible, 0};
      default:
        return {ZfpMode::Kind::accuracy, tolerance};
    }
  }
  bool bounded() const { return mode_ == Mode::accuracy || mode_ == Mode::relative; }
  bool verified() const { return bounded() || mode_ == Mode::reversible; }
  std::size_t behind() const { return mode_ == Mode::relative ? 2 : 0; }

  // The bound for these values. Without a known range of all data, their own range counts.
  double wanted_of(const ChunkInfo& chunk, std::span<const std::byte> values) const {
    if (mode_ != Mode::relative) return parameter_;
    double wanted = parameter_ * (chunk.range ? *chunk.range : range_of(chunk, values));
    if (chunk.bound) wanted = std::min(wanted, *chunk.bound);
    return wanted;
  }
  static double range_of(const ChunkInfo& chunk, std::span<const std::byte> values) {
    Extremes extremes;
    const auto look = [&](const auto* v) {
      using T = std::remove_cvref_t<decltype(*v)>;
      extremes.add<T>(
          static_cast<std::size_t>(chunk.elements()), [v](std::size_t i) { return v[i]; },
          MissingTest<T>(chunk.missing.get(), chunk.fill));
    };
    if (chunk.type == Type::float32)
      look(reinterpret_cast<const float*>(values.data()));
    else
      look(reinterpret_cast<const double*>(values.data()));
    return extremes.ordinary().range();
  }

  // The exponent of the largest power of two within the bound; for equal values, that of the
  // smallest number.
  static int exponent_of(double wanted) {
    constexpr int least = std::numeric_limits<double>::min_exponent - 1;
    return wanted > 0 ? std::max(std::ilogb(wanted), least) : least;
  }

  // Returns whether the values are finite and stay so after decoding: zfp's fixed point can give
  // back at most four times the largest value of a block. In accuracy mode the check of the bound
  // covers that.
  bool in_range(std::span<const std::byte> values, std::size_t n, bool single) const {
    const int headroom = bounded() ? 1 : 8;
    if (single)
      return all_at_most(reinterpret_cast<const float*>(values.data()), n,
                         std::numeric_limits<float>::max() / static_cast<float>(headroom));
    return all_at_most(reinterpret_cast<const double*>(values.data()), n,
                       std::numeric_limits<double>::max() / headroom);
  }

  // Returns whether these values keep the bound for certain, so that decoding them is not
  // necessary. With a tolerance of at least 2^m, zfp omits bit planes of coefficients below 2^(m -
  // 2d). The inverse transform multiplies that by at most (15/4)^d, to 2/3 of 2^m with negabinary
  // digits (Diffenderfer et al. 2019). The last third covers the rounding of both transforms: some
  // units of the block's fixed point, which is 2^62 or 2^30 times finer than its largest value, and
  // 4^d times as many after the inverse transform, in all less than 2^11 units. Fixed-point numbers
  // end at twice the power of two above a block's largest value; a result beyond that has the wrong
  // sign. If this power is 2^m or more, no result is beyond. If it is 2^(m - 2) or less, no result
  // can be off by more than three times that; in between, by 3/2 of 2^m. A power of two that is too
  // small has an infinite inverse, and nothing is restored.
  static bool keeps_bound(std::span<const std::byte> values, std::span<const std::size_t> shape,
                          bool single, double bound) {
    const auto all_do = [&](const auto* v, int finer) {
      using T = std::remove_cvref_t<decltype(*v)>;
      constexpr double finite = std::numeric_limits<T>::max() / 8;  // also for decoded values
      if (bound < std::ldexp(std::numeric_limits<T>::min(), 8 * sizeof(T) + 8)) return false;
      const auto limit = static_cast<T>(std::min(std::ldexp(bound, finer), finite));
      const double power = std::ldexp(1, std::ilogb(bound));
      return all_at_most(v, values.size() / sizeof(T), limit) &&
             (bound >= 1.5 * power || !has_block_between(v, shape, power / 4, power / 2));
    };
    return single ? all_do(reinterpret_cast<const float*>(values.data()), 16)
                  : all_do(reinterpret_cast<const double*>(values.data()), 48);
  }

  // Returns whether the largest value of some zfp block is at least `least` and less than `limit`.
  template <typename T>
  static bool has_block_between(const T* values, std::span<const std::size_t> shape, double least,
                                double limit) {
    constexpr std::size_t edge = 4;
    std::array<std::size_t, 4> n{1, 1, 1, 1};
    std::copy_backward(shape.begin(), shape.end(), n.end());
    std::vector<T> largest((n[3] + edge - 1) / edge);
    for (std::size_t w = 0; w < n[0]; w += edge)
      for (std::size_t z = 0; z < n[1]; z += edge)
        for (std::size_t y = 0; y < n[2]; y += edge) {
          std::fill(largest.begin(), largest.end(), T(0));
          for (std::size_t i = w; i < std::min(w + edge, n[0]); ++i)
            for (std::size_t j = z; j < std::min(z + edge, n[1]); ++j)
              for (std::size_t k = y; k < std::min(y + edge, n[2]); ++k)
                add_row(values + ((i * n[1] + j) * n[2] + k) * n[3], n[3], largest.data());
          for (const T its : largest)
            if (its >= least && its < limit) return true;
        }
    return false;
  }
  template <typename T>
  static void add_row(const T* row, std::size_t n, T* largest) {
    for (; n >= 4; n -= 4, row += 4, ++largest)
      *largest = std::max(
          {*largest, std::fabs(row[0]), std::fabs(row[1]), std::fabs(row[2]), std::fabs(row[3])});
    for (std::size_t x = 0; x < n; ++x) *largest = std::max(*largest, std::fabs(row[x]));
  }

  // Decodes the stream and compares: bit for bit, or element for element with the bound.
  bool comes_back(const ChunkInfo& chunk, const ZfpField& field, std::span<std::byte> stream,
                  const ZfpMode& mode, double bound, CodecWorkspace::State& state) const {
    const std::span<const std::byte> values(field.values, static_cast<std::size_t>(chunk.bytes()));
    const auto decoded = state.check.reserve(values.size());
    const ZfpField back{field.type, field.shape, decoded.data()};
    if (!zfp_decompress_in_place(back, mode, stream)) return false;
    if (mode_ == Mode::reversible)
      return std::memcmp(values.data(), decoded.data(), values.size()) == 0;
    const auto n = static_cast<std::size_t>(chunk.elements());
    if (chunk.type == Type::float32)
      return all_within(reinterpret_cast<const float*>(values.data()),
                        reinterpret_cast<const float*>(decoded.data()), n, bound);
    return all_within(reinterpret_cast<const double*>(values.data()),
                      reinterpret_cast<const double*>(decoded.data()), n, bound);
  }

  Mode mode_;
  double parameter_;
};

constexpr const char* accepted_by_zfp =
    "write zfp:accuracy=X with X the largest absolute error, zfp:relative=X with X times the range "
    "of all values, zfp:precision=N with N bit planes, zfp:rate=X with X bits an element, or "
    "zfp:reversible";

std::shared_ptr<const CodecStage> make_zfp(const StageParameter& parameter) {
  using Mode = ZfpStage::Mode;
  if (!parameter.given) throw parameter.refused("an error bound must be given", accepted_by_zfp);
  if (parameter.key.empty() && parameter.value == "reversible")
    return std::make_shared<ZfpStage>(Mode::reversible, 0);
  if (parameter.key == "accuracy")
    return std::make_shared<ZfpStage>(Mode::accuracy,
                                      parameter.positive(std::numeric_limits<double>::infinity()));
  if (parameter.key == "relative")
    return std::make_shared<ZfpStage>(Mode::relative, parameter.positive(1));
  if (parameter.key == "precision")
    return std::make_shared<ZfpStage>(
        Mode::precision, parameter.whole("precision", least_precision, most_precision));
  if (parameter.key == "rate")
    return std::make_shared<ZfpStage>(Mode::rate, parameter.positive(most_rate));
  const auto shown = parameter.key.empty() ? parameter.value : parameter.key;
  throw parameter.refused("it has no parameter \"" + std::string(shown) + "\"", accepted_by_zfp);
}

}  // namespace

extern const CodecEntry zfp_codec{
    60,
    {"zfp", "accuracy=X, relative=X, precision=N, rate=X or reversible; one must be given",
     "Lossy compression of smooth floating-point fields; reversible is exact.", true, true},
    make_zfp,
    ""};

}  // namespace forebay
