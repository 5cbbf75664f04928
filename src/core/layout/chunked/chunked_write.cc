// Writing of chunks (Hou 2023, §5.2.6).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/agree.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/chunked/chunked.h"

namespace forebay::chunked {

namespace {

/// All ranks know all accesses if these take at most this fraction of buffer_limit: 2 MiB of 64.
/// Processing them takes twice as much.
constexpr Count accesses_part = 32;

/// Converts a chunk from external form to the form that is encoded.
void turn(const PlannedChunk& c, Type type, std::span<std::byte> raw) {
  if (c.native) copy_swapped(raw.data(), raw.data(), raw.size(), size_of(type));
}

/// Writes extents of files in a thread, if the transports allow, while the caller continues.
class WriteBehind {
 public:
  explicit WriteBehind(Report& report) : report_(report) {}
  ~WriteBehind() {
    if (thread_.joinable()) thread_.join();
  }
  void start(std::vector<std::pair<ExtentIo*, std::vector<Extent>>>&& extents, bool alone) {
    writes_.clear();
    for (auto& [io, its] : extents)
      if (!its.empty()) writes_.push_back({io, ListStream(std::move(its))});
    if (writes_.empty()) return;
    for (const Write& write : writes_) alone = alone || !write.io->ready_beside_mpi();
    if (!alone) {
      beside_ = report_.beside();
      try {
        thread_ = std::thread([this] {
          failure_ = attempt_to([&] {
            for (Write& write : writes_) write.io->write_beside(write.stream, beside_);
          });
        });
        return;
      } catch (const std::system_error&) {
        // No thread can be created, so the caller writes.
      }
    }
    for (Write& write : writes_) write.io->write(write.stream);
  }
  std::optional<Error> wait() {
    if (thread_.joinable()) {
      thread_.join();
      auto failed = attempt_to([&] { report_.take_over(beside_); });
      if (!failure_) failure_ = std::move(failed);
    }
    return std::exchange(failure_, std::nullopt);
  }

