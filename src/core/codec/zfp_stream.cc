#include "codec/zfp_stream.h"

#include <zfp.h>

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

struct ZfpRun {
  Stream stream;
  Field field;
  Bits bits;

  ZfpRun(const ZfpField& of, const ZfpMode& mode)
      : stream(made_or_no_memory<Stream>(zfp_stream_open(nullptr), "zfp")),
        field(made_or_no_memory<Field>(zfp_field_alloc(), "zfp")) {
    const auto type = of.type == Type::float32 ? zfp_type_float : zfp_type_double;
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

void zfp_decompress_from(std::span<const std::byte> stream, const ZfpField& field,
                         const ZfpMode& mode, ScratchBuffer& scratch, ZfpWay way) {
  constexpr const char* ends_elsewhere = "the stream ends elsewhere than its bytes";
  if (way == ZfpWay::quickest && zfp_blocks::can(field, mode)) {
    if (zfp_blocks::decompress(stream, field, mode.parameter) != stream.size())
      throw_damaged("zfp", ends_elsewhere);
    return;
  }
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
  if (zfp_decompress(run.stream.get(), run.field.get()) != stream.size())
    throw_damaged("zfp", ends_elsewhere);
}

}  // namespace forebay
