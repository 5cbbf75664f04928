// A pipeline of codecs encodes the bytes of a chunk (Hou 2023, §5.2.1).
//
// The problem: the elements of a chunk, in external (big-endian) form, row-major, become fewer
// bytes and are restored later: exactly by lossless codecs, within a stated bound by lossy ones. A
// pipeline is written as stages separated by commas, each with parameters after a colon:
//
//     shuffle,zstd:3      zfp:accuracy=1e-3,zstd      float32,shuffle,deflate:6      none
//
// The file of a stage and docs/methods.md describe its parameters. A stage is skipped for a chunk
// if it fails on it or does not keep its bound. All stages are skipped if the pipeline does not
// make the chunk smaller. (Elements are quantised all the same, and nothing is undone for that.)
// The chunk table stores the mask of skipped stages, like the filter mask of HDF5 and of Hou 2023.
// Stages that look at values never see missing ones (codec/masked.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/missing.h"
#include "array/type.h"
#include "base/types.h"

namespace forebay {

class CodecStage;
class LevelCoder;

/// What value-based codecs need to know of a chunk.
struct ChunkInfo {
  Type type = Type::none;
  std::vector<Count> shape;  ///< slowest first; empty: one element
  /// The fill value, one element in external form; empty: there is none.
  std::span<const std::byte> fill = {};
  /// Largest minus smallest of all values that are written together, for codecs whose bound is
  /// relative to it (Pipeline::wants_range()). Without it they use the range of the chunk.
  std::optional<double> range = {};
  /// With such codecs: a second bound to keep, for values that are encoded again.
  std::optional<double> bound = {};
  /// For hierarchies whose values were changed by a partial write: how far values may already be
  /// from the original ones. It counts towards the bound. The chunk is kept exactly if some
  /// elements are the fill value, since they may still be written.
  std::optional<double> cut = {};
  /// Elements are in the machine's byte order, on input and output. The stored bytes are the same.
  /// Hierarchies decode to external form only.
  bool native = false;
  /// Which other elements are missing, when encoding; null: none. Missing elements are restored bit
  /// for bit, and no other element becomes a missing one.
  std::shared_ptr<const MissingRule> missing = {};
  /// Encode by the stages alone, for readers that do not know about values kept apart. Elements are
  /// not quantised, as they have been.
  bool plain = false;

  Count elements() const;
  Count bytes() const { return elements() * size_of(type); }
};

/// What the first part of a chunk in several parts says about its levels. Level 0 is the finest.
struct LevelFacts {
  bool lossy = false;  ///< level 0 may differ from what was written
  /// No element is missing at any level, so omitted details are small.
  bool whole = false;
  /// The largest difference of any level from the transform of the exact chunk; and the difference
  /// of level 0, where that is smaller (an exact chunk has none).
  double error = 0, finest_error = 0;
  /// details[k] bounds the details that level k + 1 lacks, for every level k but the coarsest. If
  /// level k is reconstructed without details, its difference from the chunk is at most the sum of
  /// the first k entries, plus `error`.
  std::vector<double> details;
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

/// The result of encoding. `bytes` is a view of the workspace, or of the chunk itself if every
/// stage was skipped and its elements are external and not quantised. It is valid until either is
/// used again.
struct EncodedChunk {
  std::span<const std::byte> bytes;
  std::uint32_t skipped = 0;  ///< bit i: stage i was not applied; for higher bits see below
  /// How the bound compares with the spread of most values, where both are above 0.
  enum class Bound : std::uint8_t { unknown, finer, coarser } bound = Bound::unknown;
};

/// In EncodedChunk::skipped: missing values precede the output of the stages.
constexpr std::uint32_t keeps_apart = 1U << 8;
/// In EncodedChunk::skipped: no stage could keep its bound, so "shuffle,zstd:3" replaces all
/// stages.
constexpr std::uint32_t stood_in = 1U << 9;

/// Immutable once parsed. Several threads may use it, each with its own workspace.
class Pipeline {
 public:
  static constexpr std::size_t most_stages = 8;
  /// Smaller chunks are never encoded, because of a codec's overhead (the raw fallback of Hou
  /// 2023).
  static constexpr Count least_bytes = 1024;

  Pipeline();  ///< no stage: chunks are stored as they are
  /// Parses "none", "" or stages as above. Errc::einval, with what would be accepted, for a word,
  /// parameter or order that makes no sense (also: more than most_stages; a stage that needs
  /// elements after a compressor; a bound that is zero, negative, NaN or missing).
  /// Errc::enotsupport if this build lacks a known codec, with its name and how to get it.
  static Pipeline parse(std::string_view text);

