// bitshuffle: bits of equal significance of all elements are stored together.
//
// Of n elements of w bytes, the first g = n - n mod 8 are shuffled; the bytes of the others follow
// unchanged. The shuffled part has 8w planes of g / 8 bytes. Plane 8b + k holds bit k (0 is the
// least significant) of byte b of every element (0 is the first in the file, so the most
// significant). Byte i of a plane holds that bit of the elements 8i to 8i + 7, element 8i + e in
// bit e:
//
//     bit e of S[(8b + k) * g/8 + i]  =  bit k of byte b of element 8i + e
//
// This is the layout of the bitshuffle library, with the whole chunk as one block.
#include <bit>
#include <cstring>

#include "codec/codec_stage.h"
#include "codec/transpose.h"

namespace forebay {

namespace {

// Loads a word with its first byte as the lowest.
std::uint64_t load_word(const std::byte* src) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, src, sizeof word);
  } else {
    for (int i = 0; i < 8; ++i) word |= std::to_integer<std::uint64_t>(src[i]) << 8 * i;
  }
  return word;
}

void store_word(std::byte* dst, std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(dst, &word, sizeof word);
  } else {
    for (int i = 0; i < 8; ++i) dst[i] = static_cast<std::byte>(word >> 8 * i);
  }
}

// Turns one byte of each of 8 * columns elements into eight planes of `columns` bytes.
void bits_to_planes(std::byte* planes, const std::byte* bytes, std::size_t columns) {
  std::size_t i = 0;
  for (; i + 8 <= columns; i += 8) {
    std::uint64_t m[8];
    for (std::size_t c = 0; c < 8; ++c) m[c] = transpose_bits(load_word(bytes + (i + c) * 8));
    transpose_bytes(m);
    for (std::size_t k = 0; k < 8; ++k) store_word(planes + k * columns + i, m[k]);
  }
  for (; i < columns; ++i) {
    const std::uint64_t word = transpose_bits(load_word(bytes + i * 8));
    for (std::size_t k = 0; k < 8; ++k)
      planes[k * columns + i] = static_cast<std::byte>(word >> 8 * k);
  }
}

void planes_to_bits(std::byte* bytes, const std::byte* planes, std::size_t columns) {
  std::size_t i = 0;
  for (; i + 8 <= columns; i += 8) {
    std::uint64_t m[8];
    for (std::size_t k = 0; k < 8; ++k) m[k] = load_word(planes + k * columns + i);
    transpose_bytes(m);
    for (std::size_t c = 0; c < 8; ++c) store_word(bytes + (i + c) * 8, transpose_bits(m[c]));
  }
  for (; i < columns; ++i) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < 8; ++k)
      word |= std::to_integer<std::uint64_t>(planes[k * columns + i]) << 8 * k;
    store_word(bytes + i * 8, transpose_bits(word));
  }
}

class BitshuffleStage final : public CodecStage {
 public:
  Kind kind() const override { return Kind::shuffle; }
  std::string text() const override { return "bitshuffle"; }
  bool applies_to(Type type) const override { return size_of(type) > 1; }
  double encode_work() const override { return 0.06; }
  double decode_work() const override { return 0.06; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    const auto to = out.reserve(in.bytes.size());
    const auto [columns, width, shuffled] = sizes(in.chunk);
    const auto bytes = state.values.reserve(shuffled);
    shuffle_bytes(bytes.data(), in.bytes.data(), 8 * columns, static_cast<int>(width));
    for (std::size_t b = 0; b < width; ++b)
      bits_to_planes(to.data() + b * 8 * columns, bytes.data() + b * 8 * columns, columns);
    std::memcpy(to.data() + shuffled, in.bytes.data() + shuffled, in.bytes.size() - shuffled);
    return to.size();
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    if (in.size() != out.size()) throw_damaged("bitshuffle", "its size is not that of the chunk");
    const auto [columns, width, shuffled] = sizes(chunk);
    const auto bytes = state.values.reserve(shuffled);
    for (std::size_t b = 0; b < width; ++b)
      planes_to_bits(bytes.data() + b * 8 * columns, in.data() + b * 8 * columns, columns);
    unshuffle_bytes(out.data(), bytes.data(), 8 * columns, static_cast<int>(width));
    if (in.size() > shuffled)
      std::memcpy(out.data() + shuffled, in.data() + shuffled, in.size() - shuffled);
    return out.size();
  }

 private:
  struct Sizes {
    std::size_t columns, width, shuffled;
  };
  static Sizes sizes(const ChunkInfo& chunk) {
    const auto columns = static_cast<std::size_t>(chunk.elements()) / 8;
    const auto width = static_cast<std::size_t>(size_of(chunk.type));
    return {columns, width, columns * 8 * width};
  }
};

}  // namespace

extern const CodecEntry bitshuffle_codec{
    40,
    {"bitshuffle", "none",
     "Groups bits of equal rank: often better than shuffle for numbers of low entropy.", false,
     true},
    make_plain<BitshuffleStage>,
    ""};

}  // namespace forebay
