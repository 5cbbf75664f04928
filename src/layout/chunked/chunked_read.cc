// Reading chunks (D5 §5.2.7).
#include <algorithm>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/chunked/chunked.h"
#include "plan/chunk_read.h"

namespace forebay::chunked {

void ChunkedLayout::read_together(std::span<Request> requests) {
  std::optional<Error> refused;
  const auto good = usable(requests, refused);
  Operation op;
  op.requests = good;
  std::vector<Touch> by_myself;
  std::vector<bool> everyone;
  {
    StepTimer timer(report_, Step::plan);
    const auto all = find_touches(
        op.requests, op.finder, [&](VarId v) -> auto& { return coding(v).grid; });
    // What was never written is fill values, which every rank knows.
    for (const Touch& t : all)
      (store_.table(t.var).get(t.id).present() ? op.touches : by_myself).push_back(t);
    plan(op, false);
    everyone = choose_read_plans(op);
  }
  std::vector<Touch> shared;
  for (const Touch& t : op.touches)
    (everyone[static_cast<std::size_t>(t.var)] ? by_myself : shared).push_back(t);
  op.touches = std::move(shared);
  std::sort(by_myself.begin(), by_myself.end(), [](const Touch& a, const Touch& b) {
    return a.var != b.var ? a.var < b.var : a.id < b.id;
  });
  auto failure = attempt_to([&] { read_locally(op.requests, by_myself, op.finder); });
  // Chunks that everyone reads for himself have no owner.
  for (PlannedChunk& c : op.chunks) {
    if (everyone[static_cast<std::size_t>(c.var)]) c.bytes = 0;
  }
  auto error = attempt_to([&] { read_rounds(op); });
  if (!failure) failure = error;
  agree_on_error(comm_, failure);
  if (refused) throw *refused;
}

std::vector<bool> ChunkedLayout::choose_read_plans(const Operation& op) {
  std::vector<bool> everyone(schema_.vars.size(), true);
  std::vector<Count> owned(static_cast<std::size_t>(comm_.size())), touched(owned);
  std::size_t a = 0;
  for (std::size_t i = 0; i < op.chunks.size();) {
    const VarId var = op.chunks[i].var;
    ReadFacts facts;
    facts.ranks = comm_.size();
    facts.processors = team().processors() * team().nodes();
    facts.decode_work = coding(var).pipeline.decode_work();
    std::fill(owned.begin(), owned.end(), 0);
    std::fill(touched.begin(), touched.end(), 0);
    for (; i < op.chunks.size() && op.chunks[i].var == var; ++i) {
      const PlannedChunk& c = op.chunks[i];
      facts.distinct_bytes += c.bytes;
      owned[static_cast<std::size_t>(c.owner)] += c.bytes;
      for (; a < op.accesses.size() && op.accesses[a].chunk == i; ++a) {
        const Rank rank = op.accesses[a].rank;
        facts.repeated_bytes += c.bytes;
        touched[static_cast<std::size_t>(rank)] += c.bytes;
        if (rank != c.owner && !team().same_node(rank, c.owner))
          facts.moved_bytes += op.accesses[a].bytes;
      }
    }
    facts.busiest_owner_bytes = *std::max_element(owned.begin(), owned.end());
    facts.busiest_rank_bytes = *std::max_element(touched.begin(), touched.end());
    const bool owners = choose_read_plan(facts) == ReadPlan::owners;
    everyone[static_cast<std::size_t>(var)] = !owners;
    ++(owners ? by_owners_ : by_everyone_);
  }
  return everyone;
}

void ChunkedLayout::read_rounds(Operation& op) {
  if (std::all_of(op.chunks.begin(), op.chunks.end(),
                  [](const PlannedChunk& c) { return c.bytes == 0; }))
    return;
  agree_on_error(comm_, attempt_to([&] { team().make_room(op); }));
  const auto grid = [&](VarId v) -> const ChunkGrid& { return coding(v).grid; };
  const auto own = own_chunks(op);
  std::optional<Error> failure;
  for (std::uint32_t round = 0; round < op.rounds; ++round) {
    std::vector<Wanted> wanted;
    for (const std::uint32_t i : own[round]) {
      const PlannedChunk& c = op.chunks[i];
      if (c.bytes > 0)
        wanted.push_back({c.var, c.id, {team().buffer(c), static_cast<std::size_t>(c.bytes)}});
    }
    const auto error = attempt_to([&] { decode(wanted); });
    if (error && !failure) failure = error;
    {
      StepTimer timer(report_, Step::wait);
      team().node_barrier();
    }
    team().gather(op, round, grid);
    if (round + 1 < op.rounds) team().node_barrier();
  }
  if (failure) throw *failure;
}

void ChunkedLayout::decode(std::span<const Wanted> wanted) {
  if (wanted.empty()) return;
  struct Stored {
    const Entry* entry;
    std::size_t place;
  };
  std::vector<Stored> stored;
  std::size_t total = 0;
  for (const Wanted& w : wanted) {
    const Entry& e = store_.table(w.var).get(w.id);
    // Encoding never makes a chunk larger, so a larger one is damaged and is not to be allocated.
    if (e.bytes > static_cast<Count>(w.raw.size())) {
      const auto& v = coding(w.var);
      throw Error(
          Errc::enotnc,
          "chunk " + std::to_string(w.id) + ", which is " +
              describe_chunk(schema_.vars[static_cast<std::size_t>(w.var)].name, v.grid, w.id) +
              ", is damaged: its table says " + std::to_string(e.bytes) + " bytes",
          "forebay check FILE lists all damaged chunks");
    }
    stored.push_back({&e, total});
    total += static_cast<std::size_t>(e.bytes);
  }
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(total, 1));
  std::vector<Extent> extents;
  for (const Stored& s : stored)
    extents.push_back(
        {store_.in_file(s.entry->offset), s.entry->bytes, memory.get() + s.place, 0, 1});
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  ListStream stream(std::move(extents));
  io_.read(stream);
  StepTimer timer(report_, Step::decode);
  for (const Wanted& w : wanted) coding(w.var);
  report_[Counter::chunks_decoded] += static_cast<std::int64_t>(wanted.size());
  tasks().run(wanted.size(), [&](std::size_t i, CodecWorkspace& workspace) {
    const Wanted& w = wanted[i];
    decode_chunk(coding(w.var), schema_.vars[static_cast<std::size_t>(w.var)].name, w.id,
                 *stored[i].entry,
                 {memory.get() + stored[i].place, static_cast<std::size_t>(stored[i].entry->bytes)},
                 w.raw, workspace);
  });
}

