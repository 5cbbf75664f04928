// sz3: predicts each element from its decoded neighbours, and quantises the difference so that it
// stays within an absolute bound: abs=X, or rel=X times the range of the chunk's values.
//
// mode=speed and mode=ratio are SZ's two modes (Hou 2023, §4.2). They say how much time the encoder
// takes to make the chunk small; the stored form is the same.
//
// The predictors are SZ3's (its headers, version 3.1): interpolation level by level, linear or
// cubic, along the dimensions in either order; and the Lorenzo predictor. The best one for a chunk
// is found by trying them on a part of it, in mode ratio on all of it. SZ3's own container is not
// used, because its decoder trusts the counts and indices of the stream. Here the shape and the
// order of the elements never come from the stream, and everything that does is checked, so any
// bytes are safe to decode. A chunk is stored as
//
//     stored   = predictor direction bound frame
//     predictor = 1 byte: 0 linear, 1 cubic, 2 Lorenzo      direction = 1 byte: 0 or 1
//     bound    = the absolute bound, float64, big-endian
//     frame    = zstd frame of: n low bytes, n high bytes, outliers
//
// for n elements in the predictor's order. Each has a 16-bit code: 0 for an outlier, which is kept
// exactly (big-endian), else 1 + zigzag(q) for an element that is its prediction + 2 * bound * q.
// The slowest dimensions of a chunk of more than four are merged.
#include "codec/codec_stage.h"
#include "codec/owned.h"

#ifdef FOREBAY_SZ3

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/byteorder.h"
#include "base/of_this_thread.h"
#include "codec/sz3_predict.h"
#include "codec/values.h"

