#include "hdf5/log/log_reader.h"

#include <algorithm>
#include <set>

#include "base/attempt.h"
#include "base/copy_few.h"
#include "base/error.h"
#include "base/fill_elements.h"
#include "base/hash.h"
#include "base/number_bytes.h"
#include "base/reserve_one_more.h"

namespace forebay::logged {
namespace {

// Holes of up to so many bytes between parts of an entry are read along.
constexpr Count hole_bytes = 64 << 10;
// Bytes that are read at once from an entry.
constexpr Count window_bytes = 8 << 20;
constexpr Count front_bytes = 4 << 10;
constexpr std::size_t batch_pieces = 64 << 10;
// Small entries that lie at most near_bytes apart in a file are read at once. They have up to
// near_window bytes together, and up to twice as many with the gaps between them.
constexpr Count near_bytes = 16 << 10;
constexpr Count near_window = 512 << 10;
constexpr Count most_filtered = Count{4} << 30;  // HDF5 has no larger chunk

[[noreturn]] void other_dimensions(std::uint64_t dataset) {
  damaged("dataset " + std::to_string(dataset) + " has other dimensions");
}

[[noreturn]] void does_not_hold(const Entry& entry) {
  damaged("the checksum of data at byte " + std::to_string(entry.data) + " does not hold");
}

/// Checks `data`, read from byte `begin` of an entry's data on, if it is all of the data.
void check_data(const Entry& entry, Offset begin, std::span<const std::byte> data) {
  if (begin != 0 || static_cast<Count>(data.size()) != entry.stored) return;
  if (hash_of(data) != entry.hash) does_not_hold(entry);
}

Count memory_of(const Pattern& pattern) {
  return static_cast<Count>(pattern.runs.size() * sizeof(PatternRun) + 512);
}

/// Returns whether `wanted` is a full box of `elements` elements that contains `bounds`.
bool has_all_of(const Bounds& wanted, Count elements, const Bounds& bounds) {
  if (wanted.low.size() != bounds.low.size()) return false;
  Count volume = 1;
  for (std::size_t d = 0; d < wanted.low.size(); ++d) {
    if (bounds.low[d] < wanted.low[d] || bounds.high[d] > wanted.high[d]) return false;
    const Count length = wanted.high[d] - wanted.low[d];
    if (length > elements / volume) return false;
    volume *= length;
  }
  return volume == elements;
}

/// Sets the elements of `wanted` outside the box to the fill value.
void fill_outside(const Pattern& box, const Placed& wanted, const DatasetShape& dataset,
                  std::span<std::byte> out) {
  std::vector<Shared> kept;
  intersect(box, 0, wanted.pattern, wanted.base, [&](const SharedList& list) {
    for (const Shared& s : list.pieces) kept.push_back({0, s.b + list.b, s.count});
  });
  std::sort(kept.begin(), kept.end(), [](auto& p, auto& q) { return p.b < q.b; });
  const Count size = dataset.element_size;
  Count at = 0;
  kept.push_back({0, wanted.pattern.elements(), 0});
  for (const Shared& s : kept) {
    fill_elements(out.subspan(static_cast<std::size_t>(at * size),
                              static_cast<std::size_t>((s.b - at) * size)),
                  dataset.fill);
    at = s.b + s.count;
  }
}

}  // namespace

LogReader::LogReader(ByteFile& file, OpenSubfile open_subfile, Count memory_limit, Report& report)
    : file_(file),
      open_subfile_(std::move(open_subfile)),
      memory_limit_(memory_limit),
      report_(report),
      index_([this](Offset place, Count n) { return bytes(file_, place, n); }, memory_limit / 4) {}

std::vector<std::byte> LogReader::bytes(ByteFile& file, Offset place, Count n) {
  Offset end = 0;
  if (n < 0 || place < 0 || !add_fits(place, n, end) || end > file.size())
    throw Error(Errc::etrunc,
                file.path() + " ends before byte " + std::to_string(end) + " of the log's metadata",
                "it was cut, or is not all there yet");
  std::vector<std::byte> out(static_cast<std::size_t>(n));
  if (file.read_at(place, out) != out.size())
    throw Error(Errc::etrunc, file.path() + " ends within the log's metadata");
  return out;
}

/// Returns the first bytes at `place`. The first `least` of them say how many. Few take one call.
template <typename Length>
std::vector<std::byte> LogReader::beginning(Offset place, Count all, Count least,
                                            const Length& length_of) {
  const Count there = std::max(least, file_.size() - std::max<Offset>(place, 0));  // it may be cut
  auto front = bytes(file_, place, std::min({all, there, front_bytes}));
  const Count length = length_of(front);
  if (length > std::ssize(front)) return bytes(file_, place, length);
  front.resize(static_cast<std::size_t>(length));
  return front;
}

void LogReader::set_index(Offset place, Count n) {
  bool old = false;
  const auto front = beginning(place, n, index_front_bytes, [&](std::span<const std::byte> begin) {
    old = is_without_pages(begin);
    return old ? index_front_bytes : directory_bytes_of(begin, n);
  });
  if (old) return;
  index_.set(parse_directory(front, n), place, {});
  forget_lookups();  // they may have entries that the index has
}

void LogReader::set_index(Offset place, std::span<const std::byte> index) {
  const auto n = static_cast<Count>(index.size());
  const auto begin = index.first(static_cast<std::size_t>(std::min(n, index_front_bytes)));
  if (is_without_pages(begin)) return;
  const Count front = directory_bytes_of(begin, n);
  index_.set(parse_directory(index.first(static_cast<std::size_t>(front)), n), place, index);
  forget_lookups();
}

ByteFile& LogReader::file_of(const Entry& entry) {
  if (entry.file == 0) return file_;
  auto& file = subfiles_[entry.file];
  if (!file) file = open_subfile_(entry.file - 1);
  return *file;
}

/// Pieces of an entry that have at least so many bytes are read directly to their destination. A
/// slow call costs as much as copying some KiB, so there the limit is higher. Opens no subfile.
Count LogReader::direct_bytes(const Entry& entry) const {
  const ByteFile* file = &file_;
  if (entry.file != 0) {
    const auto open = subfiles_.find(entry.file);
    file = open == subfiles_.end() ? nullptr : open->second.get();
  }
  return file != nullptr && is_slow(file->least_latency(false)) ? slow_direct_bytes
                                                                : quick_direct_bytes;
}

void LogReader::ends_early(const Entry& entry) {
  throw Error(Errc::etrunc,
              file_of(entry).path() + " ends before byte " +
                  std::to_string(entry.data + entry.stored) + " of its log",
              "it was cut, or is not all there yet");
}

std::vector<std::byte> LogReader::packed_pattern(const PatternRef& ref) {
  const Offset at = ref.place - section_place_;
  if (at < 0 || at > std::ssize(section_) || std::ssize(section_) - at < Count{ref.bytes})
    return bytes(file_, ref.place, ref.bytes);
  const auto begin = section_.begin() + at;
  return {begin, begin + ref.bytes};
}

std::shared_ptr<const Pattern> LogReader::pattern(const PatternRef& ref) {
  if (const auto found = patterns_.find(ref.place); found != patterns_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.use);
    return found->second.pattern;
  }
  const auto packed = packed_pattern(ref);
  if (check_of(packed) != ref.check)
    damaged("the checksum of a selection at byte " + std::to_string(ref.place) + " does not hold");
  auto pattern = std::make_shared<const Pattern>(packer_.unpack(packed));
  const Count memory = memory_of(*pattern);
  recent_.push_front(ref.place);
  try {
    patterns_[ref.place] = {pattern, recent_.begin(), memory};
  } catch (...) {
    recent_.pop_front();
    throw;
  }
  pattern_memory_ += memory;
  while (pattern_memory_ > memory_limit_ / 4 && recent_.size() > 1) {
    const auto oldest = patterns_.find(recent_.back());
    pattern_memory_ -= oldest->second.memory;
    patterns_.erase(oldest);
    recent_.pop_back();
  }
  return pattern;
}

