#include "decomposed/replay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "decomposed/format/decomposed_schema.h"

namespace forebay::decomposed {
namespace {

constexpr Count everything = std::numeric_limits<Count>::max();

/// Marks elements.
class Marks {
 public:
  explicit Marks(Count elements)
      : elements_(elements), words_(static_cast<std::size_t>((elements + 63) / 64), 0) {}

  /// Returns false if some of them were marked before.
  bool add(Count begin, Count count) {
    while (count > 0) {
      const int bit = static_cast<int>(begin % 64);
      const int now = static_cast<int>(std::min<Count>(count, 64 - bit));
      const std::uint64_t mask = (now == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << now) - 1)
                                 << bit;
      std::uint64_t& word = words_[static_cast<std::size_t>(begin / 64)];
      if ((word & mask) != 0) return false;
      word |= mask;
      begin += now, count -= now;
    }
    return true;
  }
  /// Calls f(begin, count) for the elements without a mark.
  template <typename F>
  void each_other(F&& f) const {
    for (Count at = next(0, false); at < elements_;) {
      const Count end = next(at, true);
      f(at, end - at);
      at = next(end, false);
    }
  }

 private:
  /// Returns the first element from `at` on that is marked (or not, by `met`); else the end.
  Count next(Count at, bool met) const {
    while (at < elements_) {
      std::uint64_t word = words_[static_cast<std::size_t>(at / 64)];
      if (!met) word = ~word;
      word >>= at % 64;
      if (word != 0) return std::min(elements_, at + std::countr_zero(word));
      at = (at / 64 + 1) * 64;
    }
    return elements_;
  }

  Count elements_;
  std::vector<std::uint64_t> words_;
};

/// Appends a run, or extends the last one.
void append(std::vector<Run>& runs, const Run& run) {
  if (!runs.empty() && runs.back().offset + runs.back().length == run.offset) {
    runs.back().length += run.length;
  } else {
    runs.push_back(run);
  }
}

/// Returns the number of leading dimensions of which a pattern has all coordinates. Its runs repeat
/// there.
std::size_t full_dimensions(const Pattern& pattern) {
  for (std::size_t d = 0; d < pattern.outer.size(); ++d)
    if (pattern.outer[d] != Steps{0, d == 0 ? 1 : pattern.inner[d - 1], 1}) return 0;
  return pattern.outer.size();
}

}  // namespace

Count Replay::Way::bytes() const {
  return static_cast<Count>(moves.size() * sizeof(Move) +
                            runs.size() * sizeof(Run) * (1 + lists.size()) + 256);
}

// Calls f(pattern, where its blob begins) for patterns with elements [from, to) of a slab, while f
// returns true.
template <typename F>
void Replay::each_pattern(MapNumber number, Count from, Count to, F&& f) {
  const Map map = reader_.index(number.first).map(number.second);
  Count begin = 0;
  for (const Member& member : map) {
    const Count elements = reader_.index(number.first).pattern(member.pattern).elements;
    if (begin >= to) return;
    if (begin + elements > from && !f(reader_.pattern(number.first, member.pattern), begin)) return;
    begin += elements;
  }
}

std::uint32_t Replay::add_stretch(Stretch stretch) {
  stretches_.push_back(std::move(stretch));
  return static_cast<std::uint32_t>(stretches_.size() - 1);
}

