#include "groups/operators/blosc.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"
#include "codec/bitshuffle.h"
#include "codec/codec_stage.h"
#include "codec/transpose.h"
#include "groups/operators/lz.h"

namespace forebay::operators {

namespace {

constexpr std::size_t head_bytes = 16, long_head_bytes = 32;
// Bits of the flags. Both shuffles together say that the head is a long one, which lists
// filters.
constexpr unsigned byte_shuffle = 1, plain_copy = 2, bit_shuffle = 4, delta = 8, one_stream = 16;
constexpr unsigned newest_version = 6;
// Up to this version, bits are shuffled only in blocks whose elements are a multiple of 8.
constexpr unsigned last_of_blosc1 = 2;
// In the long head.
constexpr std::size_t filters_at = 16, filter_slots = 6, more_flags_at = 30, flags_at = 31;
constexpr unsigned dictionary = 1, special_shift = 4, special_mask = 7;
enum class Special : unsigned { none, zeros, nans, repeated, unset };
enum class Filter : unsigned { none, shuffle, bitshuffle, delta, shortened };
enum class Compressor : unsigned { blosclz, lz4, snappy, zlib, zstd };

unsigned byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

// Numbers are little-endian on all machines.
std::int32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= byte_at(bytes, at + i) << 8 * i;
  return static_cast<std::int32_t>(number);
}

[[noreturn]] void bad_chunk(const char* what) { throw_damaged("blosc", what); }

[[noreturn]] void unknown_in_chunk(const std::string& what) {
  throw Error(Errc::enotsupport, "a blosc chunk has " + what,
              "write it with another compressor or filter, or read it with adios2");
}

bool is_power(std::size_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

// Byte b of element i stands at b * n + i.
void unshuffle(std::span<std::byte> out, std::span<const std::byte> in, std::size_t width) {
  const std::size_t n = in.size() / width;
  if (is_power(width)) {
    unshuffle_bytes(out.data(), in.data(), n, static_cast<int>(width));
  } else {
    for (std::size_t b = 0; b < width; ++b)
      for (std::size_t i = 0; i < n; ++i) out[i * width + b] = in[b * n + i];
  }
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(n * width), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(n * width));
}

// Bit k of byte b of element i stands in plane 8b + k, which has n bits. Elements are shuffled by
// eights; the rest is as it was.
void unshuffle_planes(std::span<std::byte> out, std::span<const std::byte> in, std::size_t width,
                      ScratchBuffer& scratch) {
  const std::size_t n = in.size() / width / 8 * 8;
  if (n > 0 && is_power(width)) {
    unshuffle_bits(out.data(), in.data(), n, width, n, scratch);
  } else if (n > 0) {
    for (std::size_t b = 0; b < width; ++b)
      for (std::size_t i = 0; i < n; ++i) {
        unsigned byte = 0;
        for (std::size_t k = 0; k < 8; ++k)
          byte |= (byte_at(in, (8 * b + k) * (n / 8) + i / 8) >> i % 8 & 1) << k;
        out[i * width + b] = static_cast<std::byte>(byte);
      }
  }
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(n * width), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(n * width));
}

struct Head {
  std::size_t bytes = head_bytes, width = 1, decoded = 0, block = 0, stored = 0;
  unsigned version = 0, flags = 0;
  Special special = Special::none;
  Filter filter = Filter::none;
  Compressor compressor = Compressor::blosclz;

  bool is_copy() const { return (flags & plain_copy) != 0; }
};

Filter filter_of(std::span<const std::byte> chunk) {
  Filter only = Filter::none;
  for (std::size_t i = 0; i < filter_slots; ++i) {
    const auto filter = static_cast<Filter>(byte_at(chunk, filters_at + i));
    if (filter == Filter::none || filter == Filter::shortened) continue;
    if (filter != Filter::shuffle && filter != Filter::bitshuffle)
      unknown_in_chunk("filter " + std::to_string(byte_at(chunk, filters_at + i)));
    if (only != Filter::none) unknown_in_chunk("two filters");
    only = filter;
  }
  return only;
}

Head parse_head(std::span<const std::byte> chunk) {
  if (chunk.size() < head_bytes) bad_chunk("it is cut short");
  Head head;
  head.version = byte_at(chunk, 0);
  if (head.version == 0 || head.version > newest_version)
    unknown_in_chunk("version " + std::to_string(head.version));
  head.flags = byte_at(chunk, 2);
  head.width = byte_at(chunk, 3);
  const auto size = [&](std::size_t at) {
    const std::int32_t number = number_at(chunk, at);
    if (number < 0) bad_chunk("a size is negative");
    return static_cast<std::size_t>(number);
  };
  head.decoded = size(4);
  head.block = size(8);
  head.stored = size(12);
  head.compressor = static_cast<Compressor>(head.flags >> 5);
  constexpr unsigned both = byte_shuffle | bit_shuffle;
  if ((head.flags & both) == both) {
    head.bytes = long_head_bytes;
    if (chunk.size() < long_head_bytes) bad_chunk("it is cut short");
    if ((byte_at(chunk, more_flags_at) & 1) != 0) unknown_in_chunk("blocks of several lengths");
    const unsigned more = byte_at(chunk, flags_at);
    if ((more & dictionary) != 0) unknown_in_chunk("a dictionary");
    head.special = static_cast<Special>(more >> special_shift & special_mask);
    head.filter = filter_of(chunk);
  } else {
    if ((head.flags & delta) != 0) unknown_in_chunk("filter delta");
    if ((head.flags & byte_shuffle) != 0) head.filter = Filter::shuffle;
    if ((head.flags & bit_shuffle) != 0) head.filter = Filter::bitshuffle;
  }
  if (head.width == 0 || head.decoded == 0 || head.stored < head.bytes ||
      head.stored > chunk.size())
    bad_chunk("its head makes no sense");
  return head;
}

