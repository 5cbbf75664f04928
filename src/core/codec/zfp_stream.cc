#include "codec/zfp_stream.h"

#include <zfp.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/byteorder.h"
#include "codec/owned.h"
#include "codec/zfp_blocks.h"

namespace forebay {
namespace {

using Stream = Owned<zfp_stream, zfp_stream_close>;
using Bits = Owned<bitstream, stream_close>;
using Field = Owned<zfp_field, zfp_field_free>;

zfp_type zfp_type_of(Type type) {
  switch (type) {
    case Type::float32:
      return zfp_type_float;
    case Type::float64:
      return zfp_type_double;
    case Type::int32:
      return zfp_type_int32;
    default:
      return zfp_type_int64;
  }
}

struct ZfpRun {
  Stream stream;
  Field field;
  Bits bits;

  ZfpRun(const ZfpField& of, const ZfpMode& mode)
      : stream(made_or_no_memory<Stream>(zfp_stream_open(nullptr), "zfp")),
        field(made_or_no_memory<Field>(zfp_field_alloc(), "zfp")) {
    const auto type = zfp_type_of(of.type);
    const auto dims = static_cast<unsigned>(of.shape.size());
    zfp_field* f = field.get();
    zfp_field_set_pointer(f, of.values);
    zfp_field_set_type(f, type);
    // zfp's x is the fastest dimension.
    const auto length = [&](std::size_t i) { return of.shape[of.shape.size() - 1 - i]; };
    if (dims == 1) zfp_field_set_size_1d(f, length(0));
    if (dims == 2) zfp_field_set_size_2d(f, length(0), length(1));
    if (dims == 3) zfp_field_set_size_3d(f, length(0), length(1), length(2));
    if (dims == 4) zfp_field_set_size_4d(f, length(0), length(1), length(2), length(3));
    zfp_stream* s = stream.get();
    switch (mode.kind) {
      case ZfpMode::Kind::accuracy:
        zfp_stream_set_accuracy(s, mode.parameter);
        break;
      case ZfpMode::Kind::precision:
        zfp_stream_set_precision(s, static_cast<unsigned>(mode.parameter));
        break;
      case ZfpMode::Kind::rate:
        zfp_stream_set_rate(s, mode.parameter, type, dims, 0);
        break;
      case ZfpMode::Kind::reversible:
        zfp_stream_set_reversible(s);
        break;
    }
  }

  // The size that no stream in this mode exceeds, and the word that the decoder reads ahead.
  std::size_t capacity() const {
    return zfp_stream_maximum_size(stream.get(), field.get()) + 2 * sizeof(std::uint64_t);
  }

