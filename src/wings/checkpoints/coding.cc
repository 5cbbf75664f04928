#include "checkpoints/coding.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/words.h"
#include "codec/quantise.h"
#include "codec/values.h"

namespace forebay::checkpoint {

namespace {

/// Returns the difference of the largest and smallest value, without outliers, for codecs with a
/// relative bound.
double range_of(const Part& part, std::span<const std::byte> values) {
  Extremes extremes;
  const auto look = [&](const auto* v) {
    using T = std::remove_cvref_t<decltype(*v)>;
    extremes.add<T>(
        values.size() / sizeof(T), [v](std::size_t i) { return v[i]; }, MissingTest<T>());
  };
  if (part.type == Type::float32)
    look(reinterpret_cast<const float*>(values.data()));
  else if (part.type == Type::float64)
    look(reinterpret_cast<const double*>(values.data()));
  return extremes.ordinary().range();
}

/// A piece, and the place of its values.
struct Place {
  ChunkInfo chunk;
  std::size_t at = 0, bytes = 0;  ///< of its values
};

std::vector<Place> places_of(const Part& part) {
  const Cut cut = cut_of(part);
  std::vector<Place> places;
  std::size_t at = 0;
  for (Count i = 0; i < cut.pieces; ++i) {
    places.push_back({{part.type, shape_of_piece(part, cut, i)}, at, 0});
    places.back().chunk.native = true;
    places.back().bytes = static_cast<std::size_t>(places.back().chunk.bytes());
    at += places.back().bytes;
  }
  return places;
}

[[noreturn]] void throw_damaged(const std::string& where) {
  throw Error(Errc::ebadlog, where + " is damaged: its checksum does not hold",
              "begin from another checkpoint");
}

}  // namespace

Pipeline codec_of(const Part& part, const Pipeline& wanted) {
  if (wanted.parts() > 1)
    throw Error(Errc::einval, "codec " + wanted.text() + " of " + part.name + " is a hierarchy",
                "its levels are for reading; name the codecs behind it alone");
  if (part.type == Type::none || part.raw_bytes() < Pipeline::least_bytes) return {};
  return wanted.for_type(part.type);
}

std::string codec_within(const std::string& codec, double bound) {
  std::string number(32, '\0');
  number.resize(static_cast<std::size_t>(
      std::to_chars(number.data(), number.data() + number.size(), bound).ptr - number.data()));
  std::string lossy = "zfp:accuracy=" + number, others;
  for (const std::string_view stage : items_of(codec, ',')) {
    if (stage.starts_with("sz3")) {
      const auto mode = stage.find(":mode=");
      lossy = "sz3:abs=" + number;
      if (mode != std::string_view::npos) lossy.append(stage.substr(mode));
    }
    const bool replaced = stage.starts_with("sz3") || stage.starts_with("zfp") ||
                          stage == "float32" || stage == "none" || stage.empty() ||
                          quantisation_of(stage);
    // Output bytes of lossy stages have no elements to shuffle.
    const bool shuffles =
        bound > 0 && (stage.starts_with("shuffle") || stage.starts_with("bitshuffle"));
    if (!replaced && !shuffles) others.append(others.empty() ? "" : ",").append(stage);
  }
  if (bound == 0) return others.empty() ? "none" : others;
  return others.empty() ? lossy : lossy + "," + others;
}

void append(RawBytes& to, std::span<const std::byte> from) {
  if (from.empty()) return;
  to.resize(to.size() + from.size());
  std::memcpy(to.data() + to.size() - from.size(), from.data(), from.size());
}

RawBytes encode(Part& part, const Pipeline& wanted, std::span<const std::byte> values, Team& team) {
  const Pipeline codec = codec_of(part, wanted);
  part.codec = codec.text();
  part.pieces.clear();
  if (codec.empty()) {
    const Cut cut = cut_of(part);
    for (Count i = 0; i < cut.pieces; ++i)
      part.pieces.push_back({bytes_of_piece(part, cut, i), 0, 0});
    return {};
  }
  std::optional<double> range;
  if (codec.wants_range()) range = range_of(part, values);
  const std::vector<Place> places = places_of(part);
  part.pieces.resize(places.size());
  std::vector<RawBytes> stored(team.size());  // by member
  team.share(places.size(), 1, [&](std::size_t member, std::size_t first, std::size_t last) {
    if (first == last) return;
    // Pages that are never written take no memory. The first member gets the pieces of all others
    // in the end.
    const std::size_t end = member == 0 ? places.size() : last;
    stored[member].reserve(places[end - 1].at + places[end - 1].bytes - places[first].at);
    for (std::size_t i = first; i < last; ++i) {
      const auto& [whole, at, bytes] = places[i];
      ChunkInfo chunk = whole;
      chunk.range = range;
      const EncodedChunk encoded = codec.encode(chunk, values.subspan(at, bytes), team[member]);
      part.pieces[i] = {std::ssize(encoded.bytes), encoded.skipped, hash_of(encoded.bytes)};
      append(stored[member], encoded.bytes);
    }
  });
  RawBytes all = std::move(stored[0]);
  for (std::size_t member = 1; member < stored.size(); ++member)
    append(all, std::exchange(stored[member], {}));
  return all;
}

void decode(const Part& part, const Fetch& fetch, std::span<std::byte> values, Team& team,
            const std::string& where) {
  if (values.empty()) return;
  const std::size_t n = part.pieces.size();
  std::atomic<std::size_t> next = 0;  // faster threads take more pieces
  if (part.codec == "none") {
    constexpr std::size_t least = 4;  // fewer pieces take less time than to start a thread
    return team.share(n, least, [&](std::size_t, std::size_t, std::size_t) {
      for (std::size_t i = next++; i < n; i = next++) {
        const Count at = static_cast<Count>(i) * raw_piece_bytes;
        const auto block = values.subspan(static_cast<std::size_t>(at),
                                          static_cast<std::size_t>(part.pieces[i].bytes));
        fetch(at, block);
        if (hash_of(block) != part.pieces[i].hash) throw_damaged(where);
      }
    });
  }
  const Pipeline codec = codec_of(part, Pipeline::parse(part.codec));
  if (codec.text() != part.codec) throw_damaged(where);
  const std::vector<Place> places = places_of(part);
  std::vector<Count> offsets(n);
  for (std::size_t i = 1; i < n; ++i) offsets[i] = offsets[i - 1] + part.pieces[i - 1].bytes;
  team.share(n, 1, [&](std::size_t member, std::size_t, std::size_t) {
    RawBytes stored;
    for (std::size_t i = next++; i < n; i = next++) {
      const Piece& piece = part.pieces[i];
      stored.resize(static_cast<std::size_t>(piece.bytes));
      fetch(offsets[i], stored);
      if (hash_of(stored) != piece.hash) throw_damaged(where);
      const auto into = values.subspan(places[i].at, places[i].bytes);
      codec.decode(places[i].chunk, stored, piece.skipped, into, team[member]);
    }
  });
}

}  // namespace forebay::checkpoint
