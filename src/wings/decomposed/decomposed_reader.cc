#include "decomposed/decomposed_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "decomposed/close_pieces.h"
#include "layout/list_stream.h"

namespace forebay::decomposed {
namespace {

constexpr std::size_t most_late = 1024;
constexpr std::size_t most_places = 64;        // variables and records with slabs in memory
constexpr Count most_readers = 4;              // threads that wait for slow storage
constexpr Count memory_of_a_reader = 4 << 20;  // about

Count memory_of(std::span<const Slab> slabs) {
  Count sum = std::ssize(slabs) * static_cast<Count>(sizeof(Slab));
  for (const Slab& slab : slabs)
    sum += std::ssize(slab.entry.parts) * static_cast<Count>(sizeof(StoredPart));
  return sum;
}

}  // namespace

/// The extents of pieces of one file, by place, for all levels.
class Reader::PieceStream : public ExtentStream {
 public:
  /// Places count in units of `unit` bytes from `begin` on.
  PieceStream(std::span<const Piece> pieces, const Levels& levels, const Selected& what,
              const Destination& to, Offset begin, Count unit)
      : pieces_(pieces), levels_(levels), what_(what), to_(to), begin_(begin), unit_(unit) {}

  StreamSummary summary() const override {
    StreamSummary summary;
    if (pieces_.empty()) return summary;
    const int width = to_.request.element_size;
    const Piece& last = pieces_.back();
    summary.first = begin_ + pieces_.front().place * unit_;
    summary.last =
        begin_ + (last.place + (levels_.count - 1) * last.step) * unit_ + last.count * width;
    for (const Piece& piece : pieces_) summary.bytes += piece.count * levels_.count * width;
    summary.pieces = static_cast<Count>(pieces_.size()) * levels_.count + std::ssize(what_.gather);
    return summary;
  }
  // A piece whose memory has gaps makes several extents. Those without room wait for the next call.
  std::size_t next(std::span<Extent> out) override {
    const int width = to_.request.element_size;
    std::size_t made = 0;
    while (made < out.size()) {
      if (at_ < waiting_.size()) {
        out[made++] = waiting_[at_++];
        continue;
      }
      if (piece_ == end_ && !go_on()) break;
      const Piece& piece = pieces_[piece_++];
      Offset offset = begin_ + (piece.place + level_ * piece.step) * unit_;
      const Count target = piece.target + level_ * levels_.step;
      if (what_.gather.empty()) {
        out[made++] = {offset, piece.count * width, to_.at(target), 0, to_.request.swap};
        continue;
      }
      waiting_.clear();
      at_ = 0;
      each_in_memory(what_, target, piece.count, [&](Count memory, Count count) {
        waiting_.push_back({offset, count * width, to_.at(memory), 0, to_.request.swap});
        offset += count * width;
      });
    }
    return made;
  }
  void rewind() override {
    begin_piece_ = piece_ = end_ = at_ = 0;
    waiting_.clear();
  }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<PieceStream>(pieces_, levels_, what_, to_, begin_, unit_);
  }

 private:
  // Goes on with the next level of the same rank or, after the last level, with the next rank.
  bool go_on() {
    if (begin_piece_ < end_ && ++level_ < levels_.count) {
      piece_ = begin_piece_;
      return true;
    }
    level_ = 0;
    begin_piece_ = piece_ = end_;
    if (end_ == pieces_.size()) return false;
    while (end_ < pieces_.size() && pieces_[end_].turn == pieces_[piece_].turn) ++end_;
    return true;
  }

  std::span<const Piece> pieces_;
  Levels levels_;
  const Selected& what_;
  Destination to_;
  Offset begin_;
  Count unit_;
  std::size_t begin_piece_ = 0, piece_ = 0, end_ = 0, at_ = 0;
  Count level_ = 0;
  std::vector<Extent> waiting_;
};

/// The extents of many slabs of one file, by place. Slabs do not overlap, but two streams may have
/// one slab.
class Reader::ManyPieces : public ExtentStream {
 public:
  explicit ManyPieces(std::span<const PieceStream> streams)
      : streams_(streams.begin(), streams.end()) {}

