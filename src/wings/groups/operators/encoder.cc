#include "groups/operators/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/words.h"
#include "codec/codec_stage.h"
#include "codec/transpose.h"
#include "codec/zfp_stream.h"
#include "groups/operators/forms.h"

namespace forebay::operators {

namespace {

/// Appends numbers, little-endian, and bytes.
class Printer {
 public:
  explicit Printer(RawBytes& out) : out_(out) { out_.clear(); }

  template <typename T>
  void number(T number) {
    for (std::size_t i = 0; i < sizeof number; ++i)
      out_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(number) >> 8 * i & 0xff));
  }
  template <typename T>
  void number_at(std::size_t at, T number) {
    for (std::size_t i = 0; i < sizeof number; ++i)
      out_[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> 8 * i & 0xff);
  }
  void bytes(std::span<const std::byte> some) { out_.insert(out_.end(), some.begin(), some.end()); }
  void short_text(std::string_view text) {
    number(static_cast<std::uint8_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }
  void head(Number which) {
    number(static_cast<std::uint8_t>(which));
    number(header_version);
    number(std::uint16_t{0});
  }
  std::size_t size() const { return out_.size(); }

 private:
  RawBytes& out_;
};

class BloscEncoder final : public Encoder {
 public:
  BloscEncoder(bool shuffled, unsigned compressor, std::shared_ptr<const CodecStage> stage)
      : shuffled_(shuffled), compressor_(compressor), stage_(std::move(stage)) {}

  bool encode(bp::Type type, const std::vector<Count>& /*extents*/, bool /*column_major*/,
              std::span<const std::byte> values, CodecWorkspace& workspace,
              CodedBlock& out) const override {
    if (std::ssize(values) < Pipeline::least_bytes) return false;
    const auto size = static_cast<std::size_t>(bp::size_of(type));
    const std::size_t width = bp::is_complex(type) ? size / 2 : size;
    out.operation = "blosc";
    Printer to(out.payload);
    to.head(Number::blosc);
    to.number(std::uint64_t{values.size()});
    for (const std::uint8_t digit : {2, 0, 0}) to.number(digit);
    to.number(std::uint32_t{0});
    const std::size_t chunks = (values.size() + chunk_bytes - 1) / chunk_bytes;
    out.payload.reserve(values.size() + values.size() / Pipeline::least_bytes + most_heads);
    to.number(static_cast<std::uint32_t>(chunks));
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t from = c * chunk_bytes;
      put_chunk(to, values.subspan(from, std::min(chunk_bytes, values.size() - from)), width,
                workspace.state());
      if (to.size() >= values.size()) return false;
    }
    return true;
  }

 private:
  // Multiples of all widths. A chunk's sizes have 31 bits.
  static constexpr std::size_t block_bytes = 256 << 10, chunk_bytes = 1 << 30;
  static constexpr std::size_t most_heads = 256;  // beside 8 bytes for each block
  static constexpr unsigned byte_shuffled = 1, in_one_stream = 16, compressor_shift = 5;

  void put_chunk(Printer& to, std::span<const std::byte> values, std::size_t width,
                 CodecWorkspace::State& state) const {
    const bool shuffled = shuffled_ && width > 1;
    const std::size_t begin = to.size(), block = std::min(block_bytes, values.size());
    to.number(std::uint8_t{2});  // the version of c-blosc 1
    to.number(std::uint8_t{1});
    to.number(static_cast<std::uint8_t>((shuffled ? byte_shuffled : 0) | in_one_stream |
                                        compressor_ << compressor_shift));
    to.number(static_cast<std::uint8_t>(width));
    to.number(static_cast<std::uint32_t>(values.size()));
    to.number(static_cast<std::uint32_t>(block));
    const std::size_t stored_at = to.size();
    to.number(std::uint32_t{0});
    const std::size_t places_at = to.size(), blocks = (values.size() + block - 1) / block;
    for (std::size_t b = 0; b < blocks; ++b) to.number(std::uint32_t{0});
    for (std::size_t b = 0; b < blocks; ++b) {
      to.number_at(places_at + 4 * b, static_cast<std::uint32_t>(to.size() - begin));
      auto raw = values.subspan(b * block, std::min(block, values.size() - b * block));
      if (shuffled) {
        const auto planes = state.front.reserve(raw.size()).first(raw.size());
        shuffle_bytes(planes.data(), raw.data(), raw.size() / width, static_cast<int>(width));
        raw = planes;
      }
      // A block that does not become smaller stands there as it is.
      const auto size = stage_->encode({{}, raw}, state.back, state);
      const auto stored =
          size ? std::span<const std::byte>(state.back.reserve(*size)).first(*size) : raw;
      to.number(static_cast<std::uint32_t>(stored.size()));
      to.bytes(stored);
    }
    to.number_at(stored_at, static_cast<std::uint32_t>(to.size() - begin));
  }

  bool shuffled_;
  unsigned compressor_;
  std::shared_ptr<const CodecStage> stage_;
};

class ZfpEncoder final : public Encoder {
 public:
  ZfpEncoder(ZfpMode mode, std::string name, std::string value)
      : mode_(mode), name_(std::move(name)), value_(std::move(value)) {}

