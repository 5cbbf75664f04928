#include "codec/pipeline.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/byteorder.h"
#include "base/words.h"
#include "codec/codec_stage.h"
#include "codec/masked.h"

namespace forebay {

namespace {

using StageKind = CodecStage::Kind;

/// In a workspace: a chunk that is decoded right after it was encoded.
struct Tried {
  ScratchBuffer bytes;
};

std::string join_texts(const std::vector<std::shared_ptr<const CodecStage>>& stages) {
  if (stages.empty()) return "none";
  return joined(stages, ",", [](const auto& stage) { return stage->text(); });
}

std::uint32_t all_of(std::size_t stages) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << stages) - 1);
}

bool skips(std::uint32_t skipped, std::size_t stage) { return (skipped >> stage & 1U) != 0; }

const char* order_problem(StageKind earlier, StageKind later) {
  if (later == StageKind::check || earlier == StageKind::check)
    return "does not go with a checksum alone: what is encoded has one in any case";
  if (later == StageKind::levels) return "comes first";
  if (later == StageKind::compress || earlier == StageKind::levels) return nullptr;
  if (later == StageKind::quantise) return "comes first";
  if (earlier == StageKind::quantise && later != StageKind::shuffle)
    return "does not go with quantised elements";
  if (earlier == StageKind::compress) return "needs elements, and a compressor leaves none";
  if (earlier == StageKind::values) return "needs elements, and the codec before it leaves none";
  if (earlier == StageKind::shuffle)
    return later == StageKind::shuffle ? "comes after another shuffle"
                                       : "needs elements not shuffled";
  return later == StageKind::convert ? "comes after another conversion" : nullptr;
}

void check_order(const std::vector<std::shared_ptr<const CodecStage>>& stages) {
  for (std::size_t i = 1; i < stages.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const char* problem = order_problem(stages[j]->kind(), stages[i]->kind());
      if (problem == nullptr) continue;
      throw Error(Errc::einval,
                  "codec " + join_texts(stages) + ": " + stages[i]->text() + " " + problem,
                  "the order is: float32, then zfp or sz3 or a shuffle, then deflate or zstd; or "
                  "bitgroom, granularbr or bitround, then a shuffle, then deflate or zstd");
    }
  }
}

// The chunk as the next stage sees it, whether this stage was applied or skipped.
ChunkInfo after(const CodecStage& stage, ChunkInfo chunk) {
  if (stage.kind() == StageKind::convert) chunk.type = stage.type_after(chunk.type);
  return chunk;
}

// Estimates how much smaller a stage makes the input of later ones; for planning.
double share_left(StageKind kind) {
  return kind == StageKind::shuffle || kind == StageKind::quantise ? 1.0 : 0.5;
}

constexpr double work_of_no_stage = 0.02;

// Converts external elements to the order that the chunk asks for; may work in place.
void copy_out(const ChunkInfo& chunk, std::span<const std::byte> from, std::span<std::byte> to) {
  if (chunk.native)
    copy_swapped(to.data(), from.data(), to.size(), size_of(chunk.type));
  else if (!to.empty())
    std::memcpy(to.data(), from.data(), to.size());
}

/// Replaces a lossy pipeline of which no stage could be applied.
const Pipeline& stand_in() {
  static const auto& pipeline = *new Pipeline(Pipeline::parse("shuffle,zstd:3"));
  return pipeline;
}

// Rejects masks and pipelines with which encode() cannot have encoded this chunk.
void check_stored(const Pipeline& pipeline, const ChunkInfo& chunk, std::uint32_t skipped,
                  std::size_t raw_bytes) {
  if ((skipped & ~all_of(pipeline.size())) != 0)
    throw Error(Errc::enotnc,
                "the filter mask of a chunk names stages that " + pipeline.text() + " has not");
  if (chunk.bytes() != static_cast<Count>(raw_bytes))
    throw Error(Errc::einternal, "a chunk of " + std::to_string(chunk.bytes()) +
                                     " bytes is decoded into " + std::to_string(raw_bytes));
}

}  // namespace

Count ChunkInfo::elements() const {
  // Callers have checked the shape; the limit only keeps bytes() from overflowing.
  constexpr Count most = std::numeric_limits<Count>::max() / 8;
  Count product = 1;
  for (const Count length : shape) {
    if (length <= 0) return 0;
    if (!multiply_fits(product, length, product) || product > most) product = most;
  }
  return product;
}