  StreamSummary summary() const override {
    StreamSummary all;
    for (const PieceStream& stream : streams_) all.add(stream.summary());
    return all;
  }
  std::size_t next(std::span<Extent> out) override {
    for (; at_ < streams_.size(); ++at_)
      if (const std::size_t made = streams_[at_].next(out)) return made;
    return 0;
  }
  void rewind() override {
    at_ = 0;
    for (PieceStream& stream : streams_) stream.rewind();
  }
  std::unique_ptr<ExtentStream> clone() const override {
    auto copy = std::make_unique<ManyPieces>(streams_);
    copy->rewind();
    return copy;
  }

 private:
  std::vector<PieceStream> streams_;
  std::size_t at_ = 0;
};

Reader::Reader(const Schema& schema, std::string path, ReadExtents read, ReaderOptions options,
               Rank rank, Report& report)
    : schema_(schema),
      path_(std::move(path)),
      read_(read),
      options_(options),
      rank_(rank),
      report_(report),
      inverses_(options.index_memory / 8),
      parts_(options.parts, report),
      orders_(options.index_memory / 8),
      plans_(2 * most_pieces() + 64) {}

void Reader::leave() noexcept {
  data_files::leave_data_files(path_, seen_, rank_, report_, options_.caches);
}

std::size_t Reader::most_pieces() const {
  // Memory for a plan, several joined ones, and extents; and as much again for the cache.
  const auto most = static_cast<std::size_t>(options_.index_memory) / (8 * sizeof(Piece));
  return std::max<std::size_t>(most, 4);
}

// -- files

void Reader::use(const State& state, bool damaged_slot) {
  if (state.epoch != state_.epoch) {
    parts_.forget();
    found_ = {};
    is_found_.clear();
  }
  state_ = state;
  damaged_slot_ = damaged_slot;
}

void Reader::check_roots() const {
  if (is_found_.size() == state_.files &&
      std::find(is_found_.begin(), is_found_.end(), false) == is_found_.end())
    check_roots(found_);
}

void Reader::check_roots(const RootsFound& of_all_files) const {
  decomposed::check_roots(path_, state_, damaged_slot_, of_all_files);
}

// Closes a file without an index first, since an index would have to be loaded again.
bool Reader::close_one() {
  if (files_.empty()) return false;
  auto goes = std::prev(files_.end());
  while (goes != files_.begin() && goes->loaded) --goes;
  files_.erase(goes->loaded ? std::prev(files_.end()) : goes);
  return true;
}

// Returns the file as of this commit. Its index may be of another one.
Reader::Opened& Reader::opened(std::uint32_t number) {
  auto found = std::find_if(files_.begin(), files_.end(),
                            [&](const Opened& o) { return o.number == number; });
  if (found == files_.end()) {
    auto file = std::make_shared<File>(data_path(path_, number), false, rank_, report_);
    file->share(options_.caches);
    if (options_.main) {
      const auto check = [front = Front{state_.id, number}](File& its) {
        data_files::check_front(its, front);
      };
      data_files::expect_beside(*file, *options_.main, check);
    }
    while (files_.size() >= std::max<std::size_t>(options_.most_files, 1)) close_one();
    with_descriptor([&] { file->ensure_open(); }, [&] { return close_one(); });
    if (file->has_weak_caches()) seen_.insert(number);
    files_.push_front({number, file, DataFileReader(file, {state_.id, number}), {}, {}});
    found = files_.begin();
  } else {
    files_.splice(files_.begin(), files_, found);
  }
  if (found->seen != state_.epoch) found->file->look_again();
  found->seen = state_.epoch;
  return *found;
}

Reader::Opened& Reader::loaded(std::uint32_t number) {
  Opened& file = opened(number);
  if (file.loaded == state_.epoch) return file;
  file.loaded.reset();
  const auto failed = attempt_to([&] { file.reader.load(state_.through); });
  if (failed) {
    files_.pop_front();
    throw *failed;
  }
  ++indexes_loaded_;
  file.loaded = state_.epoch;
  is_found_.resize(std::max<std::size_t>(is_found_.size(), number + std::size_t{1}));
  if (!is_found_[number]) found_.add(file.reader, number);
  is_found_[number] = true;
  const auto held = [&] {
    return std::accumulate(files_.begin(), files_.end(), Count{0}, [](Count sum, const Opened& o) {
      return sum + o.reader.index().memory();
    });
  };
  while (files_.size() > 1 && held() > options_.index_memory / 2) files_.pop_back();
  return files_.front();
}

const FileIndex& Reader::index(std::uint32_t number) { return loaded(number).reader.index(); }