// Consecutive blobs form a stretch while it has few values and runs. A larger blob is cut.
const std::vector<std::uint32_t>& Replay::stretches_of(MapNumber map) {
  const auto known = by_map_.find(map);
  if (known != by_map_.end()) return known->second;
  const Count most_runs =
      std::max<Count>(most_bytes_ / 4 / static_cast<Count>(sizeof(Move) + 2 * sizeof(Run)), 1);
  std::vector<std::uint32_t> all;
  Stretch open{map, 0, 0, nullptr};
  Count open_runs = 0;
  const auto close = [&] {
    if (open.elements > 0) all.push_back(add_stretch(open));
    open.begin += std::exchange(open.elements, 0);
    open_runs = 0;
  };
  each_pattern(map, 0, everything, [&](const Pattern& pattern, Count) {
    Count elements = pattern.elements();
    const Count runs = runs_of(pattern);
    if (open.elements + elements > most_elements() || open_runs > most_runs - runs) close();
    const Count step = runs > most_runs ? std::min(most_elements(), most_runs) : most_elements();
    for (; elements > step; elements -= step) {
      open.elements = step;
      close();
    }
    open.elements += elements;
    open_runs += std::min(runs, elements);
    return true;
  });
  close();
  return by_map_[map] = std::move(all);
}

const Replay::Cover& Replay::cover_of(const std::vector<MapNumber>& maps,
                                      const std::vector<Count>& inner) {
  const auto key = std::make_pair(maps, inner);
  const auto known = covers_.find(key);
  if (known != covers_.end()) return known->second;
  return covers_[key] = find_cover(maps, inner);
}

// If all patterns have the same complete leading dimensions, one coordinate of these is enough.
Replay::Cover Replay::find_cover(const std::vector<MapNumber>& maps,
                                 const std::vector<Count>& inner) {
  Count all = 1;
  for (const Count extent : inner) all *= extent;
  std::optional<std::size_t> full;
  const auto require_shape = [&](const MapNumber& map, const Pattern& pattern) {
    if (pattern.inner != inner)
      throw Error(Errc::enotnc,
                  "data file " + std::to_string(map.first) + ": map " + std::to_string(map.second) +
                      " is of variables of another shape",
                  "forebay check tells what can still be read");
  };
  for (const MapNumber& map : maps) {
    each_pattern(map, 0, everything, [&](const Pattern& pattern, Count) {
      require_shape(map, pattern);
      const std::size_t its = full_dimensions(pattern);
      full = full.value_or(its) == its ? its : 0;
      return *full > 0;
    });
  }
  const std::size_t leading = full.value_or(0);
  Count levels = 1;
  for (std::size_t d = 1; d < leading; ++d) levels *= inner[d - 1];
  const Count domain = all / levels;

  Cover cover;
  if (maps.empty()) {
    const std::array<Run, 1> whole{{{0, all}}};
    add_unwritten(cover, whole);
    return cover;
  }
  if (domain / 8 > most_bytes_) return cover;
  Marks met(domain);
  for (const MapNumber& map : maps) {
    bool apart = true;
    each_pattern(map, 0, everything, [&](const Pattern& pattern, Count) {
      require_shape(map, pattern);  // the first loop may have ended early
      if (leading > 0) {
        for (const PatternRun& run : pattern.runs) apart = apart && met.add(run.offset, run.length);
      } else {
        each_run(pattern, [&](Count, Count element, Count count) {
          apart = apart && met.add(element, count);
        });
      }
      return apart;
    });
    if (!apart) return cover;
  }
  std::vector<Run> unwritten;
  const auto most = static_cast<std::size_t>(most_bytes_) / sizeof(Run);
  for (Count level = 0; level < levels; ++level) {
    met.each_other([&](Count begin, Count count) {
      if (unwritten.size() <= most) append(unwritten, {level * domain + begin, count});
    });
  }
  if (unwritten.size() <= most) add_unwritten(cover, unwritten);
  return cover;
}

// These lists are few. They are kept, since they belong to several maps.
void Replay::add_unwritten(Cover& cover, std::span<const Run> runs) {
  cover.apart = true;
  std::vector<Run> open;
  Count elements = 0;
  const auto close = [&] {
    if (elements == 0) return;
    cover.unwritten.push_back(
        add_stretch({{SlabPart::no_file, 0},
                     0,
                     elements,
                     std::make_shared<const std::vector<Run>>(std::exchange(open, {}))}));
    elements = 0;
  };
  for (Run run : runs) {
    while (run.length > 0) {
      const Count now = std::min(run.length, most_elements() - elements);
      open.push_back({run.offset, now});
      elements += now;
      run = {run.offset + now, run.length - now};
      if (elements == most_elements()) close();
    }
  }
  close();
}

