// zfp: blocks of 4^d neighbours, decorrelated and cut off bit plane by bit plane (libzfp).
//
// What is stored is zfp's stream alone, as little-endian words: the shape, the type and the mode
// are known from the chunk and the pipeline. Arrays of more than four dimensions have their slowest
// ones merged. accuracy=X: an absolute bound on each element, checked. precision=N and rate=X keep
// N bit planes and X bits an element; they promise no bound. reversible: exact, checked bit for
// bit.
//
// libzfp reads words without looking for the stream's end. How many bits one block can take is
// known from its mode, so a decoder that gets the stream in a buffer of
// zfp_stream_maximum_size() bytes, zeros after it, stays inside whatever the bytes say.
#include <zfp.h>

#include <cstring>
#include <limits>
#include <memory>

#include "base/byteorder.h"
#include "codec/stage.h"
#include "codec/values.h"

namespace forebay {

namespace {

struct CloseStream {
  void operator()(zfp_stream* s) const { zfp_stream_close(s); }
};
struct CloseBits {
  void operator()(bitstream* b) const { stream_close(b); }
};
struct FreeField {
  void operator()(zfp_field* f) const { zfp_field_free(f); }
};
using Stream = std::unique_ptr<zfp_stream, CloseStream>;
using Bits = std::unique_ptr<bitstream, CloseBits>;
using Field = std::unique_ptr<zfp_field, FreeField>;

template <typename Owner>
Owner made_or_no_memory(typename Owner::pointer made) {
  if (made == nullptr) throw Error(Errc::enomem, "no memory to run zfp");
  return Owner(made);
}

zfp_type zfp_type_of(Type type) { return type == Type::float32 ? zfp_type_float : zfp_type_double; }

// zfp's stream is written in words of the machine's order; in a file they are little-endian.
void order_words(std::span<std::byte> stream) {
  if constexpr (!native_is_big_endian) return;
  const std::size_t word = stream_word_bits / 8;
  for (std::size_t at = 0; at + word <= stream.size(); at += word)
    for (std::size_t i = 0; i < word / 2; ++i) std::swap(stream[at + i], stream[at + word - 1 - i]);
}

constexpr int least_precision = 1, most_precision = 64;
constexpr double most_rate = 64;

class ZfpStage final : public CodecStage {
 public:
  enum class Mode { accuracy, precision, rate, reversible };

  ZfpStage(Mode mode, double parameter) : mode_(mode), parameter_(parameter) {}

  Kind kind() const override { return Kind::values; }
  bool lossy() const override { return mode_ != Mode::reversible; }
  bool applies_to(Type type) const override { return is_floating(type); }
  double encode_work() const override { return mode_ == Mode::reversible ? 0.9 : 0.7; }
  double decode_work() const override { return mode_ == Mode::reversible ? 0.35 : 0.2; }