namespace forebay {

namespace {

using sz3::Choice, sz3::Predictor, sz3::Residue, sz3::predict, sz3::recover;
constexpr std::size_t most_dimensions = sz3::most_dimensions;

/// How much time the encoder takes to make a chunk small.
struct Effort {
  enum Tries { few, most, all };
  const char* mode;     ///< as users write it; empty: none is given
  std::size_t sampled;  ///< elements on which the predictors are tried; 0: all of the chunk
  Tries tries;          ///< how many of the predictors and directions
  int zstd_level;
  double work;  ///< as CodecStage::encode_work()
};
constexpr std::array<Effort, 3> efforts{{
    {"", 8192, Effort::most, 3, 0.6},
    {"speed", 1024, Effort::few, 1, 0.4},
    {"ratio", 0, Effort::all, 19, 4},
}};

// Copies a box from the middle of the array, of about `elements` elements and with the array's
// proportions.
template <typename T>
std::vector<T> middle(const T* values, const std::vector<std::size_t>& shape, std::size_t elements,
                      std::vector<std::size_t>& box) {
  std::size_t n = 1;
  for (const std::size_t length : shape) n *= length;
  const double share = std::min(1.0, static_cast<double>(elements) / static_cast<double>(n));
  const double side = std::pow(share, 1.0 / static_cast<double>(shape.size()));
  std::vector<std::size_t> first;
  std::size_t boxed = 1;
  for (const std::size_t length : shape) {
    constexpr std::size_t least = 8;
    const auto wanted = static_cast<std::size_t>(side * static_cast<double>(length));
    box.push_back(std::min(length, std::max(least, wanted)));
    first.push_back((length - box.back()) / 2);
    boxed *= box.back();
  }
  std::vector<T> sample;
  sample.reserve(boxed);
  const std::size_t row = box.back();
  for (std::size_t rows = 0; rows < boxed / row; ++rows) {
    std::size_t rest = rows, at = first.back(), stride = shape.back();
    for (std::size_t d = shape.size() - 1; d-- > 0;) {
      at += (first[d] + rest % box[d]) * stride;
      rest /= box[d];
      stride *= shape[d];
    }
    sample.insert(sample.end(), values + at, values + at + row);
  }
  return sample;
}

// Bits that an entropy coder would need. A few elements may have far more possible codes, so the
// counts stay cleared from one call to the next instead of being cleared each time.
template <typename T>
double bits_of(const Residue<T>& residue) {
  auto& counts = of_this_thread<std::vector<std::uint32_t>, struct Counts>();
  const auto most =
      static_cast<std::size_t>(*std::max_element(residue.codes.begin(), residue.codes.end()));
  if (counts.size() <= most) counts.resize(most + 1);
  for (const int code : residue.codes) ++counts[static_cast<std::size_t>(code)];
  const auto n = static_cast<double>(residue.codes.size());
  double bits = 8.0 * sizeof(T) * static_cast<double>(residue.outliers.size());
  for (const int code : residue.codes)
    if (const auto count = std::exchange(counts[static_cast<std::size_t>(code)], 0); count != 0)
      bits -= count * std::log2(count / n);
  return bits;
}

template <typename T>
struct Best {
  Choice choice;
  std::optional<Residue<T>> residue;  ///< set if the sample is the whole array
};

template <typename T>
Best<T> best_choice(const T* values, const std::vector<std::size_t>& shape, double bound,
                    const Effort& effort) {
  std::vector<std::size_t> box;
  const std::size_t sampled =
      effort.sampled > 0 ? effort.sampled : std::numeric_limits<std::size_t>::max();
  const std::vector<T> sample = middle(values, shape, sampled, box);
  const double few_bits = box == shape ? 64 : 0;  // for masks and other overhead
  Best<T> best;
  double least = std::numeric_limits<double>::infinity();
  const auto attempt = [&](const Choice& choice, double margin) {
    if (least <= few_bits) return;  // no other choice can save more than that
    std::vector<T> copy = sample;
    Residue<T> residue = predict(box, choice, bound, copy.data());
    const double bits = bits_of(residue) * margin;
    if (bits >= least) return;
    least = bits;
    best.choice = choice;
    if (box == shape) best.residue = std::move(residue);
  };
  if (effort.tries != Effort::few) attempt({Predictor::linear, false}, 1);
  attempt({Predictor::cubic, false}, 1);
  if (shape.size() > 1 && effort.tries == Effort::most) {
    attempt({best.choice.predictor, true}, 1.02);
  } else if (shape.size() > 1 && effort.tries == Effort::all) {
    attempt({Predictor::linear, true}, 1);
    attempt({Predictor::cubic, true}, 1);
  }
  attempt({Predictor::lorenzo, false}, 1);
  return best;
}

// Separate types, since they are keys of the workspace's contexts.
struct Compressor {
  Owned<ZSTD_CCtx, ZSTD_freeCCtx> context;
};
struct Decompressor {
  Owned<ZSTD_DCtx, ZSTD_freeDCtx> context;
};

constexpr std::size_t header_bytes = 2 + sizeof(double);

// Writes codes and outliers as the frame's content; returns its size.
template <typename T>
std::size_t lay_out(const Residue<T>& residue, std::byte* to) {
  const std::size_t n = residue.codes.size();
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = static_cast<std::byte>(residue.codes[i] & 0xFF);
    to[n + i] = static_cast<std::byte>(residue.codes[i] >> 8);
  }
  const std::size_t bytes = residue.outliers.size() * sizeof(T);
  copy_swapped(to + 2 * n, reinterpret_cast<const std::byte*>(residue.outliers.data()), bytes,
               sizeof(T));
  return 2 * n + bytes;
}

template <typename T>
Residue<T> read_back(std::span<const std::byte> content, std::size_t n) {
  Residue<T> residue;
  residue.codes.resize(n);
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < n; ++i) {
    residue.codes[i] = std::to_integer<int>(content[i]) | std::to_integer<int>(content[n + i]) << 8;
    if (residue.codes[i] == 0) ++zeros;
  }
  if (content.size() != 2 * n + zeros * sizeof(T))
    throw_damaged("sz3", "its outliers are not as many as its codes tell");
  residue.outliers.resize(zeros);
  copy_swapped(reinterpret_cast<std::byte*>(residue.outliers.data()), content.data() + 2 * n,
               zeros * sizeof(T), sizeof(T));
  return residue;
}

class Sz3Stage final : public CodecStage {
 public:
  Sz3Stage(bool relative, double bound, const Effort& effort)
      : relative_(relative), bound_(bound), effort_(&effort) {}

