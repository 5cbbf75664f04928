// Reading of chunks (Hou 2023, §5.2.7).
#include <algorithm>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/chunked/chunked.h"
#include "layout/chunked/unpack.h"
#include "plan/chunk_read.h"

namespace forebay::chunked {

namespace {

constexpr Count read_batch = Count{4} << 20;  // bytes of chunks that a thread reads at a time

// Combines the facts that each rank knows from its own accesses.
void add_up(const Comm& comm, std::span<ReadFacts> facts) {
  std::vector<std::int64_t> sums, busiest;
  for (const ReadFacts& f : facts) {
    sums.insert(sums.end(), {f.repeated_bytes, f.moved_bytes});
    busiest.push_back(f.busiest_rank_bytes);
  }
  comm.all_reduce(sums, Reduce::sum);
  comm.all_reduce(busiest, Reduce::max);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].repeated_bytes = sums[2 * i];
    facts[i].moved_bytes = sums[2 * i + 1];
    facts[i].busiest_rank_bytes = busiest[i];
  }
}

// The memory that the parts of a level need for reading, before their sizes are checked.
Count claimed_bytes(const VariableCoding& coding, const ChunkTable& table, Count id) {
  const Count most = coding.most_bytes(id);
  Count bytes = 0;
  for (int part = 0; part < coding.parts_needed(); ++part)
    bytes += std::clamp<Count>(table.get(coding.entry(id, part)).bytes, 0, most);
  return bytes;
}

}  // namespace

void ChunkedLayout::read_together(std::span<Request> requests, std::optional<Error> failed) {
  std::optional<Error> refused;
  const auto good = usable(requests, refused);
  Operation op;
  op.requests = good;
  std::vector<Touch> by_myself;
  std::vector<bool> everyone;
  std::optional<Error> unknown;  // places that cannot be read
  {
    StepTimer timer(report_, Step::plan);
    const auto all = find_touches(
        op.requests, op.finder, [&](VarId v) -> auto& { return coding(v).grid; });
    // Chunks that were never written are fill values, so every rank handles its own.
    for (const Touch& t : all)
      attempt_into(unknown, [&] {
        (first_entry(t.var, t.id).present() ? op.touches : by_myself).push_back(t);
      });
    plan(op, false);
    everyone = choose_read_plans(op);
  }
  std::vector<Touch> shared;
  for (const Touch& t : op.touches) {
    const bool alone = everyone[static_cast<std::size_t>(t.var)] || !op.chunks[t.chunk].shared;
    (alone ? by_myself : shared).push_back(t);
  }
  op.touches = std::move(shared);
  std::sort(by_myself.begin(), by_myself.end(), [](const Touch& a, const Touch& b) {
    return a.var != b.var ? a.var < b.var : a.id < b.id;
  });
  auto failure = attempt_to([&] { read_locally(op.requests, by_myself, op.finder); });
  if (!failure) failure = std::move(unknown);
  if (!failure) failure = std::move(failed);
  for (PlannedChunk& c : op.chunks)
    c.shared = c.shared && !everyone[static_cast<std::size_t>(c.var)];
  op.sort_by_round();
  read_rounds(op, std::move(failure));
  if (refused) throw *refused;
}

std::vector<bool> ChunkedLayout::choose_read_plans(const Operation& op) {
  std::vector<VarId> vars;
  std::vector<ReadFacts> facts;  // of each of them, as far as this rank knows
  std::vector<Count> owned(static_cast<std::size_t>(comm_.size())), touched(owned);
  std::size_t a = 0;
  for (std::size_t i = 0; i < op.chunks.size();) {
    const VarId var = vars.emplace_back(op.chunks[i].var);
    ReadFacts& f = facts.emplace_back();
    f.ranks = comm_.size();
    f.processors = team().processors() * team().nodes();
    f.decode_work = coding(var).pipeline.decode_work();
    std::fill(owned.begin(), owned.end(), 0);
    std::fill(touched.begin(), touched.end(), 0);
    for (; i < op.chunks.size() && op.chunks[i].var == var; ++i) {
      const PlannedChunk& c = op.chunks[i];
      f.distinct_bytes += c.bytes;
      owned[static_cast<std::size_t>(c.owner)] += c.bytes;
      for (; a < op.accesses.size() && op.accesses[a].chunk == i; ++a) {
        const Rank rank = op.accesses[a].rank;
        f.repeated_bytes += c.bytes;
        touched[static_cast<std::size_t>(rank)] += c.bytes;
        if (rank != c.owner && !team().same_node(rank, c.owner))
          f.moved_bytes += op.accesses[a].bytes;
      }
    }
    f.busiest_owner_bytes = *std::max_element(owned.begin(), owned.end());
    f.busiest_rank_bytes = *std::max_element(touched.begin(), touched.end());
  }
  if (!op.knows_all_accesses) add_up(comm_, facts);
  std::vector<bool> everyone(schema_.vars.size(), true);
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const ReadPlan chosen = options_.read_plan.value_or(choose_read_plan(facts[i]));
    const bool owners = chosen == ReadPlan::owners;
    everyone[static_cast<std::size_t>(vars[i])] = !owners;
    ++(owners ? by_owners_ : by_everyone_);
  }
  return everyone;
}

