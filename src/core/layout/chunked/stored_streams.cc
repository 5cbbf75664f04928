#include "layout/chunked/stored_streams.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstdint>

#include "layout/chunked/plugin_filters.h"

namespace forebay::chunked {

namespace {

void append_number(std::vector<std::byte>& to, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    to.push_back(static_cast<std::byte>(number >> (8 * i) & 0xff));
}

/// Calls block(part, is_last) for parts of at most `most` bytes; for no bytes, with one empty part.
template <typename Block>
void in_blocks(std::span<const std::byte> bytes, std::size_t most, Block&& block) {
  do {
    const auto part = bytes.first(std::min(most, bytes.size()));
    bytes = bytes.subspan(part.size());
    block(part, bytes.empty());
  } while (!bytes.empty());
}

/// RFC 1950, with stored blocks of RFC 1951.
std::vector<std::byte> zlib_stream(std::span<const std::byte> bytes) {
  std::vector<std::byte> stream{std::byte{0x78}, std::byte{0x01}};
  in_blocks(bytes, 0xffff, [&](std::span<const std::byte> part, bool last) {
    stream.push_back(static_cast<std::byte>(last));
    append_number(stream, part.size(), 2);
    append_number(stream, ~part.size() & 0xffff, 2);
    stream.insert(stream.end(), part.begin(), part.end());
  });
  const std::uint32_t sum = libdeflate_adler32(1, bytes.data(), bytes.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    stream.push_back(static_cast<std::byte>(sum >> shift & 0xff));
  return stream;
}

/// RFC 8878: one frame of a single segment with its size, in raw blocks.
std::vector<std::byte> zstd_frame(std::span<const std::byte> bytes) {
  std::vector<std::byte> frame;
  append_number(frame, 0xfd2fb528, 4);
  frame.push_back(std::byte{0xe0});
  append_number(frame, bytes.size(), 8);
  in_blocks(bytes, 128 << 10, [&](std::span<const std::byte> part, bool last) {
    append_number(frame, part.size() << 3 | static_cast<std::size_t>(last), 3);
    frame.insert(frame.end(), part.begin(), part.end());
  });
  return frame;
}

std::vector<std::byte> shuffled(std::span<const std::byte> bytes, std::size_t width) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  const std::size_t n = bytes.size() / width;
  for (std::size_t b = 0; b < width; ++b)
    for (std::size_t i = 0; i < n; ++i) out[b * n + i] = bytes[i * width + b];
  return out;
}

}  // namespace

std::optional<std::vector<std::byte>> stored_stream(const std::vector<Filter>& filters,
                                                    const ChunkInfo& chunk,
                                                    std::span<const std::byte> raw,
                                                    CodecWorkspace::State& state) {
  std::vector<std::byte> bytes(raw.begin(), raw.end());
  for (const Filter& filter : filters) {
    if (filter.id == shuffle_filter)
      bytes = shuffled(bytes, static_cast<std::size_t>(size_of(chunk.type)));
    else if (filter.id == deflate_filter)
      bytes = zlib_stream(bytes);
    else if (filter.id == zstd_filter)
      bytes = zstd_frame(bytes);
    else if (const auto plugin = plugin_stage_of(filter, chunk.type, chunk.shape))
      bytes = plugin->encode_always(bytes, state);
    else if (filter.id != fletcher_filter)
      return std::nullopt;
  }
  return bytes;
}

}  // namespace forebay::chunked
