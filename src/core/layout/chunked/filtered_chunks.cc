#include "layout/chunked/filtered_chunks.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "array/missing.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/words.h"
#include "codec/codec_stage.h"
#include "codec/quantise.h"
#include "codec/transpose.h"
#include "layout/chunked/plugin_filters.h"
#include "layout/chunked/stored_streams.h"

namespace forebay::chunked {

namespace {

constexpr std::uint32_t deflate = deflate_filter, shuffle = shuffle_filter,
                        fletcher = fletcher_filter, zstd = zstd_filter;
constexpr int highest_deflate = 9, default_zstd = 3;  // of the filters

int level_in(const std::string& stage, int otherwise) {
  const auto at = stage.find_first_of("0123456789");
  return at == std::string::npos ? otherwise : std::stoi(stage.substr(at));
}

/// The stages of a pipeline that stand for filters; -1: the filter changes no byte, or is a
/// checksum.
struct Stages {
  std::vector<std::shared_ptr<const CodecStage>> all;
  std::vector<int> of_filter;
  std::shared_ptr<const PluginStage> zfp;  ///< null: there is none
  /// A checksum stands before other filters, as netCDF-C puts it. They get it, too, behind the
  /// elements, so shuffling is no stage then: `shuffle` is its filter.
  bool sums_first = false;
  int shuffle = -1;

  /// With the shuffle that is no stage.
  std::string codec() const {
    std::string text = joined(all, ",", [](const auto& stage) { return stage->text(); });
    if (shuffle >= 0) text = text.empty() ? "shuffle" : "shuffle," + text;
    return text.empty() ? "none" : text;
  }
};

std::optional<Stages> stages_of(const std::vector<Filter>& filters, Type type,
                                const std::vector<Count>& chunk) {
  Stages its;
  int next = 0, compressors = 0;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const Filter& filter = filters[i];
    std::shared_ptr<const CodecStage> stage;
    if (filter.id == fletcher) {
      if (i > 0 && (i + 1 != filters.size() || its.sums_first)) return std::nullopt;
      its.sums_first = its.sums_first || i + 1 != filters.size();
    } else if (filter.id == shuffle) {
      const auto width = static_cast<std::uint32_t>(size_of(type));
      if (!filter.values.empty() && filter.values[0] != width) return std::nullopt;
      if (width > 1 && its.sums_first && (its.shuffle >= 0 || next > 0)) return std::nullopt;
      if (width > 1 && its.sums_first) its.shuffle = static_cast<int>(i);
      if (width > 1 && !its.sums_first) stage = make_stage("shuffle");
    } else if (filter.id == deflate) {
      const std::uint32_t level = filter.values.empty() ? 6 : filter.values[0];
      stage = make_stage("deflate:" +
                         std::to_string(std::clamp<std::uint32_t>(level, 1, highest_deflate)));
    } else if (filter.id == zstd) {
      const int level = filter.values.empty() ? default_zstd : static_cast<int>(filter.values[0]);
      stage = make_stage("zstd:" + std::to_string(std::clamp(level, 1, 19)));
    } else {
      // These need whole elements, which a checksum before them leaves not.
      const auto plugin = its.sums_first ? nullptr : plugin_stage_of(filter, type, chunk);
      if (!plugin) return std::nullopt;
      if (filter.id == zfp_filter) its.zfp = plugin;
      stage = plugin;
    }
    // A second one may have been given more bytes than the chunk has.
    const bool compresses = stage && stage->kind() != CodecStage::Kind::shuffle;
    if (compresses && ++compressors > 1) return std::nullopt;
    its.of_filter.push_back(stage ? next++ : -1);
    if (stage) its.all.push_back(std::move(stage));
  }
  return its;
}

/// Copies a box of elements between an array of the box's shape and the corner of a larger one.
template <typename Copy>
void for_each_row(std::span<const Count> box, std::span<const Count> whole, Count width,
                  Copy&& copy) {
  const std::size_t n = box.size();
  const Count row = box[n - 1] * width;
  std::vector<Count> at(n, 0);
  Count small = 0;
  for (;;) {
    Count large = 0;
    for (std::size_t d = 0; d < n; ++d) large = large * whole[d] + at[d];
    copy(small, large * width, row);
    small += row;
    std::size_t d = n - 1;
    for (;;) {
      if (d == 0) return;
      --d;
      if (++at[d] < box[d]) break;
      at[d] = 0;
    }
  }
}

/// Copies a box of elements into the corner of a larger array, and its last elements along each
/// dimension to all places beyond it.
void copy_and_repeat(std::span<const Count> box, std::span<const Count> whole, Count width,
                     const std::byte* from, std::byte* to) {
  const std::size_t last = whole.size() - 1;
  Count rows = 1;
  for (std::size_t d = 0; d < last; ++d) rows *= whole[d];
  for (Count row = 0; row < rows; ++row) {
    Count left = row, at = 0, step = 1;
    for (std::size_t d = last; d-- > 0;) {
      at += std::min(left % whole[d], box[d] - 1) * step;
      step *= box[d];
      left /= whole[d];
    }
    to = std::copy_n(from + at * box[last] * width, box[last] * width, to);
    for (Count i = box[last]; i < whole[last]; ++i) to = std::copy_n(to - width, width, to);
  }
}

// deflate tells noise by samples of a chunk, but not where filling up to the whole shape has put
// something else into them. If that is little, it is not worth encoding noise for.
bool is_noise_filled_up(const Pipeline& pipeline, Type type, std::span<const std::byte> raw,
                        const ChunkInfo& whole, CodecWorkspace& workspace) {
  constexpr std::size_t sample = 32 << 10, least = 8 * sample;
  const auto filling = static_cast<std::size_t>(whole.bytes()) - raw.size();
  if (pipeline.empty() || raw.size() < least || filling > raw.size() / 16) return false;
  ChunkInfo info{type, {static_cast<Count>(sample) / size_of(type)}};
  info.plain = true;
  for (const std::size_t sixth : {1, 3, 5}) {
    const std::size_t begin = raw.size() / 6 * sixth / 8 * 8;
    const auto bytes = raw.subspan(begin, sample);
    if (pipeline.encode(info, bytes, workspace).bytes.size() < sample) return false;
  }
  return true;
}

class FilteredChunks final : public ChunkForm {
 public:
  FilteredChunks(const StoredForm& stored, const Variable& var, Stages stages)
      : shape_(stored.chunk),
        type_(var.type),
        fill_(stored.fill),
        pipeline_(Pipeline::of(std::move(stages.all))),
        zfp_(std::move(stages.zfp)),
        of_filter_(std::move(stages.of_filter)),
        sums_first_(stages.sums_first),
        shuffle_(stages.shuffle),
        filters_(stored.skips_filters ? std::vector<Filter>() : stored.filters),
        has_checksum_(!stored.filters.empty() && stored.filters.back().id == fletcher) {}