// -- the parts of a variable

std::optional<std::vector<SlabPart>> Replay::parts_of(VarId id) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  return naming("variable " + var.name, [&]() -> std::optional<std::vector<SlabPart>> {
    const Count width = size_of(var.type), records = var.is_record ? schema_.numrecs : 1;
    const std::vector<Count> inner = inner_extents(var);
    std::vector<SlabPart> parts;
    std::vector<MapNumber> maps;
    if (std::exchange(epoch_, reader_.state().epoch) != reader_.state().epoch) {
      by_map_.clear();
      covers_.clear();
    }
    for (Count record = 0; record < records; ++record) {
      std::vector<Slab> slabs = reader_.slabs_of(id, record);
      std::sort(slabs.begin(), slabs.end(), [](const Slab& a, const Slab& b) {
        return std::pair(a.file, a.entry.map) < std::pair(b.file, b.entry.map);
      });
      maps.clear();
      for (const Slab& slab : slabs) maps.emplace_back(slab.file, slab.entry.map);
      const Cover& cover = cover_of(maps, inner);
      if (!cover.apart) return std::nullopt;
      for (const Slab& slab : slabs) {
        const MapNumber map{slab.file, slab.entry.map};
        if (slab.entry.bytes != reader_.index(map.first).elements(map.second) * width)
          throw Error(Errc::enotnc,
                      "data file " + std::to_string(slab.file) +
                          ": a slab has other bytes than elements of type " + name_of(var.type),
                      "forebay check tells what can still be read");
        for (const std::uint32_t stretch : stretches_of(map))
          parts.push_back({id, record, stretch, slab.file, slab.entry.map, slab.entry.offset,
                           slab.entry.epoch, stretches_[stretch].elements});
      }
      for (const std::uint32_t stretch : cover.unwritten)
        parts.push_back(
            {id, record, stretch, SlabPart::no_file, 0, 0, 0, stretches_[stretch].elements});
    }
    return parts;
  });
}

std::vector<Count> Replay::places_of(const SlabPart& part) {
  std::vector<Count> places(static_cast<std::size_t>(elements_of(part)));
  each_pattern({part.file, part.map}, 0, everything, [&](const Pattern& pattern, Count begin) {
    each_run(pattern, [&](Count position, Count element, Count count) {
      const auto first = places.begin() + begin + position;
      std::iota(first, first + count, element);
    });
    return true;
  });
  return places;
}

// -- the values of parts

Replay::Way Replay::find_way(std::uint32_t number) {
  const Stretch& stretch = stretches_[number];
  Way way{number, {}, {}, {}};
  if (stretch.unwritten) {
    way.runs = *stretch.unwritten;
    return way;
  }
  struct Place {
    Count element, from, count;
  };
  std::vector<Place> places;
  const Count end = stretch.begin + stretch.elements;
  each_pattern(stretch.map, stretch.begin, end, [&](const Pattern& pattern, Count begin) {
    each_run(pattern, [&](Count position, Count element, Count count) {
      const Count from = std::max(begin + position, stretch.begin);
      const Count to = std::min(begin + position + count, end);
      if (from < to)
        places.push_back({element + from - begin - position, from - stretch.begin, to - from});
    });
    return true;
  });
  const auto before = [](const Place& a, const Place& b) { return a.element < b.element; };
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  for (const Place& place : places) {
    const bool on = !way.moves.empty() &&
                    way.runs.back().offset + way.runs.back().length == place.element &&
                    way.moves.back().from + way.moves.back().count == place.from;
    if (on) {
      way.moves.back().count += place.count;
    } else {
      way.moves.push_back({place.from, place.count});
    }
    append(way.runs, {place.element, place.count});
  }
  way.moves.shrink_to_fit();
  way.runs.shrink_to_fit();
  return way;
}

