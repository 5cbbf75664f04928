// Redundancy: keeps the parity of states after a sync, and makes states of lost files again when a
// store is opened (checkpoints/parity.h).
//
// A segment is kept only where all ranks of its set could send what is in it. Segments of new
// groups are on the device of all ranks, of all sets, before any rank drops an older one: the sets
// of an earlier job may have been others. A lost rank is one whose journal is not the one that
// segments of others name, by its session. So a kill while states are made again is no harm: the
// next opening makes those that are missing.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"
#include "base/random_number.h"
#include "base/words.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/plan/parity_sets.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"

namespace forebay::checkpoint {

namespace {

/// Bytes that a rank sends to all others of its set at a time. Few large steps, since in each of
/// them a rank waits for the slowest one.
constexpr Count window_bytes = 32 << 20;
constexpr std::string_view method_word = "xor:";
/// About the bytes of a table, and of the part of a journal's entry that is in a segment.
constexpr Count parity_overhead = 512;
/// No table has more bytes.
constexpr Count most_table_bytes = 4096;

/// Reads bytes of a blob: its front, then the state in a file, then zeros without end.
class BlobReader {
 public:
  BlobReader(const Record& record, std::uint64_t group, FileTier& file)
      : front_(front_of_blob(record, group)),
        file_(&file),
        place_(record.place),
        bytes_(std::ssize(front_) + record.bytes) {}

  /// Makes `into` the bytes of [offset, offset + size) that the blob has.
  void read(Offset offset, Count size, std::vector<std::byte>& into) const {
    const Count there = std::clamp<Count>(bytes_ - offset, 0, size);
    into.resize(static_cast<std::size_t>(there));
    const Count in_front = std::clamp<Count>(std::ssize(front_) - offset, 0, there);
    if (in_front > 0)
      std::memcpy(into.data(), front_.data() + offset, static_cast<std::size_t>(in_front));
    if (in_front < there)
      file_->read(place_ + offset + in_front - std::ssize(front_),
                  std::span(into).subspan(static_cast<std::size_t>(in_front)));
  }