  /// Elements must be in the machine's order of bytes.
  void quantise_by(const Quantisation& how) { quantisation_ = how; }
  /// What lossy codecs must leave as it is.
  void keep_missing(std::shared_ptr<const MissingRule> rule, std::vector<std::byte> external_fill) {
    missing_ = std::move(rule);
    external_fill_ = std::move(external_fill);
  }

  bool lossy() const override { return quantisation_ || (zfp_ && zfp_->lossy()); }

  // HDF5's filters may make noise a little longer.
  Count most_bytes(const ChunkInfo& /*chunk*/) const override {
    const Count bytes = whole().bytes(), most = zfp_ ? zfp_->most_bytes(bytes) : bytes;
    return std::max(bytes, most) + bytes / 64 + 64;
  }

  EncodedChunk encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                      CodecWorkspace& workspace) const override {
    const ChunkInfo all = whole();
    CodecWorkspace::State& state = workspace.state();
    std::span<const std::byte> bytes = quantised(raw, state);
    if (chunk.shape != shape_) {
      const auto room = buffer(state, 0).reserve(static_cast<std::size_t>(all.bytes()));
      fill_up(chunk, bytes, room);
      bytes = room;
    }
    if (sums_first_) return encode_summed(bytes, workspace);
    const bool noise = bytes.size() > raw.size() && !zfp_ &&
                       is_noise_filled_up(pipeline_, type_, raw, all, workspace);
    EncodedChunk encoded =
        noise ? EncodedChunk{bytes, ~0U} : pipeline_.encode(all, bytes, workspace);
    encoded.skipped = mask_of(encoded.skipped);
    if (encoded.skipped != 0 && !filters_.empty()) {
      auto& whole_stream = state.context<Stream>(2, [] { return Stream(); }).bytes;
      if (auto stream = stored_stream(filters_, all, bytes, state)) {
        whole_stream = std::move(*stream);
        encoded.bytes = whole_stream;
        encoded.skipped = 0;
      }
    }
    if (has_checksum_) encoded.bytes = with_checksum(encoded.bytes, state);
    return encoded;
  }

