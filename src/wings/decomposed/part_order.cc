#include "decomposed/part_order.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "decomposed/selected.h"

namespace forebay::decomposed {
namespace {

struct Place {
  Offset offset;
  std::uint32_t from, count, step;

  Offset end() const { return offset + count; }
};

/// Calls f with a constant width if possible, so that copies are fast. Most moves have one element.
template <typename F>
void with_width(int width, F&& f) {
  switch (width) {
    case 4:
      return f(std::integral_constant<std::size_t, 4>{});
    case 8:
      return f(std::integral_constant<std::size_t, 8>{});
    default:
      return f(static_cast<std::size_t>(width));
  }
}

}  // namespace

// If all patterns have the same leading steps, one index of these is enough.
std::shared_ptr<const PartOrder> PartOrder::of(std::span<const Pattern> patterns,
                                               std::size_t most) {
  if (patterns.size() < 2) return nullptr;
  const auto is_like_first = [&](const Pattern& p) { return p.outer == patterns[0].outer; };
  const bool alike = std::all_of(patterns.begin(), patterns.end(), is_like_first);
  Count runs = 0, elements = 0;
  for (const Pattern& pattern : patterns) {
    if (pattern.inner != patterns[0].inner ||
        !add_fits(runs, alike ? std::ssize(pattern.runs) : runs_of(pattern), runs) ||
        !add_fits(elements, pattern.elements(), elements))
      return nullptr;
  }
  if (runs > static_cast<Count>(most) || elements > most_part_bytes) return nullptr;

  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(runs));
  Count begin = 0;
  for (const Pattern& pattern : patterns) {
    const Count step = pattern.run_elements();
    const auto add = [&](Count position, Offset offset, Count count) {
      places.push_back({offset, static_cast<std::uint32_t>(begin + position),
                        static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(step)});
    };
    if (alike) {
      for (const PatternRun& run : pattern.runs) add(run.position, run.offset, run.length);
    } else {
      each_run(pattern, add);
    }
    begin += pattern.elements();
  }
  const auto order = std::make_shared<PartOrder>();
  order->elements_ = elements;
  if (alike) order->levels_ = patterns[0].elements() / patterns[0].run_elements();
  const auto before = [](const Place& a, const Place& b) { return a.offset < b.offset; };
  if (order->levels_ == 1 && std::is_sorted(places.begin(), places.end(), before)) return nullptr;
  std::sort(places.begin(), places.end(), before);
  order->moves_.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [offset, from, count, step] = places[i];
    if (i > 0 && places[i - 1].end() > offset) return nullptr;  // two ranks have the same element
    order->moves_.push_back({from, count, step});
  }
  return order;
}

// Calls f(index in the order of ranks, count) in the order of the array.
template <typename F>
void PartOrder::each(F&& f) const {
  for (Count level = 0; level < levels_; ++level)
    for (const Move& move : moves_)
      f(static_cast<std::size_t>(move.from + level * move.step), std::size_t{move.count});
}

void PartOrder::sort(std::span<const std::byte> from, std::span<std::byte> to, int width) const {
  std::byte* out = to.data();
  with_width(width, [&](auto each_bytes) {
    each([&](std::size_t at, std::size_t count) {
      const std::byte* in = from.data() + at * each_bytes;
      for (; count > 0; --count, in += each_bytes, out += each_bytes)
        std::memcpy(out, in, each_bytes);
    });
  });
}

void PartOrder::unsort(std::span<const std::byte> from, std::span<std::byte> to, int width) const {
  const std::byte* in = from.data();
  with_width(width, [&](auto each_bytes) {
    each([&](std::size_t at, std::size_t count) {
      std::byte* out = to.data() + at * each_bytes;
      for (; count > 0; --count, in += each_bytes, out += each_bytes)
        std::memcpy(out, in, each_bytes);
    });
  });
}

std::shared_ptr<const PartOrder> PartOrders::of(std::span<const std::byte> name,
                                                const NextPattern& next) {
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  const Key key{hash.low64, hash.high64};
  const auto found = std::lower_bound(known_.begin(), known_.end(), key,
                                      [](const auto& a, const Key& b) { return a.first < b; });
  if (found != known_.end() && found->first == key) return found->second;
  std::vector<Pattern> patterns;
  std::size_t runs = 0;
  while (runs <= most_runs_) {
    auto pattern = next();
    if (!pattern) break;
    runs += pattern->runs.size();
    patterns.push_back(std::move(*pattern));
  }
  auto order = runs <= most_runs_ ? PartOrder::of(patterns, most_runs_) : nullptr;
  const Count its = (order ? order->memory() : 0) + static_cast<Count>(sizeof known_[0]);
  const auto place = found - known_.begin();
  const bool full = bytes_ + its > most_bytes_;
  if (full) {
    known_.clear();
    bytes_ = 0;
  }
  known_.emplace(known_.begin() + (full ? 0 : place), key, order);
  bytes_ += its;
  return order;
}

}  // namespace forebay::decomposed
