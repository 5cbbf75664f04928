#include "checkpoint/coding.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "codec/values.h"

namespace forebay::checkpoint {

namespace {

/// What a fetch brings at a time of values that are not encoded.
constexpr std::size_t part_of_fetch = 4 << 20;

/// Largest less smallest of all values, for codecs whose bound is a part of it.
double range_of(const Part& part, std::span<const std::byte> values) {
  Extremes extremes;
  const auto look = [&](const auto* v) {
    using T = std::remove_cvref_t<decltype(*v)>;
    extremes.add<T>(
        values.size() / sizeof(T), [v](std::size_t i) { return v[i]; }, {});
  };
  if (part.type == Type::float32)
    look(reinterpret_cast<const float*>(values.data()));
  else if (part.type == Type::float64)
    look(reinterpret_cast<const double*>(values.data()));
  return extremes.range();
}

/// Calls f(piece's number, what it is to its codec, its values' place and number of bytes).
template <typename F>
void each_piece(const Part& part, F&& f) {
  const Cut cut = cut_of(part);
  std::size_t at = 0;
  for (Count i = 0; i < cut.pieces; ++i) {
    ChunkInfo chunk{part.type, shape_of_piece(part, cut, i)};
    const auto bytes = static_cast<std::size_t>(chunk.bytes());
    f(static_cast<std::size_t>(i), std::move(chunk), at, bytes);
    at += bytes;
  }
}

[[noreturn]] void throw_damaged(const std::string& where) {
  throw Error(Errc::ebadlog, where + " is damaged: its checksum does not hold",
              "begin from another checkpoint");
}

void fetch_as_they_are(const Part& part, const Fetch& fetch, std::span<std::byte> values,
                       const std::string& where) {
  RunningHash hash;
  for (std::size_t at = 0; at < values.size();) {
    const auto now = values.subspan(at, std::min(part_of_fetch, values.size() - at));
    fetch(static_cast<Count>(at), now);
    hash.add(now);
    at += now.size();
  }
  if (hash.value() != part.pieces[0].hash) throw_damaged(where);
}

}  // namespace

Pipeline codec_of(const Part& part, const Pipeline& wanted) {
  if (wanted.parts() > 1)
    throw Error(Errc::einval, "codec " + wanted.text() + " of " + part.name + " is a hierarchy",
                "its levels are for reading; name the codecs behind it alone");
  if (part.type == Type::none || part.raw_bytes() < Pipeline::least_bytes) return {};
  return wanted.for_type(part.type);
}

RawBytes encode(Part& part, const Pipeline& wanted, std::span<const std::byte> values,
                CodecWorkspace& workspace) {
  const Pipeline codec = codec_of(part, wanted);
  part.codec = codec.text();
  part.pieces.clear();
  RawBytes stored;
  if (codec.empty()) {
    if (!values.empty()) part.pieces.push_back({std::ssize(values), 0, hash_of(values)});
    return stored;
  }
  std::optional<double> range;
  if (codec.wants_range()) range = range_of(part, values);
  RawBytes external;
  stored.reserve(values.size());  // pages that are not written to take no memory
  each_piece(part, [&](std::size_t, ChunkInfo chunk, std::size_t at, std::size_t bytes) {
    chunk.range = range;
    external.resize(bytes);
    copy_swapped(external.data(), values.data() + at, bytes, size_of(part.type));
    const EncodedChunk encoded = codec.encode(chunk, external, workspace);
    part.pieces.push_back(
        {std::ssize(encoded.bytes), encoded.skipped, hash_of(encoded.bytes)});
    stored.insert(stored.end(), encoded.bytes.begin(), encoded.bytes.end());
  });
  return stored;
}

void decode(const Part& part, const Fetch& fetch, std::span<std::byte> values,
            CodecWorkspace& workspace, const std::string& where) {
  if (values.empty()) return;
  if (part.codec == "none") return fetch_as_they_are(part, fetch, values, where);
  const Pipeline codec = Pipeline::parse(part.codec);
  RawBytes stored;
  Count offset = 0;
  each_piece(part, [&](std::size_t i, const ChunkInfo& chunk, std::size_t at, std::size_t bytes) {
    const Piece& piece = part.pieces[i];
    stored.resize(static_cast<std::size_t>(piece.bytes));
    fetch(offset, stored);
    offset += piece.bytes;
    if (hash_of(stored) != piece.hash) throw_damaged(where);
    const auto into = values.subspan(at, bytes);
    codec.decode(chunk, stored, piece.skipped, into, workspace);
    copy_swapped(into.data(), into.data(), bytes, size_of(part.type));
  });
}

}  // namespace forebay::checkpoint