  void decode(const ChunkInfo& chunk, const EncodedChunk& stored, std::span<std::byte> raw,
              CodecWorkspace& workspace) const override {
    CodecWorkspace::State& state = workspace.state();
    std::span<const std::byte> bytes = stored.bytes;
    const std::size_t last = of_filter_.size() - 1;
    if (has_checksum_ && !skips(stored, last)) bytes = without_checksum(bytes);
    std::uint32_t skipped = 0;
    for (std::size_t f = 0; f < of_filter_.size(); ++f)
      if (of_filter_[f] >= 0 && skips(stored, f))
        skipped |= 1U << static_cast<unsigned>(of_filter_[f]);
    const ChunkInfo all = whole();
    const auto decode_whole = [&](std::span<std::byte> to) {
      if (sums_first_)
        decode_summed(stored, skipped, to, workspace);
      else
        pipeline_.decode(all, bytes, skipped, to, workspace);
    };
    if (chunk.shape == shape_) return decode_whole(raw);
    const auto room = buffer(state, 0).reserve(static_cast<std::size_t>(all.bytes()));
    decode_whole(room.first(static_cast<std::size_t>(all.bytes())));
    for_each_row(chunk.shape, shape_, size_of(type_), [&](Count small, Count large, Count n) {
      std::memcpy(raw.data() + small, room.data() + large, static_cast<std::size_t>(n));
    });
  }

 private:
  struct Stream {
    std::vector<std::byte> bytes;
  };
  static ScratchBuffer& buffer(CodecWorkspace::State& state, int which) {
    struct Own {
      ScratchBuffer memory;
    };
    return state.context<Own>(which, [] { return Own(); }).memory;
  }

  // Nobody sees what is beyond a variable's end. zfp does best with what is like the values before
  // it. If all chunks must pass its filter, the program may make the dataset longer.
  void fill_up(const ChunkInfo& chunk, std::span<const std::byte> bytes,
               std::span<std::byte> room) const {
    if (zfp_ && filters_.empty())
      return copy_and_repeat(chunk.shape, shape_, size_of(type_), bytes.data(), room.data());
    fill_chunk(fill_, room);
    for_each_row(chunk.shape, shape_, size_of(type_), [&](Count small, Count large, Count n) {
      std::memcpy(room.data() + large, bytes.data() + small, static_cast<std::size_t>(n));
    });
  }

  std::span<const std::byte> quantised(std::span<const std::byte> raw,
                                       CodecWorkspace::State& state) const {
    if (!quantisation_) return raw;
    const auto room = buffer(state, 2).reserve(raw.size()).first(raw.size());
    std::memcpy(room.data(), raw.data(), raw.size());
    const auto by_type = [&]<typename T>(T) {
      quantise(*quantisation_,
               std::span(reinterpret_cast<T*>(room.data()), room.size() / sizeof(T)),
               MissingTest<T>(missing_.get(), external_fill_));
    };
    type_ == Type::float32 ? by_type(float{}) : by_type(double{});
    return room;
  }

  ChunkInfo whole() const {
    ChunkInfo info{type_, shape_};
    info.plain = true;
    info.missing = missing_;
    info.fill = external_fill_;
    return info;
  }

  static bool skips(const EncodedChunk& stored, std::size_t filter) {
    return (stored.skipped >> filter & 1) != 0;
  }

  static ChunkInfo so_many_bytes(std::size_t n) {
    ChunkInfo info{Type::byte, {static_cast<Count>(n)}};
    info.plain = true;
    return info;
  }