void LogReader::expect_block() { reserve_one_more(blocks_); }

void LogReader::add_block(const MetadataBlock& block) {
  Offset end = 0;
  if (block.place < 0 || block.bytes < 0 || !add_fits(block.place, block.bytes, end))
    damaged("the place of a block of metadata");
  if (blocks_.size() >= directory().blocks) fresh_bytes_ += block.bytes;
  blocks_.push_back(block);
}

Table LogReader::table_of(const MetadataBlock& block) {
  if (block.bytes == 0) return {};
  if (last_table_ && last_table_->first == block.place) return last_table_->second;
  const auto printed =
      beginning(block.place, block.bytes, table_bytes(0), [&](std::span<const std::byte> front) {
        const Count sections = std::max<Count>(0, sections_in(front, block.bytes));
        return std::min(block.bytes, table_bytes(sections));
      });
  Table table = parse_table(printed, block.bytes);
  if (!table.sections.empty()) last_table_.emplace(block.place, table);  // the block is complete
  return table;
}

void LogReader::for_each_section(std::size_t from, std::size_t to, std::size_t step,
                                 std::size_t phase,
                                 const std::function<void(const Section&)>& use) {
  std::size_t number = 0;
  for (std::size_t b = from; b < to; ++b)
    for (const SectionPlace& place : table_of(blocks_[b]).sections) {
      if (number++ % step != phase) continue;
      section_place_ = blocks_[b].place + place.place;
      section_ = bytes(file_, section_place_, place.bytes);
      const auto failed = attempt_to([&] { use(parse_section(section_, section_place_)); });
      std::vector<std::byte>().swap(section_);
      if (failed) throw *failed;
    }
}

