// Makes blocks as adios2's operators blosc and zfp would (groups/operators/operators.h), so that
// adios2 decodes them.
//
//     [shuffle,]zstd:N, [shuffle,]deflate:N     blosc: chunks in the form of c-blosc 1, which both
//                                               versions of it read
//     zfp:accuracy=X, precision=N, rate=X       zfp, for real numbers
//
// adios2 tells zfp the extents of an array in C order as if the first one varied fastest. The
// header here has them in the other order, so that zfp sees neighbours; adios2 reads either.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/raw_bytes.h"
#include "codec/pipeline.h"
#include "groups/format/bp.h"

namespace forebay::operators {

/// What an encoder makes, in memory that is used again.
struct CodedBlock {
  const char* operation = "";
  RawBytes payload;
  RawBytes lossy;  ///< the values that decoding gives, if they may differ from those before
};

/// Immutable.
class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;

  /// Encodes elements that stand one after another. Returns false if they stay as they are: they
  /// would not become smaller, are few, or of a type that the codec is not for, or the bound does
  /// not hold. Errc::enomem.
  virtual bool encode(bp::Type type, const std::vector<Count>& extents, bool column_major,
                      std::span<const std::byte> values, CodecWorkspace& workspace,
                      CodedBlock& out) const = 0;
};

/// Returns the encoder that a value of `codec` names; null for "none". Errc::enotsupport: adios2
/// has no operator for it.
std::shared_ptr<const Encoder> make_encoder(const std::string& codec);

}  // namespace forebay::operators
