#include "codec/values.h"

#include "base/byteorder.h"

namespace forebay {

std::span<const std::byte> native_values(const StageInput& in, CodecWorkspace::State& state) {
  const auto values = state.values.reserve(in.bytes.size());
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
