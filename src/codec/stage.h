// One codec as a stage of a pipeline, and the registry that makes stages from their text.
//
// A new codec is one file that defines a CodecEntry, which the build finds and lists
// (cmake/list_parts.cmake). A codec knows no other codec; what may follow what comes from its Kind.
//
// Terms: the *form* of the data between two stages is elements (big-endian, row-major, of the type
// that StageInput tells), shuffled elements, or bytes that mean nothing but to their codec.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "base/error.h"
#include "codec/pipeline.h"

namespace forebay {

/// Memory that grows and is never initialised; kept from chunk to chunk.
class ScratchBuffer {
 public:
  /// At least `bytes` bytes, aligned for any element; what was there before is lost when it grows.
  /// Errc::enomem.
  std::span<std::byte> reserve(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
};

/// What a CodecWorkspace holds. `front` and `back` are the pipeline's; a stage may use `values` and
/// `check` within one call, and objects of its own that live as long as the workspace.
struct CodecWorkspace::State {
  ScratchBuffer front, back;
  ScratchBuffer values;    ///< elements in native order
  ScratchBuffer check;     ///< what decoding gives, to verify a bound
  ScratchBuffer external;  ///< the pipeline's: a native chunk in external order
  /// Told by a stage that decodes, where what it stores has it: as Pipeline::decode() returns it.
  std::optional<double> bound;

  /// The workspace's T for this key (a level, say); made by `make()` at first use.
  template <typename T, typename Make>
  T& context(int key, Make make) {
    for (const Context& known : contexts_)
      if (known.type == typeid(T) && known.key == key) return *static_cast<T*>(known.object.get());
    contexts_.push_back({typeid(T), key, std::shared_ptr<void>(std::make_shared<T>(make()))});
    return *static_cast<T*>(contexts_.back().object.get());
  }

 private:
  struct Context {
    std::type_index type;
    int key;
    std::shared_ptr<void> object;
  };
  std::vector<Context> contexts_;
};

/// What a stage gets to encode. `chunk` tells type and shape where `bytes` are elements; for a
/// compressor only `bytes` count.
struct StageInput {
  const ChunkInfo& chunk;
  std::span<const std::byte> bytes;
};

/// Codes a chunk as a hierarchy: each level in a part of its own, so that the first parts are the
/// chunk at a coarser resolution. Immutable, as stages are.
class LevelCoder {
 public:
  LevelCoder() = default;
  LevelCoder(const LevelCoder&) = delete;
  LevelCoder& operator=(const LevelCoder&) = delete;
  virtual ~LevelCoder() = default;

  virtual int levels() const = 0;  ///< besides the coarsest one
  /// As Pipeline's functions of the same names; parts are coarse to fine.
  virtual Count most_bytes(const ChunkInfo& chunk) const = 0;
  virtual void encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      std::span<EncodedChunk> parts, CodecWorkspace::State& state) const = 0;
  virtual std::optional<double> decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                                       std::span<std::byte> raw,
                                       CodecWorkspace::State& state) const = 0;
};

/// Immutable; used by several threads at once, each with a workspace of its own.
class CodecStage {
 public:
  enum class Kind {
    levels,    ///< elements to a hierarchy of them; stands first, and codes it by the others
    convert,   ///< elements to elements of another type (type_after)
    shuffle,   ///< elements to the same bytes in another order
    values,    ///< elements to bytes, by their values
    compress,  ///< any bytes to fewer bytes
    check,     ///< nothing is changed; stands alone
  };

  CodecStage() = default;
  CodecStage(const CodecStage&) = delete;
  CodecStage& operator=(const CodecStage&) = delete;
  virtual ~CodecStage() = default;

  virtual Kind kind() const = 0;
  /// The canonical text, with every parameter.
  virtual std::string text() const = 0;
  virtual bool lossy() const { return false; }
  /// Elements may be in the machine's order (ChunkInfo::native) when it encodes, and are to be
  /// where it decodes. Others never see such chunks.
  virtual bool takes_native() const { return false; }
  virtual bool wants_range() const { return false; }  ///< as Pipeline's
  /// The largest absolute error that it leaves, where it is told one, of values of this range; 0
  /// for none at all.
  virtual std::optional<double> bound(double /*range*/) const { return std::nullopt; }
  /// Whether elements of this type can go through and may gain by it.
  virtual bool applies_to(Type) const { return true; }
  virtual Type type_after(Type type) const { return type; }
  /// Of Kind::levels alone: codes by the stages behind it. Errc::einval where they cannot follow.
  virtual std::shared_ptr<const LevelCoder> over(
      std::span<const std::shared_ptr<const CodecStage>> /*rest*/) const {
    return nullptr;
  }

  /// Time for a byte of this stage's decoded side, relative to encoding with deflate:6.
  virtual double encode_work() const = 0;
  virtual double decode_work() const = 0;

  /// Writes what stands for the input into `out`, and returns its size: less than the input's, for
  /// a shuffle the same. Nothing when this chunk is to go on without this stage (it would not
  /// become smaller, or the bound does not hold). Errc::enomem only.
  virtual std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                            CodecWorkspace::State& state) const = 0;

  /// Reverses encode(); returns the bytes written to `out`, which is as large as the result can be:
  /// exactly that large for all kinds but compress. `chunk` is what encode() got. `in` may be any
  /// bytes: Errc::enotnc when they are not what encode() makes.
  virtual std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                             std::span<std::byte> out, CodecWorkspace::State& state) const = 0;
};

/// The parameter of a stage as written: "zfp:accuracy=1e-3" has key "accuracy" and value "1e-3",
/// "zstd:3" has only the value, "shuffle" neither.
struct StageParameter {
  std::string_view stage;
  std::string_view key, value;
  bool given = false;

  /// The value as a whole number within [least, most]; `otherwise` when no parameter is given. The
  /// key may be left out. Errc::einval says what is accepted.
  int whole(std::string_view key_wanted, int least, int most,
            std::optional<int> otherwise = std::nullopt) const;
  /// The value as a finite number > 0 (and <= most). Errc::einval.
  double positive(double most) const;
  /// Errc::einval when there is a parameter.
  void none() const;
  /// The error for a parameter that makes no sense: "codec zstd: `reason`", with `advice`.
  Error refused(const std::string& reason, const std::string& advice) const;
};

/// Makes a stage that has no parameter.
template <typename Stage>
std::shared_ptr<const CodecStage> make_plain(const StageParameter& parameter) {
  parameter.none();
  return std::make_shared<Stage>();
}

/// The shortest text that reads back as the same number.
std::string number_text(double value);

/// What a codec says of itself, at the beginning of a line: `extern const CodecEntry name_codec{`.
struct CodecEntry {
  int order;  ///< among all, where people are told of them; smaller is earlier
  CodecDescription description;
  /// Null in a build without the codec; then `how_to_get` tells what to do.
  std::shared_ptr<const CodecStage> (*make)(const StageParameter&);
  const char* how_to_get;
};

/// All codecs in order, those that this build lacks included. Static.
std::span<const CodecEntry* const> codec_registry();
/// The same as the build has found them. Generated.
std::span<const CodecEntry* const> built_in_codecs();

/// The stage that one word of a pipeline's text names. Errc::einval, Errc::enotsupport.
std::shared_ptr<const CodecStage> make_stage(std::string_view word);

/// Stored bytes that are not what `stage` makes. Errc::enotnc.
[[noreturn]] void throw_damaged(const char* stage, const char* what);

}  // namespace forebay
