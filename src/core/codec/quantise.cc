// bitgroom, granularbr, bitround: quantising as the first stage of a pipeline. What it stores are
// elements, so there is nothing to decode.
#include "codec/quantise.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>

#include "base/byteorder.h"
#include "codec/codec_stage.h"

namespace forebay {

namespace {

constexpr double bits_per_digit = std::numbers::ln10 / std::numbers::ln2;
constexpr double digits_per_bit = std::numbers::ln2 / std::numbers::ln10;

struct Facts {
  const char *name, *parameter;
  int most, most_of_float;
  const char *netcdf_attribute, *cf_attribute;
};
constexpr Facts all_facts[] = {
    {"bitgroom", "digits", 15, 7, "_QuantizeBitGroomNumberOfSignificantDigits", "quantization_nsd"},
    {"granularbr", "digits", 15, 7, "_QuantizeGranularBitRoundNumberOfSignificantDigits",
     "quantization_nsd"},
    {"bitround", "bits", 52, 23, "_QuantizeBitRoundNumberOfSignificantBits", "quantization_nsb"},
};
constexpr const Facts& facts_of(Quantiser how) { return all_facts[static_cast<int>(how)]; }

int floored(double x) { return static_cast<int>(std::floor(x)); }

/// Returns the bits of the significand that granular BitRound keeps of a value, without the first,
/// which is implicit. Each step rounds as netCDF-C's does.
int kept_by_logarithm(double value, int digits) {
  int exponent = 0;
  const double logarithm = std::log10(std::fabs(std::frexp(value, &exponent)));
  // Volatile, so that no product is fused with a sum, which would round once instead of twice.
  const volatile double of_exponent = exponent * digits_per_bit;
  const volatile double of_fraction = bits_per_digit * logarithm;
  const int before_point = floored(of_exponent + logarithm) + 1;
  const int unit = floored(bits_per_digit * (before_point - digits));
  return std::abs(floored(exponent - of_fraction) - unit) - 1;
}

/// The numbers of one exponent: those below `power`, a power of ten, have `digits` digits before
/// the point, the others one more.
struct Binade {
  double power;
  int digits;
};
constexpr int bias = 1022;  // of exponents of a fraction in [0.5, 1)

std::array<Binade, 2048> all_binades() {
  std::array<Binade, 2048> all{};
  for (int field = 0; field < std::ssize(all); ++field) {
    const int digits = floored((field - bias) * digits_per_bit);
    all[static_cast<std::size_t>(field)] = {std::pow(10.0, digits), digits};
  }
  return all;
}

/// Returns the same without a logarithm, except near the powers of ten and of two where it jumps.
int kept_of_digits(double value, int digits) {
  static const auto binades = all_binades();
  constexpr double near = 1e-9;  // of a value, or of a fraction: 2^-29
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1, few = std::uint64_t{1} << 23;
  const double size = std::fabs(value);
  const auto bits = std::bit_cast<std::uint64_t>(size);
  const int field = static_cast<int>(bits >> 52);
  const Binade& binade = binades[static_cast<std::size_t>(field)];
  const double above = size - binade.power;
  if (field == 0 || (bits & fraction) < few || std::fabs(above) <= near * size)
    return kept_by_logarithm(value, digits);
  const double unit = bits_per_digit * (binade.digits + (above >= 0 ? 1 : 0) - digits);
  const int truncated = static_cast<int>(unit);  // floor() is a call of a function
  return field - bias - (truncated - (unit < truncated ? 1 : 0)) - 1;
}

template <typename T>
struct Bits {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int explicit_bits = std::numeric_limits<T>::digits - 1;
  /// The bits that go where `kept` bits stay.
  static Word given_up(int kept) {
    if (kept < 0 || kept >= explicit_bits) return 0;
    return (Word{1} << (explicit_bits - kept)) - 1;
  }
  /// Half a unit is added to the magnitude; a carry may go on into the exponent.
  static T rounded(T value, Word given_up) {
    return std::bit_cast<T>((std::bit_cast<Word>(value) + (given_up + 1) / 2) & ~given_up);
  }
};

template <typename T, typename Quantised>
void each(std::span<T> values, const MissingTest<T>& is_missing, const Quantised& quantised) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];
    if (value == 0 || is_missing(value)) continue;
    const T made = quantised(value, i);
    if (!is_missing(made)) values[i] = made;
  }
}

class QuantisingStage final : public CodecStage {
 public:
  explicit QuantisingStage(Quantisation by) : by_(by) {}
  const Quantisation& by() const { return by_; }

