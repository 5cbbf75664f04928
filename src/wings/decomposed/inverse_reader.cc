#include "decomposed/inverse_reader.h"

#include <algorithm>
#include <iterator>

#include "array/pattern.h"
#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay::decomposed {
namespace {

/// Neighbouring pages are read together, up to about so many bytes.
constexpr Count most_read = 256 << 10;

std::vector<std::byte> read(ByteFile& file, Offset offset, Count bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  if (file.read_at(offset, out) != out.size()) damaged("it ends within an inverse map");
  return out;
}

Count bytes_of_map(const InverseMap& map) {
  Count bytes = static_cast<Count>(sizeof map + map.begins.size() * sizeof(Count) +
                                   map.directory.pages.size() * sizeof(InversePage));
  for (const auto& factor : map.directory.factors)
    bytes += static_cast<Count>((factor.size() + 2) * sizeof(Steps));
  return bytes;
}

/// Decides quickly whether a selection may meet a part of a map.
class Meeting {
 public:
  Meeting(const InverseDirectory& directory, const Pattern& selection)
      : selection_(selection), bounds_(bounds_of(selection, 0)) {
    for (const auto& factor : directory.factors) reach_.push_back(reach(factor));
  }

  /// Returns whether it may have elements of the factor from `begin` to `end`.
  bool meets(std::uint32_t factor, Offset begin, Offset end) const {
    const Reach& reach = reach_[factor];
    if (end <= reach.low || begin >= reach.high) return false;
    if (reach.by_steps)
      return meets(*reach.by_steps, begin / reach.inside, (end - 1) / reach.inside);
    if (!reach.by_runs) return true;
    const auto at = std::partition_point(selection_.runs.begin(), selection_.runs.end(),
                                         [&](const PatternRun& r) { return r.end() <= begin; });
    return at != selection_.runs.end() && at->offset < end;
  }
  bool meets(const InversePage& page) const {
    for (std::uint32_t f = page.first.factor; f <= page.end.factor; ++f)
      if (meets(f, f == page.first.factor ? page.first.offset : 0,
                f == page.end.factor ? page.end.offset : INT64_MAX))
        return true;
    return false;
  }

 private:
  struct Reach {
    Offset low = 0, high = 0;
    bool by_runs = false;             // runs lie below the factor's dimensions
    const Steps* by_steps = nullptr;  // steps in the next dimension, if any
    Count inside = 1;                 // elements of one index of that dimension
  };

  static bool meets(const Steps& steps, Count first, Count last) {
    const Count i = first <= steps.start ? 0 : (first - steps.start - 1) / steps.stride + 1;
    return i < steps.count && steps.start + i * steps.stride <= last;
  }

  Reach reach(const std::vector<Steps>& factor) const {
    const std::size_t k = factor.size();
    for (std::size_t d = 0; d < k; ++d)
      if (factor[d].start >= bounds_.high[d] || factor[d].last() < bounds_.low[d]) return {};
    if (selection_.outer.size() == k)
      return {selection_.runs.front().offset, selection_.runs.back().end(), true};
    Reach reach{0, 1};
    if (selection_.outer.size() > k) {
      reach.by_steps = &selection_.outer[k];
      reach.inside = selection_.below(k + 1);
    }
    for (std::size_t d = k; d < selection_.ndims(); ++d) {
      reach.low += bounds_.low[d] * selection_.below(d + 1);
      reach.high += (bounds_.high[d] - 1) * selection_.below(d + 1);
    }
    return reach;
  }

  const Pattern& selection_;
  Bounds bounds_;
  std::vector<Reach> reach_;
};

/// Makes a pattern of the runs of one factor.
Pattern pattern_of(const InverseDirectory& directory, std::span<const InverseRun> runs) {
  Pattern pattern;
  pattern.inner = directory.inner;
  pattern.outer = directory.factors[runs.front().factor];
  pattern.runs.reserve(runs.size());
  Count position = 0;
  for (const InverseRun& run : runs) {
    pattern.runs.push_back({run.offset, run.length, position});
    position += run.length;
  }
  if (const auto fault = fault_of(pattern)) damaged("a page of an inverse map has " + *fault);
  return pattern;
}

/// Walks through the elements that a page's pattern and a selection share, run by run.
class Places {
 public:
  Places(const InverseMap& map, std::span<const InverseRun> runs, const Pattern& pattern)
      : map_(map), runs_(runs), pattern_(pattern), each_(pattern.run_elements()) {}

  template <typename F>
  bool walk(Count from, Count target, Count count, F&& f) {
    while (count > 0) {
      const Count index = from / each_, within = from % each_;
      seek(within);
      const PatternRun& at = pattern_.runs[run_];
      const InverseRun& run = runs_[run_];
      const Count skip = within - at.position, now = std::min(count, at.length - skip);
      if (!f({place(run, index) + skip, target, now, run.member})) return false;
      from += now, target += now, count -= now;
    }
    return true;
  }

