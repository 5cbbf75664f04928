// One codec as a stage of a pipeline, and the registry that makes stages from their text.
//
// A new codec is one file that defines a CodecEntry; the build finds and lists it
// (cmake/list_parts.cmake). A codec does not know other codecs. Its Kind determines which stages
// may follow it.
//
// Terms: the *form* of the data between two stages is elements (big-endian, row-major, of the type
// in StageInput), shuffled elements, or bytes that only their codec understands.
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

/// Memory that grows, is never initialised, and is kept from chunk to chunk.
class ScratchBuffer {
 public:
  /// At least `bytes` bytes, aligned for any element. Old content is lost when it grows.
  /// Errc::enomem.
  std::span<std::byte> reserve(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
};

/// The content of a CodecWorkspace. `front` and `back` belong to the pipeline. A stage may use
/// `values` and `check` within one call, and own objects that live as long as the workspace.
struct CodecWorkspace::State {
  ScratchBuffer front, back;
  ScratchBuffer values;    ///< elements in native order
  ScratchBuffer check;     ///< decoded values, to verify a bound
  ScratchBuffer external;  ///< for the pipeline: a native or quantised chunk in external order
  ScratchBuffer joined;    ///< for the pipeline: values kept apart, then the output of the stages
  /// Set by a decoding stage that stores its bound; Pipeline::decode() returns it.
  std::optional<double> bound;

  /// The workspace's T for this key (a level, say). `make()` creates it at first use.
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

/// The input of a stage. `chunk` has type and shape if `bytes` are elements; a compressor uses only
/// `bytes`.
struct StageInput {
  const ChunkInfo& chunk;
  std::span<const std::byte> bytes;
};

/// Encodes a chunk as a hierarchy, each level in a part of its own, so that the first parts are the
/// chunk at a coarser resolution. Immutable, like a stage.
class LevelCoder {
 public:
  LevelCoder() = default;
  LevelCoder(const LevelCoder&) = delete;
  LevelCoder& operator=(const LevelCoder&) = delete;
  virtual ~LevelCoder() = default;

  virtual int levels() const = 0;  ///< besides the coarsest one
  /// These are like Pipeline's functions of the same names. Parts are in order from coarse to fine.
  virtual Count most_bytes(const ChunkInfo& chunk) const = 0;
  virtual void encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      std::span<EncodedChunk> parts, CodecWorkspace::State& state) const = 0;
  virtual std::optional<double> decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                                       std::span<std::byte> raw,
                                       CodecWorkspace::State& state) const = 0;
  /// Errc::enotnc for damaged bytes.
  virtual LevelFacts facts(std::span<const std::byte> first_part) const = 0;
};

/// Immutable. Several threads may use it, each with its own workspace.
class CodecStage {
 public:
  enum class Kind {
    levels,    ///< elements to a hierarchy; must be first, and uses the other stages to encode it
    quantise,  ///< elements to elements of the same type with fewer significant bits; must be first
    convert,   ///< elements to elements of another type (type_after)
    shuffle,   ///< elements to the same bytes in another order
    values,    ///< elements to bytes, by their values
    compress,  ///< any bytes to fewer bytes
    check,     ///< changes nothing; must be the only stage
  };

  CodecStage() = default;
  CodecStage(const CodecStage&) = delete;
  CodecStage& operator=(const CodecStage&) = delete;
  virtual ~CodecStage() = default;

  virtual Kind kind() const = 0;
  /// The canonical text, with every parameter.
  virtual std::string text() const = 0;
  virtual bool lossy() const { return false; }
  /// encode() accepts and decode() gives elements in the machine's byte order if ChunkInfo::native
  /// is set. Other stages never get such chunks.
  virtual bool takes_native() const { return false; }
  virtual bool wants_range() const { return false; }  ///< as Pipeline::wants_range()
  /// The largest absolute error for values of this range, if the stage has a bound; 0 for none at
  /// all.
  virtual std::optional<double> bound(double /*range*/) const { return std::nullopt; }
  /// The same for any stage that keeps a bound, even if a hierarchy cannot use the stage.
  virtual std::optional<double> promised(double range) const { return bound(range); }
  /// Returns whether elements of this type can pass and may benefit.
  virtual bool applies_to(Type) const { return true; }
  virtual Type type_after(Type type) const { return type; }
  /// For Kind::levels only: the coder that uses the stages after this one. Errc::einval if they
  /// cannot follow.
  virtual std::shared_ptr<const LevelCoder> over(
      std::span<const std::shared_ptr<const CodecStage>> /*rest*/) const {
    return nullptr;
  }

  /// Time for a byte of the stage's decoded side, relative to encoding with deflate:6.
  virtual double encode_work() const = 0;
  virtual double decode_work() const = 0;

  /// Encodes the input into `out` and returns its size: smaller than the input, or equal for a
  /// shuffle or quantised elements, which are external. Returns nothing if this chunk must skip the
  /// stage (it would not become smaller, or the bound does not hold). Errc::enomem only.
  virtual std::optional<std::size_t> encode(const StageInput& in, ScratchBuffer& out,
                                            CodecWorkspace::State& state) const = 0;

  /// Reverses encode(). Returns the bytes written to `out`, which is as large as the result can be
  /// (exactly as large as the result, except for a compressor). `chunk` is as for encode(). `in`
  /// may be any bytes: Errc::enotnc if encode() does not make them.
  virtual std::size_t decode(const ChunkInfo& chunk, std::span<const std::byte> in,
                             std::span<std::byte> out, CodecWorkspace::State& state) const = 0;
};

/// The parameter of a stage as written: "zfp:accuracy=1e-3" has key "accuracy" and value "1e-3",
/// "zstd:3" has only a value, "shuffle" has neither.
struct StageParameter {
  std::string_view stage;
  std::string_view key, value;
  bool given = false;

  /// The value as a whole number within [least, most], or `otherwise` without a parameter. The key
  /// is optional. Errc::einval, with what is accepted.
  int whole(std::string_view key_wanted, int least, int most,
            std::optional<int> otherwise = std::nullopt) const;
  /// The value as a finite number in (0, most]. Errc::einval.
  double positive(double most) const;
  /// Errc::einval if there is a parameter.
  void none() const;
  /// The error for an invalid parameter: "codec zstd: `reason`", with `advice`.
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

/// The registration of a codec. It begins a line of the codec's file: `extern const CodecEntry
/// name_codec{`.
struct CodecEntry {
  int order;  ///< position in lists for users; smaller is earlier
  CodecDescription description;
  /// Null if this build lacks the codec; `how_to_get` then says what to do.
  std::shared_ptr<const CodecStage> (*make)(const StageParameter&);
  const char* how_to_get;
};

/// All codecs in order, including those that this build lacks. Static.
std::span<const CodecEntry* const> codec_registry();
/// The same in the order in which the build found them. Generated.
std::span<const CodecEntry* const> built_in_codecs();

/// Makes the stage that one word of a pipeline's text names. Errc::einval, Errc::enotsupport.
std::shared_ptr<const CodecStage> make_stage(std::string_view word);

/// Throws Errc::enotnc: the stored bytes are not an output of `stage`.
[[noreturn]] void throw_damaged(const char* stage, const char* what);

}  // namespace forebay