CodecWorkspace::CodecWorkspace() : state_(std::make_unique<State>()) {}
CodecWorkspace::~CodecWorkspace() = default;
CodecWorkspace::CodecWorkspace(CodecWorkspace&&) noexcept = default;
CodecWorkspace& CodecWorkspace::operator=(CodecWorkspace&&) noexcept = default;

std::span<std::byte> ScratchBuffer::reserve(std::size_t bytes) {
  if (bytes > capacity_) {
    memory_.reset();
    capacity_ = 0;
    try {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::enomem, "no memory for " + std::to_string(bytes) + " bytes to encode with",
                  "choose smaller chunks or fewer codec threads");
    }
    capacity_ = bytes;
  }
  return {memory_.get(), bytes};
}

Pipeline::Pipeline() = default;

Pipeline Pipeline::parse(std::string_view text) {
  Pipeline pipeline;
  text = trimmed(text);
  if (text.empty() || text == "none") return pipeline;
  for (const std::string_view stage : items_of(text, ',')) {
    if (stage == "none") continue;
    if (pipeline.stages_.size() == most_stages)
      throw Error(Errc::einval,
                  "a codec pipeline has at most " + std::to_string(most_stages) + " stages");
    pipeline.stages_.push_back(make_stage(stage));
  }
  check_order(pipeline.stages_);
  pipeline.settle();
  return pipeline;
}

Pipeline Pipeline::of(std::vector<std::shared_ptr<const CodecStage>> stages) {
  Pipeline pipeline;
  pipeline.stages_ = std::move(stages);
  pipeline.settle();
  return pipeline;
}

void Pipeline::settle() {
  text_ = join_texts(stages_);
  if (!stages_.empty() && stages_[0]->kind() == StageKind::levels)
    levels_ = stages_[0]->over(std::span(stages_).subspan(1));
}

bool Pipeline::lossy() const {
  return std::any_of(stages_.begin(), stages_.end(), [](const auto& s) { return s->lossy(); });
}

bool Pipeline::takes_native() const {
  return levels_ || (!stages_.empty() && stages_[0]->takes_native());
}

Pipeline Pipeline::for_type(Type type) const {
  Pipeline fitting;
  for (const auto& stage : stages_) {
    if (!stage->applies_to(type)) continue;
    fitting.stages_.push_back(stage);
    type = stage->type_after(type);
  }
  fitting.settle();
  return fitting;
}

Pipeline Pipeline::lossless() const {
  Pipeline exact;
  for (const auto& stage : stages_)
    if (!stage->lossy()) exact.stages_.push_back(stage);
  exact.settle();
  return exact;
}

int Pipeline::parts() const { return levels_ ? levels_->levels() + 1 : 1; }

std::optional<int> Pipeline::known_parts_of(std::string_view text) {
  try {
    const auto stage = make_stage(trimmed(text.substr(0, text.find(','))));
    return stage->kind() == StageKind::levels ? stage->over({})->levels() + 1 : 1;
  } catch (const Error&) {
    return std::nullopt;
  }
}

int Pipeline::parts_of(std::string_view text) { return known_parts_of(text).value_or(1); }

std::string Pipeline::without_levels(std::string_view text) {
  if (parts_of(text) == 1) return std::string(text);
  const auto comma = text.find(',');
  return comma == std::string_view::npos ? "none" : std::string(text.substr(comma + 1));
}

LevelFacts Pipeline::level_facts(std::span<const std::byte> first_part) const {
  return levels_->facts(first_part);
}

Count Pipeline::most_bytes(const ChunkInfo& chunk) const {
  return levels_ ? levels_->most_bytes(chunk) : chunk.bytes();
}

bool Pipeline::wants_range() const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [](const auto& s) { return s->wants_range(); });
}

double Pipeline::encode_work() const {
  if (stages_.empty()) return work_of_no_stage;
  double work = 0, share = 1;
  for (const auto& stage : stages_) {
    work += share * stage->encode_work();
    share *= share_left(stage->kind());
  }
  return work;
}

double Pipeline::decode_work() const {
  if (stages_.empty()) return work_of_no_stage;
  double work = 0, share = 1;
  for (const auto& stage : stages_) {
    work += share * stage->decode_work();
    share *= share_left(stage->kind());
  }
  return work;
}

void Pipeline::encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      std::span<EncodedChunk> parts, CodecWorkspace& workspace) const {
  if (levels_) return levels_->encode(chunk, raw, parts, workspace.state());
  parts[0] = encode(chunk, raw, workspace);
}