Count Reader::metadata_bytes(std::uint32_t number) {
  Count sum = 0;
  for (const SectionPlace& section : loaded(number).reader.sections()) sum += section.bytes;
  index(number).for_each_inverse([&](const StoredInverse& inverse) {
    for (const FileRange& block : inverse.blocks) sum += block.bytes;
  });
  return sum;
}

void Reader::add_slabs(std::uint32_t file, VarId var, Count record, std::vector<Slab>& slabs) {
  const FileIndex& its = index(file);
  for (const Entry& entry : its.slabs(var, record))
    slabs.push_back({entry, file, its.identity(entry.map), its.elements(entry.map)});
}

std::vector<Slab> Reader::slabs_of(VarId var, Count record) {
  std::vector<Slab> slabs;
  for (std::uint32_t file = 0; file < state_.files; ++file) add_slabs(file, var, record, slabs);
  check_roots();
  std::stable_sort(slabs.begin(), slabs.end(), is_newer);
  return slabs;
}

// Returns the slabs of the first `wanted`, as many as fit into memory. Works file by file. So each
// index is loaded once for all of them, even if there is memory for only one.
std::vector<std::vector<Slab>> Reader::slabs_of(std::span<const Wanted> wanted) {
  std::vector<std::vector<Slab>> all(wanted.size());
  std::vector<std::string> names;
  for (const Wanted& w : wanted)
    names.push_back("variable " + schema_.vars[static_cast<std::size_t>(w.request->var)].name);
  const Count most = options_.index_memory / 8;
  Count held = 0;
  for (std::uint32_t file = 0; file < state_.files; ++file)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Wanted& w = wanted[i];
      const std::size_t before = all[i].size();
      naming(names[i], [&] { add_slabs(file, w.request->var, w.part.record, all[i]); });
      held += memory_of(std::span(all[i]).subspan(before));
      for (; held > most && all.size() > 1; all.pop_back()) held -= memory_of(all.back());
    }
  most_slab_memory_ = std::max(most_slab_memory_, held);
  naming(names.front(), [&] { check_roots(); });
  for (std::vector<Slab>& slabs : all) std::stable_sort(slabs.begin(), slabs.end(), is_newer);
  return all;
}

RootsFound Reader::roots_of(std::uint32_t file) {
  RootsFound found;
  found.add(loaded(file).reader, file);
  return found;
}

void Reader::read_values(const Slab& slab, const Variable& var, Offset from,
                         std::span<std::byte> out, int swap) {
  const Offset begin = slab.entry.parts.empty() ? slab.entry.offset : 0;
  ListStream stream({{begin + from, std::ssize(out), out.data(), 0, swap}});
  read_slab(slab, var, stream);
}

// -- plans

Pattern Reader::pattern(std::uint32_t file, std::uint32_t number) {
  const StoredPattern& stored = index(file).pattern(number);
  return naming(data_path(path_, file), [&] {
    Pattern pattern;
    try {
      pattern = packer_.unpack(stored.packed);
    } catch (const Error& error) {
      if (error.code() != Errc::ebadlog) throw;
      damaged("pattern " + std::to_string(number) + " cannot be read");
    }
    if (pattern.elements() != stored.elements)
      damaged("pattern " + std::to_string(number) + " has other elements than it says");
    return pattern;
  });
}

void Reader::check_inverse(std::uint32_t file, std::uint32_t map) {
  if (index(file).inverse(map) == nullptr) return;
  naming(data_path(path_, file) + ": map " + std::to_string(map), [&] {
    Opened& data = loaded(file);
    inverses_.check(*data.file, *inverses_.map(*data.file, data.reader.index(), map));
  });
}

void Reader::check_parts(std::uint32_t number, bool decode, const TellOfPart& tell) {
  const Opened& data = loaded(number);
  CodecWorkspace workspace;
  std::vector<std::byte> stored, raw;
  data.reader.index().for_each_slab([&](const Entry& slab) {
    const auto var = static_cast<std::size_t>(slab.var);
    Count begin = 0, next = 0;
    for (const StoredPart& part : slab.parts) {
      begin = std::exchange(next, next + part.elements);
      tell(slab, part, attempt_to([&] {
             stored.resize(static_cast<std::size_t>(part.bytes));
             fetch_part(*data.file, part, stored);
             if (!decode || var >= schema_.vars.size()) return;
             const FileIndex& index = data.reader.index();
             if (slab.bytes / size_of(schema_.vars[var].type) != index.elements(slab.map))
               throw_other_bytes(number, schema_.vars[var]);
             const SlabCoding& coding = codings_.of(schema_.vars[var]);
             if (part.sorted) order(number, slab.map, index.identity(slab.map), part, begin);
             raw.resize(static_cast<std::size_t>(coding.info(part.elements).bytes()));
             decode_part(*data.file, part, coding, stored, raw, workspace);
           }));
    }
  });
}

