#include "decomposed/distributed_index.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/message_bytes.h"
#include "comm/questions.h"
#include "decomposed/data_file.h"

namespace forebay::decomposed {
namespace {

/// The approximate bytes of a slab, in a message and in memory.
constexpr Count slab_bytes = 256;
/// A few pieces fit, whatever memory there is.
constexpr std::size_t least_pieces = 16;
/// A pattern is not halved if it has at most so many bytes.
constexpr std::size_t least_pattern = 1024;
/// A file whose patterns have more shapes of arrays counts as having data anywhere.
constexpr std::size_t most_bounds = 16;

/// An entry without its parts. These follow it.
struct SlabHead {
  Key map;
  Count elements, record, offset, bytes;
  std::uint64_t epoch;
  std::int32_t var;
  std::uint32_t order, number;
};

struct PlanHead {
  Levels levels;
  Count covered;
};

struct SentPiece {
  Count target, count, place, step;
  std::uint32_t rank, unused;
};

/// A want whose pattern comes before it in the message.
struct SentWant {
  Key key;
  std::uint32_t file, map, pattern, unused;
};

enum class Answer : std::uint8_t { here, too_many, later, failed };

/// Returns an upper bound for the bytes of a slab, in a message and in memory.
Count bytes_sent_for(const Entry& entry) {
  return slab_bytes + static_cast<Count>(entry.parts.size() * sizeof(StoredPart));
}

Count bytes_sent_for(const Selected& what) {
  return std::ssize(what.pattern.runs) * static_cast<Count>(sizeof(PatternRun)) +
         std::ssize(what.gather) * static_cast<Count>(sizeof(Gathered));
}

/// Appends what f() appends, or its error.
template <typename F>
void put_or_fail(std::vector<std::byte>& to, F&& f) {
  const std::size_t before = to.size();
  const auto failed = attempt_to(f);
  if (!failed) return;
  to.resize(before);
  put(to, Answer::failed);
  put_error(to, *failed);
}

}  // namespace

// -- who keeps what

Rank DistributedIndex::keeper_of(std::uint32_t file, Rank asker, std::uint32_t files, int ranks) {
  const auto all = static_cast<std::uint32_t>(ranks), its = static_cast<std::uint32_t>(asker);
  if (files >= all) return static_cast<Rank>(file % all);
  return static_cast<Rank>(file + files * (its / files % (all / files)));
}

std::vector<std::uint32_t> DistributedIndex::files_of(Rank keeper, std::uint32_t files, int ranks) {
  const auto all = static_cast<std::uint32_t>(ranks), its = static_cast<std::uint32_t>(keeper);
  std::vector<std::uint32_t> kept;
  if (files >= all) {
    for (std::uint32_t file = its; file < files; file += all) kept.push_back(file);
  } else if (its < all / files * files) {
    kept.push_back(its % files);
  }
  return kept;
}

Rank DistributedIndex::keeper_of(std::uint32_t file) const {
  return keeper_of(file, comm_.rank(), files(), comm_.size());
}

// Each keeper has about as many askers as there are files, or all ranks.
Count DistributedIndex::share() const {
  const auto ranks = static_cast<Count>(comm_.size()), all = static_cast<Count>(files());
  const Count askers = all >= ranks ? ranks : 2 * all;
  return memory_ / 8 / askers;
}

// Checks the roots of all data files. Each file is counted by its first keeper.
void DistributedIndex::check_roots() {
  if (checked_ == reader_.state().epoch) return;
  RootsFound found;
  std::int64_t counted = 0;
  attempt_to([&] {
    for (const std::uint32_t file : files_of(comm_.rank(), files(), comm_.size())) {
      if (keeper_of(file, 0, files(), comm_.size()) != comm_.rank()) continue;
      const RootsFound its = reader_.roots_of(file);
      found.sums += its.sums;
      found.later += its.later;
      ++counted;
    }
  });
  const auto halves = to_halves(found.sums);
  std::array<std::int64_t, 6> sums{halves[0], halves[1],   halves[2],
                                   halves[3], found.later, counted};
  comm_.all_reduce(sums, Reduce::sum);
  // If a file cannot be read, the rank that reads from it reports the error.
  if (sums[5] != static_cast<std::int64_t>(files())) return;
  found.sums = from_halves(std::span(sums).first<4>());
  found.later = sums[4];
  reader_.check_roots(found);
  checked_ = reader_.state().epoch;
}

// -- where files have anything

namespace {

bool meet(const Bounds& a, const Bounds& b) {
  if (a.first >= b.last || b.first >= a.last) return false;
  if (a.inner != b.inner) return true;  // coordinates of other extents cannot be compared
  for (std::size_t d = 0; d < a.low.size(); ++d)
    if (a.low[d] >= b.high[d] || b.low[d] >= a.high[d]) return false;
  return true;
}

void widen(Bounds& all, const Bounds& by) {
  for (std::size_t d = 0; d < all.low.size(); ++d) {
    all.low[d] = std::min(all.low[d], by.low[d]);
    all.high[d] = std::max(all.high[d], by.high[d]);
  }
  all.first = std::min(all.first, by.first);
  all.last = std::max(all.last, by.last);
}

void put_bounds(std::vector<std::byte>& to, std::span<const Bounds> all) {
  put(to, static_cast<std::uint32_t>(all.size()));
  for (const Bounds& b : all) {
    for (const auto* list : {&b.low, &b.high, &b.inner})
      put_list(to, std::span<const Count>(*list));
    put(to, b.first);
    put(to, b.last);
  }
}

std::vector<Bounds> take_bounds(std::span<const std::byte>& bytes) {
  std::vector<Bounds> all(take<std::uint32_t>(bytes));
  for (Bounds& b : all) {
    for (auto* list : {&b.low, &b.high, &b.inner}) *list = take_list<Count>(bytes);
    b.first = take<Count>(bytes);
    b.last = take<Count>(bytes);
  }
  return all;
}

}  // namespace

// Adds the patterns that are new since the last call.
void DistributedIndex::look_into(std::uint32_t file, Where& where) {
  const FileIndex& index = reader_.index(file);
  const std::uint32_t seen = where.patterns;
  if (seen > index.patterns() || (seen > 0 && !(index.pattern(seen - 1).key == where.last)))
    where = {};
  for (; where.patterns < index.patterns(); ++where.patterns) {
    where.last = reader_.index(file).pattern(where.patterns).key;
    const Pattern pattern = reader_.pattern(file, where.patterns);
    if (pattern.runs.empty()) continue;
    const Bounds bounds = bounds_of(pattern, 0);
    const auto same = std::find_if(where.bounds.begin(), where.bounds.end(),
                                   [&](const Bounds& b) { return b.inner == bounds.inner; });
    if (same != where.bounds.end()) {
      widen(*same, bounds);
    } else if (where.bounds.size() <= most_bounds) {
      where.bounds.push_back(bounds);
    }
  }
}

// Collective. An unreadable file counts as having data anywhere. Its keeper reports errors.
void DistributedIndex::learn_where() {
  if (files() <= few_files_ || learned_ == reader_.state().epoch) return;
  std::vector<std::byte> mine;
  attempt_to([&] {
    for (const std::uint32_t file : files_of(comm_.rank(), files(), comm_.size())) {
      if (keeper_of(file, 0, files(), comm_.size()) != comm_.rank()) continue;
      const std::size_t before = mine.size();
      const auto failed = attempt_to([&] {
        Where& where = own_where_[file];
        look_into(file, where);
        if (where.bounds.size() > most_bounds) return;
        put(mine, file);
        put_bounds(mine, where.bounds);
      });
      if (!failed) continue;
      mine.resize(before);
      own_where_.erase(file);
    }
  });
  std::vector<std::int64_t> sizes;
  const auto all = comm_.all_gather_bytes(mine, sizes);
  where_.clear();
  if (attempt_to([&] {
        where_.resize(files());
        for (std::span<const std::byte> bytes = all; !bytes.empty();) {
          const auto file = take<std::uint32_t>(bytes);
          where_[file] = take_bounds(bytes);
        }
      }))
    where_.clear();
  learned_ = reader_.state().epoch;
}

bool DistributedIndex::may_have(std::uint32_t file, const Bounds& wanted) const {
  if (files() <= few_files_ || file >= where_.size() || !where_[file]) return true;
  return std::any_of(where_[file]->begin(), where_[file]->end(),
                     [&](const Bounds& b) { return meet(b, wanted); });
}

// -- slabs

// Begins the jobs of this round. Collects the places whose slabs are not known.
void DistributedIndex::take_up(std::vector<Place>& places) {
  const Count slabs = std::max<Count>(files(), comm_.size()) * slab_bytes;  // of one place
  std::set<Place> all;
  const std::vector<Slab>* last = nullptr;
  const Selected* what = nullptr;
  Count taken = 0;
  for (under_way_ = 0; under_way_ < jobs_.size() && taken < memory_ / 8; ++under_way_) {
    const Job& job = jobs_[under_way_];
    if (std::exchange(what, job.part.what.get()) != job.part.what.get())
      taken += bytes_sent_for(*job.part.what);
    if (job.slabs && std::exchange(last, job.slabs.get()) != job.slabs.get())
      for (const Slab& slab : *job.slabs) taken += bytes_sent_for(slab.entry);
    if (!job.slabs) taken += all.insert({job.request->var, job.part.record}).second ? slabs : 0;
  }
  places.assign(all.begin(), all.end());
}

std::size_t DistributedIndex::Found::known() const {
  std::size_t first = slabs.size();
  for (const auto& [keeper, cursor] : remaining) first = std::min(first, std::size_t{cursor.place});
  return first;
}

// Collective. One exchange: keepers send as many slabs as fit. If much is held already, only the
// keepers that have not sent all of the first place are asked.
void DistributedIndex::ask_for_slabs(std::span<const Place> places, Found& found, Failure& failed) {
  const auto make = [&] {
    std::vector<Message> questions;
    for (const auto& [keeper, cursor] : found.remaining) {
      if (found.bytes > slabs_limit() && cursor.place > found.known()) continue;
      Message& question = questions.emplace_back(Message{keeper, {}});
      put(question.bytes, cursor);
      const auto bytes = std::as_bytes(places);
      question.bytes.insert(question.bytes.end(), bytes.begin(), bytes.end());
    }
    questions_ += std::ssize(questions);
    return questions;
  };
  const auto tell = [&](const Question& question, Message& answer) {
    tell_slabs(question, answer);
  };
  const auto hear = [&](Rank from, std::span<const std::byte> bytes) {
    const auto kept = files_of(from, files(), comm_.size());
    std::optional<Cursor> goes_on;
    while (!bytes.empty()) {
      const auto answer = take<Answer>(bytes);
      if (answer == Answer::failed)
        naming("variable " + schema_.vars[static_cast<std::size_t>(places[0].var)].name,
               [&] { throw take_error(bytes); });
      if (answer == Answer::later) {
        goes_on = take<Cursor>(bytes);
        continue;
      }
      const auto at = take<Cursor>(bytes);
      const auto head = take<SlabHead>(bytes);
      Entry entry{head.var,    head.record, head.order, head.number,
                  head.offset, head.bytes,  head.epoch, take_list<StoredPart>(bytes)};
      found.bytes += bytes_sent_for(entry);
      found.slabs[at.place].push_back({std::move(entry), kept[at.file], head.map, head.elements});
    }
    if (goes_on)
      found.remaining[from] = *goes_on;
    else
      found.remaining.erase(from);
  };
  ++askings_;
  ask_ranks(comm_, failed, make, tell, hear);
  most_held_ = std::max(most_held_, found.bytes);
}

// Places that are still unknown at the end had no memory left; their jobs wait for the next round.
// The first place is always known, unless there is an error.
void DistributedIndex::find_slabs(std::span<const Place> places, Failure& failed) {
  Found found;
  attempt_into(failed, [&] {
    found.slabs.resize(places.size());
    if (places.empty()) return;
    std::map<const Selected*, Bounds> wanted;
    for (std::size_t i = 0; i < under_way_; ++i) {
      const Selected* const what = jobs_[i].part.what.get();
      if (!jobs_[i].slabs && !wanted.contains(what))
        wanted.emplace(what, bounds_of(what->pattern, 0));
    }
    for (std::uint32_t file = 0; file < files(); ++file)
      if (std::any_of(wanted.begin(), wanted.end(),
                      [&](const auto& w) { return may_have(file, w.second); }))
        found.remaining.emplace(keeper_of(file), Cursor{});
  });
  for (bool more = true; more;) {
    if (failed) found.remaining.clear();
    ask_for_slabs(places, found, failed);
    if (!failed && found.bytes > slabs_limit() && found.known() > 0) {
      found.slabs.resize(found.known());
      found.remaining.clear();
    }
    more = comm_.all_reduce(!failed && !found.remaining.empty() ? 1 : 0, Reduce::max) != 0;
  }
  if (failed) return;
  attempt_into(failed, [&] {
    std::vector<std::shared_ptr<const std::vector<Slab>>> slabs;
    for (std::vector<Slab>& its : found.slabs) {
      std::sort(its.begin(), its.end(), is_newer);
      slabs.push_back(std::make_shared<const std::vector<Slab>>(std::move(its)));
    }
    for (std::size_t i = 0; i < under_way_; ++i) {
      Job& job = jobs_[i];
      if (job.slabs) continue;
      const Place place{job.request->var, job.part.record};
      const auto at = static_cast<std::size_t>(
          std::lower_bound(places.begin(), places.end(), place) - places.begin());
      if (at < slabs.size()) job.slabs = slabs[at];
    }
  });
}

// One slab is sent in any case, so that each exchange makes progress.
void DistributedIndex::tell_slabs(const Question& question, Message& answer) {
  std::span<const std::byte> bytes = question.bytes;
  auto at = take<Cursor>(bytes);
  const auto places = all_of<Place>(bytes);
  std::vector<std::byte>& to = answer.bytes;
  put_or_fail(to, [&] {
    const auto kept = files_of(comm_.rank(), files(), comm_.size());
    std::vector<Slab> slabs;
    Count told = 0;
    for (; at.place < places.size(); ++at.place, at.file = 0) {
      for (; at.file < kept.size(); ++at.file, at.slab = 0) {
        const Place& place = places[at.place];
        slabs.clear();
        reader_.add_slabs(kept[at.file], static_cast<VarId>(place.var), place.record, slabs);
        for (; at.slab < slabs.size(); ++at.slab) {
          const Slab& slab = slabs[at.slab];
          const Entry& e = slab.entry;
          if (!to.empty() && told + bytes_sent_for(e) > share()) {
            put(to, Answer::later);
            return put(to, at);
          }
          put(to, Answer::here);
          put(to, at);
          put(to, SlabHead{slab.map, slab.elements, e.record, e.offset, e.bytes, e.epoch, e.var,
                           e.order, e.map});
          put_list(to, std::span<const StoredPart>(e.parts));
          told += bytes_sent_for(e);
        }
      }
    }
  });
  longest_message_ = std::max(longest_message_, std::ssize(to));
}

// -- plans

// Takes the plans that current jobs need from the cache. Returns whether others must be asked for.
bool DistributedIndex::look_for_plans() {
  wanted_.clear();
  bool any = false;
  for (std::size_t i = 0; i < under_way_; ++i) {
    Job& job = jobs_[i];
    if (!job.slabs) continue;
    for (const Slab& slab : *job.slabs) {
      if (job.plans.contains(slab.map)) continue;
      if (auto known = reader_.plans().find(slab.map, job.part.what))
        job.plans.emplace(slab.map, Told{std::move(known), std::nullopt});
      else
        any = true;
    }
  }
  return any;
}

void DistributedIndex::find_plans(Failure& failed) {
  const auto most_bytes = std::max(static_cast<std::size_t>(share()), least_pattern);
  const auto make = [&] {
    struct Letter {
      std::vector<std::byte> patterns;
      std::vector<SentWant> wants;
      std::uint32_t number = 0;  // number of patterns
      const Selected* last = nullptr;

      std::size_t bytes() const { return patterns.size() + wants.size() * sizeof(SentWant); }
    };
    std::map<Rank, Letter> letters;
    std::set<std::pair<Key, const Selected*>> asked;
    for (std::size_t i = 0; i < under_way_; ++i) {
      Job& job = jobs_[i];
      const Selected* const what = job.part.what.get();
      std::vector<std::byte> packed;
      if (!job.slabs) continue;
      for (const Slab& slab : *job.slabs) {
        if (job.plans.contains(slab.map) || asked.contains({slab.map, what})) continue;
        if (packed.empty()) packed = packer_.pack(what->pattern);
        job.to_be_halved = packed.size() > most_bytes && what->pattern.runs.size() > 1;
        if (job.to_be_halved) break;
        const Rank keeper = keeper_of(slab.file);
        Letter& letter = letters[keeper];
        // The first one is sent in any case, so that each round makes progress.
        const std::size_t more = letter.last != what ? packed.size() : 0;
        if (!letter.wants.empty() && letter.bytes() + more + sizeof(SentWant) > most_bytes)
          continue;
        if (letter.last != what) {
          put_list(letter.patterns, std::span<const std::byte>(packed));
          letter.last = what;
          ++letter.number;
        }
        letter.wants.push_back({slab.map, slab.file, slab.entry.map, letter.number - 1, 0});
        wanted_[keeper].push_back({slab.map, what});
        asked.insert({slab.map, what});
      }
    }
    std::vector<Message> questions;
    for (auto& [keeper, letter] : letters) {
      Message& question = questions.emplace_back(Message{keeper, {}});
      put(question.bytes, letter.number);
      question.bytes.insert(question.bytes.end(), letter.patterns.begin(), letter.patterns.end());
      put_list(question.bytes, std::span<const SentWant>(letter.wants));
      longest_message_ = std::max(longest_message_, std::ssize(question.bytes));
    }
    return questions;
  };
  const auto tell = [&](const Question& question, Message& answer) {
    tell_plans(question, answer);
  };
  const auto hear = [&](Rank from, std::span<const std::byte> bytes) { hear_plans(from, bytes); };
  ask_ranks(comm_, failed, make, tell, hear);
}

void DistributedIndex::tell_plans(const Question& question, Message& answer) {
  std::span<const std::byte> bytes = question.bytes;
  std::vector<std::span<const std::byte>> patterns;
  for (auto n = take<std::uint32_t>(bytes); n > 0; --n) {
    const auto size = static_cast<std::size_t>(take<std::uint64_t>(bytes));
    patterns.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  std::shared_ptr<const Selected> pattern;
  std::optional<std::uint32_t> number;  // of `pattern`
  std::vector<std::byte>& to = answer.bytes;
  std::size_t room = std::clamp(static_cast<std::size_t>(share()) / sizeof(SentPiece), least_pieces,
                                std::max(reader_.most_pieces(), least_pieces));
  const std::size_t most = room;
  bool goes_on = true;
  for (const SentWant& want : take_list<SentWant>(bytes)) {
    if (!goes_on) {
      put(to, Answer::later);
      continue;
    }
    put_or_fail(to, [&] {
      if (number != want.pattern) {
        pattern = make_selected(packer_.unpack(patterns[want.pattern]), {});
        number = want.pattern;
      }
      const auto plan = reader_.make_plan(want.file, want.map, want.key, pattern, most);
      goes_on = !plan || room == most || plan->pieces.size() <= room;
      if (!plan || !goes_on) return put(to, plan ? Answer::later : Answer::too_many);
      put(to, Answer::here);
      put(to, PlanHead{plan->levels, plan->covered});
      put(to, static_cast<std::uint64_t>(plan->pieces.size()));
      for (const Piece& p : plan->pieces)
        put(to, SentPiece{p.target, p.count, p.place, p.step, p.turn.rank, 0});
      room -= std::min(room, plan->pieces.size());
    });
  }
  longest_message_ = std::max(longest_message_, std::ssize(to));
}

void DistributedIndex::hear_plans(Rank from, std::span<const std::byte> bytes) {
  for (const Want& want : wanted_[from]) {
    const auto answer = take<Answer>(bytes);
    if (answer == Answer::later) continue;
    Told told;
    if (answer == Answer::failed) told.error = take_error(bytes);
    std::shared_ptr<Plan> plan;
    if (answer == Answer::here) {
      const auto head = take<PlanHead>(bytes);
      plan = std::make_shared<Plan>();
      plan->map = want.map;
      plan->levels = head.levels;
      plan->covered = head.covered;
      for (const SentPiece& p : take_list<SentPiece>(bytes))
        plan->pieces.push_back({p.target, p.count, p.place, 0, {0, p.rank, 0}, p.step});
      told.plan = plan;
    }
    for (std::size_t i = 0; i < under_way_; ++i) {
      Job& job = jobs_[i];
      const auto has = [&](const Slab& slab) { return slab.map == want.map; };
      if (!job.slabs || job.part.what.get() != want.what ||
          std::none_of(job.slabs->begin(), job.slabs->end(), has))
        continue;
      if (plan && !plan->target) {
        plan->target = job.part.what;
        reader_.plans().keep(plan);
      }
      job.plans.emplace(want.map, told);
    }
  }
}

// -- reading

void DistributedIndex::read_what_is_known() {
  Reader::Batch batch(reader_);
  std::vector<Job> remaining;
  std::map<const Selected*, std::array<Part, 2>> halves;  // the halves serve all variables
  for (std::size_t i = 0; i < under_way_; ++i) {
    Job& job = jobs_[i];
    std::size_t pieces = 0;
    for (const auto& [map, told] : job.plans) pieces += told.plan ? told.plan->pieces.size() : 0;
    const auto plan_of = [&](const Slab& slab) {
      const Told& told = job.plans.at(slab.map);
      if (told.error) throw *told.error;
      return told.plan;
    };
    const bool known =
        job.slabs && std::all_of(job.slabs->begin(), job.slabs->end(),
                                 [&](const Slab& slab) { return job.plans.contains(slab.map); });
    if (known && !job.to_be_halved) {
      job.to_be_halved = !reader_.read_by(*job.request, job.part, *job.slabs, plan_of);
    } else if (pieces > 2 * reader_.most_pieces() && job.part.what->elements > 1) {
      job.to_be_halved = true;
    }
    if (job.to_be_halved) {
      auto& its = halves[job.part.what.get()];
      if (!its[0].what) its = halves_of(Part{0, job.part.what, 0});
      for (const Part& half : its)
        remaining.push_back({job.request,
                             {job.part.record, half.what, job.part.memory + half.memory},
                             job.slabs,
                             {},
                             false});
    } else if (!known) {
      remaining.push_back(std::move(job));
    }
  }
  batch.carry_out();
  jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(under_way_));
  jobs_.insert(jobs_.begin(), std::make_move_iterator(remaining.begin()),
               std::make_move_iterator(remaining.end()));
}

void DistributedIndex::read(std::span<const Wanted> wanted) {
  if (comm_.all_reduce(wanted.empty() ? 0 : 1, Reduce::max) == 0) return;
  check_roots();
  learn_where();
  Failure failed;
  attempt_into(failed, [&] {
    jobs_.clear();
    for (const Wanted& w : wanted) jobs_.push_back({w.request, w.part, nullptr, {}, false});
  });
  for (;; ++rounds_) {
    std::vector<Place> places;
    if (!failed) attempt_into(failed, [&] { take_up(places); });
    const auto give_up = [&] {
      jobs_.clear();
      under_way_ = 0;
      places.clear();
    };
    if (failed) give_up();
    std::array<std::int64_t, 2> any{under_way_ > 0 ? 1 : 0, places.empty() ? 0 : 1};
    comm_.all_reduce(any, Reduce::max);
    if (any[0] == 0) break;
    if (any[1] != 0) find_slabs(places, failed);
    if (failed) give_up();
    bool unknown = false;
    attempt_into(failed, [&] { unknown = look_for_plans(); });
    if (comm_.all_reduce(unknown ? 1 : 0, Reduce::max) != 0) find_plans(failed);
    if (failed) give_up();
    attempt_into(failed, [&] { read_what_is_known(); });
  }
  if (failed) throw *failed;
}

void DistributedIndex::as_of_newest(OpenState which, const std::function<void()>& f) {
  const auto look = [&] {
    Reader::Newest now{reader_.state(), false};
    by_root(comm_, [&] { now = reader_.newest(which); });
    comm_.broadcast(&now, sizeof now);
    const bool still = now.state.epoch == reader_.state().epoch;
    if (!still) reader_.use(now.state, now.damaged_slot);
    return still;
  };
  look();  // a rank that read alone may be at a later commit
  for (int time = 0; time < Reader::most_times; ++time) {
    auto failed = attempt_to(f);
    bool still = true;
    keep_first(failed, attempt_to([&] { still = look(); }));  // `still` is the same on all ranks
    if (!still) continue;
    if (failed) throw *failed;
    return;
  }
  reader_.throw_written_too_often();
}

}  // namespace forebay::decomposed