 private:
  void seek(Count within) {
    const auto& all = pattern_.runs;
    if (all[run_].position <= within) {
      // It is mostly the next one.
      for (int i = 0; i < 4 && all[run_].position + all[run_].length <= within; ++i) ++run_;
      if (all[run_].position + all[run_].length > within) return;
    }
    run_ = static_cast<std::size_t>(
        std::partition_point(all.begin(), all.end(),
                             [&](const PatternRun& r) { return r.position + r.length <= within; }) -
        all.begin());
  }
  Count place(const InverseRun& run, Count index) const {
    const Count begin = map_.begins[run.member];
    const Count per = (map_.begins[run.member + 1] - begin) / map_.per_index[run.factor];
    return begin + index * per + run.position;
  }

  const InverseMap& map_;
  std::span<const InverseRun> runs_;
  const Pattern& pattern_;
  Count each_;
  std::size_t run_ = 0;
};

void check_runs(const InverseMap& map, const std::vector<InverseRun>& runs) {
  for (const InverseRun& run : runs) {
    if (run.member + std::size_t{1} >= map.begins.size())
      damaged("an inverse map has more members than its map");
    const Count elements = map.begins[run.member + 1] - map.begins[run.member];
    const Count indices = map.per_index[run.factor];
    if (elements % indices != 0 || run.position + run.length > elements / indices)
      damaged("an inverse map has more elements than its map");
  }
}

std::shared_ptr<const std::vector<InverseRun>> decoded(const InverseMap& map,
                                                       const InversePage& page,
                                                       std::span<const std::byte> bytes,
                                                       logged::BytePacker& packer) {
  if (hash_of(bytes) != page.hash) damaged("wrong checksum of a page of an inverse map");
  std::vector<std::byte> printed;
  try {
    printed = packer.unpack(bytes, static_cast<std::uint64_t>(most_printed(page.runs)));
  } catch (const Error& error) {
    if (error.code() != Errc::ebadlog) throw;
    damaged("a page of an inverse map cannot be read");
  }
  auto runs = std::make_shared<const std::vector<InverseRun>>(parse_inverse_page(printed, page));
  check_runs(map, *runs);
  return runs;
}

}  // namespace

std::optional<OneLevel> one_level_of(const InverseMap& map, Pattern selection) {
  if (map.directory.factors.size() != 1 || map.directory.inner != selection.inner)
    return std::nullopt;
  const std::vector<Steps>& factor = map.directory.factors[0];
  // A run of whole indices becomes steps.
  while (selection.outer.size() < factor.size() && selection.runs.size() == 1) {
    const Count inside = selection.below(selection.outer.size() + 1);
    const PatternRun run = selection.runs[0];
    if (run.offset % inside != 0 || run.length % inside != 0) return std::nullopt;
    selection.outer.push_back({run.offset / inside, run.length / inside, 1});
    selection.runs[0] = {0, inside, 0};
  }
  if (selection.outer.size() != factor.size()) return std::nullopt;
  const auto several = [](const Steps& s) { return s.count > 1; };
  const auto at = std::find_if(selection.outer.begin(), selection.outer.end(), several);
  if (at == selection.outer.end() || std::any_of(at + 1, selection.outer.end(), several))
    return std::nullopt;
  const Steps its = *at, has = factor[static_cast<std::size_t>(at - selection.outer.begin())];
  const Count first = std::max(its.start, has.start), last = std::min(its.last(), has.last());
  if (its.stride != has.stride || (its.start - has.start) % its.stride != 0 || first >= last)
    return std::nullopt;
  *at = {first, 1, 1};
  OneLevel level;
  level.levels = {(last - first) / its.stride + 1, (first - its.start) / its.stride,
                  selection.run_elements()};
  for (auto d = static_cast<std::size_t>(at - selection.outer.begin()) + 1; d < factor.size(); ++d)
    level.below *= factor[d].count;
  level.selection = std::move(selection);
  return level;
}

std::shared_ptr<const InverseMap> InverseReader::map(ByteFile& file, const FileIndex& index,
                                                     std::uint32_t number) {
  const StoredInverse& stored = *index.inverse(number);
  const FileRange& place = stored.directory();
  const auto known = std::find_if(maps_.begin(), maps_.end(), [&](const KeptMap& kept) {
    return kept.offset == place.offset && kept.map->hash == stored.hash &&
           kept.identity == index.identity(number) && kept.path == file.path();
  });
  if (known != maps_.end()) {
    maps_.splice(maps_.begin(), maps_, known);
    return known->map;
  }
  if (place.bytes > most_directory) damaged("the directory of an inverse map is too long");
  const auto bytes = read(file, place.offset, place.bytes);
  if (hash_of(bytes) != stored.hash) damaged("wrong checksum of the directory of an inverse map");
  auto map = std::make_shared<InverseMap>();
  map->hash = stored.hash;
  map->number = ++maps_made_;
  map->directory = parse_inverse_directory(bytes, file.size());
  for (const auto& factor : map->directory.factors) {
    Count indices = 1;
    for (const Steps& steps : factor) indices *= steps.count;
    map->per_index.push_back(indices);
  }
  map->begins.push_back(0);
  for (const Member& member : index.map(number))
    map->begins.push_back(map->begins.back() + index.pattern(member.pattern).elements);
  const Count cost = bytes_of_map(*map);
  bytes_ += cost;
  maps_.push_front({file.path(), place.offset, index.identity(number), map, cost});
  make_room();
  return map;
}

