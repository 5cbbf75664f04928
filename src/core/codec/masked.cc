#include "codec/masked.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/byteorder.h"
#include "base/varint.h"
#include "codec/missing_values.h"
#include "codec/values.h"

namespace forebay {
namespace {

/// Scratch memory of a thread.
struct MaskRoom {
  ScratchBuffer values, coded, decoded;
  std::vector<Missing> mask;
  CodecWorkspace inner;
};
MaskRoom& room_of(CodecWorkspace::State& state) {
  return state.context<MaskRoom>(0, [] { return MaskRoom(); });
}

const Pipeline& coder() {
  static const auto& pipeline = *new Pipeline(Pipeline::parse("zstd:3"));
  return pipeline;
}

[[noreturn]] void damaged_mask(const char* what) {
  throw_damaged("missing values kept apart", what);
}

std::size_t bytes_of_bits(std::size_t n) { return (n + 7) / 8; }

/// Tells which values are kept apart: missing ones, and those that could be mistaken for one.
template <typename T>
struct ApartTest {
  const MissingTest<T>& is_missing;
  const Reach& reach;

  double near(T missing) const {
    const double its = reach.absolute + reach.relative * std::fabs(static_cast<double>(missing));
    // Values that round to the same float count as equal to it.
    return its +
           (is_missing.as_float ? std::ldexp(std::fabs(static_cast<double>(missing)), -22) : 0);
  }
  bool operator()(T v) const {
    if (is_missing(v)) return true;
    return std::ranges::any_of(is_missing.values, [&](T m) {
      return std::fabs(static_cast<double>(v) - static_cast<double>(m)) <= near(m);
    });
  }
  bool may_hold(T least, T most) const {
    return std::ranges::any_of(is_missing.values, [&](T m) {
      const double at = static_cast<double>(m), its = near(m);
      return at + its >= static_cast<double>(least) && at - its <= static_cast<double>(most);
    });
  }
};

/// Returns whether some missing value is so near that valid values may turn into it, in a stage
/// that promises no bound. No such stage gives back more than eight times the largest magnitude
/// (zfp: four times).
template <typename T>
bool may_become_missing(const MissingValues<T>& missing) {
  if (!(missing.least <= missing.most)) return false;
  const double most = 8 * std::max(std::fabs(static_cast<double>(missing.least)),
                                   std::fabs(static_cast<double>(missing.most)));
  return std::ranges::any_of(missing.is_missing.values,
                             [&](T m) { return std::fabs(static_cast<double>(m)) <= most; });
}

/// Encodes the elements that the mask marks: a bit for each element, then the marked values.
template <typename T>
void put_listed(bool native, std::span<const std::byte> raw, std::size_t count, MaskRoom& room,
                std::vector<std::byte>& front) {
  const std::size_t n = raw.size() / sizeof(T);
  const auto coded = room.coded.reserve(bytes_of_bits(n) + count * sizeof(T));
  std::memset(coded.data(), 0, bytes_of_bits(n));
  std::byte* to = coded.data() + bytes_of_bits(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (room.mask[i] == Missing::no) continue;
    coded[i / 8] |= std::byte{1} << (i % 8);
    const std::byte* const at = raw.data() + i * sizeof(T);
    store_be(to, native ? load_native<T>(at) : load_be<T>(at));
    to += sizeof(T);
  }
  const EncodedChunk made = coder().encode({Type::byte, {std::ssize(coded)}}, coded, room.inner);
  append_varint(front, made.bytes.size());
  front.push_back(static_cast<std::byte>(made.skipped));
  front.insert(front.end(), made.bytes.begin(), made.bytes.end());
}

template <typename T>
Masked keep_apart_as(const ChunkInfo& chunk, std::span<const std::byte> raw,
                     const std::function<Reach(double)>& reach_of, const DecodedAgain& decode,
                     CodecWorkspace::State& state) {
  MaskRoom& room = room_of(state);
  const std::size_t n = raw.size() / sizeof(T);
  const auto memory = room.values.reserve(raw.size());
  copy_swapped(memory.data(), raw.data(), raw.size(),
               chunk.native ? 1 : static_cast<int>(sizeof(T)));
  const std::span<T> values(reinterpret_cast<T*>(memory.data()), n);
  Masked masked{memory, {}};
  MissingValues<T> missing(chunk, values);
  // A chunk of one large value may consist of fill values, too.
  if (!missing.any && missing.least == missing.most && std::fabs(missing.least) >= Extremes::large)
    missing.is_missing.values.push_back(missing.least), missing.any = true;
  Extremes::Ordinary others;
  if (missing.least <= missing.most) {
    others.least = static_cast<double>(missing.least);
    others.most = static_cast<double>(missing.most);
  }
  const Reach reach = reach_of(others.range());
  const ApartTest<T> apart{missing.is_missing, reach};
  masked.bound =
      compare_with_spread(reach.absolute, std::span<const T>(values), missing.is_missing);

  const bool some = missing.any || apart.may_hold(missing.least, missing.most);
  if (some) {
    room.mask.assign(n, Missing::no);
    for (std::size_t i = 0; i < n; ++i)
      if (apart(values[i])) room.mask[i] = Missing::listed;
  }
  std::size_t count =
      some ? n - static_cast<std::size_t>(std::ranges::count(room.mask, Missing::no)) : 0;
  // An edge is stored only if a value could cross it.
  const auto within = [&](T edge, double value) {
    return std::fabs(static_cast<double>(edge)) < std::numeric_limits<T>::max() && others.any() &&
           (reach.unbounded ||
            std::fabs(value - static_cast<double>(edge)) <=
                reach.absolute + reach.relative * std::fabs(static_cast<double>(edge)));
  };
  const T edges[2] = {missing.is_missing.least, missing.is_missing.most};
  const bool has_edge[2] = {within(edges[0], others.least), within(edges[1], others.most)};
  if (count > 0) {
    const auto shape = merged_shape(chunk.shape, 3);
    wavelet::Box box{1, 1, 1};
    std::copy_backward(shape.begin(), shape.end(), box.end());
    fill_in(values, box, std::span<const Missing>(room.mask));
  }
  if (reach.unbounded && may_become_missing(missing)) {
    const auto decoded = room.decoded.reserve(raw.size());
    if (decode(memory, decoded)) {
      if (!some) room.mask.assign(n, Missing::no);
      const T* const back = reinterpret_cast<const T*>(decoded.data());
      for (std::size_t i = 0; i < n; ++i) {
        T v = back[i];
        if (has_edge[0] && v < edges[0]) v = edges[0];
        if (has_edge[1] && v > edges[1]) v = edges[1];
        if (room.mask[i] != Missing::no || !missing.is_missing(v)) continue;
        room.mask[i] = Missing::listed;
        ++count;
      }
    }
  }
  if (count == 0 && !has_edge[0] && !has_edge[1]) return masked;

  auto& front = masked.front;
  front.push_back(static_cast<std::byte>((has_edge[0] ? 1 : 0) | (has_edge[1] ? 2 : 0)));
  for (int e = 0; e < 2; ++e) {
    if (!has_edge[e]) continue;
    front.resize(front.size() + sizeof(T));
    store_be(front.data() + front.size() - sizeof(T), edges[e]);
  }
  append_varint(front, count);
  if (count > 0) put_listed<T>(chunk.native, raw, count, room, front);
  return masked;
}

template <typename T>
void put_back_as(const KeptApart& apart, bool native, std::span<std::byte> raw,
                 CodecWorkspace::State& state) {
  const std::size_t n = raw.size() / sizeof(T);
  const auto load = [&](const std::byte* at) {
    return native ? load_native<T>(at) : load_be<T>(at);
  };
  const auto store = [&](std::byte* at, T v) {
    if (native)
      std::memcpy(at, &v, sizeof v);
    else
      store_be(at, v);
  };
  for (int e = 0; e < 2; ++e) {
    if (apart.edges[e].empty()) continue;
    const T edge = load_be<T>(apart.edges[e].data());
    for (std::size_t at = 0; at < raw.size(); at += sizeof(T)) {
      const T v = load(raw.data() + at);
      if (e == 0 ? v < edge : v > edge) store(raw.data() + at, edge);
    }
  }
  if (apart.count == 0) return;
  MaskRoom& room = room_of(state);
  const auto coded = room.coded.reserve(bytes_of_bits(n) + apart.count * sizeof(T));
  coder().decode({Type::byte, {std::ssize(coded)}}, apart.coded, apart.skipped, coded, room.inner);
  const std::byte* from = coded.data() + bytes_of_bits(n);
  const std::byte* const end = coded.data() + coded.size();
  for (std::size_t i = 0; i < n; ++i) {
    if ((coded[i / 8] >> (i % 8) & std::byte{1}) == std::byte{0}) continue;
    if (from == end) damaged_mask("more are marked than there are");
    store(raw.data() + i * sizeof(T), load_be<T>(from));
    from += sizeof(T);
  }
  if (from != end) damaged_mask("fewer are marked than there are");
}

}  // namespace

Masked keep_apart(const ChunkInfo& chunk, std::span<const std::byte> raw,
                  const std::function<Reach(double range)>& reach, const DecodedAgain& decode,
                  CodecWorkspace::State& state) {
  return chunk.type == Type::float32 ? keep_apart_as<float>(chunk, raw, reach, decode, state)
                                     : keep_apart_as<double>(chunk, raw, reach, decode, state);
}

KeptApart take_front(const ChunkInfo& chunk, std::span<const std::byte>& stored) {
  const auto take = [&](std::size_t bytes) {
    if (bytes > stored.size()) damaged_mask("they end too early");
    const auto taken = stored.first(bytes);
    stored = stored.subspan(bytes);
    return taken;
  };
  const auto take_size = [&] {
    const std::byte* at = stored.data();
    std::uint64_t size = 0;
    if (!get_varint(at, stored.data() + stored.size(), size)) damaged_mask("a length is none");
    stored = stored.subspan(static_cast<std::size_t>(at - stored.data()));
    return static_cast<std::size_t>(size);
  };
  KeptApart apart;
  if (!is_floating(chunk.type)) damaged_mask("its type has none");
  const auto flags = std::to_integer<unsigned>(take(1)[0]);
  if (flags > 3) damaged_mask("flags that nobody sets");
  for (unsigned e = 0; e < 2; ++e)
    if ((flags >> e & 1U) != 0)
      apart.edges[e] = take(static_cast<std::size_t>(size_of(chunk.type)));
  apart.count = take_size();
  if (apart.count > static_cast<std::size_t>(chunk.elements())) damaged_mask("they are too many");
  if (apart.count == 0) return apart;
  const std::size_t size = take_size();
  apart.skipped = std::to_integer<std::uint32_t>(take(1)[0]);
  apart.coded = take(size);
  return apart;
}

void put_back(const KeptApart& apart, const ChunkInfo& chunk, std::span<std::byte> raw,
              CodecWorkspace::State& state) {
  if (chunk.type == Type::float32)
    put_back_as<float>(apart, chunk.native, raw, state);
  else
    put_back_as<double>(apart, chunk.native, raw, state);
}

}  // namespace forebay