  Kind kind() const override { return Kind::values; }
  std::string text() const override {
    return (relative_ ? "sz3:rel=" : "sz3:abs=") + number_text(bound_) +
           (*effort_->mode == 0 ? "" : std::string(":mode=") + effort_->mode);
  }
  bool lossy() const override { return true; }
  bool takes_native() const override { return true; }
  bool applies_to(Type type) const override { return is_floating(type); }
  double encode_work() const override { return effort_->work; }
  double decode_work() const override { return 0.25; }
  std::optional<double> promised(double range) const override {
    return relative_ ? bound_ * range : bound_;
  }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    try {
      return in.chunk.type == Type::float32 ? encode_as<float>(in, out, state)
                                            : encode_as<double>(in, out, state);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::enomem, "no memory to compress with sz3");
    }
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    try {
      return chunk.type == Type::float32 ? decode_as<float>(chunk, in, out, state)
                                         : decode_as<double>(chunk, in, out, state);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::enomem, "no memory to decompress with sz3");
    }
  }

 private:
  template <typename T>
  std::optional<std::size_t> encode_as(const StageInput& in, ScratchBuffer& out,
                                       CodecWorkspace::State& state) const {
    const auto n = static_cast<std::size_t>(in.chunk.elements());
    const auto* values = reinterpret_cast<const T*>(native_values(in, state).data());
    if (!all_at_most(values, n, std::numeric_limits<T>::max())) return std::nullopt;
    const double bound = absolute_bound(values, n);
    if (!std::isfinite(bound)) return std::nullopt;
    const double used = step_bound(bound);

    const auto shape = merged_shape(in.chunk.shape, most_dimensions);
    Best<T> best = best_choice(values, shape, used, *effort_);
    const Choice choice = best.choice;
    const auto check = state.check.reserve(in.bytes.size());
    auto* decoded = reinterpret_cast<T*>(check.data());
    if (!best.residue) {
      std::copy_n(values, n, decoded);
      best.residue = predict(shape, choice, used, decoded);
    }
    const Residue<T>& residue = *best.residue;

    const std::size_t most = 2 * n + residue.outliers.size() * sizeof(T);
    // One buffer holds the stored bytes and, after them, the frame's content.
    const auto buffer = out.reserve(in.bytes.size() + most);
    const auto to = buffer.first(in.bytes.size() - 1);
    const auto content = buffer.last(most);
    lay_out(residue, content.data());
    const auto size = compress(content, to.subspan(header_bytes), state);
    if (!size) return std::nullopt;
    to[0] = static_cast<std::byte>(choice.predictor);
    to[1] = static_cast<std::byte>(choice.reversed);
    store_be(to.data() + 2, used);

    Residue<T> stored = read_back<T>(content, n);
    recover(shape, choice, used, stored, decoded);
    if (!all_within(values, decoded, n, bound)) return std::nullopt;
    return header_bytes + *size;
  }

  template <typename T>
  std::size_t decode_as(const ChunkInfo& chunk, std::span<const std::byte> in,
                        std::span<std::byte> out, CodecWorkspace::State& state) const {
    const auto n = static_cast<std::size_t>(chunk.elements());
    if (in.size() <= header_bytes) throw_damaged("sz3", "it is cut short");
    const auto predictor = std::to_integer<unsigned>(in[0]);
    const auto reversed = std::to_integer<unsigned>(in[1]);
    const auto bound = load_be<double>(in.data() + 2);
    if (predictor > 2 || reversed > 1) throw_damaged("sz3", "it names an unknown predictor");
    if (bound != step_bound(relative_ ? bound : bound_))  // also true for NaN
      throw_damaged("sz3", "its bound is not the pipeline's");
    const auto content = decompress(in.subspan(header_bytes), 2 * n, (2 + sizeof(T)) * n, state);
    Residue<T> residue = read_back<T>(content, n);
    const auto values = room_for_native(chunk, out, state);
    recover(merged_shape(chunk.shape, most_dimensions),
            {static_cast<Predictor>(predictor), reversed != 0}, bound, residue,
            reinterpret_cast<T*>(values.data()));
    hand_over(chunk, values, out);
    return out.size();
  }

  template <typename T>
  double absolute_bound(const T* values, std::size_t n) const {
    if (!relative_) return bound_;
    const auto [least, most] = std::minmax_element(values, values + n);
    return bound_ * (static_cast<double>(*most) - static_cast<double>(*least));
  }

  // The quantiser's bound: above 0 even if all values are equal, and twice it is finite.
  static double step_bound(double bound) {
    return std::clamp(bound, std::numeric_limits<double>::min(),
                      std::numeric_limits<double>::max() / 4);
  }

  std::optional<std::size_t> compress(std::span<const std::byte> content, std::span<std::byte> to,
                                      CodecWorkspace::State& state) const {
    const auto& compressor = state.context<Compressor>(effort_->zstd_level, [] {
      return Compressor{decltype(Compressor::context)(ZSTD_createCCtx())};
    });
    if (compressor.context == nullptr) throw std::bad_alloc();
    const std::size_t size = ZSTD_compressCCtx(compressor.context.get(), to.data(), to.size(),
                                               content.data(), content.size(), effort_->zstd_level);
    if (ZSTD_isError(size)) return std::nullopt;
    return size;
  }

  static std::span<const std::byte> decompress(std::span<const std::byte> frame, std::size_t least,
                                               std::size_t most, CodecWorkspace::State& state) {
    const auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size < least ||
        size > most)
      throw_damaged("sz3", "its frame is not of the size of such a chunk");
    if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
      throw_damaged("sz3", "it is cut short, or bytes follow its end");
    const auto& decompressor = state.context<Decompressor>(
        0, [] { return Decompressor{decltype(Decompressor::context)(ZSTD_createDCtx())}; });
    if (decompressor.context == nullptr) throw std::bad_alloc();
    const auto content = state.check.reserve(size);
    const std::size_t got = ZSTD_decompressDCtx(decompressor.context.get(), content.data(),
                                                content.size(), frame.data(), frame.size());
    if (ZSTD_isError(got) || got != size) throw_damaged("sz3", "its frame does not decompress");
    return content;
  }

  bool relative_;
  double bound_;
  const Effort* effort_;
};