std::optional<Bounds> LogReader::bounds(const Section& section, const Entry& entry) {
  if (entry.kind == Kind::cleared) return std::nullopt;
  const auto selected = pattern(section.patterns[entry.pattern]);
  if (!base_fits(*selected, entry.base)) damaged("an entry's first coordinate");
  return bounds_of(*selected, entry.base);
}

std::uint64_t LogReader::last_epoch() {
  std::uint64_t last = directory().epoch;
  for (std::size_t b = directory().blocks; b < blocks_.size(); ++b)
    last = std::max(last, table_of(blocks_[b]).epoch);
  return last;
}

Lookup LogReader::from_index(std::uint64_t dataset, std::uint32_t ndims) {
  Lookup lookup(index_.list(dataset));
  if (lookup.size() == 0) return Lookup(ndims);
  if (ndims != 0 && !lookup.set_ndims(ndims)) other_dimensions(dataset);
  return lookup;
}

std::shared_ptr<const ListHead> LogReader::head(std::uint64_t dataset, std::uint32_t ndims) {
  auto head = index_.head(dataset);
  if (head && head->writes > 0 && head->ndims != ndims) other_dimensions(dataset);
  return head;
}

std::vector<NumberedEntry> LogReader::find_indexed(std::uint64_t dataset, std::uint32_t ndims,
                                                   const Bounds& wanted) {
  std::vector<NumberedEntry> found;
  const auto head = this->head(dataset, ndims);
  if (!head) return found;
  if (head->writes > 0) {
    const std::vector<Count> box = wanted_box(*head, wanted);
    for (const std::uint32_t page : pages_meeting(*head, box.data()))
      find_in_page(
          *head, index_.page(dataset, *head, page), box.data(),
          [&](std::span<const std::byte> record) { found.push_back(parse_record(*head, record)); });
  }
  complete(*head, found);
  return found;
}