  /// The pipeline of these stages, in this order, which no text needs to name.
  static Pipeline of(std::vector<std::shared_ptr<const CodecStage>> stages);

  /// The canonical text, which parse() accepts, with every parameter; "none" when empty.
  const std::string& text() const { return text_; }
  bool empty() const { return stages_.empty(); }
  bool lossy() const;  ///< some stage may change values (within its bound)
  /// The first stage takes native elements. Otherwise external elements are copied first.
  bool takes_native() const;
  std::size_t size() const { return stages_.size(); }

  /// The pipeline for elements of a type, without the stages that the type cannot use (lossy stages
  /// for types other than floating-point ones; shuffles of one-byte elements).
  Pipeline for_type(Type type) const;
  /// The same without its lossy stages.
  Pipeline lossless() const;

  /// The number of parts that a chunk is stored in, coarse to fine. It is 1, except for a pipeline
  /// that begins with a hierarchy: one part for each level and one more (LevelCoder).
  int parts() const;
  /// The same for a pipeline's text. Nothing if this build lacks its first codec, or, for
  /// parts_of(), 1.
  static std::optional<int> known_parts_of(std::string_view text);
  static int parts_of(std::string_view text);
  /// The text without its first stage, if that is a hierarchy.
  static std::string without_levels(std::string_view text);
  /// Upper limit for the bytes of all parts of a chunk together.
  Count most_bytes(const ChunkInfo& chunk) const;
  /// Reads the facts about the levels of a chunk in several parts from its first part. Errc::enotnc
  /// for damaged bytes.
  LevelFacts level_facts(std::span<const std::byte> first_part) const;
  /// Whether ChunkInfo::range is needed to encode.
  bool wants_range() const;

  /// Time to encode (decode) one byte, relative to encoding with deflate:6; 0.02 for an empty
  /// pipeline. For planning only.
  double encode_work() const;
  double decode_work() const;

  /// Encodes one chunk of chunk.bytes() bytes (external form). Chunks under least_bytes, and those
  /// that would not become smaller, are left as they are, or as they are quantised, with all stages
  /// skipped. Missing values are kept apart from stages that cannot leave them as they are. Lossy
  /// stages decode their own output and are skipped if the bound does not hold. Errc::enomem only.
  EncodedChunk encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      CodecWorkspace& workspace) const;

  /// The same for any pipeline. `parts` has parts() elements. Any part but the first may be empty.
  /// The bytes are views of the workspace, or of the chunk itself.
  void encode(const ChunkInfo& chunk, std::span<const std::byte> raw, std::span<EncodedChunk> parts,
              CodecWorkspace& workspace) const;

  /// Decodes the first parts of a chunk, at most parts() of them, into `raw`: all its elements, or
  /// those of a coarser level (level_shape()). If parts of that level are missing, their details
  /// count as zero, and its missing values are not known. Errors and result as for decode() below.
  std::optional<double> decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                               std::span<std::byte> raw, CodecWorkspace& workspace) const;

  /// Decodes into `raw` (chunk.bytes() bytes). Errc::enotnc if encode() cannot have made `stored`
  /// from such a chunk. Never reads or writes outside the two spans, and never allocates more than
  /// a small multiple of chunk.bytes(). Returns the requested bound, if it is stored with the
  /// values (by some codecs with wants_range()).
  std::optional<double> decode(const ChunkInfo& chunk, std::span<const std::byte> stored,
                               std::uint32_t skipped, std::span<std::byte> raw,
                               CodecWorkspace& workspace) const;

 private:
  void settle();  // once stages_ are set
  EncodedChunk encode_by_stages(const ChunkInfo& chunk, std::span<const std::byte> raw,
                                CodecWorkspace& workspace) const;
  EncodedChunk without_stages(const ChunkInfo& chunk, std::span<const std::byte> raw,
                              CodecWorkspace& workspace) const;

  std::vector<std::shared_ptr<const CodecStage>> stages_;
  std::shared_ptr<const LevelCoder> levels_;  // if the first stage is a hierarchy
  std::string text_ = "none";
};

/// One codec, as users see it (docs/methods.md, `forebay info`, error messages).
struct CodecDescription {
  const char* name;        ///< "zstd"
  const char* parameters;  ///< "level 1 to 19; 3 if not given"
  const char* help;        ///< one sentence
  bool lossy;
  bool here;  ///< this build has it
};

/// All codecs that Forebay names. Static.
std::span<const CodecDescription> codec_descriptions();

}  // namespace forebay