void InverseReader::make_room() {
  while (bytes_ > most_bytes_ && pages_.size() > 1) {
    bytes_ -= pages_.back().bytes;
    pages_.pop_back();
  }
  while (bytes_ > most_bytes_ && maps_.size() > 1) {
    bytes_ -= maps_.back().bytes;
    maps_.pop_back();
  }
}

void InverseReader::forget() {
  maps_.clear();
  pages_.clear();
  bytes_ = 0;
}

std::shared_ptr<const std::vector<InverseRun>> InverseReader::kept(const InverseMap& map,
                                                                   const InversePage& page) {
  const auto known = std::find_if(pages_.begin(), pages_.end(), [&](const KeptPage& kept) {
    return kept.map == map.number && kept.offset == page.offset;
  });
  if (known == pages_.end()) return nullptr;
  pages_.splice(pages_.begin(), pages_, known);
  return known->runs;
}

// Unknown pages that are neighbours in the file are read together.
void InverseReader::each_page(ByteFile& file, const InverseMap& map,
                              const std::vector<const InversePage*>& pages,
                              const std::function<bool(const Runs&)>& f) {
  for (std::size_t i = 0; i < pages.size();) {
    if (const auto runs = kept(map, *pages[i])) {
      ++i;
      if (!f(*runs)) return;
      continue;
    }
    const Offset begin = pages[i]->offset;
    Offset end = begin + pages[i]->bytes;
    std::size_t last = i + 1;
    while (last < pages.size() && pages[last]->offset == end &&
           end + pages[last]->bytes - begin <= most_read && !kept(map, *pages[last]))
      end += pages[last++]->bytes;
    const auto bytes = read(file, begin, end - begin);
    for (; i < last; ++i) {
      const InversePage& page = *pages[i];
      const auto runs =
          decoded(map, page,
                  std::span(bytes).subspan(static_cast<std::size_t>(page.offset - begin),
                                           static_cast<std::size_t>(page.bytes)),
                  packer_);
      ++pages_read_;
      const auto cost = static_cast<Count>(sizeof(KeptPage) + runs->size() * sizeof(InverseRun));
      bytes_ += cost;
      pages_.push_front({map.number, page.offset, runs, cost});
      make_room();
      if (!f(*runs)) return;
    }
  }
}

bool InverseReader::find(ByteFile& file, const InverseMap& map, const Pattern& selection,
                         const std::function<bool(const Found&)>& f) {
  const InverseDirectory& directory = map.directory;
  if (directory.inner != selection.inner)
    damaged("an inverse map is of variables of another shape");
  const Meeting meeting(directory, selection);
  std::vector<const InversePage*> pages;
  for (const InversePage& page : directory.pages)
    if (meeting.meets(page)) pages.push_back(&page);
  bool goes_on = true;
  each_page(file, map, pages, [&](const Runs& runs) {
    for (std::size_t i = 0, end = 0; i < runs.size() && goes_on; i = end) {
      const std::uint32_t factor = runs[i].factor;
      while (end < runs.size() && runs[end].factor == factor) ++end;
      if (!meeting.meets(factor, runs[i].offset, runs[end - 1].end())) continue;
      const auto its = std::span(runs).subspan(i, end - i);
      const Pattern pattern = pattern_of(directory, its);
      Places places(map, its, pattern);
      intersect(pattern, 0, selection, 0, [&](const SharedList& list) {
        for (const Shared& s : list.pieces)
          goes_on = goes_on && places.walk(list.a + s.a, list.b + s.b, s.count, f);
      });
    }
    return goes_on;
  });
  return goes_on;
}

void InverseReader::check(ByteFile& file, const InverseMap& map) {
  std::vector<const InversePage*> pages;
  for (const InversePage& page : map.directory.pages) pages.push_back(&page);
  each_page(file, map, pages, [&](const Runs& runs) {
    for (std::size_t i = 0, end = 0; i < runs.size(); i = end) {
      while (end < runs.size() && runs[end].factor == runs[i].factor) ++end;
      pattern_of(map.directory, std::span(runs).subspan(i, end - i));
    }
    return true;
  });
}

}  // namespace forebay::decomposed
