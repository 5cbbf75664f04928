#include "files/chunk_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "array/chunk_grid.h"
#include "array/convert.h"
#include "base/attempt.h"
#include "plan/chunk_shape.h"
#include "plan/file_space.h"

namespace forebay {
namespace {

constexpr const char* check_advice =
    "variables that are not chunked can be read; forebay check FILE tells more";

bool lies_within(Offset begin, Count bytes, Offset end) {
  return begin >= 0 && bytes >= 0 && bytes <= end && begin <= end - bytes;
}

/// What the state at hand uses of the heap, as far as it lies within the file.
void measure(ChunkIndex& index, const chunked::LoadedIndex& loaded, Offset file_size) {
  std::vector<FileSpace::Range> used;
  IndexFacts& facts = index.facts;
  const auto add = [&](Offset offset, Count bytes) {
    if (!lies_within(offset, bytes, file_size - index.shift)) return;
    used.push_back({offset, offset + bytes});
    facts.end = std::max(facts.end, offset + bytes + index.shift);
  };
  facts.end = facts.root + chunked::slots * chunked::slot_stride;
  const Offset heap = facts.end - index.shift;
  facts.index_bytes = loaded.root.directory.bytes + loaded.root.journal.bytes;
  add(loaded.root.directory.offset, loaded.root.directory.bytes);
  add(loaded.root.journal.offset, loaded.root.journal.bytes);
  for (const chunked::ChunkTable& table : index.tables) {
    for (const auto& page : table.pages()) {
      if (!page) continue;
      facts.index_bytes += page->place.bytes;
      add(page->place.offset, page->place.bytes);
    }
    table.for_each([&](Count, const chunked::Entry& e) { add(e.offset, e.bytes); });
  }
  std::erase_if(used, [&](const FileSpace::Range& r) { return r.end <= heap; });
  facts.free_bytes = FileSpace(heap, std::move(used)).free_bytes();
}

/// Also of an index that turns out to be damaged: some of its chunks may be whole.
Offset newest_shift(std::span<const RootSlot> slots) {
  const RootSlot* newest = nullptr;
  for (const RootSlot& s : slots) {
    if (s.state == RootSlot::State::valid &&
        (newest == nullptr || s.root.generation > newest->root.generation))
      newest = &s;
  }
  return newest == nullptr ? 0 : newest->root.shift;
}

}  // namespace

std::vector<RootSlot> read_root_slots(const ReadInto& read, Offset root, Offset file_size) {
  std::vector<RootSlot> found(chunked::slots);
  for (int s = 0; s < chunked::slots; ++s) {
    RootSlot& slot = found[static_cast<std::size_t>(s)];
    slot.state = RootSlot::State::damaged;
    if (root > file_size ||
        !lies_within(root + s * chunked::slot_stride, chunked::slot_bytes, file_size)) {
      slot.problem = "it lies outside the file";
      continue;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(chunked::slot_bytes));
    read(root + s * chunked::slot_stride, bytes);
    try {
      if (const auto valid = chunked::parse_root(bytes)) {
        slot.state = RootSlot::State::valid;
        slot.root = *valid;
        if (chunked::print_root(*valid) != bytes)
          slot.problem = "a part of it is damaged; its other copy serves";
      } else if (std::all_of(bytes.begin(), bytes.end(),
                             [](std::byte b) { return b == std::byte{0}; })) {
        slot.state = RootSlot::State::empty;
      } else {
        slot.problem = "its checksum is wrong";
      }
    } catch (const Error& error) {
      slot.problem = error.message();
    }
  }
  return found;
}

ChunkIndex load_chunk_index(const ReadInto& read, Offset root, Offset file_size,
                            const Schema& schema, chunked::OpenState state) {
  const std::size_t variables = schema.vars.size();
  ChunkIndex index;
  index.facts.root = root;
  index.tables.resize(variables);
  index.facts.damage = attempt_to([&] {
    index.facts.slots = read_root_slots(read, root, file_size);
    index.shift = newest_shift(index.facts.slots);
    if (root > file_size - chunked::slots * chunked::slot_stride)
      throw Error(Errc::enotnc, "chunk index damaged: the file ends before it", check_advice);
    const chunked::ReadBytes checked = [&](Offset offset, Count bytes) {
      if (!lies_within(offset, bytes, file_size))
        throw Error(Errc::enotnc, "chunk index damaged: a part of it lies outside the file",
                    check_advice);
      std::vector<std::byte> out(static_cast<std::size_t>(bytes));
      read(offset, out);
      return out;
    };
    const auto loaded = chunked::read_index(checked, root, file_size, state);
    index.tables = chunked::tables_of(loaded, schema);
    index.numrecs = loaded.directory.numrecs;
    index.facts.generation = loaded.root.generation;
    index.facts.synced = loaded.root.synced;
    index.facts.certain =
        std::none_of(index.facts.slots.begin(), index.facts.slots.end(),
                     [](const RootSlot& s) { return s.state == RootSlot::State::damaged; });
    measure(index, loaded, file_size);
  });
  if (index.facts.damage) {
    index.tables.clear();
    index.tables.resize(schema.vars.size());
  }
  return index;
}

ChunkReader::ChunkReader(Schema& schema, ChunkIndex index, Offset file_size, ReadInto read)
    : schema_(schema), index_(std::move(index)), file_size_(file_size), read_(std::move(read)) {
  items_.resize(schema.vars.size());
  // A crash may have come between a publication and the header's count.
  if (!index_.facts.damage) schema.numrecs = index_.numrecs;
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    Variable& var = schema.vars[v];
    if (!var.chunking) continue;
    const chunked::ChunkTable& table = index_.tables[v];
    if (!table.shape.empty()) var.chunking->shape = table.shape;
    var.chunking->reason = table.reason;
    items_[v] = prepare(var, schema.numrecs, table.fault);
  }
}