std::optional<double> Pipeline::decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                                       std::span<std::byte> raw, CodecWorkspace& workspace) const {
  if (levels_) {
    if (chunk.native) throw Error(Errc::einternal, "a hierarchy of elements in native order");
    return levels_->decode(chunk, parts, raw, workspace.state());
  }
  return decode(chunk, parts[0].bytes, parts[0].skipped, raw, workspace);
}

EncodedChunk Pipeline::encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                              CodecWorkspace& workspace) const {
  if (chunk.bytes() != static_cast<Count>(raw.size()))
    throw Error(Errc::einternal, "a chunk of " + std::to_string(chunk.bytes()) +
                                     " bytes is given as " + std::to_string(raw.size()));
  const auto at_values = [&](const CodecStage& stage) {
    return (stage.kind() == StageKind::values || stage.kind() == StageKind::convert) &&
           stage.applies_to(chunk.type);
  };
  std::uint32_t looks = 0;  // stages that look at values
  for (std::size_t i = 0; i < stages_.size(); ++i)
    if (at_values(*stages_[i])) looks |= 1U << i;
  if (looks == 0 || chunk.plain || chunk.bytes() < least_bytes)
    return encode_by_stages(chunk, raw, workspace);

  CodecWorkspace::State& state = workspace.state();
  const auto reach = [&](double range) {
    Reach all;
    for (const auto& stage : stages_) {
      if (!at_values(*stage) || !stage->lossy()) continue;
      const auto bound = stage->promised(chunk.range.value_or(range));
      all.absolute += bound.value_or(0);
      all.relative += stage->kind() == StageKind::convert ? 0x1p-23 : 0;
      all.unbounded |= !bound && stage->kind() == StageKind::values;
    }
    return all;
  };
  ChunkInfo info = chunk;
  info.fill = {};
  info.missing = nullptr;
  info.native = true;
  std::optional<EncodedChunk> tried;
  const auto decode_again = [&](std::span<const std::byte> values, std::span<std::byte> decoded) {
    tried = encode_by_stages(info, values, workspace);
    if ((tried->skipped & looks) == looks) {
      tried.reset();
      return false;
    }
    // Decoding overwrites the memory that the bytes are in.
    const auto kept =
        state.context<Tried>(0, [] { return Tried(); }).bytes.reserve(tried->bytes.size());
    std::memcpy(kept.data(), tried->bytes.data(), kept.size());
    tried->bytes = kept;
    decode(info, kept, tried->skipped, decoded, workspace);
    return true;
  };
  const Masked masked = keep_apart(chunk, raw, reach, decode_again, state);
  EncodedChunk encoded = tried ? *tried : encode_by_stages(info, masked.values, workspace);
  const bool none = (encoded.skipped & looks) == looks;
  const std::size_t size = masked.front.size() + encoded.bytes.size();
  if (!none && size < raw.size()) {
    if (!masked.front.empty()) {
      const auto all = state.joined.reserve(size);
      std::memcpy(all.data(), masked.front.data(), masked.front.size());
      std::memcpy(all.data() + masked.front.size(), encoded.bytes.data(), encoded.bytes.size());
      encoded.bytes = all;
      encoded.skipped |= keeps_apart;
    }
  } else {
    // Lossy stages need the missing values to be kept apart.
    if (!masked.front.empty()) {
      const EncodedChunk exact = lossless().encode_by_stages(chunk, raw, workspace);
      encoded = {exact.bytes, 0};
      std::size_t next = 0;  // of the lossless pipeline's stages
      for (std::size_t i = 0; i < stages_.size(); ++i)
        if (stages_[i]->lossy() || skips(exact.skipped, next++)) encoded.skipped |= 1U << i;
    }
    if (encoded.bytes.size() == raw.size()) encoded = without_stages(chunk, raw, workspace);
  }
  encoded.bound = masked.bound;
  return encoded;
}

// Encodes a chunk to which no stage could be applied.
EncodedChunk Pipeline::without_stages(const ChunkInfo& chunk, std::span<const std::byte> raw,
                                      CodecWorkspace& workspace) const {
  ChunkInfo info{chunk.type, chunk.shape};
  info.native = chunk.native;
  const EncodedChunk instead = stand_in().encode_by_stages(info, raw, workspace);
  if (instead.skipped == 0) return {instead.bytes, all_of(stages_.size()) | stood_in};
  return {instead.bytes, all_of(stages_.size())};
}

