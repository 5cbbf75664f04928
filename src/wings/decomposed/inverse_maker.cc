#include "decomposed/inverse_maker.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "decomposed/format/inverse_map.h"
#include "decomposed/pieces.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {
namespace {

/// The most pages of a directory, about.
constexpr Count most_pages = 4096;
/// Memory of a run: sent, sorted and printed.
constexpr Count bytes_of_run = 128;
/// The ends of intervals are estimated from so many samples of each.
constexpr Count samples_of_interval = 16;

/// The messages of one exchange, by rank.
class Outgoing {
 public:
  explicit Outgoing(int ranks) : to_(static_cast<std::size_t>(ranks)) {}
  std::vector<std::byte>& to(std::size_t rank) { return to_[rank]; }
  std::vector<Message> take() {
    std::vector<Message> messages;
    for (std::size_t r = 0; r < to_.size(); ++r)
      if (!to_[r].empty()) messages.push_back({static_cast<Rank>(r), std::move(to_[r])});
    return messages;
  }

 private:
  std::vector<std::vector<std::byte>> to_;
};

/// Collective. Exchanges the messages that `prepare` makes. If `prepare` fails on some rank, all
/// throw. `more`, unless null, becomes the maximum over all ranks.
template <typename Prepare, typename Take>
void exchange(const Comm& group, std::int64_t* more, Prepare&& prepare, Take&& take) {
  std::vector<Message> messages;
  const auto failed = attempt_to([&] {
    Outgoing out(group.size());
    prepare(out);
    messages = out.take();
  });
  std::int64_t none = 0;
  agree_on_error(group, failed, std::span(more ? more : &none, 1), Reduce::max);
  sparse_exchange(group, messages, take);
}

/// Inverts one map. All ranks of the group make the same calls.
class Inversion {
 public:
  Inversion(const Comm& group, ByteFile& file, const InverseSizes& sizes, DataFileWriter* writer)
      : group_(group), file_(file), sizes_(sizes), writer_(writer) {}

  bool make(std::uint32_t map);

 private:
  struct Dealt {
    std::uint32_t member;
    Count elements;
    std::vector<std::byte> packed;
    std::optional<Pattern> pattern;  // if there is memory for it
  };

  void deal(std::uint32_t map);
  bool survey();
  void find_intervals();
  void send_round(Count round);
  void send(const Pattern& pattern, std::uint32_t member, Count round, Outgoing& out) const;
  void arrange();
  void write_round();
  void write_directory(std::uint32_t map);

  template <typename F>
  void each_pattern(F&& f) {
    for (const Dealt& dealt : dealt_) {
      if (dealt.pattern) {
        f(dealt, *dealt.pattern);
      } else {
        f(dealt, packer_.unpack(dealt.packed));
      }
    }
  }
  std::uint32_t factor_of(const Pattern& pattern) const {
    return static_cast<std::uint32_t>(
        std::lower_bound(factors_.begin(), factors_.end(), numbers_of(pattern.outer)) -
        factors_.begin());
  }
  static std::vector<Count> numbers_of(std::span<const Steps> outer) {
    std::vector<Count> numbers;
    for (const Steps& s : outer) numbers.insert(numbers.end(), {s.start, s.count, s.stride});
    return numbers;
  }

  const Comm& group_;
  ByteFile& file_;
  InverseSizes sizes_;
  DataFileWriter* writer_;
  logged::PatternPacker packer_;
  logged::BytePacker page_packer_;