void ChunkedLayout::read_rounds(Operation& op, std::optional<Error> failure) {
  if (std::all_of(op.chunks.begin(), op.chunks.end(),
                  [](const PlannedChunk& c) { return !c.shared; }))
    return agree_on_error(comm_, failure);
  std::vector<std::vector<std::uint32_t>> own;
  {
    StepTimer timer(report_, Step::exchange);
    team().make_room(op, 2);
    // After this, ranks wait for each other without a collective step.
    agree_on_error(comm_, attempt_to([&] { own = own_chunks(op); }));
  }
  const auto grid = [&](VarId v) -> const ChunkGrid& { return coding(v).grid; };
  for (std::uint32_t round = 0; round < op.rounds; ++round) {
    if (!op.meets[round]) continue;
    attempt_into(failure, [&] {
      std::vector<Wanted> wanted;
      for (const std::uint32_t i : own[round]) {
        const PlannedChunk& c = op.chunks[i];
        if (c.shared)
          wanted.push_back({c.var, c.id, {team().buffer(c), static_cast<std::size_t>(c.bytes)}});
      }
      decode(wanted, tasks());
    });
    {
      // After this barrier, the buffers of this round are complete, and nobody still reads those of
      // the previous round with shared chunks. So the next such round may fill that half, and no
      // other (Operation::met).
      StepTimer timer(report_, Step::wait);
      team().node_barrier();
    }
    attempt_into(failure, [&] { team().gather(op, round, grid); });
  }
  agree_on_error(comm_, failure);
}