// Finds where a map's ranks have elements of the target. Returns false for too many pieces.
bool Reader::collect(std::uint32_t file, std::uint32_t number, std::size_t most, Plan& plan) {
  const Selected& target = *plan.target;
  if (target.elements == 1) most = SIZE_MAX;
  const Map map = index(file).map(number);
  bool fits = true;
  const auto add = [&](const Found& found, Count step) {
    const Turn turn{0, map[found.member].rank, 0};
    if (!plan.pieces.empty()) {
      Piece& last = plan.pieces.back();
      if (last.turn == turn && last.end() == found.target &&
          last.place + last.count == found.place) {
        last.count += found.count;
        return true;
      }
    }
    fits = fits && plan.pieces.size() < most;
    if (fits) plan.pieces.push_back({found.target, found.count, found.place, 0, turn, step});
    return fits;
  };
  const StoredInverse* const inverse = index(file).inverse(number);
  if (inverse && !damaged_inverses_.contains({file, inverse->hash})) {
    const std::uint64_t hash = inverse->hash;
    const auto failed = attempt_to([&] { collect_by_inverse(file, number, plan, add); });
    if (!failed) return fits;
    if (failed->code() != Errc::enotnc) throw *failed;
    // The values can be read without the inverse.
    damaged_inverses_.insert({file, hash});
    plan.pieces.clear();
    plan.levels = {};
    fits = true;
  }
  collect_by_patterns(file, number, target.pattern, add);
  return fits;
}

void Reader::collect_by_inverse(std::uint32_t file_number, std::uint32_t number, Plan& plan,
                                const AddPiece& add) {
  const Selected& target = *plan.target;
  const auto inverse = inverses_.map(*loaded(file_number).file, index(file_number), number);
  if (inverse->directory.disjoint) {
    const auto same = index(file_number).find(target.key);
    const Map& map = index(file_number).map(number);
    const auto member = std::find_if(map.begin(), map.end(),
                                     [&](const Member& m) { return same && m.pattern == *same; });
    if (member != map.end()) {
      const auto its = static_cast<std::uint32_t>(member - map.begin());
      if (pattern(file_number, *same) == target.pattern) {
        add({inverse->begins[its], 0, target.elements, its}, 0);
        return;
      }
    }
  }
  File& file = *opened(file_number).file;
  const auto level = one_level_of(*inverse, target.pattern);
  if (!level) {
    inverses_.find(file, *inverse, target.pattern,
                   [&](const Found& found) { return add(found, 0); });
    return;
  }
  plan.levels = level->levels;
  const Count before = plan.levels.first * plan.levels.step;
  inverses_.find(file, *inverse, level->selection, [&](Found found) {
    found.target += before;
    return add(found, level->step(*inverse, found.member));
  });
}

void Reader::collect_by_patterns(std::uint32_t file, std::uint32_t number, const Pattern& target,
                                 const AddPiece& add) {
  const Map map = index(file).map(number);
  Count begin = 0;  // where the rank's blob begins, in elements
  bool goes_on = true;
  for (std::uint32_t member = 0; member < map.size() && goes_on; ++member) {
    const Count elements = index(file).pattern(map[member].pattern).elements;
    const Pattern its = pattern(file, map[member].pattern);
    if (its.inner != target.inner)
      damaged(data_path(path_, file) + ": map " + std::to_string(number) +
              " is of variables of another shape");
    if (its == target) {
      goes_on = add({begin, 0, elements, member}, 0);
    } else {
      intersect(its, 0, target, 0, [&](const SharedList& list) {
        for (const Shared& s : list.pieces)
          goes_on = goes_on && add({begin + list.a + s.a, list.b + s.b, s.count, member}, 0);
      });
    }
    begin += elements;
  }
}

void Reader::forget() {
  parts_.forget();
  files_.clear();
  inverses_.forget();
  damaged_inverses_.clear();
  plans_.clear();
}

