#include "layout/chunked/plugin_filters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/byteorder.h"
#include "codec/bitshuffle.h"
#include "codec/missing_values.h"
#include "codec/values.h"
#include "codec/zfp_stream.h"

namespace forebay::chunked {

namespace {

// -- bitshuffle

constexpr std::size_t block_multiple = 8;

class BitshuffleFilter final : public PluginStage {
 public:
  BitshuffleFilter(std::size_t width, std::size_t block) : width_(width), block_(block) {}

  Kind kind() const override { return Kind::shuffle; }
  std::string text() const override {
    return block_ > 0 ? "bitshuffle:block=" + std::to_string(block_) : "bitshuffle";
  }
  double encode_work() const override { return 0.06; }
  double decode_work() const override { return 0.06; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    shuffle_bits(out.reserve(in.bytes.size()).data(), in.bytes.data(), in.bytes.size() / width_,
                 width_, block(), state.values);
    return in.bytes.size();
  }

  std::vector<std::byte> encode_always(std::span<const std::byte> raw,
                                       CodecWorkspace::State& state) const override {
    std::vector<std::byte> stream(raw.size());
    shuffle_bits(stream.data(), raw.data(), raw.size() / width_, width_, block(), state.values);
    return stream;
  }

  std::size_t decode(const ChunkInfo& /*chunk*/, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    if (in.size() != out.size()) throw_damaged("bitshuffle", "its size is not that of the chunk");
    unshuffle_bits(out.data(), in.data(), in.size() / width_, width_, block(), state.values);
    return out.size();
  }

 private:
  // The plug-in's own choice; it never changes.
  std::size_t block() const {
    constexpr std::size_t bytes = 8192, least = 128;
    if (block_ > 0) return block_;
    return std::max(bytes / width_ / block_multiple * block_multiple, least);
  }

  std::size_t width_, block_;
};

std::shared_ptr<const PluginStage> bitshuffle_of(const std::vector<std::uint32_t>& values,
                                                 Type type) {
  const auto width = static_cast<std::uint32_t>(size_of(type));
  if (values.size() < 3 || values[2] != width) return nullptr;
  const std::uint32_t block = values.size() > 3 ? values[3] : 0;
  const bool compresses = values.size() > 4 && values[4] != 0;
  if (block % block_multiple != 0 || compresses) return nullptr;
  return std::make_shared<BitshuffleFilter>(width, block);
}

// -- H5Z-ZFP

/// What a filter of ours says of who wrote it: zfp 1.0.1, codec 5, H5Z-ZFP 1.1.1.
constexpr std::uint32_t zfp_versions = 0x1010'5111;

/// The key of each mode, and its number in the parameters that programs give.
struct ModeName {
  ZfpMode::Kind kind;
  const char* key;
  std::uint32_t number;
};
constexpr ModeName mode_names[] = {{ZfpMode::Kind::rate, "rate", 1},
                                   {ZfpMode::Kind::precision, "precision", 2},
                                   {ZfpMode::Kind::accuracy, "accuracy", 3},
                                   {ZfpMode::Kind::reversible, "reversible", 5}};

const ModeName& name_of_mode(ZfpMode::Kind kind) {
  return *std::ranges::find(mode_names, kind, &ModeName::kind);
}

class ZfpFilter final : public PluginStage {
 public:
  explicit ZfpFilter(ZfpHeader header) : header_(std::move(header)) {}

  Kind kind() const override { return Kind::values; }
  bool lossy() const override { return header_.mode.kind != ZfpMode::Kind::reversible; }
  std::string text() const override {
    const std::string mode = std::string("zfp:") + name_of_mode(header_.mode.kind).key;
    return lossy() ? mode + "=" + number_text(header_.mode.parameter) : mode;
  }
  double encode_work() const override { return 0.9; }
  double decode_work() const override { return 0.2; }
  Count most_bytes(Count /*bytes*/) const override { return static_cast<Count>(capacity()); }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    switch (header_.type) {
      case Type::float32:
        return encode_as<float>(in, out, state);
      case Type::float64:
        return encode_as<double>(in, out, state);
      default:
        return compressed(native(in.bytes, state), in.bytes.size(), out, nullptr);
    }
  }