  std::vector<Dealt> dealt_;
  std::vector<Count> inner_;
  std::vector<std::vector<Count>> factors_;  // sorted; as numbers
  Count runs_ = 0, page_runs_ = 0;           // of all ranks; of a page
  Count intervals_ = 0;
  std::vector<InversePlace> ends_;  // of all intervals but the last
  std::vector<InverseRun> mine_;    // of this rank's interval
  bool overlapping_ = false;        // on this rank
  // On the leader:
  StoredInverse stored_;
  InverseDirectory directory_;
};

// Members are distributed round-robin, since neighbours mostly have neighbouring elements.
void Inversion::deal(std::uint32_t map) {
  dealt_.clear();
  const auto size = static_cast<std::size_t>(group_.size());
  std::uint32_t next = 0;
  for (std::int64_t more = 1; more != 0;) {
    more = 0;
    exchange(
        group_, &more,
        [&](Outgoing& out) {
          if (!writer_) return;
          const FileIndex& index = writer_->index();
          const Map& members = index.map(map);
          for (Count bytes = 0; next < members.size() && bytes < sizes_.memory; ++next) {
            const StoredPattern& pattern = index.pattern(members[next].pattern);
            auto& to = out.to(next % size);
            put(to, static_cast<std::uint32_t>(next));
            put(to, pattern.elements);
            put_list(to, std::span<const std::byte>(pattern.packed));
            bytes += std::ssize(pattern.packed);
          }
          more = next < members.size();
        },
        [&](Rank, std::span<const std::byte> bytes) {
          while (!bytes.empty()) {
            const auto member = take<std::uint32_t>(bytes);
            const auto elements = take<Count>(bytes);
            dealt_.push_back({member, elements, take_list<std::byte>(bytes), std::nullopt});
          }
        });
  }
}

// Finds the factors of all patterns, and the number of runs. Returns false, on all ranks, for a
// damaged pattern.
bool Inversion::survey() {
  bool whole = true;
  Count runs = 0, kept = 0;
  std::set<std::vector<Count>> factors;
  std::optional<std::vector<Count>> inner;
  for (Dealt& dealt : dealt_) {
    Pattern pattern;
    const auto failed = attempt_to([&] { pattern = packer_.unpack(dealt.packed); });
    if (failed && failed->code() != Errc::ebadlog) throw *failed;
    whole = whole && !failed && pattern.elements() == dealt.elements &&
            (!inner || *inner == pattern.inner);
    if (!whole) break;
    inner = pattern.inner;
    factors.insert(numbers_of(pattern.outer));
    runs += std::ssize(pattern.runs);
    kept += static_cast<Count>(sizeof pattern + pattern.runs.size() * sizeof(PatternRun));
    if (kept <= sizes_.memory / 2) dealt.pattern = std::move(pattern);
  }
  // Each rank's result: are its patterns valid; the shape; and the factors, each after its length.
  std::vector<std::int64_t> told = {whole, inner ? std::ssize(*inner) : -1};
  if (inner) told.insert(told.end(), inner->begin(), inner->end());
  for (const auto& factor : factors) {
    told.push_back(std::ssize(factor));
    told.insert(told.end(), factor.begin(), factor.end());
  }
  std::vector<std::int64_t> sizes;
  const auto all =
      all_of<std::int64_t>(group_.all_gather_bytes(std::as_bytes(std::span(told)), sizes));
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    const std::size_t end = at + static_cast<std::size_t>(size) / sizeof(std::int64_t);
    const auto take = [&](std::int64_t n) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
      at += static_cast<std::size_t>(n);
      return std::vector<Count>(from, from + n);
    };
    whole = whole && all[at] != 0;
    const std::int64_t dims = all[at + 1];
    at += 2;
    if (dims >= 0) {
      auto its = take(dims);
      whole = whole && (!inner || *inner == its);
      inner = std::move(its);
    }
    while (at < end) {
      const std::int64_t numbers = all[at++];
      factors.insert(take(numbers));
    }
  }
  runs_ = group_.all_reduce(runs, Reduce::sum);
  if (!whole || runs_ == 0) return false;
  inner_ = *inner;
  factors_.assign(factors.begin(), factors.end());
  return true;
}

// Samples are every step-th run of each rank, counted through all of its patterns.
void Inversion::find_intervals() {
  const Count ranks = group_.size();
  page_runs_ = std::min<Count>(std::max(sizes_.page_runs, runs_ / most_pages), most_page_runs);
  const Count each = std::max(sizes_.memory / bytes_of_run, page_runs_);
  const Count rounds = (runs_ + ranks * each - 1) / (ranks * each);
  intervals_ = rounds > 1 ? rounds * ranks : std::clamp<Count>(runs_ / page_runs_, 1, ranks);
  const Count step = std::max<Count>(runs_ / (samples_of_interval * intervals_), 1);
  std::vector<InversePlace> samples;
  Count next = 0;
  each_pattern([&](const Dealt&, const Pattern& pattern) {
    const std::uint32_t factor = factor_of(pattern);
    const Count many = std::ssize(pattern.runs);
    for (; next < many; next += step)
      samples.push_back({factor, pattern.runs[static_cast<std::size_t>(next)].offset});
    next -= many;
  });
  std::vector<std::int64_t> sizes;
  auto all =
      all_of<InversePlace>(group_.all_gather_bytes(std::as_bytes(std::span(samples)), sizes));
  std::sort(all.begin(), all.end());
  ends_.clear();
  for (Count i = 1; i < intervals_; ++i)
    ends_.push_back(all[static_cast<std::size_t>(i * std::ssize(all) / intervals_)]);
}

