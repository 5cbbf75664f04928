// Redundancy: keeps the parity of states after a sync, and makes states of lost files again when a
// store is opened (checkpoints/parity.h).
//
// Segments of a new group are on the device of all ranks of a set before any rank drops an older
// one. A lost rank is one whose journal is not the one that segments of others name, by its
// session. So a kill while states are made again is no harm: the next opening makes those that are
// missing.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
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

/// Notes a segment that was found in files. What cannot be read is dropped.
void Store::take_parity(Tier tier, Record record) {
  FileTier& from = *files(tier);
  ParityTable table;
  const auto failed = attempt_to([&] {
    const Part& part = record.parts.at(0);
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.raw_bytes()));
    const auto fetch = [&](Count offset, std::span<std::byte> into) {
      from.read(record.place + offset, into);
    };
    decode(part, fetch, bytes, team_, words_for(record.id) + " (" + from.path() + ")");
    table = parse_table(bytes);
    if (record.parts.size() != 2 || record.parts[1].raw_bytes() != table.chunk() ||
        !table.find(comm_.rank()))
      logged::damaged(words_for(record.id) + " of other ranks");
  });
  if (failed) {
    damage_.push_back(failed->message());
    return from.drop(record.serial, true);
  }
  parity_bytes_[static_cast<std::size_t>(tier)] += record.bytes;
  auto& all = parities_[{covered_by(record.id.kind), record.id.step}];
  const auto later = std::find_if(all.begin(), all.end(), [&](const Parity& other) {
    return other.record.serial > record.serial;
  });
  all.insert(later, {std::move(record), tier, std::move(table)});
}

/// Drops the parity of a state, but not the newest `newest_kept`. The caller holds the lock.
void Store::drop_parity(StateId id, std::size_t newest_kept) {
  const auto found = parities_.find(id);
  if (found == parities_.end()) return;
  auto& all = found->second;
  while (all.size() > newest_kept) {
    const Parity& oldest = all.front();
    parity_bytes_[static_cast<std::size_t>(oldest.tier)] -= oldest.record.bytes;
    discard(oldest.tier, oldest.record.serial, true);
    all.erase(all.begin());
  }
  if (all.empty()) parities_.erase(found);
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

/// Returns whether this rank has a segment for the state as it is now, and as its files are now.
bool Store::is_covered(const State& state) const {
  const auto found = parities_.find(state.record.id);
  if (found == parities_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Parity& parity) {
    const auto& members = parity.table.members;
    const Member* const mine = parity.table.find(comm_.rank());
    return mine->serial == state.record.serial && !has_lost(*mine) &&
           std::equal(members.begin(), members.end(), set_ranks_.begin(), set_ranks_.end(),
                      [](const Member& member, Rank rank) { return member.rank == rank; });
  });
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
void Store::protect() {
  std::vector<StateId> missing;
  {
    const Lock lock(mutex_);
    for (const auto& [id, state] : states_.all())
      if (!is_covered(*state)) missing.push_back(id);
  }
  std::vector<std::int64_t> sizes;
  missing = all_of<StateId>(set_.all_gather_bytes(raw_of(missing), sizes));
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) return;
  std::uint64_t group = random_number() >> 1 | 1;
  set_.broadcast(&group, sizeof group);
  std::vector<Member> mine;
  {
    const Lock lock(mutex_);
    for (const StateId& id : missing) {
      const StatePtr state = states_.find(id);
      mine.push_back(state ? my_member(state->record) : Member{comm_.rank(), 0, 0, {}});
    }
  }
  const auto all = all_of<Member>(set_.all_gather_bytes(raw_of(mine), sizes));
  for (std::size_t i = 0; i < missing.size(); ++i) {
    ParityTable table{group + i, {}};
    for (std::size_t m = 0; m < set_ranks_.size(); ++m)
      table.members.push_back(all[m * missing.size() + i]);
    const bool is_common = std::all_of(table.members.begin(), table.members.end(),
                                       [](const Member& member) { return member.serial != 0; });
    if (is_common) make_parity(missing[i], table);
  }
  // Until here each rank has its older segments, too.
  agree_on_error(set_, attempt_to([&] {
                   if (fast_) fast_->sync();
                   directory_->sync();
                 }));
  const Lock lock(mutex_);
  for (const StateId& id : missing) drop_parity(id, 1);
}