  std::vector<std::byte> encode_always(std::span<const std::byte> raw,
                                       CodecWorkspace::State& state) const override {
    ScratchBuffer out;
    const auto room = out.reserve(capacity());
    const std::size_t size = zfp_compress_to(field(native(raw, state)), header_.mode, room);
    if (size == 0) throw Error(Errc::efilter, "zfp cannot encode a chunk");
    return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size)};
  }

  std::size_t decode(const ChunkInfo& /*chunk*/, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    ChunkInfo info{header_.type, {static_cast<Count>(out.size()) / size_of(header_.type)}};
    info.native = true;
    const auto values = room_for_native(info, out, state);
    zfp_decompress_any(in, {header_.type, header_.shape, values.data()}, header_.mode, state.check);
    hand_over(info, values, out);
    return out.size();
  }

  std::size_t capacity() const { return zfp_capacity(field({}), header_.mode); }

 private:
  std::span<const std::byte> native(std::span<const std::byte> raw,
                                    CodecWorkspace::State& state) const {
    ChunkInfo info{header_.type, {}};
    info.native = true;
    return native_values({info, raw}, state);
  }
  // zfp only reads the values that it encodes.
  ZfpField field(std::span<const std::byte> values) const {
    return {header_.type, header_.shape, const_cast<std::byte*>(values.data())};
  }
  std::optional<std::size_t> compressed(std::span<const std::byte> values, std::size_t raw,
                                        ScratchBuffer& out, std::byte* back) const {
    const auto room = out.reserve(capacity());
    const std::size_t size = zfp_compress_to(field(values), header_.mode, room, back);
    if (size == 0 || size >= raw) return std::nullopt;
    return size;
  }

  // zfp's filter sees missing values, too. A block of them and others has one exponent, so a chunk
  // passes only if all of it comes back as it must: missing values bit for bit, others within the
  // bound and not as missing ones. Modes without a bound would spoil the neighbours of a missing
  // value.
  template <typename T>
  std::optional<std::size_t> encode_as(const StageInput& in, ScratchBuffer& out,
                                       CodecWorkspace::State& state) const {
    const auto bytes = native(in.bytes, state);
    const std::size_t n = bytes.size() / sizeof(T);
    const std::span values(reinterpret_cast<const T*>(bytes.data()), n);
    const bool bounded = header_.mode.kind == ZfpMode::Kind::accuracy;
    if (lossy()) {
      T least{}, most{};
      if (!finite_range(values, least, most)) return std::nullopt;
      ChunkInfo info = in.chunk;
      info.type = header_.type;
      if (!bounded && MissingValues<T>(info, values).any) return std::nullopt;
    }
    const auto decoded = state.check.reserve(bytes.size());
    const auto size = compressed(bytes, in.bytes.size(), out, decoded.data());
    if (!size) return std::nullopt;
    const std::span back(reinterpret_cast<const T*>(decoded.data()), n);
    const MissingTest<T> is_missing(in.chunk.missing.get(), in.chunk.fill);
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const double bound = bounded ? header_.mode.parameter : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      const T value = values[i], its = back[i];
      const bool holds = !lossy() || is_missing(value)
                             ? std::bit_cast<Bits>(value) == std::bit_cast<Bits>(its)
                             : !is_missing(its) && std::fabs(double{value} - double{its}) <= bound;
      if (!holds) return std::nullopt;
    }
    return size;
  }

  ZfpHeader header_;
};

std::shared_ptr<const PluginStage> zfp_of(const std::vector<std::uint32_t>& values, Type type,
                                          const std::vector<Count>& chunk) {
  if (native_is_big_endian || values.size() < 2) return nullptr;
  auto header = read_zfp_header(std::span(values).subspan(1));
  if (!header || size_of(header->type) != size_of(type)) return nullptr;
  const Count elements = ChunkInfo{type, chunk}.elements();
  Count product = 1;
  for (const std::size_t length : header->shape)
    if (__builtin_mul_overflow(product, length, &product)) return nullptr;
  if (product != elements) return nullptr;
  auto stage = std::make_shared<const ZfpFilter>(std::move(*header));
  // A block may be said to take more bits than any that zfp makes.
  const auto most = static_cast<std::size_t>(4 * elements * size_of(type) + 4096);
  return stage->capacity() <= most ? stage : nullptr;
}