// A run is cut where an interval ends.
void Inversion::send(const Pattern& pattern, std::uint32_t member, Count round,
                     Outgoing& out) const {
  const std::uint32_t factor = factor_of(pattern);
  const Count ranks = group_.size(), first = round * ranks;
  // Skips runs before the round's first interval. They were sent in earlier rounds.
  auto begin = pattern.runs.begin();
  if (first > 0) {
    const InversePlace& from = ends_[static_cast<std::size_t>(first - 1)];
    if (from.factor > factor) return;
    if (from.factor == factor)
      begin = std::partition_point(begin, pattern.runs.end(),
                                   [&](const PatternRun& r) { return r.end() <= from.offset; });
  }
  for (const PatternRun& whole : std::span(begin, pattern.runs.end())) {
    InverseRun run{factor, member, whole.offset, whole.length, whole.position};
    auto interval = std::upper_bound(ends_.begin(), ends_.end(), InversePlace{factor, run.offset});
    for (Count left = whole.length; left > 0; ++interval) {
      const bool ends = interval != ends_.end() && interval->factor == factor;
      run.length = ends ? std::min(left, interval->offset - run.offset) : left;
      const Count to = interval - ends_.begin() - first;
      if (to >= ranks) return;
      if (to >= 0 && run.length > 0) put(out.to(static_cast<std::size_t>(to)), run);
      run.offset += run.length, run.position += run.length, left -= run.length;
    }
  }
}

void Inversion::send_round(Count round) {
  mine_.clear();
  exchange(
      group_, nullptr,
      [&](Outgoing& out) {
        each_pattern([&](const Dealt& dealt, const Pattern& pattern) {
          send(pattern, dealt.member, round, out);
        });
      },
      [&](Rank, std::span<const std::byte> bytes) {
        const auto runs = all_of<InverseRun>(bytes);
        mine_.insert(mine_.end(), runs.begin(), runs.end());
      });
}

// Sorts the runs. If several members have an element, that of the highest rank keeps it.
void Inversion::arrange() {
  std::sort(mine_.begin(), mine_.end(), [](const InverseRun& a, const InverseRun& b) {
    return std::pair(a.factor, a.offset) < std::pair(b.factor, b.offset);
  });
  const auto overlap =
      std::adjacent_find(mine_.begin(), mine_.end(), [](const InverseRun& a, const InverseRun& b) {
        return a.factor == b.factor && a.end() > b.offset;
      });
  if (overlap == mine_.end()) return;
  overlapping_ = true;
  std::vector<InverseRun> kept;
  for (std::size_t i = 0; i < mine_.size();) {
    const std::uint32_t factor = mine_[i].factor;
    std::vector<Piece> pieces;
    for (; i < mine_.size() && mine_[i].factor == factor; ++i) {
      const InverseRun& run = mine_[i];
      pieces.push_back({run.offset, run.length, run.position, run.member, {0, run.member, 0}});
    }
    resolve(pieces, 1);
    for (const Piece& p : pieces) kept.push_back({factor, p.file, p.target, p.count, p.place});
  }
  mine_ = std::move(kept);
}