/// Collective over the set. Sends each chunk of this rank's state to the rank whose segment it is
/// in.
void Store::make_parity(StateId id, const ParityTable& table) {
  const std::size_t n = table.members.size(), me = table.place_of(comm_.rank());
  const Count chunk = table.chunk();
  StatePtr state;
  RawBytes segment;
  std::vector<Message> outgoing(n - 1);
  std::optional<BlobReader> blob;
  std::optional<Error> failed = attempt_to([&] {
    state = hold(id);
    blob.emplace(state->record, table.group, *files(state->tier));
    segment.resize(static_cast<std::size_t>(chunk));
    std::fill(segment.begin(), segment.end(), std::byte{0});
  });
  const auto exchange = [&](Offset offset, Count size) {
    for (std::size_t k = 0; k + 1 < n; ++k) {
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
  attempt_into(failed, [&] {
    if (!failed) keep_parity(id, table, std::move(segment));
  });
  agree_on_error(set_, failed);
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

/// Collective. Returns the same ranks everywhere; nothing if no files are lost that parity is of.
std::optional<Store::Loss> Store::find_loss() {
  if (comm_.all_reduce(parities_.empty() ? 0 : 1, Reduce::max) == 0) return std::nullopt;
  // Each rank tells the others of its sets which journals they had.
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
  std::int64_t lost = 0;
  sparse_exchange(comm_, outgoing, [&](Rank, std::span<const std::byte> bytes) {
    for (const Member& mine : all_of<Member>(bytes)) lost |= has_lost(mine) ? 1 : 0;
  });
  Loss loss;
  std::vector<std::int64_t> sizes;
  const std::vector<Rank> me(lost != 0 ? 1 : 0, comm_.rank());
  loss.ranks = all_of<Rank>(comm_.all_gather_bytes(raw_of(me), sizes));
  if (loss.ranks.empty()) return std::nullopt;
  // Who has parity of a lost rank's states, and its own states beside, says so.
  outgoing.clear();
  for (const Rank rank : loss.ranks) {
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
    if (to.bytes().empty()) continue;
    loss.told.push_back(rank);
    outgoing.push_back({rank, std::move(to.bytes())});
  }
  struct Offer {
    ParityTable table;
    std::vector<Rank> from;
  };
  std::map<std::pair<StateId, std::uint64_t>, Offer> offers;
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
  for (const auto& [key, offer] : offers) {
    const auto& [id, group] = key;
    const Member& mine = *offer.table.find(comm_.rank());
    // What is here is not lost, and what this rank dropped itself is not wanted.
    if (states_.find(id) || !has_lost(mine)) continue;
    if (offer.from.size() + 1 < offer.table.members.size()) {
      for (const Member& member : offer.table.members)
        if (member.rank != comm_.rank() &&
            std::binary_search(loss.ranks.begin(), loss.ranks.end(), member.rank))
          throw Error(
              Errc::einval,
              name_ + ": ranks " + std::to_string(comm_.rank()) + " and " +
                  std::to_string(member.rank) +
                  ", which keep parity for each other, both have lost files",
              "bring those of one of them back, or remove those of all ranks to begin anew");
      continue;  // replaced or dropped since on some rank: it is no common state any more
    }
    const Loss::Item item{id, group, mine, offer.table.chunk(), std::ssize(offer.table.members)};
    if (!loss.plan.empty() && loss.plan.back().id == id) {
      if (loss.plan.back().lost.serial < mine.serial) loss.plan.back() = item;
    } else {
      loss.plan.push_back(item);
    }
  }
  return loss;
}

/// Collective.
void Store::recover(const Loss& loss) {
  for (const Rank lost : loss.ranks) {
    const bool helps = std::find(loss.told.begin(), loss.told.end(), lost) != loss.told.end();
    const bool is_mine = lost == comm_.rank() && !loss.plan.empty();
    const Comm set = comm_.split_leaders(helps || is_mine);
    if (helps || is_mine) recover_in(set, lost, loss);
  }
  account_.note_reason("files of ranks " + joined(loss.ranks, ", ") +
                       " were lost: what the last sync had of them is made again from parity");
  synced_ = last_serial_;
  if (!set_ranks_.empty()) protect();
}

/// Collective over a lost rank and those that have parity of it.
void Store::recover_in(const Comm& set, Rank lost, const Loss& loss) {
  const bool is_lost = comm_.rank() == lost;
  const auto root = static_cast<Rank>(
      set.all_reduce(is_lost && !loss.plan.empty() ? set.rank() : -1, Reduce::max));
  if (root < 0) return;
  std::vector<Loss::Item> plan = is_lost ? loss.plan : std::vector<Loss::Item>{};
  set.broadcast(plan, root);
  for (const Loss::Item& item : plan) {
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
    attempt_into(failed, [&] {
      if (is_lost && !failed) restore_state(item.id, item.group, item.lost, std::move(blob));
    });
    agree_on_error(set, failed);
  }
  agree_on_error(set, attempt_to([&] {
                   if (is_lost && fast_) fast_->sync();
                   if (is_lost) directory_->sync();
                 }));
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