/// Adds the entries of blocks that the index does not cover. They all come later.
void LogReader::add_fresh(std::uint64_t dataset, std::uint32_t ndims, const Bounds& wanted,
                          std::vector<NumberedEntry>& found) {
  const Lookup* const fresh = fresh_lookup(dataset, ndims);
  if (fresh == nullptr) return;
  std::vector<std::uint32_t> numbers;
  fresh->find(wanted, numbers);
  for (const std::uint32_t n : numbers) found.push_back({n, fresh->entry(n), fresh->ref(n)});
}

std::vector<NumberedEntry> LogReader::find(std::uint64_t dataset, std::uint32_t ndims,
                                           const Bounds& wanted) {
  auto found = find_indexed(dataset, ndims, wanted);
  add_fresh(dataset, ndims, wanted, found);
  return found;
}

/// Adds the entries of the blocks from `from` on: of all datasets, or of one.
void LogReader::extend(std::size_t from, std::optional<std::uint64_t> only) {
  for_each_section(from, blocks_.size(), 1, 0, [&](const Section& section) {
    for (const Entry& entry : section.entries) {
      if (only && entry.dataset != *only) continue;
      const auto bounds = this->bounds(section, entry);
      const auto dims = bounds ? static_cast<std::uint32_t>(bounds->low.size()) : 0;
      const auto at = lookups_.try_emplace(entry.dataset, dims).first;
      if (bounds && !at->second.set_ndims(dims)) other_dimensions(entry.dataset);
      at->second.add(entry, bounds ? section.patterns[entry.pattern] : PatternRef{},
                     entry.kind == Kind::write ? &*bounds : nullptr);
    }
  });
  lookup_memory_ = 0;
  for (const auto& [id, lookup] : lookups_) lookup_memory_ += lookup.memory();
}

void LogReader::forget_lookups() {
  lookups_.clear();
  covered_by_.clear();
  covered_ = static_cast<std::size_t>(directory().blocks);
  lookup_memory_ = 0;
}

/// Returns the lookup of what the index does not cover; null if that is nothing.
const Lookup* LogReader::fresh_lookup(std::uint64_t dataset, std::uint32_t ndims) {
  try {
    return complete_lookup(dataset, ndims);
  } catch (...) {
    forget_lookups();  // one may be incomplete
    throw;
  }
}

const Lookup* LogReader::complete_lookup(std::uint64_t dataset, std::uint32_t ndims) {
  covered_ = std::max(covered_, static_cast<std::size_t>(directory().blocks));
  const bool few = fresh_bytes_ <= memory_limit_ / 8;
  if (lookup_memory_ > memory_limit_ / 2 || few != all_at_once_) forget_lookups();
  all_at_once_ = few;
  if (all_at_once_ && covered_ < blocks_.size()) {
    extend(covered_, std::nullopt);
    covered_ = blocks_.size();
  }
  if (!all_at_once_) {
    auto covered = covered_by_.emplace(dataset, covered_).first;
    if (covered->second < blocks_.size()) extend(covered->second, dataset);
    covered->second = blocks_.size();
  }
  const auto found = lookups_.find(dataset);
  if (found == lookups_.end()) return nullptr;
  if (!found->second.set_ndims(ndims)) other_dimensions(dataset);
  if (found->second.stale()) found->second.build();
  return &found->second;
}

Count LogReader::stored_bytes(std::uint64_t dataset, std::uint32_t ndims) {
  Count sum = 0;
  if (const auto head = this->head(dataset, ndims)) sum = head->stored;
  if (const Lookup* const fresh = fresh_lookup(dataset, ndims))
    for (const Entry& entry : fresh->list().entries) sum += entry.stored;
  return sum + (others_ ? others_->stored_bytes(dataset) : 0);
}

