#include "layout/chunked/file_chunks.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "array/chunk_grid.h"
#include "array/convert.h"
#include "base/attempt.h"
#include "format/chunk_schema.h"
#include "layout/chunked/files_beside.h"
#include "method/part.h"
#include "plan/chunk_shape.h"
#include "plan/file_space.h"
#include "storage/file_stamp.h"

namespace forebay {
namespace {

chunked::ReadBytes bytes_by(const ReadInto& read) {
  return [&read](Offset offset, Count bytes) {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    read(offset, out);
    return out;
  };
}

/// Measures which part of the heap a state uses, as far as it lies within the file.
void measure(ChunkIndex& index, const chunked::LoadedIndex& loaded, Offset file_size) {
  std::vector<FileSpace::Range> used;
  IndexFacts& facts = index.facts;
  facts.end = facts.root + chunked::slots * chunked::slot_bytes;
  const Offset heap = facts.end - index.shift;
  facts.index_bytes =
      loaded.root.directory.bytes + loaded.root.journal.bytes + std::ssize(loaded.pages);
  chunked::each_place(loaded, index.tables, [&](Offset offset, Count bytes, std::uint32_t file) {
    if (file != 0 || !chunked::lies_within(offset, bytes, file_size - index.shift)) return;
    used.push_back({offset, offset + bytes});
    facts.end = std::max(facts.end, offset + bytes + index.shift);
  });
  std::erase_if(used, [&](const FileSpace::Range& r) { return r.end <= heap; });
  facts.free_bytes = FileSpace(heap, std::move(used)).free_bytes();
}

}  // namespace

const RootSlot* newest_of(std::span<const RootSlot> slots, bool synced) {
  const RootSlot* newest = nullptr;
  for (const RootSlot& s : slots)
    if (s.state == RootSlot::State::valid && (!synced || s.root.synced) &&
        (newest == nullptr || s.root.generation > newest->root.generation))
      newest = &s;
  return newest;
}

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
    // Also if the index turns out to be damaged, since some of its chunks may be good.
    if (const RootSlot* newest = newest_of(index.facts.slots)) index.shift = newest->root.shift;
    const auto loaded = chunked::read_index(bytes_by(read), root, file_size, state);
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

struct FileChunks::Beside {
  Beside(const std::string& path, std::uint64_t id)
      : path(chunked::index_path(path)),
        stamp(FileStamp::at(this->path)),
        files(path, id, 0, report, data_files::caches_to_read(path)) {
    missing = attempt_to([&] {
      index = chunked::open_index(path, id, 0, report, data_files::caches_to_read(path));
      size = index->size();
    });
  }

