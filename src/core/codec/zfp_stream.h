// zfp streams as Forebay stores them: little-endian words without a header. The shape, the type and
// the mode are known from elsewhere.
//
// libzfp reads words without checking for the end of the stream. Its mode limits the bits that one
// block can take. So a decoder never leaves a buffer of zfp_stream_maximum_size() bytes, with zeros
// after the stream, whatever the bytes say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "array/type.h"
#include "codec/codec_stage.h"

namespace forebay {

struct ZfpMode {
  enum class Kind { accuracy, precision, rate, reversible };
  Kind kind = Kind::reversible;
  double parameter = 0;  ///< an absolute error, bit planes, bits an element
};

/// Values of float32, float64, int32 or int64 in native order; `shape`, slowest first, has one to
/// four lengths, all at least 1.
struct ZfpField {
  Type type = Type::none;
  std::span<const std::size_t> shape;
  std::byte* values = nullptr;  ///< compress() only reads them
};

/// The implementation: codec/zfp_blocks where it can be used, or libzfp always. Both make and read
/// the same streams.
enum class ZfpWay { quickest, library };

/// Upper limit for the bytes of such a field's stream.
std::size_t zfp_capacity(const ZfpField& field, const ZfpMode& mode);

/// The same for mode accuracy, computed without libzfp: never less, and little more.
Count zfp_most_bytes(Type type, std::span<const std::size_t> shape);

/// Writes the stream into `out`, which has zfp_capacity() bytes and is aligned for any element.
/// Returns its size, 0 if zfp fails. The words are in the machine's byte order, as
/// decompress_in_place() expects them; order_words() converts them to the file's order. If `back`
/// is not null, it gets the values that decoding gives. Errc::enomem.
std::size_t zfp_compress_to(const ZfpField& field, const ZfpMode& mode, std::span<std::byte> out,
                            std::byte* back = nullptr, ZfpWay way = ZfpWay::quickest);
void zfp_order_words(std::span<std::byte> stream);

/// Decodes the output of zfp_compress_to(). Returns false if zfp fails.
bool zfp_decompress_in_place(const ZfpField& field, const ZfpMode& mode,
                             std::span<std::byte> stream);

/// Decodes a stream of any bytes into the field, using `scratch`. Errc::enotnc if it is not a
/// stream of such a field, Errc::enomem.
void zfp_decompress_from(std::span<const std::byte> stream, const ZfpField& field,
                         const ZfpMode& mode, ScratchBuffer& scratch,
                         ZfpWay way = ZfpWay::quickest);

/// The same for streams whose last word may be one of 8 bytes or of one, whatever libzfp was built
/// with.
void zfp_decompress_any(std::span<const std::byte> stream, const ZfpField& field,
                        const ZfpMode& mode, ScratchBuffer& scratch);

/// zfp's own header of a stream, which files of others have: the type, the shape and the mode, as
/// little-endian bytes of words. Nothing if the shape is too long for it. Errc::enomem.
std::optional<std::vector<std::uint32_t>> zfp_header(const ZfpField& field, const ZfpMode& mode);

/// What a header says. `shape` is not checked against anything.
struct ZfpHeader {
  Type type = Type::none;
  std::vector<std::size_t> shape;
  ZfpMode mode;
};
/// Nothing if the words are no header, or one of a mode that ZfpMode does not have. Errc::enomem.
std::optional<ZfpHeader> read_zfp_header(std::span<const std::uint32_t> words);

}  // namespace forebay