// The stored bytes of chunks. Each file is read in one operation.
class ChunkedLayout::StoredBytes {
 public:
  /// `one` is the coding at a coarser level of the variable of all keys; null: full resolution.
  StoredBytes(ChunkedLayout& layout, std::span<const Key> keys, const VariableCoding* one = nullptr)
      : one_(one) {
    std::size_t total = 0;
    for (std::size_t key = 0; key < keys.size(); ++key) {
      const auto& [var, id] = keys[key];
      const VariableCoding& coding = coding_of(layout, var);
      const Count most = coding.most_bytes(id);
      first_.push_back(parts_.size());
      Count its = 0;
      for (int part = 0; part < coding.parts_needed(); ++part) {
        const Entry& e = layout.store_.table(var).get(coding.entry(id, part));
        places_.push_back({key, total});
        // Larger sizes are refused below.
        const auto bytes = static_cast<std::size_t>(std::clamp<Count>(e.bytes, 0, most));
        entries_.push_back(e);
        parts_.push_back({nullptr, {static_cast<const std::byte*>(nullptr), bytes}});
        total += bytes;
        its += std::clamp<Count>(e.bytes, 0, most + 1);
      }
      check_size(coding, layout.name_of(var), id, its);
    }
    first_.push_back(parts_.size());
    layout.stored_.reset(static_cast<Count>(total));
    memory_ = layout.stored_.take(total);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      parts_[i] = {&entries_[i], {memory_ + places_[i].at, parts_[i].bytes.size()}};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].entry->present()) order.push_back(i);
    const auto file_of = [&](std::size_t i) { return parts_[i].entry->file; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return file_of(a) < file_of(b); });
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::find_if(first, order.end(),
                                     [&](std::size_t i) { return file_of(i) != file_of(*first); });
      read(layout, keys, {first, last});
      first = last;
    }
  }
  /// The parts of the key with that number.
  std::span<const StoredPart> parts(std::size_t i) const {
    return std::span(parts_).subspan(first_[i], first_[i + 1] - first_[i]);
  }

 private:
  struct Place {
    std::size_t key;
    std::size_t at;
  };
  const VariableCoding& coding_of(ChunkedLayout& layout, VarId var) const {
    return one_ != nullptr ? *one_ : layout.coding(var);
  }
  /// Reads parts of one file.
  void read(ChunkedLayout& layout, std::span<const Key> keys, std::span<const std::size_t> those) {
    LookedAt file;
    std::vector<Extent> extents;
    for (const std::size_t i : those) {
      const auto& [var, id] = keys[places_[i].key];
      const Entry& e = *parts_[i].entry;
      check_place(coding_of(layout, var), layout.name_of(var), id, e,
                  layout.store_.table(var).boxes,
                  std::numeric_limits<Offset>::max() - layout.store_.in_file(0),
                  layout.files_ ? &layout.files_->to_read() : nullptr, file);
      extents.push_back({layout.store_.in_file(e), e.bytes, memory_ + places_[i].at, 0, 1});
    }
    ListStream stream(std::move(extents));
    if (stream.summary().empty()) return;
    const VarId var = keys[places_[those.front()].key].first;
    const bool one = keys[places_[those.back()].key].first == var;
    naming("chunks of variable " + layout.name_of(var) + (one ? "" : " and others"), [&] {
      if (!file.file) return layout.io_.read(stream);
      layout.site_.read(*file.file, stream, layout.site_.method.hole_threshold, layout.report_);
    });
  }
  const VariableCoding* one_;
  std::vector<Entry> entries_;  // of each part, as a table may forget those that it has read
  std::vector<StoredPart> parts_;
  std::vector<Place> places_;       // of each part
  std::vector<std::size_t> first_;  // first part of each key, and one past the last
  std::byte* memory_;               // the layout's, used by one object at a time
};

void ChunkedLayout::decode(std::span<const Wanted> wanted, TaskTeam& team) {
  if (wanted.empty()) return;
  std::vector<Key> keys;
  for (const Wanted& w : wanted) keys.emplace_back(w.var, w.id);
  const StoredBytes stored(*this, keys);
  StepTimer timer(report_, Step::decode);
  report_[Counter::chunks_decoded] += static_cast<std::int64_t>(wanted.size());
  team.run(wanted.size(), [&](std::size_t i, TaskSlot& slot) {
    const Wanted& w = wanted[i];
    const auto bound =
        decode_chunk(coding(w.var), name_of(w.var), w.id, stored.parts(i), w.raw, slot.workspace);
    if (w.kept == nullptr) return;
    w.kept->bound = bound;
    if (coding(w.var).parts() == 1) return;
    const LevelFacts facts = coding(w.var).pipeline.level_facts(stored.parts(i)[0].bytes);
    if (facts.lossy) w.kept->cut = facts.finest_error;
  });
}

// As read_locally, for one request at a coarser level.
void ChunkedLayout::read_level(Request& request) {
  if (request.elements == 0) return;
  const VarId var = request.var;
  const VariableCoding v = make_coding_of(var, request.level);
  TouchFinder finder;
  const auto touches = finder.find(v.grid, request);
  const auto positions = finder.positions(request);
  const Count limit = std::min<Count>(options_.buffer_limit / 4, tasks().threads() * read_batch);
  for (std::size_t at = 0; at < touches.size();) {
    std::vector<Key> keys;
    std::vector<std::ptrdiff_t> stored_at;
    const std::size_t first = at;
    Count held = 0;
    for (; at < touches.size() && (at == first || held < limit); ++at) {
      // The stored parts of a coarse level may be larger than the level.
      const Count id = touches[at].chunk;
      held += std::max(v.grid.bytes(id), claimed_bytes(v, store_.table(var), id));
      const bool there = first_entry(var, touches[at].chunk).present();
      stored_at.push_back(there ? std::ssize(keys) : -1);
      if (there) keys.emplace_back(var, touches[at].chunk);
    }
    const StoredBytes stored(*this, keys, &v);
    StepTimer timer(report_, Step::decode);
    report_[Counter::chunks_decoded] += static_cast<std::int64_t>(keys.size());
    tasks().run(at - first, [&](std::size_t i, TaskSlot& slot) {
      const Count id = touches[first + i].chunk;
      Chunk chunk{v, name_of(var), id, {}};
      if (stored_at[i] >= 0) chunk.parts = stored.parts(static_cast<std::size_t>(stored_at[i]));
      unpack(
          chunk,
          Part(ChunkPieces(v.grid, request, id, positions), Target(request.packed, request.swap)),
          slot);
    });
  }
}

