#include "transport/window_cover.h"

#include <cstring>
#include <vector>

namespace forebay {

namespace {

using Holes = std::vector<std::pair<Count, Count>>;

void fill_holes(ByteFile& file, Offset begin, std::byte* bytes, Holes& holes) {
  constexpr std::size_t few = 8;
  auto read = [&](Count from, Count to, std::byte* into) {
    const auto all = static_cast<std::size_t>(to - from);
    const std::size_t got = file.read_at(begin + from, {into, all});
    std::memset(into + got, 0, all - got);
  };
  if (holes.size() <= few) {
    for (auto [from, to] : holes) read(from, to, bytes + from);
  } else {
    const Count from = holes.front().first, to = holes.back().second;
    std::vector<std::byte> span(static_cast<std::size_t>(to - from));
    read(from, to, span.data());
    for (auto [a, b] : holes)
      std::memcpy(bytes + a, span.data() + (a - from), static_cast<std::size_t>(b - a));
  }
  holes.clear();
}

}  // namespace

Count write_covered(ByteFile& file, Offset begin, std::byte* bytes, const std::uint64_t* cover,
                    Count low, Count high, Count hole_threshold) {
  Count written = 0;
  Holes holes;
  const auto note = [&](Count from, Count to) { holes.emplace_back(from, to); };
  for_each_bridged_run(cover, low, high, hole_threshold, note, [&](Count from, Count to) {
    if (!holes.empty()) fill_holes(file, begin, bytes, holes);
    file.write_data_at(begin + from, {bytes + from, static_cast<std::size_t>(to - from)});
    written += to - from;
  });
  return written;
}

}  // namespace forebay
