#include "codec/values.h"

#include <cstdint>
#include <cstring>

#include "base/byteorder.h"

namespace forebay {

namespace {

bool serves(const ChunkInfo& chunk, const std::byte* elements) {
  return chunk.native && reinterpret_cast<std::uintptr_t>(elements) %
                                 static_cast<std::uintptr_t>(size_of(chunk.type)) ==
                             0;
}

}  // namespace

std::span<std::byte> room_for_native(const ChunkInfo& chunk, std::span<std::byte> out,
                                     CodecWorkspace::State& state) {
  return serves(chunk, out.data()) ? out : state.values.reserve(out.size());
}

void hand_over(const ChunkInfo& chunk, std::span<const std::byte> values,
               std::span<std::byte> out) {
  if (!chunk.native)
    copy_swapped(out.data(), values.data(), out.size(), size_of(chunk.type));
  else if (values.data() != out.data())
    std::memcpy(out.data(), values.data(), out.size());
}

std::span<const std::byte> native_values(const StageInput& in, CodecWorkspace::State& state) {
  if (serves(in.chunk, in.bytes.data())) return in.bytes;
  const auto values = state.values.reserve(in.bytes.size());
  if (in.chunk.native) {
    std::memcpy(values.data(), in.bytes.data(), in.bytes.size());
    return values;
  }
  copy_swapped(values.data(), in.bytes.data(), in.bytes.size(), size_of(in.chunk.type));
  return values;
}

std::vector<std::size_t> merged_shape(const std::vector<Count>& shape, std::size_t most) {
  std::vector<std::size_t> merged;
  for (const Count length : shape)
    if (length != 1) merged.push_back(static_cast<std::size_t>(length));
  if (merged.empty()) merged.push_back(1);
  while (merged.size() > most) {
    merged[1] *= merged[0];
    merged.erase(merged.begin());
  }
  return merged;
}

}  // namespace forebay