void fill_special(const Head& head, std::span<const std::byte> value, std::span<std::byte> out) {
  switch (head.special) {
    case Special::zeros:
    case Special::unset:
      std::fill(out.begin(), out.end(), std::byte{0});
      return;
    case Special::repeated:
      if (value.size() < head.width || out.size() % head.width != 0)
        bad_chunk("it repeats no value");
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = value[i % head.width];
      return;
    case Special::nans: {
      const auto repeat = [&](auto nan) {
        for (std::size_t i = 0; i + sizeof nan <= out.size(); i += sizeof nan)
          std::memcpy(out.data() + i, &nan, sizeof nan);
      };
      if ((head.width != 4 && head.width != 8) || out.size() % head.width != 0)
        bad_chunk("it has NaN of no floating type");
      head.width == 4 ? repeat(std::numeric_limits<float>::quiet_NaN())
                      : repeat(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    default:
      unknown_in_chunk("special values of kind " +
                       std::to_string(static_cast<unsigned>(head.special)));
  }
}

// The stages of the pipeline do the same for chunks.
void decode_by_stage(const char* name, std::span<const std::byte> in, std::span<std::byte> out,
                     CodecWorkspace::State& state) {
  if (make_stage(name)->decode({}, in, out, state) != out.size())
    bad_chunk("a block decodes to fewer bytes than it has");
}

// A stream may be one byte again and again, or stored as it is.
std::span<const std::byte> decode_stream(const Head& head, std::span<const std::byte> in,
                                         std::span<std::byte> out, CodecWorkspace::State& state) {
  if (in.size() < 4) bad_chunk("a block is cut short");
  const std::int32_t bytes = number_at(in, 0);
  in = in.subspan(4);
  if (bytes == 0) {
    std::fill(out.begin(), out.end(), std::byte{0});
    return in;
  }
  if (bytes < 0) {
    if (in.empty() || bytes < -255 || (byte_at(in, 0) & 1) == 0)
      bad_chunk("a block repeats no byte");
    std::fill(out.begin(), out.end(), static_cast<std::byte>(-bytes));
    return in.subspan(1);
  }
  const auto size = static_cast<std::size_t>(bytes);
  if (size > in.size()) bad_chunk("a block is cut short");
  const auto stream = in.first(size);
  if (size == out.size()) {
    std::copy(stream.begin(), stream.end(), out.begin());
  } else {
    switch (head.compressor) {
      case Compressor::blosclz:
        decode_blosclz(stream, out);
        break;
      case Compressor::lz4:
        decode_lz4(stream, out);
        break;
      case Compressor::zlib:
        decode_by_stage("deflate", stream, out, state);
        break;
      case Compressor::zstd:
        decode_by_stage("zstd", stream, out, state);
        break;
      default:
        unknown_in_chunk("compressor " + std::to_string(static_cast<unsigned>(head.compressor)));
    }
  }
  return in.subspan(size);
}

void decode_block(const Head& head, std::span<const std::byte> in, std::span<std::byte> out,
                  CodecWorkspace::State& state) {
  const bool is_whole = out.size() == head.block;
  const bool split = is_whole && (head.flags & one_stream) == 0 && head.block % head.width == 0;
  const std::size_t streams = split ? head.width : 1, each = out.size() / streams;
  const bool shuffled =
      head.filter == Filter::bitshuffle || (head.filter == Filter::shuffle && head.width > 1);
  const auto to = shuffled ? state.front.reserve(out.size()).first(out.size()) : out;
  for (std::size_t s = 0; s < streams; ++s)
    in = decode_stream(head, in, to.subspan(s * each, each), state);
  if (!shuffled) return;
  if (head.filter == Filter::shuffle)
    unshuffle(out, to, head.width);
  else if (head.version <= last_of_blosc1 && out.size() / head.width % 8 != 0)
    std::ranges::copy(to, out.begin());
  else
    unshuffle_planes(out, to, head.width, state.values);
}

}  // namespace

BloscSizes blosc_sizes(std::span<const std::byte> bytes) {
  const Head head = parse_head(bytes);
  return {head.decoded, head.stored};
}

void decode_blosc(std::span<const std::byte> chunk, std::span<std::byte> out,
                  CodecWorkspace& workspace) {
  const Head head = parse_head(chunk);
  if (out.size() != head.decoded || chunk.size() != head.stored) bad_chunk("its sizes are others");
  const auto body = chunk.subspan(head.bytes);
  if (head.special != Special::none) return fill_special(head, body, out);
  if (head.is_copy()) {
    if (body.size() < out.size()) bad_chunk("it is cut short");
    std::copy_n(body.begin(), out.size(), out.begin());
    return;
  }
  if (head.block == 0 || head.block > head.decoded) bad_chunk("its blocks have no size");
  const std::size_t blocks = (head.decoded + head.block - 1) / head.block;
  if (blocks > body.size() / 4) bad_chunk("it is cut short");
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::int32_t begin = number_at(body, 4 * b);
    if (begin < 0 || static_cast<std::size_t>(begin) < head.bytes ||
        static_cast<std::size_t>(begin) > chunk.size())
      bad_chunk("a block lies outside of it");
    const std::size_t first = b * head.block;
    decode_block(head, chunk.subspan(static_cast<std::size_t>(begin)),
                 out.subspan(first, std::min(head.block, head.decoded - first)), workspace.state());
  }
}

}  // namespace forebay::operators