 private:
  std::vector<std::byte> front_;
  FileTier* file_;
  Offset place_;
  Count bytes_;
};

template <typename T>
std::span<const std::byte> raw_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// Calls f(offset, size) for all of a chunk, in windows of which `at_once` have window_bytes.
template <typename F>
void each_window(Count chunk, std::size_t at_once, F&& f) {
  const Count window = window_bytes / static_cast<Count>(at_once);
  for (Offset at = 0; at < chunk; at += window) f(at, std::min(window, chunk - at));
}

/// Collective. Returns the ranks of one set, of `sets` that are numbered from 0. Each has at least
/// two ranks. Divides by halves, so that it takes O(log sets) steps.
Comm set_of_ranks(Comm comm, int set, int sets) {
  for (int first = 0, end = sets; end - first > 1;) {
    const int middle = first + (end - first) / 2;
    const Comm lower = comm.split_leaders(set < middle), upper = comm.split_leaders(set >= middle);
    comm = set < middle ? lower : upper;
    (set < middle ? end : first) = middle;
  }
  return comm;
}

/// Begins a part of opaque bytes; FileTier::add() computes the checksums.
void add_bytes(Record& record, std::vector<iovec>& pieces, const char* name,
               std::span<std::byte> bytes, Team& team) {
  Part part{name, Type::none, {std::ssize(bytes)}, "none", {}};
  encode(part, {}, bytes, team);
  record.bytes += part.stored_bytes();
  record.parts.push_back(std::move(part));
  pieces.push_back({bytes.data(), bytes.size()});
}

}  // namespace

// -- sets

/// Collective. Errc::einval if ranks cannot be divided into sets.
void Store::join_set() {
  const std::string said = method_value(method_, "redundancy");
  if (!said.starts_with(method_word)) return;
  const int most = std::stoi(said.substr(method_word.size()));
  std::int64_t node = comm_.rank();
  comm_.split_node(method_.ranks_per_node).broadcast(&node, sizeof node);
  const std::vector<std::int64_t> node_of = comm_.all_gather(node);
  const std::vector<int> set_of = parity_sets(node_of, most);
  if (set_of.empty())
    throw Error(Errc::einval,
                "redundancy=" + said +
                    ": more than half of the ranks are on one node, whose loss " +
                    "would take their parity along",
                "run on more nodes, or leave redundancy out");
  const int mine = set_of[static_cast<std::size_t>(comm_.rank())];
  set_ = set_of_ranks(comm_, mine, *std::max_element(set_of.begin(), set_of.end()) + 1);
  for (Rank r = 0; r < comm_.size(); ++r)
    if (set_of[static_cast<std::size_t>(r)] == mine) set_ranks_.push_back(r);
}

Member Store::my_member(const Record& record) const {
  return {comm_.rank(),
          record.serial,
          std::ssize(front_of_blob(record, 0)) + record.bytes,
          {fast_ ? fast_->session() : 0, directory_->session()}};
}

// -- parity that is there

/// Notes a segment that was found in files. A damaged one is dropped, but not before this opening
/// is over. One that cannot be read stays until a sync has made another one: the next opening may
/// be able to read it.
void Store::take_parity(Tier tier, Record record) {
  FileTier& from = *files(tier);
  ParityTable table;
  const auto failed = attempt_to([&] {
    if (record.parts.size() != 2 || record.parts[0].type != Type::none ||
        record.parts[0].raw_bytes() > most_table_bytes)
      logged::damaged(words_for(record.id) + " has no table");
    const Part& part = record.parts[0];
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.raw_bytes()));
    const auto fetch = [&](Count offset, std::span<std::byte> into) {
      from.read(record.place + offset, into);
    };
    decode(part, fetch, bytes, team_, words_for(record.id) + " (" + from.path() + ")");
    table = parse_table(bytes);
    if (record.parts[1].raw_bytes() != table.chunk() || !table.find(comm_.rank()))
      logged::damaged(words_for(record.id) + " of other ranks");
  });
  if (failed) {
    damage_.push_back(failed->message());
    const bool is_damaged = failed->code() == Errc::ebadlog;
    if (!is_damaged) keep_first(unread_error_, failed);
    (is_damaged ? stale_ : unread_).emplace_back(tier, record.serial);
    return;
  }
  parity_bytes_[static_cast<std::size_t>(tier)] += record.bytes;
  auto& all = parities_[{covered_by(record.id.kind), record.id.step}];
  const auto later = std::find_if(all.begin(), all.end(), [&](const Parity& other) {
    return other.record.serial > record.serial;
  });
  all.insert(later, {std::move(record), tier, std::move(table)});
}

/// Drops the parity of a state, but not that of the group `kept`. The caller holds the lock.
void Store::drop_parity(StateId id, std::uint64_t kept) {
  const auto found = parities_.find(id);
  if (found == parities_.end()) return;
  auto& all = found->second;
  for (auto parity = all.begin(); parity != all.end();) {
    if (parity->table.group == kept) {
      ++parity;
      continue;
    }
    parity_bytes_[static_cast<std::size_t>(parity->tier)] -= parity->record.bytes;
    discard(parity->tier, parity->record.serial, true);
    parity = all.erase(parity);
  }
  if (all.empty()) parities_.erase(found);
}

/// Drops segments that newer ones replace. All ranks of all sets have the newer ones on their
/// devices.
void Store::drop_older_parity() {
  const Lock lock(mutex_);
  for (const auto& [id, state] : states_.all())
    if (const std::uint64_t group = covering_group(*state)) drop_parity(id, group);
  for (; !unread_.empty(); unread_.pop_back())
    discard(unread_.back().first, unread_.back().second, true);
}

/// Drops the parity of states that are not there any more.
void Store::drop_lone_parity() {
  const Lock lock(mutex_);
  std::vector<StateId> lone;
  for (const auto& [id, all] : parities_)
    if (!states_.find(id)) lone.push_back(id);
  for (const StateId& id : lone) drop_parity(id);
}

/// Returns the bytes that the parity of the states in a tier will still take. The caller holds the
/// lock.
Count Store::missing_parity(Tier tier) const {
  if (set_ranks_.empty()) return 0;
  const Count there = parity_bytes_[static_cast<std::size_t>(tier)];
  const Count states = std::max<Count>(files(tier)->used() - there, 0);
  const Count beside = static_cast<Count>(states_.count(tier)) * parity_overhead;
  return std::max<Count>(chunk_bytes(states, set_ranks_.size()) + beside - there, 0);
}