// Chunk after chunk, as many at a time as the limit allows.
void ChunkedLayout::read_locally(std::span<Request> requests, std::span<const Touch> touches,
                                 TouchFinder& finder) {
  const Count limit = options_.buffer_limit / 4;
  struct Item {
    std::size_t first, last;  // touches
    ChunkCache::Bytes raw;
  };
  std::optional<Error> failure;
  for (std::size_t at = 0; at < touches.size();) {
    std::vector<Item> items;
    std::vector<Wanted> wanted;
    Count held = 0;
    while (at < touches.size()) {
      const VarId var = touches[at].var;
      const Count id = touches[at].id;
      const VariableCoding& v = coding(var);
      const Count bytes = v.grid.bytes(id);
      if (!items.empty() && held + bytes > limit) break;
      Item item{at, at, nullptr};
      while (item.last < touches.size() && touches[item.last].var == var &&
             touches[item.last].id == id)
        ++item.last;
      at = item.last;
      held += bytes;
      const bool there = !v.provisional && store_.table(var).get(id).present();
      if (there) item.raw = cache_.find(var, id);
      if (!item.raw) {
        auto raw = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
        if (there) {
          wanted.push_back({var, id, *raw});
        } else {
          fill_chunk(v.fill, *raw);
        }
        item.raw = std::move(raw);
      }
      items.push_back(std::move(item));
    }
    const auto error = attempt_to([&] { decode(wanted); });
    if (error) {
      if (!failure) failure = error;
      continue;
    }
    for (Item& item : items) {
      const Touch& t = touches[item.first];
      const VariableCoding& v = coding(t.var);
      if (item.last - item.first > 1 || t.bytes < v.grid.bytes(t.id)) {
        if (!v.provisional && store_.table(t.var).get(t.id).present())
          cache_.keep(t.var, t.id, item.raw);
      }
      if (deferred_of_.contains({t.var, t.id})) {
        auto changed = std::make_shared<std::vector<std::byte>>(*item.raw);
        apply_deferred(t.var, t.id, *changed);
        item.raw = std::move(changed);
      }
      StepTimer timer(report_, Step::unpack);
      for (std::size_t i = item.first; i < item.last; ++i) {
        const Request& r = requests[touches[i].request];
        get_pieces(ChunkPieces(v.grid, r, t.id, finder.positions(r)), r, item.raw->data());
      }
    }
  }
  if (failure) throw *failure;
}

}  // namespace forebay::chunked
