// zfp's streams as Forebay stores them: as little-endian words, without a header. The shape, the
// type and the mode are known from elsewhere.
//
// libzfp reads words without looking for the stream's end. How many bits one block can take is
// known from its mode, so a decoder that gets the stream in a buffer of
// zfp_stream_maximum_size() bytes, zeros after it, stays inside whatever the bytes say.
#pragma once

#include <cstddef>
#include <span>

#include "array/type.h"
#include "codec/stage.h"

namespace forebay {

struct ZfpMode {
  enum class Kind { accuracy, precision, rate, reversible };
  Kind kind = Kind::reversible;
  double parameter = 0;  ///< an absolute error, bit planes, bits an element
};

/// Values of float32 or float64 in native order; `shape`, slowest first, has one to four lengths,
/// all at least 1.
struct ZfpField {
  Type type = Type::none;
  std::span<const std::size_t> shape;
  std::byte* values = nullptr;  ///< compress() only reads them
};

/// Both make and read the same streams: libzfp, or, where it can, codec/zfp_blocks.
enum class ZfpWay { quickest, library };

/// Bytes that a stream of such a field takes at most.
std::size_t zfp_capacity(const ZfpField& field, const ZfpMode& mode);

/// The same of mode accuracy, told without libzfp: no less, and little more.
Count zfp_most_bytes(Type type, std::span<const std::size_t> shape);

/// Writes the stream into `out`, of zfp_capacity() bytes, aligned for any element; returns its
/// size, 0 where zfp fails. The words are the machine's: decompress_in_place() takes them so, and
/// order_words() makes them a file's. `back`, if it is not null, gets as many values: those that
/// decoding gives. Errc::enomem.
std::size_t zfp_compress_to(const ZfpField& field, const ZfpMode& mode, std::span<std::byte> out,
                            std::byte* back = nullptr, ZfpWay way = ZfpWay::quickest);
void zfp_order_words(std::span<std::byte> stream);

/// Reads back what zfp_compress_to() has just written. False where zfp fails.
bool zfp_decompress_in_place(const ZfpField& field, const ZfpMode& mode,
                             std::span<std::byte> stream);

/// Decodes a stream, any bytes, into the field; `scratch` is used meanwhile. Errc::enotnc where it
/// is none of such a field, Errc::enomem.
void zfp_decompress_from(std::span<const std::byte> stream, const ZfpField& field,
                         const ZfpMode& mode, ScratchBuffer& scratch,
                         ZfpWay way = ZfpWay::quickest);

}  // namespace forebay