EncodedChunk Pipeline::encode_by_stages(const ChunkInfo& chunk, std::span<const std::byte> raw,
                                        CodecWorkspace& workspace) const {
  CodecWorkspace::State& state = workspace.state();
  std::span<const std::byte> external;  // filled at first use
  const auto in_external_order = [&] {
    if (!chunk.native) return raw;
    if (external.size() == raw.size()) return external;
    const auto to = state.external.reserve(raw.size());
    copy_swapped(to.data(), raw.data(), raw.size(), size_of(chunk.type));
    return external = to;
  };
  const auto untouched = [&] { return EncodedChunk{in_external_order(), all_of(stages_.size())}; };
  ChunkInfo now = chunk;
  std::size_t first = 0;
  if (!stages_.empty() && stages_[0]->kind() == StageKind::quantise &&
      stages_[0]->applies_to(chunk.type)) {
    first = 1;
    if (!chunk.plain) {
      // These are the chunk's elements from here on, whether or not it becomes smaller.
      stages_[0]->encode({chunk, raw}, state.external, state);
      raw = external = state.external.reserve(raw.size());
      now.native = false;
    }
  }
  if (chunk.bytes() < least_bytes) return untouched();

  EncodedChunk encoded{raw, 0};
  ScratchBuffer* out = &state.front;
  ScratchBuffer* other = &state.back;
  for (std::size_t i = first; i < stages_.size(); ++i) {
    const CodecStage& stage = *stages_[i];
    std::optional<std::size_t> size;
    if (stage.applies_to(now.type)) {
      if (now.native && !stage.takes_native()) {
        encoded.bytes = in_external_order();
        now.native = false;
      }
      size = stage.encode({now, encoded.bytes}, *out, state);
    }
    if (!size) {
      encoded.skipped |= 1U << i;
      continue;
    }
    encoded.bytes = out->reserve(*size);
    now = after(stage, std::move(now));
    now.native = false;
    std::swap(out, other);
  }
  return encoded.bytes.size() < raw.size() ? encoded : untouched();
}

std::optional<double> Pipeline::decode(const ChunkInfo& chunk, std::span<const std::byte> stored,
                                       std::uint32_t skipped, std::span<std::byte> raw,
                                       CodecWorkspace& workspace) const {
  if ((skipped & stood_in) != 0) {
    if (skipped != (all_of(stages_.size()) | stood_in) || stages_.empty())
      throw_damaged("none", "its filter mask makes no sense");
    return stand_in().decode(chunk, stored, 0, raw, workspace);
  }
  if ((skipped & keeps_apart) != 0) {
    const KeptApart apart = take_front(chunk, stored);
    const auto bound = decode(chunk, stored, skipped & ~keeps_apart, raw, workspace);
    put_back(apart, chunk, raw, workspace.state());
    return bound;
  }
  check_stored(*this, chunk, skipped, raw.size());

  // Forwards: the input that each applied stage had when encoding.
  struct Applied {
    const CodecStage* stage;
    ChunkInfo input;
    bool size_known;  // the size of its input is known; otherwise the chunk's size bounds it
  };
  std::vector<Applied> applied;
  ChunkInfo now = chunk;
  now.native = false;
  bool elements = true;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (skips(skipped, i)) continue;
    const CodecStage& stage = *stages_[i];
    if (!stage.applies_to(now.type))
      throw Error(Errc::enotnc, "a chunk claims to be encoded with " + stage.text() +
                                    ", which its type cannot be");
    if (stage.kind() == StageKind::quantise) continue;
    applied.push_back({&stage, now, elements});
    now = after(stage, std::move(now));
    elements = elements && stage.kind() != StageKind::compress && stage.kind() != StageKind::values;
  }
  if (applied.empty()) {
    if (stored.size() != raw.size()) throw_damaged("none", "its size is not that of the chunk");
    copy_out(chunk, stored, raw);
    return std::nullopt;
  }
  const bool hands_over_native = chunk.native && applied[0].stage->takes_native();
  applied[0].input.native = hands_over_native;

  CodecWorkspace::State& state = workspace.state();
  state.bound.reset();
  ScratchBuffer* out = &state.front;
  ScratchBuffer* other = &state.back;
  for (std::size_t i = applied.size(); i-- > 0;) {
    const auto& [stage, input, size_known] = applied[i];
    const std::size_t most = size_known ? static_cast<std::size_t>(input.bytes()) : raw.size();
    const std::span<std::byte> to = i == 0 ? raw : out->reserve(most);
    const std::size_t size = stage->decode(input, stored, to, state);
    if (size > most || (size_known && size != most))
      throw_damaged(stage->text().c_str(), "it decodes to another size than the chunk's");
    stored = to.first(size);
    std::swap(out, other);
  }
  if (chunk.native && !hands_over_native) copy_out(chunk, raw, raw);
  return state.bound;
}

}  // namespace forebay