  Kind kind() const override { return Kind::quantise; }
  std::string text() const override {
    const Facts& facts = facts_of(by_.how);
    return std::string(facts.name) + ":" + facts.parameter + "=" + std::to_string(by_.number);
  }
  bool lossy() const override { return true; }
  bool takes_native() const override { return true; }
  bool applies_to(Type type) const override { return by_.applies_to(type); }
  double encode_work() const override { return by_.how == Quantiser::granularbr ? 0.08 : 0.03; }
  double decode_work() const override { return 0; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State&) const override {
    const auto to = out.reserve(in.bytes.size());
    const int width = size_of(in.chunk.type);
    copy_swapped(to.data(), in.bytes.data(), to.size(), in.chunk.native ? 1 : width);
    in.chunk.type == Type::float32 ? apply<float>(in.chunk, to) : apply<double>(in.chunk, to);
    copy_swapped(to.data(), to.data(), to.size(), width);
    return to.size();
  }
  std::size_t decode(const ChunkInfo&, std::span<const std::byte>, std::span<std::byte>,
                     CodecWorkspace::State&) const override {
    throw Error(Errc::einternal, "quantised elements are not decoded");
  }

 private:
  template <typename T>
  void apply(const ChunkInfo& chunk, std::span<std::byte> native) const {
    quantise(by_, std::span(reinterpret_cast<T*>(native.data()), native.size() / sizeof(T)),
             MissingTest<T>(chunk.missing.get(), chunk.fill));
  }

  Quantisation by_;
};

template <Quantiser how>
std::shared_ptr<const CodecStage> make(const StageParameter& parameter) {
  const Facts& facts = facts_of(how);
  return std::make_shared<QuantisingStage>(
      Quantisation{how, parameter.whole(facts.parameter, 1, facts.most)});
}

}  // namespace

bool Quantisation::applies_to(Type type) const {
  const Facts& facts = facts_of(how);
  return type == Type::float64 || (type == Type::float32 && number <= facts.most_of_float);
}

const char* Quantisation::netcdf_attribute() const { return facts_of(how).netcdf_attribute; }
const char* Quantisation::cf_attribute() const { return facts_of(how).cf_attribute; }

std::optional<Quantisation> quantisation_of(std::string_view pipeline) {
  const std::string_view stage = pipeline.substr(0, pipeline.find(','));
  for (const Facts& facts : all_facts)
    if (stage.substr(0, stage.find(':')) == facts.name)
      return static_cast<const QuantisingStage&>(*make_stage(stage)).by();
  return std::nullopt;
}

template <typename T>
void quantise(const Quantisation& by, std::span<T> values, const MissingTest<T>& is_missing) {
  using Word = typename Bits<T>::Word;
  if (by.how == Quantiser::granularbr)
    return each(values, is_missing, [&](T v, std::size_t) {
      return Bits<T>::rounded(v, Bits<T>::given_up(kept_of_digits(v, by.number)));
    });
  if (by.how == Quantiser::bitround) {
    const Word given_up = Bits<T>::given_up(by.number);
    return each(values, is_missing,
                [&](T v, std::size_t) { return Bits<T>::rounded(v, given_up); });
  }
  const Word given_up =
      Bits<T>::given_up(static_cast<int>(std::ceil(by.number * bits_per_digit)) + 1);
  each(values, is_missing, [&](T v, std::size_t i) {
    const Word bits = std::bit_cast<Word>(v);
    return std::bit_cast<T>(i % 2 == 0 ? bits & ~given_up : bits | given_up);
  });
}

template void quantise(const Quantisation&, std::span<float>, const MissingTest<float>&);
template void quantise(const Quantisation&, std::span<double>, const MissingTest<double>&);

extern const CodecEntry bitgroom_codec{
    44,
    {"bitgroom", "digits=1 to 15 (float32: 7)",
     "netCDF-C's BitGroom: bits behind so many digits are cleared and set in turn.", true, true},
    make<Quantiser::bitgroom>,
    ""};

extern const CodecEntry granularbr_codec{
    45,
    {"granularbr", "digits=1 to 15 (float32: 7)",
     "netCDF-C's Granular BitRound: each value keeps the bits that so many digits need.", true,
     true},
    make<Quantiser::granularbr>,
    ""};

extern const CodecEntry bitround_codec{
    46,
    {"bitround", "bits=1 to 52 (float32: 23)",
     "netCDF-C's BitRound: values are rounded to so many bits of their fraction.", true, true},
    make<Quantiser::bitround>,
    ""};

}  // namespace forebay