 private:
  struct Write {
    ExtentIo* io;
    ListStream stream;
  };
  Report& report_;
  // These belong to the thread while it runs.
  std::vector<Write> writes_;
  Report beside_;
  std::thread thread_;
  std::optional<Error> failure_;
};

}  // namespace

void ChunkedLayout::write_together(std::span<Request> requests) {
  std::optional<Error> refused;
  const auto good = usable(requests, refused);
  Operation op;
  op.requests = good;
  ValueRanges ranges;
  {
    StepTimer timer(report_, Step::plan);
    const FileWrites writes[] = {{this, good}};
    settle_shapes(comm_, writes);
    op.touches = find_touches(
        op.requests, op.finder, [&](VarId v) -> auto& { return coding(v).grid; });
    for (const Request& r : good) note_range(r, ranges);
  }
  write_and_publish(op, std::move(ranges));
  if (refused) throw *refused;
}

void ChunkedLayout::note_range(const Request& write, ValueRanges& ranges) {
  const VariableCoding& v = coding(write.var);
  if (v.pipeline.wants_range()) ranges.add(write, v.type, missing_rule(variable(write.var)).get());
}

void ChunkedLayout::write_and_publish(Operation& op, ValueRanges ranges) {
  {
    StepTimer timer(report_, Step::plan);
    plan(op, true);
    std::vector<VarId> vars;
    for (const PlannedChunk& c : op.chunks)
      if ((vars.empty() || vars.back() != c.var) && coding(c.var).pipeline.wants_range())
        vars.push_back(c.var);
    if (!vars.empty()) ranges.share(comm_, vars);
  }
  const bool later = writes_later();
  const auto stores = changed_stores();
  if (op.chunks.empty()) return later ? void() : ChunkStore::publish(comm_, stores);
  const auto own = own_chunks(op);
  // A chunk to merge with may still be in another rank's queue.
  if (later && op.merges_unpublished)
    agree_on_error(comm_, attempt_to([&] { site_.later->drain(); }));
  Entries entries;
  std::optional<ChunkStore::WayBack> way_back;
  if (!joined_.empty()) way_back.emplace(stores);
  std::optional<BalancedWrite> balanced;
  prepare_rounds(op, own[0], entries, balanced);
  const auto change = [&] {
    ChunkStore::change(comm_, stores, [&] {
      auto failed = write_rounds(op, own, ranges, entries, balanced);
      StepTimer timer(report_, Step::header);
      return failed || later ? failed : ChunkStore::publish_changes(comm_, stores);
    });
  };
  const auto failed = attempt_to(change);
  if (!failed) return;
  for (const Joined& its : joined_) its.file->cache_.clear();  // it may have undone data
  throw *failed;
}

void ChunkedLayout::plan(Operation& op, bool write) {
  std::vector<Access> mine = own_accesses(op.touches);
  std::size_t at = 0;
  for (const Touch& t : op.touches) {
    while (mine[at].var != t.var || mine[at].id != t.id) ++at;
    if (t.bytes == coding(t.var).grid.bytes(t.id)) mine[at].flags |= covers_chunk;
    report_[write ? Counter::bytes_asked_write : Counter::bytes_asked_read] += t.bytes;
  }
  report_[Counter::requests] += static_cast<std::int64_t>(op.requests.size());
  const auto cost = [&](VarId var, Count id) -> ChunkWork {
    const VariableCoding& v = coding(var);
    const Count bytes = v.grid.bytes(id);
    return {bytes, static_cast<double>(bytes) *
                       (write ? v.pipeline.encode_work() : v.pipeline.decode_work())};
  };
  if (const auto all = gather_accesses(comm_, mine, options_.buffer_limit / accesses_part)) {
    adopt_accesses(op, *all);
    choose_owners(op, cost, comm_.size());
  } else {
    adopt_chunks(op, plan_at_homes(comm_, mine, cost), mine, comm_.rank());
  }
  find_chunks_of_touches(op);
  const auto has_parts = [&](const PlannedChunk& c) { return coding(c.var).parts() > 1; };
  if (write && std::ranges::any_of(op.chunks, has_parts))
    policy_of_parts()->deal(comm_, op, mine, has_parts);
  note_owners(op, cost);
  for (PlannedChunk& c : op.chunks) {
    // Merges with an existing chunk use a shared buffer on the owner's node.
    const bool merges = write && !(c.flags & covers_chunk) && first_entry(c.var, c.id).present();
    c.shared = c.shared || merges;
    // The cache of chunks has them in external form, and gets no lossy ones.
    const Pipeline& pipeline = coding(c.var).pipeline;
    c.native = write && pipeline.lossy() && pipeline.takes_native();
    op.merges_unpublished |= merges && first_entry(c.var, c.id).birth > store_.generation();
  }

  // A rank holds its shared chunks of a round, the encoded chunks of a round twice (one set is
  // being written), and the messages of a round. Shared buffers are small, so that they stay in the
  // processors' caches and cost little to set up (measured: docs/performance.md).
  constexpr Count node_share = Count{16} << 20, rank_share = Count{1} << 20;
  RoundLimits limits;
  limits.owned = options_.buffer_limit / 4;
  limits.shared =
      std::min({options_.buffer_limit / 4, std::max(rank_share, node_share / team().largest_node()),
                team().fair_room()});
  limits.sent = options_.buffer_limit / 4;
  limits.owners_send = !write;
  op.rounds = plan_rounds(op.chunks, {op.accesses, op.knows_all_accesses ? nullptr : &comm_},
                          comm_.size(), limits);
  most_rounds_ = std::max<std::int64_t>(most_rounds_, op.rounds);
  op.sort_by_round();
}

// Notes facts for the report.
void ChunkedLayout::note_owners(const Operation& op, const CostOf& cost) {
  std::vector<double> work(static_cast<std::size_t>(comm_.size()), 0);
  for (const PlannedChunk& c : op.chunks) {
    work[static_cast<std::size_t>(c.owner)] += cost(c.var, c.id).work;
    local_ += c.local;
    moved_ += c.moved();
  }
  const double mean = std::accumulate(work.begin(), work.end(), 0.0) / comm_.size();
  if (mean > 0)
    worst_balance_ = std::max(worst_balance_, *std::max_element(work.begin(), work.end()) / mean);
  ++operations_;
}

void ChunkedLayout::prepare_rounds(Operation& op, std::span<const std::uint32_t> first,
                                   Entries& entries, std::optional<BalancedWrite>& balanced) {
  StepTimer timer(report_, Step::exchange);
  team().make_room(op, 1);
  const auto error = attempt_to([&] {
    entries.first.reserve(op.chunks.size() + 1);
    std::size_t all = 0;
    for (const PlannedChunk& c : op.chunks) {
      entries.first.push_back(all);
      all += static_cast<std::size_t>(coding(c.var).parts());
    }
    entries.first.push_back(all);
    entries.list.resize(all);
    prepare_buffers(op, first);
    if (op.deferred) op.deferred->make_room(op);
    begin_balanced(op, balanced);
  });
  // After this, all buffers of the first round are ready, and ranks wait for each other without a
  // collective step.
  agree_on_error(comm_, error);
}

// Ranks send errors with the results of their chunks, so that all stop after the same round.
std::optional<Error> ChunkedLayout::write_rounds(Operation& op,
                                                 const std::vector<std::vector<std::uint32_t>>& own,
                                                 const ValueRanges& ranges, Entries& entries,
                                                 std::optional<BalancedWrite>& balanced) {
  const auto grid = [&](VarId v) -> const ChunkGrid& { return coding(v).grid; };
  for (const PlannedChunk& c : op.chunks) {
    VarId var = c.var;
    if (c.owner != comm_.rank()) file_of(var).cache_.drop(var, c.id);
  }
  std::optional<Error> mine, theirs;
  std::optional<Error> lost;  // set if this rank lacks places that other ranks know
  WriteBehind behind(report_);
  const bool later = writes_later();  // one background thread is enough
  const auto note = [&](std::optional<Error> error) {
    if (error && !mine) mine = std::move(error);
  };
  for (std::uint32_t round = 0; round < op.rounds && !theirs; ++round) {
    const bool last = round + 1 == op.rounds;
    if (op.deferred) note(attempt_to([&] { op.deferred->load(op, round); }));
    if (op.meets[round]) {
      // Owners have prepared their buffers, and have left those of the last round: since then all
      // ranks have agreed on places.
      note(attempt_to([&] { team().scatter(op, round, grid); }));
      // After the barrier, an owner's buffers of this round are complete, and only the owner uses
      // them.
      StepTimer timer(report_, Step::wait);
      team().node_barrier();
    }
    std::vector<StoredChunk> stored;
    if (!mine)
      note(attempt_to(
          [&] { stored = encode(op, own[round], ranges, entries, arenas_[round % 2], last); }));
    if (mine) stored.clear();
    attempt_to([&] { remember(op, own[round]); });  // without memory nothing is cached
    // This only touches this rank's part of the memory. Nobody else uses it until all agree on
    // places.
    if (!last) note(attempt_to([&] { prepare_buffers(op, own[round + 1]); }));
    if (balanced) {
      note(behind.wait());
      theirs = begin_windows(op, round, own[round], stored, mine, entries, *balanced);
      for (std::uint32_t window = 0; !theirs && window < balanced->gathered->windows(); ++window) {
        {
          StepTimer timer(report_, Step::exchange);
          note(attempt_to([&] { balanced->gathered->gather(window); }));
        }
        note(behind.wait());
        note(attempt_to([&] {
          behind.start({{&chunk_io(), balanced->gathered->runs(window)}}, last || later);
        }));
      }
      continue;
    }
    theirs = agree_on_places(op, round, stored, mine, entries, lost);
    note(behind.wait());
    if (theirs) break;
    note(lost);  // the others are told in the next round
    if (!lost)
      note(attempt_to(
          [&] { behind.start(extents_of(op, stored, own[round], entries), last || later); }));
  }
  note(behind.wait());
  if (lost) throw *lost;  // the indices of ranks differ
  auto outcome = worst_of_all(comm_, mine ? mine : theirs);
  if (balanced && !outcome) tell_places(op, own, *balanced, entries);
  for (std::size_t i = 0; i < op.chunks.size(); ++i) {
    const PlannedChunk& c = op.chunks[i];
    int part = 0;
    VarId var = c.var;
    ChunkedLayout& file = file_of(var);
    for (const Entry& entry : entries.of(i)) {
      if (!outcome) {
        file.store_.replace(var, file.coding(var).entry(c.id, part++), entry);
      } else if (entry.present()) {
        file.store_.give_back(entry, later);
      }
    }
    if (outcome) file.cache_.clear();
  }
  return outcome;
}

// Initialises the buffers of chunks that the owner's node will not fill completely: with the old
// chunk, or with fill values.
void ChunkedLayout::prepare_buffers(Operation& op, std::span<const std::uint32_t> own) {
  std::map<ChunkedLayout*, std::vector<Wanted>> old;
  std::vector<std::uint32_t> kept;
  {
    StepTimer timer(report_, Step::pack);
    for (const std::uint32_t i : own) {
      const PlannedChunk& c = op.chunks[i];
      if (!c.shared || (c.flags & covers_chunk)) continue;
      const std::span<std::byte> raw(team().buffer(c), static_cast<std::size_t>(c.bytes));
      VarId var = c.var;
      ChunkedLayout& file = file_of(var);
      if (!first_entry(c.var, c.id).present()) {
        fill_chunk(coding(c.var).fill, raw);
      } else if (const VariableCoding& v = coding(c.var);
                 v.pipeline.wants_range() || (v.parts() > 1 && v.pipeline.lossy())) {
        // Decoding gives the bound that the chunk must keep, which the cache does not have.
        kept.push_back(i);
        old[&file].push_back({var, c.id, raw, &op.kept[i]});
      } else if (const auto known = file.cache_.find(var, c.id)) {
        std::memcpy(raw.data(), known->data(), raw.size());
      } else {
        old[&file].push_back({var, c.id, raw});
      }
    }
  }
  for (auto& [file, wanted] : old) file->decode(wanted, tasks());
  for (const std::uint32_t i : kept) {
    const PlannedChunk& c = op.chunks[i];
    Operation::Kept& its = op.kept[i];
    const VariableCoding& v = coding(c.var);
    if (its.bound || !v.pipeline.wants_range()) continue;
    its.range = range_of_values(v.type, {team().buffer(c), static_cast<std::size_t>(c.bytes)},
                                missing_rule(variable(c.var)).get());
  }
  for (const std::uint32_t i : own) {
    const PlannedChunk& c = op.chunks[i];
    if (c.shared && !(c.flags & covers_chunk))
      turn(c, coding(c.var).type, {team().buffer(c), static_cast<std::size_t>(c.bytes)});
  }
}

// The information for encoding a chunk's values.
ChunkInfo ChunkedLayout::info_of(const Operation& op, std::uint32_t chunk,
                                 const ValueRanges& ranges, const MissingRules& rules) {
  const PlannedChunk& c = op.chunks[chunk];
  ChunkInfo info = coding(c.var).info(c.id);
  info.native = c.native;
  if (const auto rule = rules.find(c.var); rule != rules.end()) info.missing = rule->second;
  info.range = ranges.of(c.var);
  if (const auto kept = op.kept.find(chunk); kept != op.kept.end()) {
    info.bound = kept->second.bound;
    info.cut = kept->second.cut;
    if (kept->second.range && info.range) info.range = std::min(*info.range, *kept->second.range);
  }
  if (!info.cut && c.touched < c.bytes) info.cut = 0;
  return info;
}

// Places are multiples of FileSpace::unit. The rest of a unit is written, too, so that neighbours
// make one system call.
std::vector<ChunkedLayout::FileExtents> ChunkedLayout::extents_of(
    const Operation& op, std::span<const StoredChunk> stored, std::span<const std::uint32_t> own,
    const Entries& entries) {
  std::vector<FileExtents> all;
  auto next = stored.begin();
  if (stored.empty()) return all;
  for (const std::uint32_t i : own) {
    VarId var = op.chunks[i].var;
    ChunkedLayout& file = file_of(var);
    if (all.empty() || all.back().first != &file.chunk_io())
      all.emplace_back(&file.chunk_io(), std::vector<Extent>());
    for (const Entry& e : entries.of(i)) {
      const StoredChunk& part = *next++;
      if (!e.present()) continue;
      const bool whole_units = part.padded && file.store_.has_own_places();
      const Count length = whole_units ? round_up(e.bytes, FileSpace::unit) : e.bytes;
      all.back().second.push_back(
          {file.store_.in_file(e), length, const_cast<std::byte*>(part.bytes.data()), 0, 1});
    }
  }
  return all;
}

std::vector<StoredChunk> ChunkedLayout::encode(Operation& op, std::span<const std::uint32_t> own,
                                               const ValueRanges& ranges, const Entries& entries,
                                               Arena& arena, bool in_place) {
  StepTimer timer(report_, Step::encode);
  Count bytes = 0;
  std::vector<std::size_t> first;  // first part of each chunk
  std::size_t parts = 0;
  for (const std::uint32_t i : own) {
    bytes += arena_bytes(coding(op.chunks[i].var), op.chunks[i].id);
    first.push_back(parts);
    parts += entries.of(i).size();
  }
  arena.reset(bytes);
  MissingRules rules;  // built from attributes once, not for each chunk
  for (const std::uint32_t i : own) {
    const VarId var = op.chunks[i].var;
    if (!coding(var).pipeline.empty() && !rules.contains(var))
      rules.emplace(var, missing_rule(variable(var)));
  }
  std::vector<StoredChunk> stored(parts);
  if (!own.empty()) {
    for (const Touch& t : op.touches_of_round(op.chunks[own[0]].round))
      op.finder.positions(op.requests[t.request]);
  }
  tasks().run(own.size(), [&](std::size_t k, TaskSlot& slot) {
    const PlannedChunk& c = op.chunks[own[k]];
    const auto its = std::span(stored).subspan(first[k], entries.of(own[k]).size());
    const std::span<const std::byte> raw =
        c.shared ? std::span<const std::byte>(team_->buffer(c), static_cast<std::size_t>(c.bytes))
                 : collect(op, own[k], slot);
    encode_chunk(coding(c.var), info_of(op, own[k], ranges, rules), raw, arena,
                 c.shared && in_place, slot.workspace, its);
  });
  for (std::size_t k = 0; k < own.size(); ++k) {
    const PlannedChunk& c = op.chunks[own[k]];
    Count size = 0;
    for (const StoredChunk& part : std::span(stored).subspan(first[k], entries.of(own[k]).size()))
      size += std::ssize(part.bytes);
    ++report_[Counter::chunks_encoded];
    if (size == c.bytes) ++report_[Counter::chunks_raw];
    report_[Counter::bytes_encoded] += c.bytes;
    report_[Counter::bytes_stored] += size;
  }
  return stored;
}

// Builds a chunk from this rank's own pieces and fill values.
std::span<const std::byte> ChunkedLayout::collect(Operation& op, std::uint32_t chunk,
                                                  TaskSlot& slot) {
  const PlannedChunk& c = op.chunks[chunk];
  const VariableCoding& v = coding(c.var);
  const std::span<std::byte> raw = slot.chunk(c.bytes);
  if (!(c.flags & covers_chunk)) {
    fill_chunk(v.fill, raw);
    turn(c, v.type, raw);
  }
  for (const Touch& t : op.touches_of(chunk)) {
    const Request& r = op.requests[t.request];
    put_pieces(ChunkPieces(v.grid, r, t.id, op.finder.positions(r)), r, c.native, raw.data());
  }
  return raw;
}

ChunkedLayout::Told ChunkedLayout::Told::of(const StoredChunk& part, std::uint32_t file) {
  return {file, static_cast<Count>(part.bytes.size()), part.hash,
          part.skipped | static_cast<std::uint64_t>(part.bound) << bound_bit};
}

// How many bytes each rank tells of a round.
std::vector<std::int64_t> ChunkedLayout::bytes_told(const Operation& op, std::uint32_t round,
                                                    const Entries& entries) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm_.size()), sizeof(Told));
  for (const std::uint32_t i : op.of_round[round])
    sizes[static_cast<std::size_t>(op.chunks[i].owner)] +=
        static_cast<std::int64_t>(entries.of(i).size() * sizeof(Told));
  return sizes;
}