/// Computes the checksum of an entry that is read completely, but by several calls.
class SumOfParts {
 public:
  SumOfParts(const Entry& entry, std::span<const Shared> shared, Count size) : entry_(entry) {
    Count bytes = 0;
    for (const Shared& s : shared) bytes += s.count * size;
    if (shared.size() > 1 && bytes == entry.stored) hash_.emplace();
  }
  void add(Offset begin, std::span<const std::byte> data) {
    if (static_cast<Count>(data.size()) == entry_.stored) return check_data(entry_, begin, data);
    if (!hash_ || begin != end_) return;
    hash_->add(data);
    end_ += std::ssize(data);
    if (end_ == entry_.stored && hash_->value() != entry_.hash) does_not_hold(entry_);
  }

 private:
  const Entry& entry_;
  std::optional<RunningHash> hash_;
  Offset end_ = 0;  // of what was added
};

/// Copies pieces of one entry to their places. Reads neighbouring pieces at once.
void LogReader::copy_shared(std::span<const Shared> shared, Count size, std::span<std::byte> out,
                            const Entry& entry, const Source& source) {
  const auto copy = [&](const Shared& s, std::span<const std::byte> from, Count begin) {
    copy_few(&out[static_cast<std::size_t>(s.b * size)],
             &from[static_cast<std::size_t>(s.a * size - begin)], s.count * size);
  };
  if (!source.here.empty()) {
    StepTimer timer(report_, Step::unpack);
    for (const Shared& s : shared) copy(s, source.here, 0);
    return;
  }
  SumOfParts sum(entry, shared, size);
  for (std::size_t i = 0; i < shared.size();) {
    const Count begin = shared[i].a * size;
    if (shared[i].count * size >= source.direct_bytes) {
      const auto to = out.subspan(static_cast<std::size_t>(shared[i].b * size),
                                  static_cast<std::size_t>(shared[i].count * size));
      source.fetch(begin, to);
      sum.add(begin, to);
      ++i;
      continue;
    }
    Count end = begin;
    std::size_t last = i;
    for (; last < shared.size(); ++last) {
      const Shared& s = shared[last];
      const Count to = (s.a + s.count) * size;
      if (s.a * size - end > hole_bytes || to - begin > window_bytes ||
          s.count * size >= source.direct_bytes)
        break;
      end = std::max(end, to);
    }
    buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>(end - begin)));
    const auto window = std::span(buffer_).first(static_cast<std::size_t>(end - begin));
    source.fetch(begin, window);
    sum.add(begin, window);
    StepTimer timer(report_, Step::unpack);
    for (; i < last; ++i) copy(shared[i], window, begin);
  }
}

void LogReader::read_plain(const DatasetShape& dataset, const Entry& entry, const Pattern& pattern,
                           const Placed& wanted, std::span<std::byte> out, const Source& source) {
  if (!source.here.empty()) check_data(entry, 0, source.here);
  std::vector<Shared> batch;
  const auto flush = [&] {
    copy_shared(batch, dataset.element_size, out, entry, source);
    batch.clear();
  };
  intersect(pattern, entry.base, wanted.pattern, wanted.base, [&](const SharedList& list) {
    for (const Shared& s : list.pieces) {
      append_piece(batch, {s.a + list.a, s.b + list.b, s.count});
      if (batch.size() <= batch_pieces) continue;
      const Shared next = batch.back();  // it may still grow
      batch.pop_back();
      flush();
      batch.push_back(next);
    }
  });
  flush();
}

void LogReader::read_filtered(const DatasetShape& dataset, const Entry& entry,
                              const Pattern& pattern, const Placed& wanted,
                              std::span<std::byte> out, const Source& source) {
  if (dataset.unfilter == nullptr)
    throw Error(Errc::enotsupport, "this dataset went through filters that cannot be undone here");
  std::vector<std::byte> fetched;
  auto stored = source.here;
  if (stored.empty()) {
    fetched.resize(static_cast<std::size_t>(entry.stored));
    source.fetch(0, fetched);
    stored = fetched;
  }
  if (hash_of(stored) != entry.hash)
    damaged("the checksum of filtered data at byte " + std::to_string(entry.data) +
            " does not hold");
  std::vector<std::byte> values(
      static_cast<std::size_t>(pattern.elements() * dataset.element_size));
  (*dataset.unfilter)(stored, entry.filter_mask, values);
  Entry plain = entry;
  plain.stored = -1;  // its checksum is not that of the values
  read_plain(dataset, plain, pattern, wanted, out, {{}, values});
}