constexpr const char* accepted =
    "write sz3:abs=X with X the largest absolute error, or sz3:rel=X with X a fraction of the "
    "range of a chunk's values; then :mode=speed or :mode=ratio, or nothing";

/// Returns the effort that ":mode=…" behind the bound names, and cuts it off the bound.
const Effort& take_effort(StageParameter& bound) {
  const auto colon = bound.value.find(':');
  if (colon == std::string_view::npos) return efforts[0];
  const std::string_view word = bound.value.substr(colon + 1);
  constexpr std::string_view key = "mode=";
  if (word.starts_with(key))
    for (std::size_t i = 1; i < efforts.size(); ++i)
      if (word.substr(key.size()) == efforts[i].mode) {
        bound.value = bound.value.substr(0, colon);
        return efforts[i];
      }
  throw bound.refused("it has no parameter \"" + std::string(word) + "\"", accepted);
}

std::shared_ptr<const CodecStage> make_sz3(const StageParameter& parameter) {
  if (!parameter.given) throw parameter.refused("an error bound must be given", accepted);
  if (parameter.key == "abs" || parameter.key == "rel") {
    const bool relative = parameter.key == "rel";
    const double most = relative ? 1.0 : std::numeric_limits<double>::infinity();
    StageParameter bound = parameter;
    const Effort& effort = take_effort(bound);
    return std::make_shared<Sz3Stage>(relative, bound.positive(most), effort);
  }
  const auto shown = parameter.key.empty() ? parameter.value : parameter.key;
  throw parameter.refused("it has no parameter \"" + std::string(shown) + "\"", accepted);
}

}  // namespace

}  // namespace forebay

#endif  // FOREBAY_SZ3

namespace forebay {

extern const CodecEntry sz3_codec{
    70,
    {"sz3", "abs=X or rel=X; one must be given. Behind it :mode=speed or :mode=ratio",
     "Lossy compression by prediction: within an absolute bound, or one relative to a chunk's "
     "range.",
     true,
#ifdef FOREBAY_SZ3
     true},
    make_sz3,
#else
     false},
    nullptr,
#endif
    "build it from the sources with SZ3_ROOT=DIRECTORY, where SZ3 3.1's headers are, in the "
    "environment of cmake or of pip install . (./dev build fetches them)"};

}  // namespace forebay