std::optional<Filter> zfp_filter_of(const std::string& stage, Type type,
                                    const std::vector<Count>& chunk) {
  const std::size_t equals = stage.find('=');
  const std::string key = stage.substr(4, equals == std::string::npos ? equals : equals - 4);
  const auto known = std::ranges::find(mode_names, key, &ModeName::key);
  if (native_is_big_endian || known == std::end(mode_names))
    throw Error(Errc::enotsupport, "HDF5's filter for zfp (32013) has no mode " + key,
                "use zfp:accuracy=X, precision=N, rate=X or reversible");
  ZfpMode mode{known->kind, 0};
  if (equals != std::string::npos)
    std::from_chars(stage.data() + equals + 1, stage.data() + stage.size(), mode.parameter);
  // The header has room for 52 bits of all lengths together.
  for (std::size_t most = 4; most > 0; --most) {
    const auto shape = merged_shape(chunk, most);
    const auto header = zfp_header({type, shape, nullptr}, mode);
    if (!header) continue;
    Filter filter{zfp_filter, {zfp_versions}};
    filter.values.insert(filter.values.end(), header->begin(), header->end());
    return filter;
  }
  throw Error(Errc::enotsupport, "a chunk is too long for HDF5's filter for zfp (32013)",
              "choose smaller chunks");
}

}  // namespace

std::optional<Filter> plugin_filter_of(const std::string& stage, Type type,
                                       const std::vector<Count>& chunk) {
  const std::string word = stage.substr(0, stage.find(':'));
  if (word == "zfp") return zfp_filter_of(stage, type, chunk);
  if (word != "bitshuffle") return std::nullopt;
  std::uint32_t block = 0;
  if (const auto equals = stage.find('='); equals != std::string::npos)
    std::from_chars(stage.data() + equals + 1, stage.data() + stage.size(), block);
  // The version of the layout of blocks; 0 for no inner compressor.
  return Filter{bitshuffle_filter, {0, 4, static_cast<std::uint32_t>(size_of(type)), block, 0}};
}

std::shared_ptr<const PluginStage> plugin_stage_of(const Filter& filter, Type type,
                                                   const std::vector<Count>& chunk) {
  if (filter.id == bitshuffle_filter) return bitshuffle_of(filter.values, type);
  if (filter.id == zfp_filter) return zfp_of(filter.values, type, chunk);
  return nullptr;
}

std::vector<std::uint32_t> values_to_ask(const Filter& filter) {
  const auto& values = filter.values;
  if (filter.id == bitshuffle_filter && values.size() >= 3)
    return {values.begin() + 3, values.end()};
  if (filter.id != zfp_filter || values.size() < 2) return values;
  const auto header = read_zfp_header(std::span(values).subspan(1));
  if (!header) return values;
  const std::uint32_t number = name_of_mode(header->mode.kind).number;
  if (header->mode.kind == ZfpMode::Kind::reversible) return {number};
  if (header->mode.kind == ZfpMode::Kind::precision)
    return {number, 0, static_cast<std::uint32_t>(header->mode.parameter)};
  // A double as it lies in memory.
  const auto halves = std::bit_cast<std::array<std::uint32_t, 2>>(header->mode.parameter);
  return {number, 0, halves[0], halves[1]};
}

std::string filter_name(std::uint32_t id) {
  constexpr std::pair<std::uint32_t, const char*> names[] = {
      {32001, "blosc"},    {32004, "lz4"}, {bitshuffle_filter, "bitshuffle"},
      {zfp_filter, "zfp"}, {32024, "sz3"}, {zstd_filter, "zstd"},
      {32026, "blosc2"}};
  for (const auto& [known, name] : names)
    if (known == id) return std::string(name) + " (" + std::to_string(id) + ")";
  return std::to_string(id);
}

}  // namespace forebay::chunked