void LogReader::apply(const DatasetShape& dataset, const Entry& entry, const Pattern* pattern,
                      const Placed& wanted, std::span<std::byte> out, const Source& source) {
  if (entry.kind == Kind::cleared) {
    fill_elements(out, dataset.fill);
    return;
  }
  Count bytes = 0;
  if (pattern->ndims() != dataset.ndims || !base_fits(*pattern, entry.base) ||
      !multiply_fits(pattern->elements(), dataset.element_size, bytes))
    damaged("an entry of dataset " + std::to_string(dataset.id) + " selects what is not there");
  if (entry.filtered && bytes > most_filtered)
    damaged("an entry of dataset " + std::to_string(dataset.id) + " has filtered data of " +
            std::to_string(bytes) + " bytes");
  if (entry.kind == Kind::extent) {
    fill_outside(*pattern, wanted, dataset, out);
  } else if (entry.filtered) {
    read_filtered(dataset, entry, *pattern, wanted, out, source);
  } else {
    if (bytes != entry.stored)
      damaged("an entry of dataset " + std::to_string(dataset.id) + " has " +
              std::to_string(entry.stored) + " bytes for " + std::to_string(bytes));
    read_plain(dataset, entry, *pattern, wanted, out, source);
  }
}

void LogReader::set_tails(Tails& tails) {
  others_.emplace(
      tails, [this](const PatternRef& ref) { return pattern(ref); }, memory_limit_ / 4);
}

void LogReader::fetch_stored(const Entry& entry, Offset skip, std::span<std::byte> into) {
  StepTimer timer(report_, Step::read);
  if (file_of(entry).read_at(entry.data + skip, into) != into.size()) ends_early(entry);
}

/// Reads the data of entries that are wanted as a whole and lie close together. If the file ends
/// too early, the later read of a single entry reports it.
void LogReader::read_neighbours(std::span<Stored> batch) {
  std::vector<Stored*> near;
  for (Stored& one : batch)
    if (one.whole) near.push_back(&one);
  const auto begin_of = [](const Stored* one) {
    return std::pair(one->entry->file, one->entry->data);
  };
  std::sort(near.begin(), near.end(),
            [&](const Stored* a, const Stored* b) { return begin_of(a) < begin_of(b); });
  struct Run {
    std::span<Stored* const> members;
    Count bytes;
  };
  std::vector<Run> runs;
  Count all = 0;
  for (std::size_t i = 0; i < near.size();) {
    const Entry& first = *near[i]->entry;
    Count bytes = first.stored;
    std::size_t last = i + 1;
    for (; last < near.size() && near[last]->entry->file == first.file; ++last) {
      const Entry& next = *near[last]->entry;
      const Count before = next.data - first.data;
      if (before - bytes > near_bytes || before > near_window) break;
      bytes = std::max(bytes, before + next.stored);
    }
    const bool has_room = all + bytes <= 2 * near_window;
    if (last - i > 1 && has_room) runs.push_back({std::span(near).subspan(i, last - i), bytes});
    if (last - i > 1 && has_room) all += bytes;
    i = last;
  }
  if (runs.empty()) return;
  neighbours_.resize(static_cast<std::size_t>(all));
  StepTimer timer(report_, Step::read);
  auto room = std::span(neighbours_);
  for (const Run& run : runs) {
    const Offset begin = run.members.front()->entry->data;
    const auto to = room.first(static_cast<std::size_t>(run.bytes));
    room = room.subspan(to.size());
    const auto got = static_cast<Count>(file_of(*run.members.front()->entry).read_at(begin, to));
    for (Stored* one : run.members) {
      const Count at = one->entry->data - begin;
      if (at + one->entry->stored <= got)
        one->data =
            to.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(one->entry->stored));
    }
  }
}