std::shared_ptr<const Plan> Reader::make_plan(std::uint32_t file, std::uint32_t map, const Key& key,
                                              const std::shared_ptr<const Selected>& target,
                                              std::size_t most) {
  require_same(file, map, key);
  auto plan = std::make_shared<Plan>(Plan{key, target, {}, {}, 0});
  if (!collect(file, map, most, *plan)) return nullptr;
  resolve(plan->pieces, 1);
  plan->covered = elements_of(plan->pieces) * plan->levels.count;
  std::sort(plan->pieces.begin(), plan->pieces.end(),
            [](const Piece& a, const Piece& b) { return a.place < b.place; });
  return plan;
}

std::shared_ptr<const Plan> Reader::plan_for(const Slab& slab,
                                             const std::shared_ptr<const Selected>& target) {
  auto plan = plans_.find(slab.map, target);
  if (plan) return plan;
  ++plans_made_;
  plan = make_plan(slab.file, slab.entry.map, slab.map, target, most_pieces());
  if (plan) plans_.keep(plan);
  return plan;
}

// -- reading

/// The slabs from which a part is read.
class Reader::Uses {
 public:
  Uses(std::uint32_t files, Count width, std::size_t most)
      : files_(files), width_(width), most_(most) {}

  /// Returns false if there are too many pieces.
  bool add(const Slab& slab, std::shared_ptr<const Plan> plan) {
    if (list_.empty()) levels_ = plan->levels;
    const bool alike = plan->levels == levels_;
    list_.push_back({&slab, std::move(plan)});
    if (alike) return list_.size() == 1 || (list_.size() == 2 ? put(0) && put(1) : put_last());
    // The plans have different levels, so each level gets its own pieces.
    levels_ = {};
    pieces_.clear();
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (!put(i)) return false;
    return true;
  }
  /// Keeps the latest piece of each element. Call it after all slabs of an epoch.
  void resolve() {
    if (list_.size() > 1) decomposed::resolve(pieces_, width_);
  }

  bool empty() const { return list_.empty(); }
  const Slab& slab(std::size_t number) const { return *list_[number].slab; }
  const Levels& levels() const { return levels_; }
  /// Returns the plan of a single slab; null for several slabs, which are in pieces().
  std::shared_ptr<const Plan> plan() const { return list_.size() == 1 ? list_[0].plan : nullptr; }
  std::vector<Piece>& pieces() { return pieces_; }
  Count covered() const {
    if (list_.empty()) return 0;
    return plan() ? plan()->covered : elements_of(pieces_) * levels_.count;
  }

 private:
  struct Use {
    const Slab* slab;
    std::shared_ptr<const Plan> plan;
  };

  bool put_last() { return put(list_.size() - 1); }
  bool put(std::size_t number) {
    const Plan& plan = *list_[number].plan;
    const Entry& e = list_[number].slab->entry;
    // An encoded slab counts as a file of its own.
    const bool encoded = !e.parts.empty();
    const Offset begin = encoded ? 0 : e.offset;
    const std::uint32_t file =
        encoded ? files_ + static_cast<std::uint32_t>(number) : list_[number].slab->file;
    const Count times = plan.levels == levels_ ? 1 : plan.levels.count;
    if (plan.pieces.size() * static_cast<std::size_t>(times) + pieces_.size() > most_) return false;
    for (Count level = 0; level < times; ++level)
      for (const Piece& p : plan.pieces)
        pieces_.push_back({p.target + level * plan.levels.step,
                           p.count,
                           begin + (p.place + level * p.step) * width_,
                           file,
                           {e.epoch, p.turn.rank, e.order},
                           p.step * width_});
    return true;
  }

  std::uint32_t files_;
  Count width_;
  std::size_t most_;
  std::vector<Use> list_;
  std::vector<Piece> pieces_;
  Levels levels_;
};

void Reader::throw_other_bytes(std::uint32_t file, const Variable& var) const {
  damaged(data_path(path_, file) + ": a slab has other bytes than elements of type " +
          name_of(var.type));
}

// Adds slabs that have elements of the target, newest first, until they cover it. Returns false if
// there are too many pieces.
bool Reader::find_uses(std::span<const Slab> slabs, const Variable& var, const Selected& what,
                       const PlanOf& plan_of, Uses& uses) {
  const Count width = size_of(var.type);
  for (std::size_t i = 0; i < slabs.size();) {
    const std::uint64_t epoch = slabs[i].entry.epoch;
    for (; i < slabs.size() && slabs[i].entry.epoch == epoch; ++i) {
      const Slab& slab = slabs[i];
      if (slab.entry.bytes != slab.elements * width) throw_other_bytes(slab.file, var);
      auto plan = plan_of(slab);
      if (!plan) return false;
      if (plan->covered > 0 && !uses.add(slab, std::move(plan))) return false;
    }
    uses.resolve();
    if (uses.covered() == what.elements) break;
  }
  return true;
}