  void attach(std::span<std::byte> buffer) {
    bits = made_or_no_memory<Bits>(stream_open(buffer.data(), buffer.size()), "zfp");
    zfp_stream_set_bit_stream(stream.get(), bits.get());
    zfp_stream_rewind(stream.get());
  }
};

}  // namespace

std::size_t zfp_capacity(const ZfpField& field, const ZfpMode& mode) {
  return ZfpRun(field, mode).capacity();
}

// A block has a bit for zeros, an exponent, and for each value at most all its planes and one more
// bit for the group tests.
Count zfp_most_bytes(Type type, std::span<const std::size_t> shape) {
  constexpr Count of_exponent = 16, of_stream = 64;
  Count blocks = 1, values = 1;
  for (const std::size_t n : shape) {
    blocks *= static_cast<Count>((n + 3) / 4);
    values *= 4;
  }
  return (blocks * (values * (8 * size_of(type) + 1) + of_exponent)) / 8 + of_stream;
}

std::size_t zfp_compress_to(const ZfpField& field, const ZfpMode& mode, std::span<std::byte> out,
                            std::byte* back, ZfpWay way) {
  if (way == ZfpWay::quickest && zfp_blocks::can(field, mode))
    return zfp_blocks::compress(field, mode.parameter, out, back);
  ZfpRun run(field, mode);
  run.attach(out);
  const std::size_t size = zfp_compress(run.stream.get(), run.field.get());
  if (size == 0 || back == nullptr) return size;
  zfp_field_set_pointer(run.field.get(), back);
  zfp_stream_rewind(run.stream.get());
  return zfp_decompress(run.stream.get(), run.field.get()) != 0 ? size : 0;
}

void zfp_order_words(std::span<std::byte> stream) {
  if constexpr (!native_is_big_endian) return;
  const std::size_t word = stream_word_bits / 8;
  for (std::size_t at = 0; at + word <= stream.size(); at += word)
    for (std::size_t i = 0; i < word / 2; ++i) std::swap(stream[at + i], stream[at + word - 1 - i]);
}

bool zfp_decompress_in_place(const ZfpField& field, const ZfpMode& mode,
                             std::span<std::byte> stream) {
  if (zfp_blocks::can(field, mode))
    return zfp_blocks::decompress(stream, field, mode.parameter).has_value();
  ZfpRun run(field, mode);
  run.attach(stream);
  return zfp_decompress(run.stream.get(), run.field.get()) != 0;
}

namespace {

// Returns the bytes that were used, in whole words.
std::size_t decompress(std::span<const std::byte> stream, const ZfpField& field,
                       const ZfpMode& mode, ScratchBuffer& scratch, ZfpWay way) {
  if (way == ZfpWay::quickest && zfp_blocks::can(field, mode))
    return zfp_blocks::decompress(stream, field, mode.parameter).value_or(0);
  ZfpRun run(field, mode);
  const std::size_t capacity = run.capacity();
  if (stream.empty() || stream.size() > capacity)
    throw_damaged("zfp", "its size is not one that such a chunk can have");
  const auto padded = scratch.reserve(capacity);
  std::memcpy(padded.data(), stream.data(), stream.size());
  std::memset(padded.data() + stream.size(), 0, capacity - stream.size());
  zfp_order_words(padded.first(stream.size()));
  run.attach(padded);
  // zfp reports how many whole words it has used, and the stream has just as many.
  return zfp_decompress(run.stream.get(), run.field.get());
}

void check_end(std::size_t used, std::size_t size) {
  if (used == 0 || used != size) throw_damaged("zfp", "the stream ends elsewhere than its bytes");
}

}  // namespace

void zfp_decompress_from(std::span<const std::byte> stream, const ZfpField& field,
                         const ZfpMode& mode, ScratchBuffer& scratch, ZfpWay way) {
  check_end(decompress(stream, field, mode, scratch, way), stream.size());
}

void zfp_decompress_any(std::span<const std::byte> stream, const ZfpField& field,
                        const ZfpMode& mode, ScratchBuffer& scratch) {
  const auto words = [](std::size_t bytes) { return (bytes + 7) / 8; };
  check_end(words(decompress(stream, field, mode, scratch, ZfpWay::quickest)),
            words(stream.size()));
}

namespace {

constexpr std::size_t most_header_words = 6;  // of 148 bits, in whole words of a stream

// The words of a header are bytes in the order of the file.
std::uint32_t word_of(std::span<const std::byte> bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::to_integer<std::uint32_t>(bytes[i]) << 8 * i;
  return word;
}

std::optional<ZfpMode> mode_of(const zfp_stream* stream, unsigned dims) {
  switch (zfp_stream_compression_mode(stream)) {
    case zfp_mode_fixed_rate:
      return ZfpMode{ZfpMode::Kind::rate, zfp_stream_rate(stream, dims)};
    case zfp_mode_fixed_precision:
      return ZfpMode{ZfpMode::Kind::precision, static_cast<double>(zfp_stream_precision(stream))};
    case zfp_mode_fixed_accuracy:
      return ZfpMode{ZfpMode::Kind::accuracy, zfp_stream_accuracy(stream)};
    case zfp_mode_reversible:
      return ZfpMode{ZfpMode::Kind::reversible, 0};
    default: {
      // The mode of a stream for which none was chosen: all bit planes.
      const bool all = stream->minbits <= ZFP_MIN_BITS && stream->maxbits >= ZFP_MAX_BITS &&
                       stream->maxprec >= ZFP_MAX_PREC && stream->minexp == ZFP_MIN_EXP;
      if (!all) return std::nullopt;
      return ZfpMode{ZfpMode::Kind::precision, ZFP_MAX_PREC};
    }
  }
}

}  // namespace

std::optional<std::vector<std::uint32_t>> zfp_header(const ZfpField& field, const ZfpMode& mode) {
  std::array<std::uint64_t, most_header_words> room{};
  const auto bytes = std::as_writable_bytes(std::span(room));
  ZfpRun run(field, mode);
  run.attach(bytes);
  const std::size_t bits = zfp_write_header(run.stream.get(), run.field.get(), ZFP_HEADER_FULL);
  if (bits == 0) return std::nullopt;
  zfp_stream_flush(run.stream.get());
  zfp_order_words(bytes);
  std::vector<std::uint32_t> words((bits + 31) / 32);
  for (std::size_t w = 0; w < words.size(); ++w) words[w] = word_of(bytes.subspan(4 * w, 4));
  return words;
}

std::optional<ZfpHeader> read_zfp_header(std::span<const std::uint32_t> words) {
  if (words.empty() || words.size() > most_header_words) return std::nullopt;
  std::array<std::uint64_t, most_header_words> room{};
  const auto bytes = std::as_writable_bytes(std::span(room));
  for (std::size_t i = 0; i < 4 * words.size(); ++i)
    bytes[i] = static_cast<std::byte>(words[i / 4] >> 8 * (i % 4));
  zfp_order_words(bytes);
  const auto stream = made_or_no_memory<Stream>(zfp_stream_open(nullptr), "zfp");
  const auto field = made_or_no_memory<Field>(zfp_field_alloc(), "zfp");
  const auto bits = made_or_no_memory<Bits>(stream_open(bytes.data(), bytes.size()), "zfp");
  zfp_stream_set_bit_stream(stream.get(), bits.get());
  zfp_stream_rewind(stream.get());
  if (zfp_read_header(stream.get(), field.get(), ZFP_HEADER_FULL) == 0) return std::nullopt;
  ZfpHeader header;
  constexpr Type types[] = {Type::none, Type::int32, Type::int64, Type::float32, Type::float64};
  header.type = types[field->type];
  const unsigned dims = zfp_field_dimensionality(field.get());
  for (const std::size_t length : {field->nw, field->nz, field->ny, field->nx})
    if (length > 0) header.shape.push_back(length);
  const auto mode = mode_of(stream.get(), dims);
  if (header.type == Type::none || header.shape.empty() || header.shape.size() != dims || !mode)
    return std::nullopt;
  header.mode = *mode;
  return header;
}

}  // namespace forebay