  Report report;
  std::string path;  // of the index
  std::shared_ptr<File> index;
  Offset size = 0;
  FileStamp stamp;  // of the index before it was read; zeros if there is none
  std::optional<Error> missing;
  data_files::Opened files;
};

std::unique_ptr<VariableReader> open_chunks(const ReaderSite& site) {
  Offset root = 0, size = site.file_size;
  const auto id = chunked::files_of(site.schema);
  site.schema = chunked::from_stored(site.schema, root);
  ReadInto read = site.read;
  std::shared_ptr<FileChunks::Beside> beside;
  if (id) {
    beside = std::make_shared<FileChunks::Beside>(site.path, *id);
    size = beside->size;
    read = [file = beside->index](Offset offset, std::span<std::byte> out) {
      if (file->read_at(offset, out) != out.size())
        throw Error(Errc::etrunc, file->path() + ": the file became shorter while it was read");
    };
  }
  auto index = load_chunk_index(read, root, size, site.schema, site.state);
  if (id && beside->missing) index.facts.damage = beside->missing;
  return std::make_unique<FileChunks>(site.schema, std::move(index), size, std::move(read),
                                      std::move(beside));
}

FileChunks::FileChunks(Schema& schema, ChunkIndex index, Offset file_size, ReadInto read,
                       std::shared_ptr<Beside> beside)
    : schema_(schema),
      index_(std::move(index)),
      file_size_(file_size),
      beside_(std::move(beside)),
      read_(std::move(read)) {
  index_.facts.apart = beside_ != nullptr;
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

std::optional<std::vector<chunked::ChunkTable>> FileChunks::tables_below(
    const chunked::Root& root, const std::function<void(const chunked::IndexFault&)>& tell) const {
  const auto index = chunked::read_undamaged(bytes_by(read_), root, file_size_, schema_, tell);
  if (!index) return std::nullopt;
  return chunked::tables_of(*index, schema_);
}

bool FileChunks::changed() const {
  return beside_ && FileStamp::at(beside_->path) != beside_->stamp;
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
  // A codec that nobody knows may be one of a wing that divides chunks: they cannot be counted.
  const auto unknown = attempt_to([&] { Pipeline::parse(facts.codec); });
  const bool is_counted = !unknown || unknown->code() != Errc::einval || absent_names().empty();
  if (its.refused && its.refused->code() == Errc::enotsupport && !facts.shape.empty() && is_counted)
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
  if (!beside_) return bytes;
  for (const std::uint32_t n : beside_->files.others(bytes))
    if (!attempt_to([&] { beside_->files.file(n); })) bytes[n] = 0;
  return bytes;
}

std::vector<std::string> FileChunks::problems_of_files() const {
  std::vector<std::string> problems;
  if (!beside_) return problems;
  const auto in_use = bytes_of_chunks();
  // A data file without chunks may be missing. But a wrong one would disturb the next writer.
  std::set<std::uint32_t> numbers = beside_->files.others(in_use);
  for (const auto& its : in_use) numbers.insert(its.first);
  for (const std::uint32_t n : numbers)
    if (const auto error = attempt_to([&] { beside_->files.file(n); }))
      problems.push_back(error->message());
  return problems;
}

void FileChunks::check(const chunked::VariableCoding& coding, VarId var, Count id,
                       const chunked::Entry& entry, const chunked::FileBoxes& boxes,
                       chunked::LookedAt& at) const {
  chunked::check_place(coding, name(var), id, entry, boxes, file_size_ - index_.shift,
                       beside_ ? &beside_->files : nullptr, at);
}

void FileChunks::read_checked(const chunked::VariableCoding& coding, VarId var, Count id,
                              const chunked::Entry& entry, const chunked::LookedAt& at,
                              std::span<std::byte> bytes) const {
  if (!at.file) return read_(entry.offset + index_.shift, bytes);
  if (at.file->read_at(entry.offset, bytes) != bytes.size())
    throw chunked::damaged_chunk(name(var), coding.stored_grid(), id,
                                 at.file->path() + " became shorter while it was read");
}

chunked::Chunk FileChunks::fetch(const chunked::VariableCoding& coding, VarId var, Count id,
                                 const chunked::ChunkTable& table, chunked::TaskSlot& slot,
                                 std::vector<chunked::StoredPart>& parts) const {
  chunked::Chunk chunk{coding, name(var), id, {}};
  if (!table.get(coding.entry(id, 0)).present() || coding.provisional) return chunk;
  parts.clear();
  chunked::LookedAt at;
  Count all = 0;
  const auto room = [&](const chunked::Entry& e) { return round_up(e.bytes, 8); };
  for (int part = 0; part < coding.parts_needed(); ++part) {
    const chunked::Entry& entry = table.get(coding.entry(id, part));
    parts.push_back({&entry, {}});
    if (!entry.present()) continue;
    check(coding, var, id, entry, table.boxes, at);
    all += room(entry);
  }
  chunked::check_size(coding, chunk.name, id, all - 8 * coding.parts());
  auto rest = slot.stored(all);
  for (chunked::StoredPart& part : parts) {
    if (!part.entry->present()) continue;
    const auto bytes = rest.first(static_cast<std::size_t>(part.entry->bytes));
    rest = rest.subspan(static_cast<std::size_t>(room(*part.entry)));
    check(coding, var, id, *part.entry, table.boxes, at);
    read_checked(coding, var, id, *part.entry, at, bytes);
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
    check(its, var, id, entry, table(var).boxes, at);
    bytes.resize(static_cast<std::size_t>(entry.bytes));
    read_checked(its, var, id, entry, at, bytes);
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
    const LevelFacts facts = coarsest.pipeline.level_facts(one.parts[0].bytes);
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