// Reads chunk after chunk, as many at a time as the limit allows. Each is decoded and its pieces
// are copied while it is in the processor's cache.
void ChunkedLayout::read_locally(std::span<Request> requests, std::span<const Touch> touches,
                                 TouchFinder& finder) {
  // Few enough to stay in the processor's cache until their pieces are copied.
  const Count limit = std::min<Count>(options_.buffer_limit / 4, tasks().threads() * read_batch);
  std::optional<Error> failure;
  for (std::size_t at = 0; at < touches.size();) {
    std::vector<LocalRead> items;
    std::vector<Key> keys;
    Count held = 0;
    while (at < touches.size()) {
      const Key key{touches[at].var, touches[at].id};
      const VariableCoding& v = coding(key.first);
      if (!items.empty() && held + v.grid.bytes(key.second) > limit) break;
      held += v.grid.bytes(key.second);
      const std::size_t first = at;
      for (; at < touches.size() && Key{touches[at].var, touches[at].id} == key; ++at)
        finder.positions(requests[touches[at].request]);
      LocalRead item{touches.subspan(first, at - first), nullptr, -1};
      bool there = false;
      const bool looked = attempt_into(
          failure, [&] { there = !v.provisional && first_entry(key.first, key.second).present(); });
      if (!looked) continue;
      if (there) {
        item.known = cache_.find(key.first, key.second);
        if (!item.known) {
          item.stored = static_cast<std::ptrdiff_t>(keys.size());
          keys.push_back(key);
        }
      }
      items.push_back(std::move(item));
    }
    const bool done = attempt_into(failure, [&] {
      const StoredBytes stored(*this, keys);
      StepTimer timer(report_, Step::decode);
      report_[Counter::chunks_decoded] += static_cast<std::int64_t>(keys.size());
      tasks().run(items.size(), [&](std::size_t i, TaskSlot& slot) {
        read_one(requests, items[i], stored, finder, slot);
      });
    });
    if (!done) continue;
    for (LocalRead& item : items) {
      if (item.stored >= 0 && item.known)
        cache_.keep(item.touches[0].var, item.touches[0].id, std::move(item.known));
    }
  }
  if (failure) throw *failure;
}

void ChunkedLayout::read_one(std::span<Request> requests, LocalRead& item,
                             const StoredBytes& stored, TouchFinder& finder, TaskSlot& slot) {
  const Touch& t = item.touches[0];
  const VariableCoding& v = coding(t.var);
  const Count bytes = v.grid.bytes(t.id);
  const auto part = [&](const Touch& each) {
    const Request& r = requests[each.request];
    return Part(ChunkPieces(v.grid, r, t.id, finder.positions(r)), Target(r.packed, r.swap));
  };
  Chunk chunk{v, name_of(t.var), t.id, {}};
  if (item.stored >= 0) {
    chunk.parts = stored.parts(static_cast<std::size_t>(item.stored));
    // A chunk that is read in small parts is likely to be read again.
    Count touched = 0;
    for (const Touch& each : item.touches) touched += each.bytes;
    if (4 * touched <= bytes && bytes <= cache_.limit()) {
      auto kept = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
      chunk.decode(*kept, slot.workspace);
      item.known = std::move(kept);
    }
  }
  std::span<const std::byte> raw;  // all elements, if needed
  if (item.known) raw = *item.known;
  const bool changed = deferred_.touches(t.var, t.id);
  if (changed || (!item.known && chunk.is_stored() && item.touches.size() > 1)) {
    const std::span<std::byte> here = slot.chunk(bytes);
    if (item.known) {
      std::copy(raw.begin(), raw.end(), here.begin());
    } else {
      chunk.decode(here, slot.workspace);
    }
    if (changed) deferred_.apply(v.grid, t.var, t.id, here);
    raw = here;
  }
  for (const Touch& each : item.touches)
    raw.empty() ? unpack(chunk, part(each), slot) : put_part(part(each), raw.data());
}

}  // namespace forebay::chunked