// All ranks learn the sizes of the encoded chunks of a round, and assign places in the same order.
std::optional<Error> ChunkedLayout::agree_on_places(const Operation& op, std::uint32_t round,
                                                    std::span<const StoredChunk> stored,
                                                    const std::optional<Error>& mine,
                                                    Entries& entries, std::optional<Error>& lost) {
  StepTimer timer(report_, Step::wait);
  std::vector<Told> tell;
  std::vector<std::int64_t> sizes;
  const auto failed = attempt_to([&] {
    sizes = bytes_told(op, round, entries);
    tell.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(comm_.rank())]) /
                sizeof(Told));
    tell[0].code_or_file = mine ? to_int(mine->code()) : 0;
    for (std::size_t i = 0; i < stored.size(); ++i) tell[i + 1] = Told::of(stored[i], 0);
  });
  team().node_barrier();  // sleeps while other ranks encode
  if (failed) throw *failed;
  const auto all = comm_.all_gather_known(std::as_bytes(std::span(tell)), sizes);
  // From here on every rank must enter the next round: the others wait for it there without a
  // collective step.
  std::int64_t worst = 0;
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    Told first;
    std::memcpy(&first, all.data() + at, sizeof first);
    worst = std::min(worst, first.code_or_file);
    at += static_cast<std::size_t>(size);
  }
  if (worst != 0) return worst_of_all(comm_, mine);  // with its message
  lost = attempt_to([&] { take_places(op, round, all, sizes, entries); });
  return std::nullopt;
}