/// Reads what this rank and the others have written since the last flush, in the order of a flush.
bool LogReader::read_pending(const DatasetShape& dataset, const Placed& wanted,
                             const Bounds& bounds, std::span<std::byte> out, LogWriter& writer) {
  std::vector<Pending> all;
  for (std::size_t n = 0; n < writer.pending().size(); ++n) {
    const Entry& entry = writer.pending()[n];
    if (entry.dataset != dataset.id) continue;
    const Pattern* selected = entry.kind == Kind::cleared ? nullptr : &writer.pattern_of(entry);
    all.push_back({entry, selected, [&writer, n](Offset skip, std::span<std::byte> into) {
                     writer.read_pending(n, skip, into);
                   }});
  }
  std::vector<TailReader::Found> found;
  if (others_) found = others_->find(dataset.id, bounds);
  for (const auto& one : found)
    all.push_back({one.entry, one.pattern.get(), [&](Offset skip, std::span<std::byte> into) {
                     if (one.placed)
                       fetch_stored(one.entry, skip, into);
                     else
                       others_->read(one, skip, into);
                   }});
  if (!found.empty())
    std::stable_sort(all.begin(), all.end(), [](const Pending& a, const Pending& b) {
      return goes_before(a.entry, b.entry);
    });
  for (const Pending& one : all) apply(dataset, one.entry, one.pattern, wanted, out, {one.fetch});
  return !all.empty();
}

bool LogReader::read(const DatasetShape& dataset, const Placed& wanted, std::span<std::byte> out,
                     LogWriter* writer, std::vector<NumberedEntry>* indexed) {
  ++report_[Counter::requests];
  report_[Counter::bytes_asked_read] += static_cast<std::int64_t>(out.size());
  const Bounds bounds = bounds_of(wanted.pattern, wanted.base);
  std::vector<NumberedEntry> found =
      indexed != nullptr ? std::move(*indexed) : find_indexed(dataset.id, dataset.ndims, bounds);
  add_fresh(dataset.id, dataset.ndims, bounds, found);
  // An entry is not needed if a later write has the same selection.
  std::set<std::pair<Offset, Count>> covered;
  std::vector<const NumberedEntry*> needed;
  for (auto one = found.rbegin(); one != found.rend(); ++one)
    if (one->entry.kind != Kind::write || covered.insert({one->ref.place, one->entry.base}).second)
      needed.push_back(&*one);
  std::reverse(needed.begin(), needed.end());
  const Count elements = wanted.pattern.elements();
  for (std::size_t i = 0; i < needed.size();) {
    // A batch has as many entries as fit in memory, in write order.
    std::vector<Stored> batch;
    for (Count memory = 0; i < needed.size() && memory < near_window; ++i) {
      const Entry& entry = needed[i]->entry;
      if (entry.filtered && entry.data + entry.stored > file_of(entry).size()) ends_early(entry);
      Stored one{&entry, nullptr, false, {}};
      if (entry.kind != Kind::cleared) one.pattern = pattern(needed[i]->ref);
      one.whole =
          entry.kind == Kind::write && entry.stored < direct_bytes(entry) &&
          (entry.filtered || (base_fits(*one.pattern, entry.base) &&
                              has_all_of(bounds, elements, bounds_of(*one.pattern, entry.base))));
      memory += one.whole ? entry.stored + memory_of(*one.pattern) : near_window;
      batch.push_back(std::move(one));
    }
    read_neighbours(batch);
    for (const Stored& one : batch)
      apply(dataset, *one.entry, one.pattern.get(), wanted, out,
            {[&](Offset skip, std::span<std::byte> into) { fetch_stored(*one.entry, skip, into); },
             one.data, direct_bytes(*one.entry)});
  }
  const bool any = writer != nullptr && read_pending(dataset, wanted, bounds, out, *writer);
  return any || !needed.empty();
}

}  // namespace forebay::logged