/// Returns about the bytes that the parity of a state of so many bytes takes.
Count Store::parity_for(Count bytes) const {
  return chunk_bytes(bytes, set_ranks_.size()) + parity_overhead;
}

/// Returns the newest group in which this rank has a segment for the state, the set and its own
/// files as they are now; 0: there is none. The caller holds the lock.
std::uint64_t Store::covering_group(const State& state) const {
  const auto found = parities_.find(state.record.id);
  if (found == parities_.end()) return 0;
  const auto newest =
      std::find_if(found->second.rbegin(), found->second.rend(), [&](const Parity& parity) {
        const auto& members = parity.table.members;
        const Member* const mine = parity.table.find(comm_.rank());
        return mine->serial == state.record.serial && !has_lost(*mine) &&
               std::equal(members.begin(), members.end(), set_ranks_.begin(), set_ranks_.end(),
                          [](const Member& member, Rank rank) { return member.rank == rank; });
      });
  return newest == found->second.rend() ? 0 : newest->table.group;
}

/// Collective over the set. Returns the states that all its ranks have, and of which they do not
/// all have a segment of one group: after a sync that failed some may have a new one, and others
/// the one before it.
std::vector<StateId> Store::without_parity() const {
  struct Covered {
    StateId id;
    std::uint64_t group;
    auto operator<=>(const Covered&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  std::vector<Covered> all;
  std::vector<StateId> missing;
  RunningHash hash;
  {
    const Lock lock(mutex_);
    for (const auto& [id, state] : states_.all()) {
      all.push_back({id, covering_group(*state)});
      if (all.back().group == 0) missing.push_back(id);
      const std::uint64_t told[] = {static_cast<std::uint64_t>(id.kind),
                                    static_cast<std::uint64_t>(id.step), all.back().group};
      hash.add(std::as_bytes(std::span(told)));
    }
  }
  // Ranks nearly always agree, so that a number is all that they tell each other.
  const auto mark = static_cast<std::int64_t>(hash.value());
  const std::vector<std::int64_t> marks = set_.all_gather(mark);
  if (std::count(marks.begin(), marks.end(), mark) == std::ssize(marks)) return missing;
  std::vector<std::int64_t> sizes;
  all = all_of<Covered>(set_.all_gather_bytes(raw_of(all), sizes));
  std::sort(all.begin(), all.end());
  missing.clear();
  for (auto first = all.begin(), end = first; first != all.end(); first = end) {
    end = std::find_if(first, all.end(), [&](const Covered& c) { return c.id != first->id; });
    const bool is_common = end - first == std::ssize(set_ranks_);
    if (is_common && (first->group == 0 || first->group != (end - 1)->group))
      missing.push_back(first->id);
  }
  return missing;
}

// -- after a sync

/// Waits until no other thread uses the state, and keeps it from moving.
StatePtr Store::hold(StateId id) {
  Lock lock(mutex_);
  StatePtr state = found(id);
  wait_for(lock, *state);
  state->busy = true;
  return state;
}

void Store::let_go(const StatePtr& state) {
  const Lock lock(mutex_);
  state->busy = false;
  changed_.notify_all();
  rouse();
}

/// Collective over the set. Makes parity of all states that have none. All states are in files.
/// Older segments stay: the caller drops them once all sets have come so far.
void Store::protect() {
  const std::vector<StateId> missing = without_parity();
  if (missing.empty()) return;
  std::uint64_t group = set_.is_root() ? random_number() >> 1 | 1 : 0;
  set_.broadcast(&group, sizeof group);
  std::vector<Member> mine;
  {
    const Lock lock(mutex_);
    for (const StateId& id : missing) mine.push_back(my_member(found(id)->record));
  }
  std::vector<std::int64_t> sizes;
  const auto all = all_of<Member>(set_.all_gather_bytes(raw_of(mine), sizes));
  std::vector<ParityTable> tables;
  // From here on ranks wait for each other in exchanges, which are no reductions.
  agree_on_error(set_, attempt_to([&] {
                   for (std::size_t i = 0; i < missing.size(); ++i) {
                     ParityTable& table = tables.emplace_back(ParityTable{group + i, {}});
                     for (std::size_t m = 0; m < set_ranks_.size(); ++m)
                       table.members.push_back(all[m * missing.size() + i]);
                   }
                 }));
  for (std::size_t i = 0; i < missing.size(); ++i) make_parity(missing[i], tables[i]);
  agree_on_error(set_, attempt_to([&] {
                   if (fast_) fast_->sync();
                   directory_->sync();
                 }));
}

/// Collective over the set. Sends each chunk of this rank's state to the rank whose segment it is
/// in.
void Store::make_parity(StateId id, const ParityTable& table) {
  const std::size_t n = table.members.size(), me = table.place_of(comm_.rank());
  const Count chunk = table.chunk();
  StatePtr state;
  RawBytes segment;
  std::vector<Message> outgoing;
  std::optional<BlobReader> blob;
  std::optional<Error> failed = attempt_to([&] {
    outgoing.resize(n - 1);
    state = hold(id);
    blob.emplace(state->record, table.group, *files(state->tier));
    segment.resize(static_cast<std::size_t>(chunk));
    std::fill(segment.begin(), segment.end(), std::byte{0});
  });
  const auto exchange = [&](Offset offset, Count size) {
    for (std::size_t k = 0; k < outgoing.size(); ++k) {
      const std::size_t j = k < me ? k : k + 1;
      outgoing[k].to = static_cast<Rank>(j);
      outgoing[k].bytes.clear();
      attempt_into(failed, [&] {
        if (failed) return;
        const auto first = static_cast<Count>(chunk_in_segment(me, j, n)) * chunk;
        blob->read(first + offset, size, outgoing[k].bytes);
      });
    }
    attempt_into(failed, [&] {
      sparse_exchange(set_, outgoing, [&](Rank, std::span<const std::byte> bytes) {
        if (std::ssize(segment) < offset + std::ssize(bytes)) return;  // there was no memory
        add_xor(std::span(segment).subspan(static_cast<std::size_t>(offset)), bytes);
      });
    });
  };
  each_window(chunk, n - 1, exchange);
  if (state) let_go(state);
  // A segment that lacks what one rank failed to send is kept nowhere.
  agree_on_error(set_, failed);
  agree_on_error(set_, attempt_to([&] { keep_parity(id, table, std::move(segment)); }));
}

void Store::keep_parity(StateId id, const ParityTable& table, RawBytes segment) {
  Record record;
  record.id = {parity_of(id.kind), id.step};
  {
    const Lock lock(mutex_);
    record.serial = ++last_serial_;
  }
  std::vector<std::byte> printed = print_table(table);
  std::vector<iovec> pieces;
  add_bytes(record, pieces, "members", printed, team_);
  add_bytes(record, pieces, "segment", segment, team_);
  const auto tier =
      keep_in_files(record, Tier::fast, [&](FileTier& to) { to.add(record, pieces, team_); });
  if (!tier)
    throw Error(Errc::eno_space, words_for(record.id) + " has room in no tier",
                "give checkpoints more room");
  const Lock lock(mutex_);
  parity_bytes_[static_cast<std::size_t>(*tier)] += record.bytes;
  parities_[id].push_back({std::move(record), *tier, table});
}

// -- at the opening

/// Returns whether a journal that the member had at that time is not the one that this rank has.
bool Store::has_lost(const Member& recorded) const {
  const std::uint64_t now[] = {fast_ ? fast_->session() : 0, directory_->session()};
  for (std::size_t i = 0; i < std::size(now); ++i)
    if (recorded.sessions[i] != 0 && recorded.sessions[i] != now[i]) return true;
  return false;
}

/// Returns this rank's segment of a group if its own state is still the one of that group.
const Store::Parity* Store::usable(StateId id, std::uint64_t group) const {
  const auto found = parities_.find(id);
  const StatePtr state = states_.find(id);
  if (found == parities_.end() || !state) return nullptr;
  for (const Parity& parity : found->second)
    if (parity.table.group == group &&
        parity.table.find(comm_.rank())->serial == state->record.serial)
      return &parity;
  return nullptr;
}

/// Returns what this rank tells the others of its sets: which journals they had.
std::vector<Message> Store::journals_of_others() const {
  std::map<Rank, std::vector<Member>> journals;
  for (const auto& [id, all] : parities_)
    for (const Parity& parity : all)
      for (const Member& member : parity.table.members) {
        if (member.rank == comm_.rank() || member.rank >= comm_.size()) continue;
        auto& known = journals[member.rank];
        const bool is_known = std::any_of(known.begin(), known.end(), [&](const Member& other) {
          return std::equal(std::begin(other.sessions), std::end(other.sessions), member.sessions);
        });
        if (!is_known) known.push_back(member);
      }
  std::vector<Message> outgoing;
  for (const auto& [rank, known] : journals) {
    const auto bytes = raw_of(known);
    outgoing.push_back({rank, {bytes.begin(), bytes.end()}});
  }
  return outgoing;
}

/// Returns what this rank tells lost ranks: the groups of which it has a segment, and its own state
/// beside.
std::vector<Message> Store::offers_to(const std::vector<Rank>& lost) const {
  std::vector<Message> outgoing;
  for (const Rank rank : lost) {
    if (rank == comm_.rank()) continue;
    logged::Printer to;
    for (const auto& [id, all] : parities_)
      for (const Parity& parity : all) {
        if (!parity.table.find(rank) || !usable(id, parity.table.group)) continue;
        to.fixed(static_cast<std::uint8_t>(id.kind));
        to.count(id.step);
        const std::vector<std::byte> table = print_table(parity.table);
        to.count(std::ssize(table));
        to.raw(table);
      }
    if (!to.bytes().empty()) outgoing.push_back({rank, std::move(to.bytes())});
  }
  return outgoing;
}

/// Collective. Returns the same ranks everywhere; nothing if no files are lost that parity is of.
/// What fails on this rank is thrown once nobody waits for its messages, before a reduction.
std::optional<Store::Loss> Store::find_loss() {
  if (comm_.all_reduce(parities_.empty() ? 0 : 1, Reduce::max) == 0) return std::nullopt;
  std::optional<Error> failed;
  std::vector<Message> outgoing;
  attempt_into(failed, [&] { outgoing = journals_of_others(); });
  std::int64_t lost = 0;
  attempt_into(failed, [&] {
    sparse_exchange(comm_, outgoing, [&](Rank, std::span<const std::byte> bytes) {
      for (const Member& mine : all_of<Member>(bytes)) lost |= has_lost(mine) ? 1 : 0;
    });
  });
  if (failed) throw *failed;
  Loss loss;
  const auto gathered = [&](bool with_me) {
    std::vector<std::int64_t> sizes;
    const std::vector<Rank> me(with_me ? 1 : 0, comm_.rank());
    return all_of<Rank>(comm_.all_gather_bytes(raw_of(me), sizes));
  };
  if (comm_.all_reduce(lost, Reduce::max) == 0) return std::nullopt;
  // From here to the end of the exchange nobody may leave: the others would wait for its messages.
  std::vector<Rank> ranks;
  Offers offers;
  outgoing.clear();
  attempt_into(failed, [&] { ranks = gathered(lost != 0); });
  attempt_into(failed, [&] {
    outgoing = offers_to(ranks);
    for (const Message& message : outgoing) loss.told.push_back(message.to);
  });
  attempt_into(failed, [&] {
    sparse_exchange(comm_, outgoing, [&](Rank rank, std::span<const std::byte> bytes) {
      for (logged::Parser from(bytes); from.left() > 0;) {
        StateId id;
        id.kind = static_cast<Kind>(from.fixed<std::uint8_t>());
        id.step = from.count();
        ParityTable table = parse_table(from.take(from.items(1)));
        Offer& offer = offers[{id, table.group}];
        offer.table = std::move(table);
        offer.from.push_back(rank);
      }
    });
  });
  keep_first(failed, unread_error_);  // or this rank would help with too little
  if (failed) throw *failed;
  loss.plan = plan_for(offers, ranks);
  loss.ranks = gathered(!loss.plan.empty());
  return loss;
}

/// Returns what this rank makes again. All groups that have a state's newest value are in it, since
/// a power failure may have left a new segment without its bytes and the old one intact.
std::vector<Store::Loss::Item> Store::plan_for(const Offers& offers,
                                               const std::vector<Rank>& lost) const {
  std::vector<Loss::Item> plan;
  for (auto it = offers.begin(); it != offers.end();) {
    const StateId id = it->first.first;
    std::vector<Loss::Item> of_state;
    std::optional<Rank> missing;
    std::uint64_t newest = 0;
    for (; it != offers.end() && it->first.first == id; ++it) {
      const auto& [table, from] = it->second;
      const Member& mine = *table.find(comm_.rank());
      // What is here is not lost, and what this rank dropped itself is not wanted.
      if (states_.find(id) || !has_lost(mine)) continue;
      if (from.size() + 1 == table.members.size()) {
        of_state.push_back({id, table.group, mine, table.chunk(), std::ssize(table.members)});
        newest = std::max(newest, mine.serial);
      }
      for (const Member& member : table.members)
        if (member.rank != comm_.rank() &&
            std::find(from.begin(), from.end(), member.rank) == from.end() &&
            std::binary_search(lost.begin(), lost.end(), member.rank))
          missing = member.rank;
    }
    // Without a whole group the state was replaced or dropped since, on some rank: it is no common
    // state any more. Or else it is lost.
    if (of_state.empty() && missing)
      throw Error(Errc::einval,
                  name_ + ": ranks " + std::to_string(comm_.rank()) + " and " +
                      std::to_string(*missing) +
                      ", which keep parity for each other, both have lost files",
                  "bring those of one of them back, or remove those of all ranks to begin anew");
    for (const Loss::Item& item : of_state)
      if (item.lost.serial == newest) plan.push_back(item);  // others have an older value
  }
  return plan;
}

/// Collective.
void Store::recover(const Loss& loss) {
  for (const Rank lost : loss.ranks) {
    const bool helps = std::find(loss.told.begin(), loss.told.end(), lost) != loss.told.end();
    const bool takes_part = helps || lost == comm_.rank();
    const Comm set = comm_.split_leaders(takes_part);
    if (takes_part) together(set, [&] { recover_in(set, lost, loss.plan); });
  }
  if (!loss.ranks.empty())
    account_.note_reason("files of ranks " + joined(loss.ranks, ", ") +
                         " were lost: what the last sync had of them is made again from parity");
  synced_ = last_serial_;
  if (set_ranks_.empty()) return;
  together(set_, [&] { protect(); });
  comm_.barrier();  // ranks of other sets may have been in one of this rank's sets
  drop_older_parity();
}

/// Collective over a lost rank, whose plan it is, and those that have parity of it.
void Store::recover_in(const Comm& set, Rank lost, const std::vector<Loss::Item>& its_plan) {
  const bool is_lost = comm_.rank() == lost;
  std::vector<Loss::Item> plan;
  Rank root = 0;
  // After this ranks wait for each other in exchanges, which are no reductions.
  together(set, [&] {
    if (is_lost) plan = its_plan;
    root = static_cast<Rank>(set.all_reduce(is_lost ? set.rank() : -1, Reduce::max));
    set.broadcast(plan, root);
  });
  std::optional<StateId> given;
  for (const Loss::Item& item : plan) {
    if (given == item.id) continue;  // by another group
    if (gives_back(item, set, lost, root)) given = item.id;
  }
  agree_on_error(set, attempt_to([&] {
                   if (!is_lost) return;
                   note_not_given(plan);
                   if (fast_) fast_->sync();
                   directory_->sync();
                 }));
}

/// Collective over the same ranks. Makes a state again on the rank `lost`, which is `root` in the
/// set. Returns false on all ranks if what comes out is not that state: a segment, or a state of
/// another rank, is damaged.
bool Store::gives_back(const Loss::Item& item, const Comm& set, Rank lost, Rank root) {
  const bool is_lost = comm_.rank() == lost;
  const auto n = static_cast<std::size_t>(item.members);
  const Parity* const parity = is_lost ? nullptr : usable(item.id, item.group);
  std::optional<BlobReader> mine;
  RawBytes blob;
  std::size_t me = 0;
  std::optional<Error> failed = attempt_to([&] {
    if (is_lost) {
      blob.resize((n - 1) * static_cast<std::size_t>(item.chunk));
      std::fill(blob.begin(), blob.end(), std::byte{0});
    } else if (parity) {
      const StatePtr state = states_.find(item.id);
      me = parity->table.place_of(comm_.rank());
      mine.emplace(state->record, item.group, *files(state->tier));
    }
  });
  std::vector<Message> outgoing;
  each_window(item.chunk, (n - 1) * (n - 1), [&](Offset offset, Count size) {
    outgoing.clear();
    attempt_into(failed, [&] {
      if (failed || !parity) return;
      const std::size_t its = parity->table.place_of(lost);
      std::vector<std::byte> part;
      for (std::size_t j = 0; j < n; ++j) {
        if (j == its) continue;
        // It begins with the chunk of the lost rank that it is for.
        Message to{root, std::vector<std::byte>(sizeof(std::uint64_t))};
        store_be(to.bytes.data(), static_cast<std::uint64_t>(chunk_in_segment(its, j, n)));
        if (j == me) {
          part.resize(static_cast<std::size_t>(size));
          read_segment(*parity, offset, part);
        } else {
          const auto first = static_cast<Count>(chunk_in_segment(me, j, n)) * item.chunk;
          mine->read(first + offset, size, part);
        }
        to.bytes.insert(to.bytes.end(), part.begin(), part.end());
        outgoing.push_back(std::move(to));
      }
    });
    attempt_into(failed, [&] {
      sparse_exchange(set, outgoing, [&](Rank, std::span<const std::byte> bytes) {
        const auto which = load_be<std::uint64_t>(bytes.data());
        bytes = bytes.subspan(sizeof which);
        const std::size_t at =
            static_cast<std::size_t>(which) * static_cast<std::size_t>(item.chunk) +
            static_cast<std::size_t>(offset);
        if (at + bytes.size() <= blob.size()) add_xor(std::span(blob).subspan(at), bytes);
      });
    });
  });
  std::int64_t is_damaged = 0;
  if (is_lost && !failed) {
    failed = attempt_to([&] { restore_state(item.id, item.group, item.lost, std::move(blob)); });
    if (failed && failed->code() == Errc::ebadlog) {
      failed.reset();
      is_damaged = 1;
    }
  }
  agree_on_error(set, failed, std::span(&is_damaged, 1), Reduce::max);
  return is_damaged == 0;
}

/// Notes the states of the plan that are not there. Errc::ebadlog if that leaves this rank with no
/// state at all: then nothing is dropped on the others.
void Store::note_not_given(const std::vector<Loss::Item>& plan) {
  std::set<StateId> lost;
  for (const Loss::Item& item : plan)
    if (!states_.find(item.id) && lost.insert(item.id).second)
      damage_.push_back("parity does not give back " + words_for(item.id) +
                        ": a segment, or another rank's state, is damaged");
  if (lost.empty() || !states_.all().empty()) return;
  throw Error(Errc::ebadlog,
              name_ + ": parity gives back no state of rank " + std::to_string(comm_.rank()) +
                  ", whose files are lost",
              "bring its files back, or remove those of all ranks to begin anew");
}

void Store::read_segment(const Parity& parity, Offset offset, std::span<std::byte> into) const {
  const Record& record = parity.record;
  files(parity.tier)->read(record.place + record.parts[0].stored_bytes() + offset, into);
}

void Store::restore_state(StateId id, std::uint64_t group, const Member& lost, RawBytes blob) {
  if (lost.bytes > std::ssize(blob)) logged::damaged("parity that is shorter than its state");
  blob.resize(static_cast<std::size_t>(lost.bytes));
  std::size_t at = 0;
  Record record = parse_blob(blob, group, id, lost.serial, at);
  std::vector<iovec> pieces;
  for (const Part& part : record.parts) {
    const auto bytes = static_cast<std::size_t>(part.stored_bytes());
    pieces.push_back({blob.data() + at, bytes});
    at += bytes;
  }
  const auto tier =
      keep_in_files(record, Tier::fast, [&](FileTier& to) { to.add(record, pieces, team_); });
  if (!tier)
    throw Error(Errc::eno_space, words_for(id) + ", made again from parity, has room in no tier",
                "give checkpoints more room");
  const Lock lock(mutex_);
  last_serial_ = std::max(last_serial_, lost.serial);
  const auto state = std::make_shared<State>();
  state->record = std::move(record);
  state->tier = state->pushed = *tier;
  states_.add(state);
}

}  // namespace forebay::checkpoint