  std::string text() const override {
    switch (mode_) {
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

    // zfp only reads what it encodes.
    auto* data = const_cast<std::byte*>(values.data());
    const Run run = set_up(in.chunk, data);
    const std::size_t capacity = capacity_of(run);
    const auto to = out.reserve(capacity);
    const Bits bits = attach(run, to);
    const std::size_t size = zfp_compress(run.stream.get(), run.field.get());
    if (size == 0 || size >= in.bytes.size() || size > capacity) return std::nullopt;
    if (verified() && !comes_back(in.chunk, values, to, state)) return std::nullopt;
    order_words(to.first(size));
    return size;
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    const auto values = state.values.reserve(out.size());
    const Run run = set_up(chunk, values.data());
    const std::size_t capacity = capacity_of(run);
    if (in.empty() || in.size() > capacity)
      throw_damaged("zfp", "its size is not one that such a chunk can have");
    const auto padded = state.check.reserve(capacity);
    std::memcpy(padded.data(), in.data(), in.size());
    std::memset(padded.data() + in.size(), 0, capacity - in.size());
    order_words(padded.first(in.size()));
    const Bits bits = attach(run, padded);
    // zfp tells how many whole words it has used: encode() stored just as many.
    if (zfp_decompress(run.stream.get(), run.field.get()) != in.size())
      throw_damaged("zfp", "the stream ends elsewhere than its bytes");
    copy_swapped(out.data(), values.data(), out.size(), size_of(chunk.type));
    return out.size();
  }

 private:
  struct Run {
    Stream stream;
    Field field;
  };

  bool verified() const { return mode_ == Mode::accuracy || mode_ == Mode::reversible; }

  // Finite, and still so after decoding: zfp's fixed point can give back at most four times the
  // largest value of a block. In accuracy mode the bound's check sees to that.
  bool in_range(std::span<const std::byte> values, std::size_t n, bool single) const {
    const int headroom = mode_ == Mode::accuracy ? 1 : 8;
    if (single)
      return all_at_most(reinterpret_cast<const float*>(values.data()), n,
                         std::numeric_limits<float>::max() / static_cast<float>(headroom));
    return all_at_most(reinterpret_cast<const double*>(values.data()), n,
                       std::numeric_limits<double>::max() / headroom);
  }

  // A stream in this stage's mode and the field of a chunk's elements at `data`.
  Run set_up(const ChunkInfo& chunk, std::byte* data) const {
    const auto shape = merged_shape(chunk.shape, 4);
    const auto type = zfp_type_of(chunk.type);
    Run run;
    run.stream = made_or_no_memory<Stream>(zfp_stream_open(nullptr));
    run.field = made_or_no_memory<Field>(zfp_field_alloc());
    zfp_field_set_pointer(run.field.get(), data);
    zfp_field_set_type(run.field.get(), type);
    // zfp's x is the fastest dimension.
    const auto length = [&](std::size_t i) { return shape[shape.size() - 1 - i]; };
    const auto dims = static_cast<unsigned>(shape.size());
    zfp_field* field = run.field.get();
    if (dims == 1) zfp_field_set_size_1d(field, length(0));
    if (dims == 2) zfp_field_set_size_2d(field, length(0), length(1));
    if (dims == 3) zfp_field_set_size_3d(field, length(0), length(1), length(2));
    if (dims == 4) zfp_field_set_size_4d(field, length(0), length(1), length(2), length(3));
    zfp_stream* stream = run.stream.get();
    if (mode_ == Mode::accuracy) zfp_stream_set_accuracy(stream, parameter_);
    if (mode_ == Mode::precision)
      zfp_stream_set_precision(stream, static_cast<unsigned>(parameter_));
    if (mode_ == Mode::rate) zfp_stream_set_rate(stream, parameter_, type, dims, 0);
    if (mode_ == Mode::reversible) zfp_stream_set_reversible(stream);
    return run;
  }

  // What no stream in this mode outgrows, and the word that the decoder reads ahead.
  static std::size_t capacity_of(const Run& run) {
    return zfp_stream_maximum_size(run.stream.get(), run.field.get()) + 2 * sizeof(std::uint64_t);
  }

  static Bits attach(const Run& run, std::span<std::byte> buffer) {
    Bits bits = made_or_no_memory<Bits>(stream_open(buffer.data(), buffer.size()));
    zfp_stream_set_bit_stream(run.stream.get(), bits.get());
    zfp_stream_rewind(run.stream.get());
    return bits;
  }

  // Decodes what was made and compares: bit for bit, or element for element with the bound.
  bool comes_back(const ChunkInfo& chunk, std::span<const std::byte> values,
                  std::span<std::byte> stream, CodecWorkspace::State& state) const {
    const auto decoded = state.check.reserve(values.size());
    const Run run = set_up(chunk, decoded.data());
    const Bits bits = attach(run, stream);
    if (zfp_decompress(run.stream.get(), run.field.get()) == 0) return false;
    if (mode_ == Mode::reversible)
      return std::memcmp(values.data(), decoded.data(), values.size()) == 0;
    const auto n = static_cast<std::size_t>(chunk.elements());
    if (chunk.type == Type::float32)
      return all_within(reinterpret_cast<const float*>(values.data()),
                        reinterpret_cast<const float*>(decoded.data()), n, parameter_);
    return all_within(reinterpret_cast<const double*>(values.data()),
                      reinterpret_cast<const double*>(decoded.data()), n, parameter_);
  }

  Mode mode_;
  double parameter_;
};

constexpr const char* accepted =
    "write zfp:accuracy=X with X the largest absolute error, zfp:precision=N with N bit planes, "
    "zfp:rate=X with X bits an element, or zfp:reversible";

std::shared_ptr<const CodecStage> make(const StageParameter& parameter) {
  using Mode = ZfpStage::Mode;
  if (!parameter.given) throw parameter.refused("an error bound must be given", accepted);
  if (parameter.key.empty() && parameter.value == "reversible")
    return std::make_shared<ZfpStage>(Mode::reversible, 0);
  if (parameter.key == "accuracy")
    return std::make_shared<ZfpStage>(Mode::accuracy,
                                      parameter.positive(std::numeric_limits<double>::infinity()));
  if (parameter.key == "precision")
    return std::make_shared<ZfpStage>(
        Mode::precision, parameter.whole("precision", least_precision, most_precision));
  if (parameter.key == "rate")
    return std::make_shared<ZfpStage>(Mode::rate, parameter.positive(most_rate));
  const auto shown = parameter.key.empty() ? parameter.value : parameter.key;
  throw parameter.refused("it has no parameter \"" + std::string(shown) + "\"", accepted);
}

}  // namespace

extern const CodecEntry zfp_codec{
    60,
    {"zfp", "accuracy=X, precision=N, rate=X or reversible; one must be given",
     "Lossy compression of smooth floating-point fields; reversible is exact.", true, true},
    make,
    ""};

}  // namespace forebay