ChunkReader::Item ChunkReader::prepare(const Variable& var, Count numrecs,
                                       const std::string& fault) {
  Item item;
  const bool open = var.chunking->shape.empty();
  const auto damage = attempt_to([&] {
    if (!fault.empty()) throw Error(Errc::enotnc, fault);
    if (!open) check_chunk_shape(var, var.chunking->shape);
    // A classic header's records are bounded by where they lie; these lie nowhere.
    Count bytes = 0;
    if (var.is_record && !multiply_fits(numrecs, var.inner_bytes(), bytes))
      throw Error(Errc::enotnc, "it cannot have " + std::to_string(numrecs) + " records");
  });
  if (damage) {
    item.refused = Error(Errc::enotnc, "variable " + var.name + ": " + damage->message(),
                         "the file's header or chunk index is damaged");
    return item;
  }
  const auto no_codec = attempt_to([&] {
    const std::vector<Count> shape =
        open ? default_chunk_shape(var, "").shape : var.chunking->shape;
    item.coding.emplace(chunked::VariableCoding{
        ChunkGrid(var, shape), Pipeline::parse(var.chunking->codec).for_type(var.type), var.type,
        external_fill(var), open});
  });
  if (no_codec) {
    item.refused = Error(Errc::enotsupport,
                         "variable " + var.name + " is encoded with \"" + var.chunking->codec +
                             "\", which cannot be read: " + no_codec->message(),
                         no_codec->advice());
  }
  return item;
}

const std::optional<Error>& ChunkReader::refused(VarId var) const { return item(var).refused; }

const chunked::ChunkTable& ChunkReader::table(VarId var) const {
  return index_.tables[static_cast<std::size_t>(var)];
}

const chunked::VariableCoding& ChunkReader::coding(VarId var) const { return *item(var).coding; }

ChunkFacts ChunkReader::facts(VarId id) const {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  if (!var.chunking) throw Error(Errc::einval, "variable " + var.name + " is not chunked");
  ChunkFacts facts;
  facts.codec = var.chunking->codec;
  facts.reason = var.chunking->reason;
  facts.shape = var.chunking->shape;
  const Item& its = item(id);
  std::optional<ChunkGrid> without_codec;
  if (its.refused && its.refused->code() == Errc::enotsupport && !facts.shape.empty())
    without_codec.emplace(var, facts.shape);
  const ChunkGrid* grid = its.coding      ? &its.coding->grid
                          : without_codec ? &*without_codec
                                          : nullptr;
  if (grid == nullptr || facts.shape.empty()) return facts;
  facts.chunks = grid->chunks(schema_.numrecs);
  for (int d = 0; d < grid->ndims(); ++d) {
    const bool records = d == 0 && var.is_record;
    facts.grid.push_back(records ? facts.chunks / std::max<Count>(grid->chunks_per_row(), 1)
                                 : grid->grid_length(d));
  }
  const std::uint32_t all_stages = its.coding ? (1u << its.coding->pipeline.size()) - 1 : 0;
  table(id).for_each([&](Count chunk, const chunked::Entry& e) {
    if (!var.is_record && chunk >= facts.chunks) return;
    const Count bytes = grid->bytes(chunk);
    ++facts.present;
    facts.stored_bytes += e.bytes;
    facts.raw_bytes += bytes;
    // Of a codec that this build lacks the number of stages is not known.
    if (its.coding ? e.skipped == all_stages : e.skipped != 0 && e.bytes == bytes) {
      ++facts.raw;
    } else if (e.skipped != 0) {
      ++facts.partly;
    }
  });
  return facts;
}

void ChunkReader::each_stored(VarId var,
                              const std::function<void(const ChunkPlace&)>& visit) const {
  const ChunkFacts known = facts(var);
  std::vector<Count> at(known.grid.size());
  table(var).for_each([&](Count chunk, const chunked::Entry& entry) {
    if (chunk >= known.chunks) return;
    for (std::size_t d = at.size(); d-- > 0; chunk /= known.grid[d]) at[d] = chunk % known.grid[d];
    visit({at, entry.bytes, entry.offset + shift(), entry.skipped == 0});
  });
}

void ChunkReader::refuse(VarId var, Count id, const std::string& why) const {
  const std::string& name = schema_.vars[static_cast<std::size_t>(var)].name;
  throw chunked::damaged_chunk(name, coding(var).grid, id, why);
}

