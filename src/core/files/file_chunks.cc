#include "files/file_chunks.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "array/chunk_grid.h"
#include "array/convert.h"
#include "base/attempt.h"
#include "codec/hierarchy.h"
#include "layout/chunked/files_beside.h"
#include "plan/chunk_shape.h"
#include "plan/file_space.h"

namespace forebay {
namespace {

constexpr const char* check_advice =
    "variables that are not chunked can be read; forebay check FILE tells more";

/// Measures which part of the heap a state uses, as far as it lies within the file.
void measure(ChunkIndex& index, const chunked::LoadedIndex& loaded, Offset file_size) {
  std::vector<FileSpace::Range> used;
  IndexFacts& facts = index.facts;
  const auto add = [&](Offset offset, Count bytes) {
    if (!chunked::lies_within(offset, bytes, file_size - index.shift)) return;
    used.push_back({offset, offset + bytes});
    facts.end = std::max(facts.end, offset + bytes + index.shift);
  };
  facts.end = facts.root + chunked::slots * chunked::slot_bytes;
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
    table.for_each([&](Count, const chunked::Entry& e) {
      if (e.file == 0) add(e.offset, e.bytes);
    });
  }
  std::erase_if(used, [&](const FileSpace::Range& r) { return r.end <= heap; });
  facts.free_bytes = FileSpace(heap, std::move(used)).free_bytes();
}

/// Also for an index that turns out to be damaged, since some of its chunks may be good.
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
        !chunked::lies_within(root + s * chunked::slot_bytes, chunked::slot_bytes, file_size)) {
      slot.problem = "it lies outside the file";
      continue;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(chunked::slot_bytes));
    read(root + s * chunked::slot_bytes, bytes);
    try {
      if (const auto valid = chunked::parse_root(bytes)) {
        slot.state = RootSlot::State::valid;
        slot.root = *valid;
        if (chunked::print_root(*valid) != bytes)
          slot.problem = "a part of it is damaged; its other copy serves";
      } else if (store::is_zero(bytes)) {
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
    if (root > file_size - chunked::slots * chunked::slot_bytes)
      throw Error(Errc::enotnc, "chunk index damaged: the file ends before it", check_advice);
    const chunked::ReadBytes checked = [&](Offset offset, Count bytes) {
      if (!chunked::lies_within(offset, bytes, file_size))
        throw Error(Errc::enotnc, "chunk index damaged: a part of it lies outside the file",
                    check_advice);
      std::vector<std::byte> out(static_cast<std::size_t>(bytes));
      read(offset, out);
      return out;
    };
    const auto loaded = chunked::read_index(checked, root, file_size, state);
    chunked::check_records(loaded.directory.numrecs, schema);
    index.tables = chunked::tables_of(loaded, schema);
    index.numrecs = loaded.directory.numrecs;
    index.facts.generation = loaded.root.generation;
    index.facts.synced = loaded.root.synced;
    index.facts.newest = loaded.is_newest();
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

FileChunks::FileChunks(Schema& schema, ChunkIndex index, Offset file_size, ReadInto read,
                       data_files::Opened* files)
    : schema_(schema),
      index_(std::move(index)),
      file_size_(file_size),
      read_(std::move(read)),
      files_(files) {
  index_.facts.apart = files != nullptr;
  items_.resize(schema.vars.size());
  if (!index_.facts.damage) chunked::tell(index_.tables, index_.numrecs, schema);
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const Variable& var = schema.vars[v];
    if (!var.chunking) continue;
    Item& its = items_[v];
    its.refused = attempt_to([&] {
      int levels = 0;
      for (int level = 0; level <= levels; ++level) {
        its.codings.push_back(
            chunked::make_coding(var, index_.tables[v].fault, least_chunk_bytes, level));
        levels = its.codings[0].parts() - 1;
      }
    });
    if (its.refused) its.codings.clear();
  }
}

const std::optional<Error>& FileChunks::refused(VarId var) const { return item(var).refused; }

const chunked::ChunkTable& FileChunks::table(VarId var) const {
  return index_.tables[static_cast<std::size_t>(var)];
}

int FileChunks::levels(VarId var) const {
  return std::max(0, static_cast<int>(std::ssize(item(var).codings)) - 1);
}

ChunkFacts FileChunks::facts(VarId id) const {
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
  const chunked::VariableCoding* its_coding = its.codings.empty() ? nullptr : its.codings.data();
  const ChunkGrid* grid = its_coding != nullptr ? &its_coding->grid
                          : without_codec       ? &*without_codec
                                                : nullptr;
  if (grid == nullptr || facts.shape.empty()) return facts;
  facts.chunks = grid->chunks(schema_.numrecs);
  for (int d = 0; d < grid->ndims(); ++d) {
    const bool records = d == 0 && var.is_record;
    facts.grid.push_back(records ? facts.chunks / std::max<Count>(grid->chunks_per_row(), 1)
                                 : grid->grid_length(d));
  }
  const std::uint32_t all_stages =
      its_coding != nullptr ? (1u << its_coding->pipeline.size()) - 1 : 0;
  const int parts = its_coding != nullptr ? its_coding->parts() : Pipeline::parts_of(facts.codec);
  if (parts > 1) facts.level_bytes.assign(static_cast<std::size_t>(parts), 0);
  table(id).for_each([&](Count entry, const chunked::Entry& e) {
    const Count chunk = entry / parts;
    if (!var.is_record && chunk >= facts.chunks) return;
    facts.stored_bytes += e.bytes;
    if (parts > 1)
      facts.level_bytes[static_cast<std::size_t>(parts - 1 - entry % parts)] += e.bytes;
    if (entry % parts != 0) return;
    const Count bytes = grid->bytes(chunk);
    ++facts.present;
    facts.raw_bytes += bytes;
    facts.masked += (e.skipped & keeps_apart) != 0;
    const std::uint32_t stages = e.skipped & ~keeps_apart;
    // If this build lacks the codec, its number of stages is unknown.
    if (its_coding != nullptr ? stages == all_stages : stages != 0 && e.bytes == bytes) {
      ++facts.raw;
    } else if (stages != 0) {
      ++facts.partly;
    }
  });
  return facts;
}

void FileChunks::each_stored(VarId var, const std::function<void(const ChunkPlace&)>& visit) const {
  const ChunkFacts known = facts(var);
  std::vector<Count> at(known.grid.size());
  const Item& its = item(var);
  const int parts = its.codings.empty() ? Pipeline::parts_of(known.codec) : its.codings[0].parts();
  const chunked::ChunkTable& entries = table(var);
  entries.for_each([&](Count id, const chunked::Entry& entry) {
    Count chunk = id / parts;
    if (id % parts != 0 || chunk >= known.chunks) return;
    Count bytes = 0;
    for (int part = 0; part < parts; ++part) bytes += entries.get(id + part).bytes;
    for (std::size_t d = at.size(); d-- > 0; chunk /= known.grid[d]) at[d] = chunk % known.grid[d];
    const bool in_one = parts == 1 && entry.file == 0;
    const auto place = in_one ? std::optional(entry.offset + shift()) : std::nullopt;
    const auto file = entry.file == 0 ? std::nullopt : std::optional(entry.file - 1);
    visit({at, bytes, place, entry.skipped == 0, file});
  });
}

std::map<std::uint32_t, Count> FileChunks::bytes_of_chunks() const {
  std::map<std::uint32_t, Count> bytes;
  for (const chunked::ChunkTable& table : index_.tables)
    table.for_each([&](Count, const chunked::Entry& e) {
      if (e.file != 0) bytes[e.file - 1] += e.bytes;
    });
  return bytes;
}

std::map<std::uint32_t, Count> FileChunks::bytes_of_files() const {
  auto bytes = bytes_of_chunks();
  if (files_ == nullptr) return bytes;
  for (const std::uint32_t n : files_->others(bytes))
    if (!attempt_to([&] { files_->file(n); })) bytes[n] = 0;
  return bytes;
}

std::vector<std::string> FileChunks::problems_of_files() const {
  std::vector<std::string> problems;
  if (files_ == nullptr) return problems;
  const auto in_use = bytes_of_chunks();
  // A data file without chunks may be missing. But a wrong one would disturb the next writer.
  std::set<std::uint32_t> numbers = files_->others(in_use);
  for (const auto& its : in_use) numbers.insert(its.first);
  for (const std::uint32_t n : numbers)
    if (const auto error = attempt_to([&] { files_->file(n); }))
      problems.push_back(error->message());
  return problems;
}

chunked::Chunk FileChunks::fetch(const chunked::VariableCoding& coding, VarId var, Count id,
                                 const chunked::ChunkTable& table, chunked::TaskSlot& slot,
                                 std::vector<chunked::StoredPart>& parts) const {
  chunked::Chunk chunk{coding, schema_.vars[static_cast<std::size_t>(var)].name, id, {}};
  if (!table.get(coding.entry(id, 0)).present() || coding.provisional) return chunk;
  parts.clear();
  chunked::LookedAt at;
  Count all = 0;
  const auto room = [&](const chunked::Entry& e) { return round_up(e.bytes, 8); };
  for (int part = 0; part < coding.parts_needed(); ++part) {
    const chunked::Entry& entry = table.get(coding.entry(id, part));
    parts.push_back({&entry, {}});
    if (!entry.present()) continue;
    chunked::check_place(coding, chunk.name, id, entry, file_size_ - index_.shift, files_, at);
    all += room(entry);
  }
  chunked::check_size(coding, chunk.name, id, all - 8 * coding.parts());
  auto rest = slot.stored(all);
  for (chunked::StoredPart& part : parts) {
    const chunked::Entry& entry = *part.entry;
    if (!entry.present()) continue;
    chunked::check_place(coding, chunk.name, id, entry, file_size_ - index_.shift, files_, at);
    const auto bytes = rest.first(static_cast<std::size_t>(entry.bytes));
    rest = rest.subspan(static_cast<std::size_t>(room(entry)));
    if (!at.file) {
      read_(entry.offset + index_.shift, bytes);
    } else if (at.file->read_at(entry.offset, bytes) != bytes.size()) {
      throw chunked::damaged_chunk(chunk.name, coding.stored_grid(), id,
                                   at.file->path() + " became shorter while it was read");
    }
    part.bytes = bytes;
  }
  chunk.parts = parts;
  return chunk;
}

std::span<const std::byte> FileChunks::load(VarId var, Count id, const chunked::ChunkTable& table,
                                            bool decode, chunked::TaskSlot& slot) const {
  std::vector<chunked::StoredPart> parts;
  const chunked::Chunk chunk = fetch(coding(var), var, id, table, slot, parts);
  if (!decode) {
    for (std::size_t part = 0; part < chunk.parts.size(); ++part)
      chunked::verify_chunk(chunk.coding, chunk.name, id, static_cast<int>(part),
                            chunk.parts[part]);
    return {};
  }
  const auto raw = slot.chunk(chunk.coding.grid.bytes(id));
  chunk.decode(raw, slot.workspace);
  return raw;
}

Type FileChunks::external(Type stored, Type type) const {
  return external_for(stored, type, schema_.version);
}

std::vector<std::byte> FileChunks::part(VarId var, Count id, int number) const {
  const chunked::VariableCoding& its = coding(var);
  const chunked::Entry& entry = table(var).get(its.entry(id, number));
  std::vector<std::byte> bytes;
  if (entry.present()) {
    chunked::LookedAt at;
    chunked::check_place(its, name(var), id, entry, file_size_ - index_.shift, files_, at);
    bytes.resize(static_cast<std::size_t>(entry.bytes));
    if (!at.file) {
      read_(entry.offset + index_.shift, bytes);
    } else if (at.file->read_at(entry.offset, bytes) != bytes.size()) {
      throw chunked::damaged_chunk(name(var), its.stored_grid(), id,
                                   at.file->path() + " became shorter while it was read");
    }
  }
  chunked::verify_chunk(its, name(var), id, number, {&entry, bytes});
  return bytes;
}

std::vector<LevelErrors> FileChunks::level_errors(VarId id) const {
  const int levels = this->levels(id);
  std::vector<LevelErrors> found(static_cast<std::size_t>(levels) + 1);
  if (levels == 0) return found;
  const chunked::VariableCoding& coarsest = coding(id, levels);
  const Count all = coarsest.grid.chunks(schema_.numrecs);
  const chunked::ChunkTable& entries = table(id);
  chunked::TaskSlot slot;
  std::vector<chunked::StoredPart> parts;
  entries.for_each([&](Count entry, const chunked::Entry&) {
    const Count chunk = entry / coarsest.parts();
    if (entry % coarsest.parts() != 0 || chunk >= all) return;
    const chunked::Chunk one = fetch(coarsest, id, chunk, entries, slot, parts);
    chunked::verify_chunk(coarsest, one.name, chunk, 0, one.parts[0]);
    const HierarchyFacts facts = hierarchy_facts(one.parts[0].bytes, levels);
    double finer = 0;
    for (std::size_t level = 0; level < found.size(); ++level) {
      const double error = level == 0 ? facts.finest_error : facts.error;
      found[level].error = std::max(found[level].error, error);
      found[level].resolution = std::max(found[level].resolution, error + finer);
      if (level < facts.details.size()) finer += facts.details[level];
    }
  });
  return found;
}

bool FileChunks::read(VarId id, const Subarray& selection, Type type, void* out, int threads,
                      int level) const {
  if (index_.facts.damage) {
    const std::string& name = schema_.vars[static_cast<std::size_t>(id)].name;
    throw index_.facts.damage->at("variable " + name + " is chunked");
  }
  if (item(id).refused) throw *item(id).refused;
  if (level < 0 || level > levels(id))
    throw Error(Errc::einval, "variable " + schema_.vars[static_cast<std::size_t>(id)].name +
                                  " has no level " + std::to_string(level));
  const chunked::VariableCoding& its = coding(id, level);

  Request request;
  request.var = id;
  request.selection = selection;
  request.elements = selection.elements();
  const chunked::Target target(static_cast<std::byte*>(out),
                               external_for(its.type, type, schema_.version), type);
  std::vector<ChunkTouch> touches = touched_chunks(its.grid, request);
  const auto file_of = [&](const ChunkTouch& t) {
    return table(id).get(its.entry(t.chunk, 0)).file;
  };
  // Sorted so that each data file is opened once.
  std::stable_sort(touches.begin(), touches.end(), [&](const ChunkTouch& a, const ChunkTouch& b) {
    return file_of(a) < file_of(b);
  });
  std::atomic<bool> out_of_range = false, failed = false;
  const auto most = static_cast<int>(std::min<std::size_t>(touches.size(), 1024));
  chunked::TaskTeam team(std::clamp(threads, 1, std::max(most, 1)));
  team.run(touches.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
    if (failed) return;  // starts no more chunks
    const Count at = touches[i].chunk;
    try {
      std::vector<chunked::StoredPart> parts;
      const chunked::Chunk chunk = fetch(its, id, at, table(id), slot, parts);
      if (chunked::unpack(chunk, {ChunkPieces(its.grid, request, at, {}), target}, slot))
        out_of_range = true;
    } catch (...) {
      failed = true;
      throw;
    }
  });
  return out_of_range;
}

}  // namespace forebay
