// Chunks of all kinds for the tests of the codecs. Equal seeds give equal chunks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "base/byteorder.h"
#include "codec/pipeline.h"

namespace forebay::codec_test {

enum class Values {
  smooth,
  noise,
  bits,  // any bit pattern
  constant,
  zeros,
  nan,
  infinities,
  some_nan,
  denormal,
  largest,
  negative_zero,
  steps,
};
inline constexpr std::array all_values{
    Values::smooth,   Values::noise,   Values::bits,          Values::constant,
    Values::zeros,    Values::nan,     Values::infinities,    Values::some_nan,
    Values::denormal, Values::largest, Values::negative_zero, Values::steps,
};
inline const char* name_of_values(Values kind) {
  constexpr std::array names{"smooth",     "noise",    "bits",     "constant", "zeros", "nan",
                             "infinities", "some_nan", "denormal", "largest",  "-0",    "steps"};
  return names[static_cast<std::size_t>(kind)];
}

struct Chunk {
  ChunkInfo info;
  std::vector<std::byte> raw;  // big-endian
};

inline std::string describe(const ChunkInfo& info, Values kind) {
  std::string text = std::string(name_of(info.type)) + " [";
  for (const Count length : info.shape) text += std::to_string(length) + " ";
  return text + "] " + name_of_values(kind);
}

// Returns one value; `at` is the number of the element.
template <typename T>
T value(Values kind, std::size_t at, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  const double phase = static_cast<double>(at);
  const bool coin = (random() & 1) != 0;
  constexpr bool real = std::is_floating_point_v<T>;
  const T smooth = static_cast<T>(50 + 40 * std::sin(phase / 97) + 3 * std::cos(phase / 11));
  switch (kind) {
    case Values::smooth:
      return smooth;
    case Values::noise:
      return static_cast<T>(static_cast<double>(random() % 1000003) / (real ? 7.0 : 8011.0));
    case Values::bits: {
      const std::uint64_t word = random();
      T any;
      std::memcpy(&any, &word, sizeof any);
      return any;
    }
    case Values::constant:
      return static_cast<T>(real ? 3.14159265358979 : 77);
    case Values::zeros:
      return T{0};
    case Values::steps:
      return static_cast<T>(at / 50 % 7 * 12);
    case Values::largest:
      return coin ? Limits::max() : Limits::lowest();
    case Values::nan:
    case Values::some_nan:
      if constexpr (real) {
        if (kind == Values::nan || random() % 37 == 0) {
          // A quiet NaN with a payload, of either sign.
          const T nan = Limits::quiet_NaN();
          using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
          const Word payload = static_cast<Word>(random() & 0xFFFF);
          return std::bit_cast<T>(
              static_cast<Word>(std::bit_cast<Word>(coin ? nan : -nan) | payload));
        }
      }
      return smooth;
    case Values::infinities:
      if (random() % 11 != 0) return smooth;
      return coin ? Limits::infinity() : static_cast<T>(-Limits::infinity());
    case Values::denormal:
      if constexpr (real) {
        const T tiny = Limits::denorm_min() * static_cast<T>(random() % 5000);
        return coin ? tiny : -tiny;
      }
      return static_cast<T>(random() & 1);
    case Values::negative_zero:
      return coin ? static_cast<T>(-T{0}) : T{0};
  }
  return T{0};
}

template <typename T>
void fill(Chunk& chunk, Values kind, std::mt19937_64& random) {
  const auto n = static_cast<std::size_t>(chunk.info.elements());
  for (std::size_t i = 0; i < n; ++i)
    store_be(chunk.raw.data() + i * sizeof(T), value<T>(kind, i, random));
}

inline Chunk make_chunk(Type type, std::vector<Count> shape, Values kind, unsigned seed = 1) {
  Chunk chunk{{type, std::move(shape)}, {}};
  chunk.raw.resize(static_cast<std::size_t>(chunk.info.bytes()));
  std::mt19937_64 random(seed * 7919U + static_cast<unsigned>(kind));
  switch (type) {
    case Type::byte:
    case Type::chr:
      fill<signed char>(chunk, kind, random);
      break;
    case Type::uint8:
      fill<unsigned char>(chunk, kind, random);
      break;
    case Type::int16:
      fill<std::int16_t>(chunk, kind, random);
      break;
    case Type::uint16:
      fill<std::uint16_t>(chunk, kind, random);
      break;
    case Type::int32:
      fill<std::int32_t>(chunk, kind, random);
      break;
    case Type::uint32:
      fill<std::uint32_t>(chunk, kind, random);
      break;
    case Type::int64:
      fill<std::int64_t>(chunk, kind, random);
      break;
    case Type::uint64:
      fill<std::uint64_t>(chunk, kind, random);
      break;
    case Type::float32:
      fill<float>(chunk, kind, random);
      break;
    case Type::float64:
      fill<double>(chunk, kind, random);
      break;
    case Type::none:
      break;
  }
  return chunk;
}

inline constexpr std::array all_types{
    Type::byte,  Type::chr,    Type::int16,  Type::int32, Type::float32, Type::float64,
    Type::uint8, Type::uint16, Type::uint32, Type::int64, Type::uint64,
};

// One to six dimensions, lengths that no power of two divides, lengths of 1.
inline const std::vector<std::vector<Count>>& all_shapes() {
  static const std::vector<std::vector<Count>> shapes{
      {1009},       {4096},           {1, 1021, 1},       {37, 41},
      {64, 64},     {7, 11, 17},      {16, 16, 16},       {2, 600},
      {5, 6, 7, 8}, {3, 3, 3, 3, 17}, {2, 3, 1, 5, 7, 6}, {2, 2, 2, 2, 2, 67},
      {1031, 2},
  };
  return shapes;
}

inline double as_double(Type type, const std::byte* element) {
  return type == Type::float32 ? static_cast<double>(load_be<float>(element))
                               : load_be<double>(element);
}

/// What encoding and then decoding a chunk gives.
struct Trip {
  std::vector<std::byte> stored, raw;
  std::uint32_t skipped = 0;
};

inline Trip round_trip(const Pipeline& pipeline, const Chunk& chunk, CodecWorkspace& workspace) {
  Trip trip;
  const EncodedChunk encoded = pipeline.encode(chunk.info, chunk.raw, workspace);
  trip.stored.assign(encoded.bytes.begin(), encoded.bytes.end());
  trip.skipped = encoded.skipped;
  trip.raw.assign(chunk.raw.size(), std::byte{0xA5});
  pipeline.decode(chunk.info, trip.stored, trip.skipped, trip.raw, workspace);
  return trip;
}

}  // namespace forebay::codec_test
