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
// This is the layout of the bitshuffle library, with the whole chunk as one block. With block=N
// each block of N elements is shuffled so, and of what is left behind the last whole block as many
// elements as a multiple of 8 has.
#include "codec/bitshuffle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

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

// Calls each(first, columns) for each block: its first element, and an eighth of their number.
template <typename Each>
void for_each_block(std::size_t n, std::size_t block, Each&& each) {
  const std::size_t shuffled = n - n % 8;
  for (std::size_t first = 0; first < shuffled; first += std::min(block, shuffled - first))
    each(first, std::min(block, shuffled - first) / 8);
}

void copy_rest(std::byte* dst, const std::byte* src, std::size_t n, std::size_t width) {
  const std::size_t shuffled = (n - n % 8) * width;
  if (n % 8 != 0) std::memcpy(dst + shuffled, src + shuffled, n % 8 * width);
}

class BitshuffleStage final : public CodecStage {
 public:
  explicit BitshuffleStage(int block) : block_(block) {}

  Kind kind() const override { return Kind::shuffle; }
  std::string text() const override {
    return block_ > 0 ? "bitshuffle:block=" + std::to_string(block_) : "bitshuffle";
  }
  bool applies_to(Type type) const override { return size_of(type) > 1; }
  double encode_work() const override { return 0.06; }
  double decode_work() const override { return 0.06; }

  std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                    CodecWorkspace::State& state) const override {
    const auto to = out.reserve(in.bytes.size());
    const auto width = static_cast<std::size_t>(size_of(in.chunk.type));
    shuffle_bits(to.data(), in.bytes.data(), in.bytes.size() / width, width, block(), state.values);
    return in.bytes.size();
  }

  std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                     std::span<std::byte> out, CodecWorkspace::State& state) const override {
    if (in.size() != out.size()) throw_damaged("bitshuffle", "its size is not that of the chunk");
    const auto width = static_cast<std::size_t>(size_of(chunk.type));
    unshuffle_bits(out.data(), in.data(), in.size() / width, width, block(), state.values);
    return out.size();
  }

 private:
  std::size_t block() const {
    return block_ > 0 ? static_cast<std::size_t>(block_) : std::numeric_limits<std::size_t>::max();
  }
  int block_;  // 0: the whole chunk
};

std::shared_ptr<const CodecStage> make_bitshuffle(const StageParameter& parameter) {
  constexpr int most = 1 << 27;
  if (!parameter.given) return std::make_shared<BitshuffleStage>(0);
  const int block = parameter.whole("block", 8, most);
  if (block % 8 != 0)
    throw parameter.refused("block=" + std::to_string(block) + " is no multiple of 8",
                            "block is a number of elements, such as 1024");
  return std::make_shared<BitshuffleStage>(block);
}

}  // namespace

void shuffle_bits(std::byte* dst, const std::byte* src, std::size_t n, std::size_t width,
                  std::size_t block, ScratchBuffer& scratch) {
  const auto bytes = scratch.reserve(std::min(n, block) * width);
  for_each_block(n, block, [&](std::size_t first, std::size_t columns) {
    std::byte* const planes = dst + first * width;
    shuffle_bytes(bytes.data(), src + first * width, 8 * columns, static_cast<int>(width));
    for (std::size_t b = 0; b < width; ++b)
      bits_to_planes(planes + b * 8 * columns, bytes.data() + b * 8 * columns, columns);
  });
  copy_rest(dst, src, n, width);
}

void unshuffle_bits(std::byte* dst, const std::byte* src, std::size_t n, std::size_t width,
                    std::size_t block, ScratchBuffer& scratch) {
  const auto bytes = scratch.reserve(std::min(n, block) * width);
  for_each_block(n, block, [&](std::size_t first, std::size_t columns) {
    const std::byte* const planes = src + first * width;
    for (std::size_t b = 0; b < width; ++b)
      planes_to_bits(bytes.data() + b * 8 * columns, planes + b * 8 * columns, columns);
    unshuffle_bytes(dst + first * width, bytes.data(), 8 * columns, static_cast<int>(width));
  });
  copy_rest(dst, src, n, width);
}

extern const CodecEntry bitshuffle_codec{
    40,
    {"bitshuffle", "block=N, a multiple of 8; all elements together if not given",
     "Groups bits of equal rank: often better than shuffle for numbers of low entropy.", false,
     true},
    make_bitshuffle,
    ""};

}  // namespace forebay