void ChunkedLayout::take_places(const Operation& op, std::uint32_t round,
                                std::span<const std::byte> told,
                                std::span<const std::int64_t> sizes, Entries& entries) {
  std::vector<std::size_t> next;  // for each rank, in `told`
  next.reserve(sizes.size());
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    next.push_back(at + sizeof(Told));
    at += static_cast<std::size_t>(size);
  }
  std::size_t most_parts = 0;
  for (const std::uint32_t i : op.of_round[round]) {
    std::size_t& its = next[static_cast<std::size_t>(op.chunks[i].owner)];
    VarId var = op.chunks[i].var;
    ChunkedLayout& file = file_of(var);
    most_parts = std::max(most_parts, entries.of(i).size());
    for (Entry& e : entries.of(i)) {
      Told t;
      std::memcpy(&t, told.data() + its, sizeof t);
      its += sizeof t;
      e.bytes = t.bytes;
      e.hash = t.hash;
      e.skipped = static_cast<std::uint32_t>(t.skipped);
      file.lossy_.note(var, e.skipped,
                       static_cast<EncodedChunk::Bound>(t.skipped >> Told::bound_bit));
      if (files_)
        e.file = files_->balanced() ? static_cast<std::uint32_t>(t.code_or_file)
                                    : files_->file_of(op.chunks[i].owner);
    }
    if (auto& owners = file.owners_) owners->note(var, op.chunks[i].id, op.chunks[i].owner);
  }
  const auto place = [&](std::uint32_t chunk, Entry& e) {
    VarId var = op.chunks[chunk].var;
    if (e.bytes > 0)
      e.offset = file_of(var).store_.place_for(var, op.chunks[chunk].id, e);
    else
      e = {};
  };
  // The parts of a level lie together, or the parts of a chunk.
  const bool by_level = most_parts > 1 && policy_of_parts()->stores_by_level(site_.method);
  for (std::size_t part = 0; part < (by_level ? most_parts : 1); ++part) {
    for (const std::uint32_t i : op.of_round[round]) {
      const auto its = entries.of(i);
      if (!by_level) {
        for (Entry& e : its) place(i, e);
      } else if (part < its.size()) {
        place(i, its[part]);
      }
    }
  }
}

// Caches chunks that were written in part, since they are likely to be written again soon.
void ChunkedLayout::remember(Operation& op, std::span<const std::uint32_t> own) {
  // All cached versions are outdated, even if there is no memory for new ones.
  for (const std::uint32_t i : own) {
    VarId var = op.chunks[i].var;
    file_of(var).cache_.drop(var, op.chunks[i].id);
  }
  for (const std::uint32_t i : own) {
    const PlannedChunk& c = op.chunks[i];
    VarId var = c.var;
    ChunkCache& cache = file_of(var).cache_;
    if (cache.limit() == 0) continue;
    if (!c.shared || 2 * c.touched > c.bytes || coding(c.var).lossy()) continue;
    const std::byte* raw = team().buffer(c);
    cache.keep(var, c.id, std::make_shared<std::vector<std::byte>>(raw, raw + c.bytes));
  }
}

}  // namespace forebay::chunked
