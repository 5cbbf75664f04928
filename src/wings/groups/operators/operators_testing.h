// Makes blocks as adios2's operators make them (groups/operators/operators.h), for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/codec_stage.h"
#include "codec/zfp_stream.h"

namespace forebay::operators {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

template <typename T>
void put(Bytes& out, T number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(number) >> 8 * i & 0xff));
}
inline void put_bytes(Bytes& out, std::span<const std::byte> some) {
  out.insert(out.end(), some.begin(), some.end());
}

template <typename T>
Bytes memory_of(const std::vector<T>& values) {
  const auto all = std::as_bytes(std::span(values));
  return {all.begin(), all.end()};
}

inline Bytes head_of(std::uint8_t number) {
  Bytes head;
  for (const std::uint8_t byte : {number, std::uint8_t{1}, std::uint8_t{0}, std::uint8_t{0}})
    put(head, byte);
  return head;
}

// A chunk in the form of c-blosc 1. `places` and streams are what `body` has.
inline Bytes chunk_of(unsigned flags, std::size_t width, std::size_t decoded, std::size_t block,
                      const Bytes& body) {
  Bytes chunk;
  put(chunk, std::uint8_t{2});
  put(chunk, std::uint8_t{1});
  put(chunk, static_cast<std::uint8_t>(flags));
  put(chunk, static_cast<std::uint8_t>(width));
  put(chunk, static_cast<std::uint32_t>(decoded));
  put(chunk, static_cast<std::uint32_t>(block));
  put(chunk, static_cast<std::uint32_t>(16 + body.size()));
  put_bytes(chunk, body);
  return chunk;
}

inline Bytes blosc_payload(std::size_t bytes, const std::vector<Bytes>& chunks) {
  Bytes payload = head_of(0);
  put(payload, std::uint64_t{bytes});
  for (int i = 0; i < 3; ++i) put(payload, std::uint8_t{2});
  put(payload, std::uint32_t{0});
  put(payload, static_cast<std::uint32_t>(chunks.size()));
  for (const Bytes& chunk : chunks) put_bytes(payload, chunk);
  return payload;
}

// One block in one stream, shuffled and compressed with zstd.
inline Bytes zstd_chunk(const std::vector<double>& values) {
  const Bytes raw = memory_of(values);
  Bytes shuffled;
  for (std::size_t b = 0; b < 8; ++b)
    for (std::size_t i = 0; i < values.size(); ++i) shuffled.push_back(raw[8 * i + b]);
  CodecWorkspace workspace;
  ScratchBuffer out;
  const auto size = make_stage("zstd")->encode({{}, shuffled}, out, workspace.state());
  if (!size) throw Error(Errc::einternal, "zstd has not made it smaller");
  Bytes body;
  put(body, std::uint32_t{16 + 4});
  put(body, static_cast<std::uint32_t>(*size));
  put_bytes(body, out.reserve(*size).first(*size));
  return chunk_of(1 | 16 | 4 << 5, 8, raw.size(), raw.size(), body);
}

inline std::vector<double> ramp(std::size_t n) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i / 7));
  return values;
}

struct ZfpMade {
  Bytes payload, values;  // values: as zfp itself decodes them
};

/// `extents` are those of the header, the fastest first; `shape` is what zfp is told.
inline ZfpMade zfp_payload(std::vector<double> values, const std::vector<std::size_t>& extents,
                           const std::vector<std::size_t>& shape, ZfpMode mode,
                           std::string_view name, std::string_view text) {
  const ZfpField field{Type::float64, shape, reinterpret_cast<std::byte*>(values.data())};
  std::vector<double> stream(zfp_capacity(field, mode) / 8 + 1), back(values.size());
  const auto room = std::as_writable_bytes(std::span(stream));
  const std::size_t size =
      zfp_compress_to(field, mode, room, reinterpret_cast<std::byte*>(back.data()));
  zfp_order_words(room.first(size));
  ZfpMade made{head_of(7), memory_of(back)};
  put(made.payload, std::uint64_t{extents.size()});
  for (const std::size_t n : extents) put(made.payload, std::uint64_t{n});
  for (const int n : {10, 0, 0, 0, 1, 0, 0, 1}) put(made.payload, static_cast<std::uint8_t>(n));
  for (const std::string_view word : {name, text}) {
    put(made.payload, static_cast<std::uint8_t>(word.size()));
    put_bytes(made.payload, bytes_of(word));
  }
  put_bytes(made.payload, room.first(size));
  return made;
}
inline ZfpMade zfp_payload() {
  return zfp_payload(ramp(60), {3, 4, 5}, {5, 4, 3}, {ZfpMode::Kind::accuracy, 1e-2}, "accuracy",
                     "1e-2");
}

}  // namespace forebay::operators