// Fills in the memory's byte order.
void Reader::fill(const Destination& to, const Selected& what) const {
  const std::vector<std::byte> external = external_fill(to.var);
  const std::size_t width = external.size();
  std::byte value[8];
  copy_swapped(value, external.data(), width, to.request.swap);
  each_in_memory(what, 0, what.elements, [&](Count memory, Count count) {
    std::byte* at = to.at(memory);
    for (Count i = 0; i < count; ++i, at += width) std::memcpy(at, value, width);
  });
}

void Reader::read_slab(const Slab& slab, const Variable& var, ExtentStream& extents) {
  const std::shared_ptr<File> file = opened(slab.file).file;  // orders may close others
  if (slab.entry.parts.empty()) return read_(*file, extents, options_.hole_threshold, report_);
  const auto order_of = [&](const StoredPart& part, Count begin) {
    return order(slab.file, slab.entry.map, slab.map, part, begin);
  };
  parts_.read(*file, slab.file, slab.entry, codings_.of(var), order_of, extents);
}

// Returns the order of a sorted part, which has the whole blobs of several ranks. The index is
// needed only if the same part of another slab of the map was not met before.
std::shared_ptr<const PartOrder> Reader::order(std::uint32_t file, std::uint32_t map,
                                               const Key& key, const StoredPart& part,
                                               Count begin) {
  std::size_t member = 0;
  Count at = 0;
  const auto next = [&]() -> std::optional<Pattern> {
    if (member == 0) require_same(file, map, key);
    const Map& its = index(file).map(map);
    while (member < its.size() && at < begin + part.elements) {
      const std::uint32_t number = its[member++].pattern;
      if (std::exchange(at, at + index(file).pattern(number).elements) >= begin)
        return pattern(file, number);
    }
    return std::nullopt;
  };
  const std::array<std::uint64_t, 4> name{key.low, key.high, static_cast<std::uint64_t>(begin),
                                          static_cast<std::uint64_t>(part.elements)};
  auto found = orders_.of(std::as_bytes(std::span(name)), next);
  if (!found || found->elements() != part.elements)
    damaged(data_path(path_, file) + ": the part of a slab at byte " + std::to_string(part.offset) +
            " cannot have been sorted");
  return found;
}

// Throws if the index was loaded anew after another job had committed.
void Reader::require_same(std::uint32_t file, std::uint32_t map, const Key& key) {
  const FileIndex& its = index(file);
  if (map >= its.maps() || its.identity(map) != key)
    damaged(data_path(path_, file) + " was written again while it was read");
}

// Delayed plans take at most the memory of one plan, except for the plans of one part. Most slabs
// share a plan. Delayed reads may be of other variables, whose names their errors have.
bool Reader::read_by(const Request& request, const Part& part, std::span<const Slab> slabs,
                     const PlanOf& plan_of) {
  std::vector<Late> late;
  const bool fits = naming("variable " + schema_.vars[static_cast<std::size_t>(request.var)].name,
                           [&] { return find_late(request, part, slabs, plan_of, late); });
  for (Late& l : late) {
    const bool shared = !late_.empty() && late_.back().pieces.data() == l.pieces.data();
    late_pieces_ += shared ? 0 : l.pieces.size();
    if (l.encoded) late_pieces_ += l.encoded->entry.parts.size();
    late_.push_back(std::move(l));
  }
  if (late_.size() >= most_late || late_pieces_ > most_pieces()) read_late();
  return fits;
}