void Inversion::write_round() {
  std::vector<std::byte> bytes;
  std::vector<InversePage> pages;
  const auto most = static_cast<std::size_t>(page_runs_);
  for (std::size_t i = 0; i < mine_.size(); i += most) {
    const auto runs = std::span(mine_).subspan(i, std::min(most, mine_.size() - i));
    const auto packed = page_packer_.pack(print_inverse_page(runs));
    InversePage page;
    page.first = {runs.front().factor, runs.front().offset};
    page.end = {runs.back().factor, runs.back().end()};
    page.offset = std::ssize(bytes);
    page.bytes = std::ssize(packed);
    page.runs = static_cast<std::uint32_t>(runs.size());
    page.hash = hash_of(packed);
    pages.push_back(page);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  const auto sizes = group_.all_gather(std::ssize(bytes));
  const auto me = sizes.begin() + group_.rank();
  const Offset before = std::accumulate(sizes.begin(), me, Offset{0});
  const Count total = std::accumulate(me, sizes.end(), before);
  if (total == 0) return;
  Offset begin = 0;
  by_root(group_, [&] {
    begin = writer_->allocate(total);
    stored_.blocks.push_back({begin, total});
  });
  group_.broadcast(&begin, sizeof begin);
  if (!bytes.empty()) file_.write_at(begin + before, std::span<const std::byte>(bytes));
  for (InversePage& page : pages) page.offset += begin + before;
  std::vector<std::vector<InversePage>> told(static_cast<std::size_t>(group_.size()));
  exchange(
      group_, nullptr,
      [&](Outgoing& out) {
        for (const InversePage& page : pages) put(out.to(0), page);
      },
      [&](Rank from, std::span<const std::byte> its) {
        told[static_cast<std::size_t>(from)] = all_of<InversePage>(its);
      });
  for (const auto& its : told)
    directory_.pages.insert(directory_.pages.end(), its.begin(), its.end());
}

void Inversion::write_directory(std::uint32_t map) {
  const bool overlapping = group_.all_reduce(std::int64_t{overlapping_}, Reduce::max) != 0;
  by_root(group_, [&] {
    directory_.inner = inner_;
    for (const auto& numbers : factors_) {
      auto& factor = directory_.factors.emplace_back();
      for (std::size_t i = 0; i < numbers.size(); i += 3)
        factor.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    }
    directory_.disjoint = factors_.size() == 1 && !overlapping;
    const auto bytes = print_inverse_directory(directory_);
    // Readers accept no larger directory, and use the patterns instead.
    if (std::ssize(bytes) > most_directory) return;
    stored_.blocks.push_back({writer_->allocate(std::ssize(bytes)), std::ssize(bytes)});
    file_.write_at(stored_.directory().offset, std::span<const std::byte>(bytes));
    stored_.map = map;
    stored_.hash = hash_of(bytes);
    writer_->add(std::move(stored_));
  });
}

bool Inversion::make(std::uint32_t map) {
  deal(map);
  if (!survey()) return false;
  find_intervals();
  for (Count round = 0; round * group_.size() < intervals_; ++round) {
    send_round(round);
    arrange();
    write_round();
  }
  write_directory(map);
  return true;
}

}  // namespace

namespace {

/// Unpacks patterns to count runs, since regular ones have few bytes but perhaps many runs.
bool has_more_runs(const FileIndex& index, const Map& members, Count most) {
  logged::PatternPacker packer;
  Count runs = 0;
  const auto damaged = attempt_to([&] {
    for (auto m = members.begin(); m != members.end() && runs <= most; ++m)
      runs += std::ssize(packer.unpack(index.pattern(m->pattern).packed).runs);
  });
  return !damaged && runs > most;
}

}  // namespace

std::vector<std::uint32_t> maps_to_invert(const FileIndex& index, const InverseSizes& sizes) {
  std::set<std::uint32_t> used;
  index.for_each_slab([&](const Entry& e) {
    if (e.record != defining_record) used.insert(e.map);
  });
  std::vector<std::uint32_t> maps;
  for (const std::uint32_t map : used) {
    const Map& members = index.map(map);
    if (index.inverse(map) || members.size() < 2) continue;  // a single pattern is in order already
    Count bytes = 0;
    for (const Member& m : members) bytes += std::ssize(index.pattern(m.pattern).packed);
    if (bytes > sizes.few_bytes || has_more_runs(index, members, sizes.few_runs))
      maps.push_back(map);
  }
  return maps;
}

std::int64_t make_inverses(const Comm& group, ByteFile& file, const InverseSizes& sizes,
                           DataFileWriter* writer) {
  std::vector<std::uint32_t> maps;
  std::int64_t many = 0, made = 0;
  by_root(group, [&] {
    maps = maps_to_invert(writer->index(), sizes);
    many = std::ssize(maps);
  });
  group.broadcast(&many, sizeof many);
  for (std::int64_t i = 0; i < many; ++i) {
    const std::uint32_t map = group.is_root() ? maps[static_cast<std::size_t>(i)] : 0;
    made += Inversion(group, file, sizes, writer).make(map);
  }
  return made;
}

}  // namespace forebay::decomposed