  bool encode(bp::Type type, const std::vector<Count>& extents, bool column_major,
              std::span<const std::byte> values, CodecWorkspace& workspace,
              CodedBlock& out) const override {
    const Type engine = bp::to_engine(type);
    if (std::ssize(values) < Pipeline::least_bytes || !is_floating(engine)) return false;
    std::vector<std::size_t> told(extents.begin(), extents.end());
    if (!column_major) std::ranges::reverse(told);
    // adios2 decodes by these extents alone, and not all versions of it tell zfp of four. The last
    // ones are the slowest.
    std::erase(told, 1);
    for (; told.size() > least_zfp_dimensions; told.pop_back())
      told[told.size() - 2] *= told.back();
    const auto shape = zfp_shape(type, told, least_zfp_dimensions);
    out.operation = "zfp";
    Printer to(out.payload);
    to.head(Number::zfp);
    to.number(std::uint64_t{told.size()});
    for (const std::size_t extent : told) to.number(std::uint64_t{extent});
    to.number(std::uint32_t{engine == Type::float64 ? 10U : 9U});  // in adios2's list of types
    for (const std::uint8_t digit : {1, 0, 0}) to.number(digit);
    to.number(std::uint8_t{1});
    to.short_text(name_);
    to.short_text(value_);

    CodecWorkspace::State& state = workspace.state();
    const ZfpField field{engine, shape, aligned(values, engine, state.values)};
    const auto room = state.front.reserve(zfp_capacity(field, mode_));
    out.lossy.resize(values.size());
    const std::size_t size = zfp_compress_to(field, mode_, room, out.lossy.data());
    if (size == 0 || !(engine == Type::float64 ? keeps<double>(values, out.lossy)
                                               : keeps<float>(values, out.lossy)))
      return false;
    zfp_order_words(room.first(size));
    to.bytes(room.first(size));
    // zfp reads whole words, of 8 bytes as a rule.
    for (std::size_t n = size; n % 8 != 0; ++n) to.number(std::uint8_t{0});
    return to.size() < values.size();
  }

 private:
  // Returns the values where elements may stand: their own place as a rule, which zfp only reads.
  static std::byte* aligned(std::span<const std::byte> values, Type type, ScratchBuffer& scratch) {
    const auto place = reinterpret_cast<std::uintptr_t>(values.data());
    if (place % static_cast<std::uintptr_t>(size_of(type)) == 0)
      return const_cast<std::byte*>(values.data());
    const auto copy = scratch.reserve(values.size());
    std::ranges::copy(values, copy.begin());
    return copy.data();
  }

  // Whether what comes back is within the bound, or, in modes without one, finite.
  template <typename T>
  bool keeps(std::span<const std::byte> values, std::span<const std::byte> back) const {
    const bool bounded = mode_.kind == ZfpMode::Kind::accuracy;
    for (std::size_t at = 0; at < values.size(); at += sizeof(T)) {
      T before, after;
      std::memcpy(&before, values.data() + at, sizeof before);
      std::memcpy(&after, back.data() + at, sizeof after);
      const double error = std::fabs(static_cast<double>(before) - static_cast<double>(after));
      if (!(bounded ? error <= mode_.parameter : std::isfinite(error))) return false;
    }
    return true;
  }

  ZfpMode mode_;
  std::string name_, value_;
};

std::shared_ptr<const Encoder> zfp_encoder(std::string_view stage) {
  const std::size_t colon = stage.find(':'), equals = stage.find('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos) return nullptr;
  const std::string name(stage.substr(colon + 1, equals - colon - 1)),
      value(stage.substr(equals + 1));
  const auto number = number_in(value);
  if (!number) return nullptr;
  using Kind = ZfpMode::Kind;
  for (const auto& [known, kind] :
       {std::pair("accuracy", Kind::accuracy), std::pair("precision", Kind::precision),
        std::pair("rate", Kind::rate)})
    if (name == known) return std::make_shared<ZfpEncoder>(ZfpMode{kind, *number}, name, value);
  return nullptr;
}

}  // namespace

std::shared_ptr<const Encoder> make_encoder(const std::string& codec) {
  const Pipeline pipeline = Pipeline::parse(codec);
  if (pipeline.empty()) return nullptr;
  std::string_view text = pipeline.text();
  constexpr std::string_view shuffle = "shuffle,";
  const bool shuffled = text.starts_with(shuffle);
  if (shuffled) text.remove_prefix(shuffle.size());
  if (text.find(',') == std::string_view::npos) {
    constexpr unsigned zlib = 3, zstd = 4;
    if (text.starts_with("zstd:"))
      return std::make_shared<BloscEncoder>(shuffled, zstd, make_stage(text));
    if (text.starts_with("deflate:"))
      return std::make_shared<BloscEncoder>(shuffled, zlib, make_stage(text));
    if (text.starts_with("zfp:") && !shuffled)
      if (auto made = zfp_encoder(text)) return made;
  }
  throw Error(Errc::enotsupport, "codec=" + codec + ": adios2 has no operator that decodes it",
              "in BP files choose zstd:N or deflate:N, with shuffle before it or without, or "
              "zfp:accuracy=X, zfp:precision=N, zfp:rate=X");
}

}  // namespace forebay::operators