bool Reader::find_late(const Request& request, const Part& part, std::span<const Slab> slabs,
                       const PlanOf& plan_of, std::vector<Late>& late) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(request.var)];
  const Destination to{request, var, part.memory};
  const Selected& what = *part.what;
  // A single element has at most one piece in each slab.
  Uses uses(state_.files, size_of(var.type), what.elements > 1 ? 2 * most_pieces() : SIZE_MAX);
  if (!find_uses(slabs, var, what, plan_of, uses)) return false;
  if (uses.covered() < what.elements) fill(to, what);
  if (uses.empty()) return true;
  const auto encoded = [](const Slab& slab) {
    return slab.entry.parts.empty() ? std::nullopt : std::optional(slab);
  };
  if (const auto plan = uses.plan()) {
    const Slab& slab = uses.slab(0);
    const Offset begin = slab.entry.parts.empty() ? slab.entry.offset : 0;
    late.push_back({slab.file, begin, request.element_size, plan, plan->pieces, uses.levels(),
                    encoded(slab), &request, part});
    return true;
  }
  const auto pieces = std::make_shared<std::vector<Piece>>(std::move(uses.pieces()));
  std::sort(pieces->begin(), pieces->end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.file, a.place) < std::pair(b.file, b.place);
  });
  for (std::size_t i = 0, end = 0; i < pieces->size(); i = end) {
    const std::uint32_t file = (*pieces)[i].file;
    while (end < pieces->size() && (*pieces)[end].file == file) ++end;
    const Slab* const slab = file < state_.files ? nullptr : &uses.slab(file - state_.files);
    late.push_back({slab ? slab->file : file, 0, 1, pieces,
                    std::span<const Piece>(*pieces).subspan(i, end - i), uses.levels(),
                    slab ? encoded(*slab) : std::nullopt, &request, part});
  }
  return true;
}

Reader::PieceStream Reader::stream_of(const Late& late) const {
  const Variable& var = schema_.vars[static_cast<std::size_t>(late.request->var)];
  const Destination to{*late.request, var, late.part.memory};
  return {late.pieces, late.levels, *late.part.what, to, late.begin, late.unit};
}

// Returns false if the pieces are not close, or their memory is not contiguous.
bool Reader::read_at_once(File& file, const Late& late) {
  const Request& r = *late.request;
  if (!late.part.what->gather.empty() || (r.swap != 1 && r.swap != r.element_size)) return false;
  const ClosePieces pieces{late.pieces,
                           late.levels,
                           late.begin,
                           late.unit,
                           r.packed + late.part.memory * r.element_size,
                           r.element_size,
                           r.swap > 1};
  if (!pieces.are_close()) return false;
  const auto read = [&](Offset offset, std::span<std::byte> into) {
    StepTimer timer(report_, Step::read);
    const std::size_t got = file.read_at(offset, into);
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(got), into.end(), std::byte{0});
    timer.moved(static_cast<Count>(got));
  };
  read_close(read, pieces, options_.hole_threshold);
  return true;
}

std::string Reader::names_of(std::span<const Late> late) const {
  const auto name = [&](const Late& l) -> auto& {
    return schema_.vars[static_cast<std::size_t>(l.request->var)].name;
  };
  const bool one = std::all_of(late.begin(), late.end(), [&](const Late& l) {
    return l.request->var == late.front().request->var;
  });
  if (one) return "variable " + name(late.front());
  return "one of the variables from " + name(late.front()) + " to " + name(late.back()) +
         ", as they lie in the file";
}

// On fast storage each slab's pieces are read separately: the gap between slabs costs more than a
// call.
void Reader::read_late() {
  std::vector<Late> late = std::exchange(late_, {});
  late_pieces_ = 0;
  // Encoded slabs are grouped by map, since their orders are shared.
  const auto place_of = [](const Late& l) {
    const auto place = std::pair(l.begin + l.pieces.front().place * l.unit, Offset{0});
    if (!l.encoded) return std::tuple(l.file, std::uint32_t{0}, place);
    const Entry& e = l.encoded->entry;
    return std::tuple(l.file, e.map + 1, std::pair(e.parts.front().offset, place.first));
  };
  std::sort(late.begin(), late.end(),
            [&](const Late& a, const Late& b) { return place_of(a) < place_of(b); });
  for (std::size_t i = 0, end = 0; i < late.size(); i = end) {
    if (late[i].encoded) {
      const Variable& var = schema_.vars[static_cast<std::size_t>(late[i].request->var)];
      auto stream = stream_of(late[i]);
      naming(names_of({&late[i], 1}), [&] { read_slab(*late[i].encoded, var, stream); });
      end = i + 1;
      continue;
    }
    const std::uint32_t number = late[i].file;
    File& file = *naming(names_of({&late[i], 1}), [&] { return opened(number).file; });
    std::vector<PieceStream> streams;
    for (; end < late.size() && late[end].file == number && !late[end].encoded; ++end)
      streams.push_back(stream_of(late[end]));
    const auto its = std::span<const Late>(late).subspan(i, end - i);
    if (options_.in_bulk || is_slow(file.least_latency(false))) {
      read_in_bulk(file, its, streams);
    } else {
      for (std::size_t k = 0; k < its.size(); ++k)
        naming(names_of(its.subspan(k, 1)), [&] {
          if (!read_at_once(file, its[k]))
            read_(file, streams[k], options_.hole_threshold, report_);
        });
    }
  }
}

