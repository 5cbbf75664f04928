// A pipeline of codecs: what bytes stand for a chunk (DESIGN §2, D5 §5.2.1).
//
// The problem: the elements of a chunk, in external (big-endian) form, row-major, become fewer
// bytes, and come back: exactly for lossless codecs, within a stated bound for lossy ones. A
// pipeline is written as stages separated by commas, each with parameters after a colon:
//
//     shuffle,zstd:3      zfp:accuracy=1e-3,zstd      float32,shuffle,deflate:6      none
//
// What each stage accepts is in its file and in docs/methods.md. A stage that fails on a chunk, or
// does not keep its bound there, or (for the pipeline as a whole) does not make it smaller, is
// skipped for that chunk; the mask of skipped stages goes into the chunk table (the filter mask of
// HDF5 and D5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/type.h"
#include "base/types.h"

namespace forebay {

class CodecStage;
class LevelCoder;

/// What a chunk is to those codecs that look at values.
struct ChunkInfo {
  Type type = Type::none;
  std::vector<Count> shape;  ///< slowest first; empty: one element
  /// One element in external form that stands for none; empty: there is none. Hierarchies keep it
  /// as it is, other lossy codecs as one value among others.
  std::span<const std::byte> fill = {};
  /// Largest less smallest value of all that is written together, for codecs whose bound is a part
  /// of it (Pipeline::wants_range()); without it they take that of the chunk.
  std::optional<double> range = {};
  /// With such codecs: a bound that holds beside theirs, of values that are encoded once more.
  std::optional<double> bound = {};
  /// Of hierarchies, where a part was put: how far other values may be from what they were, which
  /// is of the bound, too. The chunk is kept exactly if some are the fill value, and may yet be
  /// put.
  std::optional<double> cut = {};
  /// Elements come, and are wanted back, in the machine's own order. What is stored is the same.
  /// Hierarchies are given back in external form alone.
  bool native = false;

  Count elements() const;
  Count bytes() const { return elements() * size_of(type); }
};

/// Scratch memory and codec contexts, kept from chunk to chunk. One per thread; not thread-safe.
class CodecWorkspace {
 public:
  CodecWorkspace();
  ~CodecWorkspace();
  CodecWorkspace(CodecWorkspace&&) noexcept;
  CodecWorkspace& operator=(CodecWorkspace&&) noexcept;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// The result of encoding. `bytes` is a view of the workspace, or of the chunk itself where every
/// stage was skipped and its elements are external; it is valid until either is used again.
struct EncodedChunk {
  std::span<const std::byte> bytes;
  std::uint32_t skipped = 0;  ///< bit i: stage i was not applied
};

/// Immutable once parsed; may be used by several threads, each with a workspace of its own.
class Pipeline {
 public:
  static constexpr std::size_t most_stages = 8;
  /// Chunks smaller than this are never encoded (issue of a codec's overhead; D5's raw fallback).
  static constexpr Count least_bytes = 1024;

  Pipeline();  ///< no stage: chunks are stored as they are
  /// "none", "" or stages as above. Errc::einval with what would be accepted for a word, parameter
  /// or order that makes no sense (also: more than most_stages; a stage after a compressor that
  /// needs elements; a bound that is zero, negative, NaN or missing); Errc::enotsupport naming a
  /// known codec that this build lacks, and how to get it.
  static Pipeline parse(std::string_view text);

  /// The canonical text: what parse() reads, with every parameter given; "none" when empty.
  const std::string& text() const { return text_; }
  bool empty() const { return stages_.empty(); }
  bool lossy() const;  ///< some stage may change values (within its bound)
  /// Encoding begins with elements in the machine's order: those in external form are copied first.
  bool takes_native() const;
  std::size_t size() const { return stages_.size(); }

  /// The pipeline for elements of a type: without those stages that the type cannot go through
  /// (lossy ones for anything but floating-point types; shuffles of one-byte elements).
  Pipeline for_type(Type type) const;
  /// The same without its lossy stages.
  Pipeline lossless() const;

  /// In how many parts a chunk is stored, coarse to fine: 1, but for a pipeline that begins with a
  /// hierarchy (codec/wavelet_stage.cc), which has one for each level and one more.
  int parts() const;
  /// The same of a pipeline's text, also where this build lacks one of its codecs.
  static int parts_of(std::string_view text);
  /// And of one without its hierarchy, if it begins with one.
  static std::string without_levels(std::string_view text);
  /// Bytes that all parts of a chunk take together, at most.
  Count most_bytes(const ChunkInfo& chunk) const;
  /// Whether ChunkInfo::range is needed to encode.
  bool wants_range() const;

  /// Time that encoding (decoding) one byte takes, relative to encoding with deflate:6; 0.02 for an
  /// empty pipeline. For planning only.
  double encode_work() const;
  double decode_work() const;

  /// Encodes one chunk of chunk.bytes() bytes (external form). Chunks under least_bytes, and those
  /// that would not become smaller, are left as they are, with all stages skipped. Lossy stages
  /// decode what they made and are skipped where the bound does not hold, or where values are not
  /// finite. Errc::enomem only.
  EncodedChunk encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      CodecWorkspace& workspace) const;

  /// The same for any pipeline; `parts` has parts() elements. A part may have no bytes, but for the
  /// first. The bytes are views of the workspace, or of the chunk itself.
  void encode(const ChunkInfo& chunk, std::span<const std::byte> raw, std::span<EncodedChunk> parts,
              CodecWorkspace& workspace) const;

  /// Decodes the first parts of a chunk, parts() of them or fewer, into `raw`: all its elements, or
  /// those of a coarser level (level_shape()). Fewer than the level has: the others count as
  /// details of zero, and what is missing in them is not known. Errors and result as decode().
  std::optional<double> decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                               std::span<std::byte> raw, CodecWorkspace& workspace) const;

  /// Decodes into `raw` (chunk.bytes() bytes). Errc::enotnc when `stored` is not what encode() made
  /// of such a chunk: never reads or writes outside the two spans, never allocates more than a
  /// small multiple of chunk.bytes(). Returns the bound that was asked for, where it is stored
  /// with the values (some of those of wants_range()).
  std::optional<double> decode(const ChunkInfo& chunk, std::span<const std::byte> stored,
                               std::uint32_t skipped, std::span<std::byte> raw,
                               CodecWorkspace& workspace) const;

 private:
  void settle();  // once stages_ are there

  std::vector<std::shared_ptr<const CodecStage>> stages_;
  std::shared_ptr<const LevelCoder> levels_;  // where the first one is a hierarchy
  std::string text_ = "none";
};

/// One codec, as shown to people (docs/methods.md, `forebay info`, error messages).
struct CodecDescription {
  const char* name;        ///< "zstd"
  const char* parameters;  ///< "level 1 to 19; 3 if not given"
  const char* help;        ///< one sentence
  bool lossy;
  bool here;  ///< this build has it
};

/// All codecs that the design names. Static.
std::span<const CodecDescription> codec_descriptions();

}  // namespace forebay