  // Works on whole elements. Bytes behind them keep their places, as in HDF5.
  template <typename Shuffle>
  std::span<std::byte> shuffled(Shuffle&& f, std::span<const std::byte> bytes,
                                CodecWorkspace::State& state) const {
    const auto room = buffer(state, 2).reserve(bytes.size()).first(bytes.size());
    const auto width = static_cast<std::size_t>(size_of(type_)), n = bytes.size() / width;
    f(room.data(), bytes.data(), n, static_cast<int>(width));
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(n * width), bytes.end(),
              room.begin() + static_cast<std::ptrdiff_t>(n * width));
    return room;
  }

  EncodedChunk encode_summed(std::span<const std::byte> values, CodecWorkspace& workspace) const {
    const auto summed = with_checksum(values, workspace.state());
    auto bytes = summed;
    if (shuffle_ >= 0) bytes = shuffled(shuffle_bytes, summed, workspace.state());
    EncodedChunk encoded = pipeline_.encode(so_many_bytes(bytes.size()), bytes, workspace);
    encoded.skipped = mask_of(encoded.skipped);
    // If it did not become smaller, shuffling is skipped, too.
    if (shuffle_ < 0 || pipeline_.empty() || encoded.bytes.size() < bytes.size()) return encoded;
    return {summed, encoded.skipped | 1U << static_cast<unsigned>(shuffle_)};
  }

  void decode_summed(const EncodedChunk& stored, std::uint32_t skipped_stages,
                     std::span<std::byte> to, CodecWorkspace& workspace) const {
    CodecWorkspace::State& state = workspace.state();
    const bool has_sum = !skips(stored, 0);
    const std::size_t size = to.size() + (has_sum ? 4 : 0);
    const auto room = buffer(state, 1).reserve(size).first(size);
    pipeline_.decode(so_many_bytes(size), stored.bytes, skipped_stages, room, workspace);
    std::span<const std::byte> bytes = room;
    if (shuffle_ >= 0 && !skips(stored, static_cast<std::size_t>(shuffle_)))
      bytes = shuffled(unshuffle_bytes, bytes, state);
    if (has_sum) bytes = without_checksum(bytes);
    std::copy(bytes.begin(), bytes.end(), to.begin());
  }

  std::uint32_t mask_of(std::uint32_t skipped) const {
    std::uint32_t mask = 0;
    for (std::size_t f = 0; f < of_filter_.size(); ++f)
      if (of_filter_[f] >= 0 && (skipped >> static_cast<unsigned>(of_filter_[f]) & 1) != 0)
        mask |= 1U << f;
    return mask;
  }

  static std::span<const std::byte> with_checksum(std::span<const std::byte> bytes,
                                                  CodecWorkspace::State& state) {
    const auto room = buffer(state, 1).reserve(bytes.size() + 4).first(bytes.size() + 4);
    std::memcpy(room.data(), bytes.data(), bytes.size());
    const std::uint32_t sum = fletcher32(bytes);
    for (std::size_t i = 0; i < 4; ++i)
      room[bytes.size() + i] = static_cast<std::byte>(sum >> (8 * i) & 0xff);
    return room;
  }

  static std::span<const std::byte> without_checksum(std::span<const std::byte> bytes) {
    if (bytes.size() < 4) throw Error(Errc::enotnc, "it has no room for its checksum");
    const auto values = bytes.first(bytes.size() - 4);
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < 4; ++i)
      stored |= static_cast<std::uint32_t>(bytes[values.size() + i]) << (8 * i);
    const std::uint32_t sum = fletcher32(values);
    // Old versions of HDF5 stored each half with its bytes exchanged.
    const std::uint32_t exchanged = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
    if (stored != sum && stored != exchanged) throw Error(Errc::enotnc, "its checksum is wrong");
    return values;
  }

  std::vector<Count> shape_;
  Type type_;
  std::vector<std::byte> fill_;
  Pipeline pipeline_;
  std::shared_ptr<const PluginStage> zfp_;  // one of its stages, or null
  std::vector<int> of_filter_;
  bool sums_first_;
  int shuffle_;
  std::vector<Filter> filters_;  // which no chunk skips; empty: chunks may skip them
  bool has_checksum_;            // as the last filter
  std::optional<Quantisation> quantisation_;
  std::shared_ptr<const MissingRule> missing_;
  std::vector<std::byte> external_fill_;
};

}  // namespace

namespace {

Error without_filter(const Variable& var, const std::string& stage) {
  const bool is_sz3 = stage.starts_with("sz3");
  return Error(
      Errc::enotsupport,
      "variable " + var.name + ": netCDF-4 files have no filter for codec " + stage +
          (is_sz3 ? ": HDF5's filter sz3 (32024) reads streams of SZ3's library, which ours are not"
                  : ""),
      std::string("use ") + (is_sz3 ? "zfp:accuracy=X, or " : "") +
          "shuffle, bitshuffle, deflate, zstd, zfp or fletcher32, or container=classic, which "
          "stores all codecs");
}

/// A shape that is not chosen yet is that of one element.
std::optional<Filter> plugin_filter(const std::string& stage, const Variable& var,
                                    const std::vector<Count>& chunk) {
  try {
    return plugin_filter_of(stage, var.type, chunk);
  } catch (const Error& error) {
    throw Error(error.code(), "variable " + var.name + ": codec " + stage + ": " + error.message(),
                error.advice());
  }
}

}  // namespace

