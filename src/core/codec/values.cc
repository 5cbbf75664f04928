#include "codec/values.h"

#include <cstdint>
#include <cstring>
#include <utility>

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

void Extremes::add_large(double value) {
  constexpr int step = 16, levels = static_cast<int>(bins / 2);
  const int level = std::min(std::ilogb(value) / step, levels);
  const auto bin = static_cast<std::size_t>(value > 0 ? level : levels + level);
  least_[bin] = std::min(least_[bin], value);
  most_[bin] = std::max(most_[bin], value);
}

Extremes::Ordinary Extremes::ordinary() const {
  constexpr double far_apart = 1e4;
  constexpr std::size_t levels = bins / 2;
  Ordinary others;
  const auto take = [&](std::size_t bin) {
    others.least = std::min(others.least, least_[bin]);
    others.most = std::max(others.most, most_[bin]);
  };
  take(0);
  std::vector<double> apart;  // in order, smallest level first
  for (std::size_t level = 1; level <= levels; ++level) {
    std::vector<double> here;
    bool alone = true;
    for (const std::size_t bin : {level, levels + level}) {
      if (least_[bin] > most_[bin]) continue;
      alone = alone && least_[bin] == most_[bin];
      here.push_back(least_[bin]);
    }
    if (here.empty()) continue;
    double below = others.any() ? std::max(-others.least, others.most) : -1;
    for (const double v : apart) below = std::max(below, std::fabs(v));
    const bool far = below >= 0 && std::ranges::all_of(here, [&](double v) {
                       return std::fabs(v) >= far_apart * below;
                     });
    // A level that is no outlier makes all lower levels ordinary, too.
    if (!alone || !far) {
      for (std::size_t l = 1; l <= level; ++l) take(l), take(levels + l);
      apart.clear();
    } else {
      apart.insert(apart.end(), here.begin(), here.end());
    }
  }
  others.outliers = std::move(apart);
  return others;
}

std::array<double, 2 * Extremes::bins> Extremes::numbers() const {
  std::array<double, 2 * bins> all{};
  for (std::size_t bin = 0; bin < bins; ++bin) {
    all[2 * bin] = least_[bin];
    all[2 * bin + 1] = -most_[bin];
  }
  return all;
}

Extremes Extremes::of_numbers(std::span<const double> numbers) {
  Extremes all;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    all.least_[bin] = numbers[2 * bin];
    all.most_[bin] = -numbers[2 * bin + 1];
  }
  return all;
}

}  // namespace forebay