void ChunkReader::load_stored(VarId var, Count id, const chunked::Entry& entry,
                              Memory& memory) const {
  // Encoding makes no chunk larger; what says so is not to be allocated for.
  if (entry.bytes > coding(var).grid.bytes(id))
    refuse(var, id, "its table says " + std::to_string(entry.bytes) + " bytes");
  if (!lies_within(entry.offset, entry.bytes, file_size_ - index_.shift))
    refuse(var, id, "its bytes lie outside the file");
  memory.stored.resize(static_cast<std::size_t>(entry.bytes));
  read_(entry.offset + index_.shift, memory.stored);
}

void ChunkReader::load_into(VarId var, Count id, const chunked::Entry& entry,
                            std::span<std::byte> raw, Memory& memory) const {
  load_stored(var, id, entry, memory);
  chunked::decode_chunk(coding(var), schema_.vars[static_cast<std::size_t>(var)].name, id, entry,
                        memory.stored, raw, memory.workspace);
}

void ChunkReader::load(VarId var, Count id, const chunked::Entry& entry, bool decode,
                       Memory& memory) const {
  if (decode) {
    memory.raw.resize(static_cast<std::size_t>(coding(var).grid.bytes(id)));
    return load_into(var, id, entry, memory.raw, memory);
  }
  load_stored(var, id, entry, memory);
  if (chunked::hash_of(memory.stored) != entry.hash)
    refuse(var, id, "the checksum of its " + std::to_string(entry.bytes) + " bytes is wrong");
}

/// What the threads of one read share.
struct ChunkReader::Job {
  const Request& request;
  Type external, type;
  std::byte* out;

  bool place(const std::byte* from, Count first, Count n) const {
    return from_external(external, from, type, out + first * size_of(type), n, nullptr);
  }
};

bool ChunkReader::read_chunk(const Job& job, Count id, Memory& memory) const {
  const VarId var = job.request.var;
  const chunked::VariableCoding& its = coding(var);
  const chunked::Entry& entry = table(var).get(id);
  const Count width = size_of(job.external), bytes = its.grid.bytes(id);
  const ChunkPieces pieces(its.grid, job.request, id, {});
  bool out_of_range = false;
  if (!its.provisional && entry.present()) {
    std::optional<ChunkPiece> only = pieces.only_piece();
    if (only && only->length == bytes && is_plain_copy(job.external, job.type)) {
      // The chunk's elements follow each other in `out` too: decoded there, and swapped in place.
      std::byte* there = job.out + only->memory;
      load_into(var, id, entry, {there, static_cast<std::size_t>(bytes)}, memory);
      return job.place(there, only->memory / width, bytes / width);
    }
    load(var, id, entry, true, memory);
    pieces.for_each([&](const ChunkPiece& p) {
      out_of_range |= job.place(memory.raw.data() + p.position, p.memory / width, p.length / width);
    });
    return out_of_range;
  }
  // A few fill values at a time are converted.
  constexpr Count most = 4096;
  memory.raw.resize(static_cast<std::size_t>(std::min(most * width, bytes)));
  chunked::fill_chunk(its.fill, memory.raw);
  const Count step = static_cast<Count>(memory.raw.size());
  pieces.for_each([&](const ChunkPiece& p) {
    for (Count done = 0; done < p.length; done += step) {
      const Count now = std::min(step, p.length - done);
      out_of_range |= job.place(memory.raw.data(), (p.memory + done) / width, now / width);
    }
  });
  return out_of_range;
}

bool ChunkReader::read(VarId id, const Subarray& selection, Type type, void* out,
                       int threads) const {
  if (index_.facts.damage) {
    const Error& e = *index_.facts.damage;
    const std::string& name = schema_.vars[static_cast<std::size_t>(id)].name;
    throw Error(e.code(), "variable " + name + " is chunked: " + e.message(), e.advice());
  }
  if (item(id).refused) throw *item(id).refused;
  const chunked::VariableCoding& its = coding(id);

  Request request;
  request.var = id;
  request.selection = selection;
  request.elements = selection.elements();
  const Job job{request, external_for(its.type, type, schema_.version), type,
                static_cast<std::byte*>(out)};
  const std::vector<ChunkTouch> touches = touched_chunks(its.grid, request);
  std::atomic<bool> out_of_range = false, failed = false;
  const auto most = static_cast<int>(std::min<std::size_t>(touches.size(), 1024));
  chunked::TaskTeam team(std::clamp(threads, 1, std::max(most, 1)));
  std::vector<Memory> memories(static_cast<std::size_t>(team.threads()));
  std::atomic<std::size_t> next = 0;
  team.run(memories.size(), [&](std::size_t worker, chunked::TaskSlot&) {
    for (std::size_t i = next++; i < touches.size() && !failed; i = next++) {
      try {
        if (read_chunk(job, touches[i].chunk, memories[worker])) out_of_range = true;
      } catch (...) {
        failed = true;  // nobody begins another chunk
        throw;
      }
    }
  });
  return out_of_range;
}

}  // namespace forebay