std::vector<Filter> filters_of(const std::string& codec, const Variable& var,
                               const std::vector<Count>& chunk) {
  std::vector<Filter> filters;
  if (codec == "none") return filters;
  for (const std::string_view item : items_of(codec, ',')) {
    const std::string stage(item), word = stage.substr(0, stage.find(':'));
    if (word == "shuffle") {
      filters.push_back({shuffle, {static_cast<std::uint32_t>(size_of(var.type))}});
    } else if (word == "deflate") {
      const int level = std::min(level_in(stage, 6), highest_deflate);
      filters.push_back({deflate, {static_cast<std::uint32_t>(level)}});
    } else if (word == "zstd") {
      filters.push_back({zstd, {static_cast<std::uint32_t>(level_in(stage, default_zstd))}});
    } else if (word == "fletcher32") {
      filters.push_back({fletcher, {}});
    } else if (auto filter = plugin_filter(stage, var, chunk)) {
      filters.push_back(std::move(*filter));
    } else if (!quantisation_of(stage)) {
      throw without_filter(var, stage);
    }
  }
  if (!stages_of(filters, var.type, chunk))
    throw Error(Errc::enotsupport,
                "variable " + var.name + ": filters of codec " + codec +
                    " do not go together in netCDF-4 files",
                "use one compressor, and put fletcher32 last");
  return filters;
}

void take_shape(StoredForm& stored, const Variable& var, const std::vector<Count>& chunk) {
  stored.chunk = chunk;
  stored.filters = filters_of(var.chunking->codec, var, chunk);
}

std::optional<std::string> codec_of(const std::vector<Filter>& filters, Type type,
                                    const std::vector<Count>& chunk) {
  try {
    const auto stages = stages_of(filters, type, chunk);
    if (!stages) return std::nullopt;
    std::string codec = stages->codec();
    Pipeline::parse(codec);
    return codec;
  } catch (const Error& error) {
    if (error.code() == Errc::enomem) throw;
    return std::nullopt;
  }
}

std::optional<std::string> plugin_for(const Filter& filter) {
  constexpr std::uint32_t first_of_others = 256;  // the numbers before are of HDF5's own filters
  if (filter.id < first_of_others) return std::nullopt;
  return filter_name(filter.id);
}

std::shared_ptr<const ChunkForm> form_of(const StoredForm& stored, const Variable& var) {
  auto stages = stages_of(stored.filters, var.type, stored.chunk);
  if (!stages) throw Error(Errc::einternal, "filters that only HDF5 decodes");
  const bool has_zfp = stages->zfp != nullptr;
  auto form = std::make_shared<FilteredChunks>(stored, var, std::move(*stages));
  const auto how = quantisation_of(var.chunking->codec);
  const bool is_native = stored.little_endian != native_is_big_endian;
  const bool quantises = how && how->applies_to(var.type) && is_native;
  if (quantises) form->quantise_by(*how);
  if (quantises || has_zfp) form->keep_missing(missing_rule(var), external_fill(var));
  return form;
}

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint32_t first = 0, second = 0;
  std::size_t at = 0;
  const std::size_t words = bytes.size() / 2;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  for (std::size_t left = words; left > 0;) {
    // So many words do not overflow the sums.
    const std::size_t now = std::min<std::size_t>(left, 360);
    left -= now;
    for (std::size_t i = 0; i < now; ++i, at += 2) {
      first +=
          static_cast<std::uint32_t>(bytes[at]) << 8 | static_cast<std::uint32_t>(bytes[at + 1]);
      second += first;
    }
    first = fold(first);
    second = fold(second);
  }
  if (bytes.size() % 2 != 0) {
    first += static_cast<std::uint32_t>(bytes.back()) << 8;
    second += first;
    first = fold(first);
    second = fold(second);
  }
  first = fold(first);
  second = fold(second);
  return second << 16 | first;
}

}  // namespace forebay::chunked