Replay::Way& Replay::way_of(std::uint32_t stretch) {
  const auto known = std::find_if(ways_.begin(), ways_.end(),
                                  [&](const Way& way) { return way.stretch == stretch; });
  if (known != ways_.end()) {
    ways_.splice(ways_.begin(), ways_, known);
    return ways_.front();
  }
  ways_.push_front(find_way(stretch));
  const auto held = [&] {
    return std::accumulate(ways_.begin(), ways_.end(), Count{0},
                           [](Count sum, const Way& way) { return sum + way.bytes(); });
  };
  while (ways_.size() > 1 && held() > most_bytes_ / 2) ways_.pop_back();
  return ways_.front();
}

Slab Replay::slab_of(const SlabPart& part) {
  const auto slabs = reader_.index(part.file).slabs(part.var, part.record);
  const auto there = std::find_if(slabs.begin(), slabs.end(), [&](const Entry& e) {
    return e.offset == part.offset && e.epoch == part.epoch && e.map == part.map;
  });
  if (there == slabs.end())
    throw Error(Errc::enotnc, "it was written again while it was copied",
                "copy the file when nobody writes it");
  const FileIndex& its = reader_.index(part.file);
  return {*there, part.file, its.identity(part.map), its.elements(part.map)};
}

std::optional<Offset> Replay::plain_place(const SlabPart& part) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(part.var)];
  return naming("variable " + var.name, [&]() -> std::optional<Offset> {
    const Entry entry = slab_of(part).entry;
    if (entry.parts.empty()) return entry.offset;
    if (is_encoded(var) && *var.slab_codec != "checksum") return std::nullopt;
    Offset next = entry.parts[0].offset;
    for (const StoredPart& stored : entry.parts) {
      if (stored.sorted || stored.offset != next ||
          stored.bytes != stored.elements * size_of(var.type))
        return std::nullopt;
      next += stored.bytes;
    }
    return entry.parts[0].offset;
  });
}

std::vector<std::byte> Replay::slab_bytes(const SlabPart& part) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(part.var)];
  return naming("variable " + var.name, [&] {
    const Slab slab = slab_of(part);
    std::vector<std::byte> bytes(static_cast<std::size_t>(slab.entry.bytes));
    reader_.read_values(slab, var, 0, bytes, 1);
    return bytes;
  });
}

void Replay::read_slab(const SlabPart& part, const Way& way, const Variable& var, std::byte* out) {
  const Slab slab = slab_of(part);
  const int width = size_of(var.type);
  const Offset from = stretches_[part.stretch].begin * width;
  const auto bytes = static_cast<std::size_t>(part.elements * width);
  if (way.moves.size() == 1) return reader_.read_values(slab, var, from, {out, bytes}, width);
  slab_.resize(bytes);
  reader_.read_values(slab, var, from, slab_, 1);
  for (const Move& move : way.moves) {
    const auto now = static_cast<std::size_t>(move.count * width);
    copy_swapped(out, slab_.data() + move.from * width, now, width);
    out += now;
  }
}

Runs Replay::read(const SlabPart& part, std::byte* out) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(part.var)];
  return naming("variable " + var.name, [&] {
    const Count width = size_of(var.type);
    Way& way = way_of(part.stretch);
    if (part.file == SlabPart::no_file) {
      const std::vector<std::byte> value = external_fill(var);
      for (Count i = 0; i < part.elements; ++i, out += width)
        copy_swapped(out, value.data(), value.size(), static_cast<int>(width));
    } else {
      read_slab(part, way, var, out);
    }
    auto& list = way.lists[width];
    if (!list) {
      auto runs = std::make_shared<RunList>();
      for (const Run& run : way.runs) {
        runs->runs.push_back({run.offset * width, run.length * width});
        runs->bytes += run.length * width;
      }
      list = std::move(runs);
    }
    return Runs{list, part.record * var.inner_bytes()};
  });
}

}  // namespace forebay::decomposed