// Each call waits for the storage, so large reads use several threads.
void Reader::read_in_bulk(File& file, std::span<const Late> late,
                          std::span<const PieceStream> streams) {
  struct Share {
    std::span<const Late> late;
    ManyPieces extents;
    Report report;
    std::future<std::optional<Error>> done = {};
  };
  const auto read = [&](Share& share) {
    return attempt_to([&] {
      naming(names_of(share.late),
             [&] { read_(file, share.extents, options_.hole_threshold, share.report); });
    });
  };
  const Count most = std::min<Count>(
      {most_readers, options_.index_memory / memory_of_a_reader, std::ssize(streams)});
  const auto readers = static_cast<std::size_t>(std::clamp<Count>(
      ManyPieces(streams).summary().bytes / options_.thread_bytes, 1, std::max<Count>(most, 1)));
  std::vector<Share> shares;  // destroyed first: their threads use the objects above
  for (std::size_t r = 0; r < readers; ++r) {
    const std::size_t first = late.size() * r / readers;
    const std::size_t count = late.size() * (r + 1) / readers - first;
    shares.push_back(
        {late.subspan(first, count), ManyPieces(streams.subspan(first, count)), report_.beside()});
  }
  naming(names_of(late), [&] { file.ensure_open(); });
  for (std::size_t r = 1; r < readers; ++r)
    attempt_to([&] {
      shares[r].done =
          std::async(std::launch::async, [&read, &share = shares[r]] { return read(share); });
    });
  auto failed = read(shares[0]);
  for (std::size_t r = 1; r < readers; ++r)
    keep_first(failed, shares[r].done.valid() ? shares[r].done.get() : read(shares[r]));
  for (const Share& share : shares) report_.take_over(share.report);
  if (failed) throw *failed;
}

void Reader::read_part(const Wanted& wanted, std::span<const Slab> slabs) {
  const auto plan_of = [&](const Slab& slab) { return plan_for(slab, wanted.part.what); };
  if (read_by(*wanted.request, wanted.part, slabs, plan_of)) return;
  for (const Part& half : halves_of(wanted.part)) read_part({wanted.request, half}, slabs);
}

void Reader::read(std::span<const Wanted> wanted) {
  Batch batch(*this);
  while (!wanted.empty()) {
    const auto some = wanted.first(std::min(wanted.size(), most_places));
    const auto slabs = slabs_of(some);
    for (std::size_t i = 0; i < slabs.size(); ++i) read_part(some[i], slabs[i]);
    wanted = wanted.subspan(slabs.size());
  }
  batch.carry_out();
}

Reader::Newest Reader::newest(OpenState which) {
  if (!state_file_) {
    auto file = std::make_shared<File>(state_path(path_), false, rank_, report_);
    file->share(options_.caches);
    if (options_.main) {
      const auto check = [id = state_.id](File& its) { check_owner(read_states(its), id); };
      data_files::expect_beside(*file, *options_.main, check);
    }
    state_file_.emplace(file, state_.id);
  }
  static_cast<File&>(state_file_->file()).look_again();
  state_file_->load(which);
  return {state_file_->state(), which == OpenState::newest && state_file_->has_damaged_slot()};
}

void Reader::throw_written_too_often() const {
  throw Error(Errc::enotnc, path_ + " is written more often than it can be read",
              "open it when it is written, or with chunk_state=synced");
}

// The next commit leaves the data of this one unchanged. The one after that may overwrite it.
void Reader::as_of_newest(OpenState which, const std::function<void()>& f) {
  for (int time = 0; time < most_times; ++time) {
    const auto failed = attempt_to(f);
    const Newest now = newest(which);
    const bool still = now.state.epoch == state_.epoch;
    if (still && failed) throw *failed;
    if (still) return;
    use(now.state, now.damaged_slot);
  }
  throw_written_too_often();
}

}  // namespace forebay::decomposed
