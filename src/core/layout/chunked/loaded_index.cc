#include "layout/chunked/loaded_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "codec/pipeline.h"

namespace forebay::chunked {
namespace {

constexpr const char* index_advice =
    "variables that are not chunked can be read with any netCDF reader; "
    "chunk_state=synced opens the last synced state, if there is one";

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Errc::enotnc, "chunk index damaged: " + what, index_advice);
}

/// Reads a block of an index, and verifies it. `who` is the beginning of an error's message.
std::vector<std::byte> checked_block(const ReadBytes& read, const BlockRef& ref, Offset shift,
                                     Offset end, const std::string& who) {
  if (!lies_within(ref.offset, ref.bytes, end))
    throw Error(Errc::enotnc, who + "it lies outside the file", index_advice);
  auto bytes = read(ref.offset + shift, ref.bytes);
  if (static_cast<Count>(bytes.size()) != ref.bytes || hash_of(bytes) != ref.hash)
    throw Error(Errc::enotnc,
                who + "the checksum of its " + std::to_string(ref.bytes) + " bytes is wrong",
                index_advice);
  return bytes;
}

/// Widens the boxes of the directory by what the journal's changes name. Their memory is bounded by
/// the size of the file.
void apply_to_boxes(const Journal& journal, Directory& directory, Offset file_size) {
  const Count most = 64 * std::min<Count>(file_size, Count{1} << 40) + (1 << 20);
  Count all = 0;
  std::map<VarId, std::pair<Directory::Item*, FileBoxes>> known;
  for (Directory::Item& item : directory.items)
    known.emplace(item.var, std::pair(&item, FileBoxes()));
  for (const Journal::Change& change : journal.changes) {
    const auto place = known.find(change.var);
    if (place == known.end() || !change.entry.present() || change.entry.file == 0) continue;
    auto& [item, boxes] = place->second;
    if (!boxes.has_grid()) boxes = boxes_of(*item);
    if (!boxes.has_grid()) damaged("its journal tells of a chunk of a variable without a shape");
    if (!boxes.boxes().contains(change.entry.file) && (all += 16 * std::ssize(item->shape)) > most)
      damaged("its journal tells of too many data files");
    boxes.add(change.id, change.entry.file);
  }
  for (auto& [var, its] : known)
    if (its.second.has_grid()) its.first->boxes = its.second.boxes();
}

using TellFault = std::function<void(const IndexFault&)>;

/// Without `tell`, damage is an error.
std::optional<LoadedIndex> read_below(const ReadBytes& read, const Root& root, Offset file_size,
                                      const Schema* schema, const TellFault& tell,
                                      bool leaves_pages = false) {
  LoadedIndex index;
  index.root = root;
  const Offset end = file_size - root.shift;
  const auto block = [&](const BlockRef& ref, const char* what) {
    return checked_block(read, ref, root.shift, end,
                         tell ? "" : std::string("chunk index damaged: ") + what + ": ");
  };
  const auto attempt = [&](const IndexFault& where, auto&& f) {
    if (!tell) return f(), true;
    const auto failed = attempt_to(f);
    if (failed) tell({where.item, where.page, where.problem + failed->message()});
    return !failed;
  };
  if (!attempt({nullptr, 0, ": "}, [&] {
        index.directory = parse_directory(block(root.directory, "its directory"), end);
      }))
    return std::nullopt;
  if (root.journal.offset != -1 && !attempt({nullptr, 0, ": its journal: "}, [&] {
        index.journal = block(root.journal, "its journal");
        const Journal journal = parse_journal(index.journal);
        apply(journal, index.directory, end);
        apply_to_boxes(journal, index.directory, file_size);
      }))
    return std::nullopt;
  if (tell)
    std::erase_if(index.directory.items, [&](const Directory::Item& item) {
      const auto v = static_cast<std::size_t>(item.var);
      if (item.var >= 0 && v < schema->vars.size() && schema->vars[v].chunking) return false;
      tell({nullptr, 0,
            " tells of a chunked variable " + std::to_string(item.var) + ", which does not exist"});
      return true;
    });
  if (leaves_pages) return index;
  for (Directory::Item& item : index.directory.items) {
    for (std::size_t p = 0; p < item.pages.size(); ++p) {
      if (item.pages[p].offset == -1) continue;
      const bool whole = attempt({&item, p, ": "}, [&] {
        const auto bytes = block(item.pages[p], "a page");
        Page page;
        if (tell) parse_page(bytes, page);
        index.pages.insert(index.pages.end(), bytes.begin(), bytes.end());
      });
      if (!whole) item.pages[p] = {};
    }
  }
  return index;
}

std::unique_ptr<Page> page_of(std::span<const std::byte> bytes, const Root& root,
                              const BlockRef& place) {
  auto page = std::make_unique<Page>();
  parse_page(bytes, *page);
  page->place = place;
  page->birth = root.generation;
  for (Entry& e : page->entries) e.birth = root.generation;
  return page;
}

}  // namespace

std::optional<LoadedIndex> read_undamaged(const ReadBytes& read, const Root& root, Offset file_size,
                                          const Schema& schema, const TellFault& tell) {
  return read_below(read, root, file_size, &schema, tell);
}

LoadedIndex read_index(const ReadBytes& read, Offset root, Offset file_size, OpenState state,
                       bool leaves_pages) {
  if (root < 0 || root > file_size - slots * slot_bytes) damaged("its root lies outside the file");
  const auto roots = store::read_slots<Root>(read(root, slots * slot_bytes), parse_root);
  // A torn write leaves one of its copies whole.
  if (roots.damaged >= 0 && state == OpenState::newest)
    damaged("both copies of root " + std::to_string(roots.damaged) +
            ", which may name the newest state");
  const int slot = roots.newest_of(state);
  if (slot < 0)
    damaged(state == OpenState::synced ? "no state of it was ever synced" : "it has no valid root");
  LoadedIndex index = *read_below(read, roots.at(slot), file_size, nullptr, {}, leaves_pages);
  index.slot = slot;
  index.last_generation = static_cast<std::uint32_t>(roots.last());
  index.damaged = roots.damaged;
  return index;
}

FileBoxes boxes_of(const Directory::Item& item) {
  FileBoxes boxes(item.lengths, item.shape, Pipeline::known_parts_of(item.codec));
  if (boxes.has_grid()) boxes.boxes() = item.boxes;
  return boxes;
}

std::unique_ptr<Page> read_page(const ReadBytes& read, const Root& root, const BlockRef& place,
                                Offset file_size) {
  const auto bytes = checked_block(read, place, root.shift, file_size - root.shift,
                                   "chunk index damaged: a page: ");
  return page_of(bytes, root, place);
}

std::vector<ChunkTable> tables_without_pages(const LoadedIndex& index, const Schema& schema) {
  std::vector<ChunkTable> tables(schema.vars.size());
  for (const Directory::Item& item : index.directory.items) {
    if (item.var < 0 || static_cast<std::size_t>(item.var) >= tables.size())
      damaged("it tells of a variable that does not exist");
    ChunkTable& table = tables[static_cast<std::size_t>(item.var)];
    table.shape = item.shape;
    table.reason = item.reason;
    table.boxes = boxes_of(item);
    const Variable& var = schema.vars[static_cast<std::size_t>(item.var)];
    if (!var.chunking || var.type != item.type || var.shape != item.lengths ||
        var.chunking->codec != item.codec) {
      table.fault = "the header tells of another type, shape or codec than the chunk index";
    }
  }
  return tables;
}

std::vector<ChunkTable> tables_of(const LoadedIndex& index, const Schema& schema) {
  std::vector<ChunkTable> tables = tables_without_pages(index, schema);
  std::span<const std::byte> left(index.pages);
  for (const Directory::Item& item : index.directory.items) {
    ChunkTable& table = tables[static_cast<std::size_t>(item.var)];
    table.pages().resize(item.pages.size());
    for (std::size_t p = 0; p < item.pages.size(); ++p) {
      const BlockRef& place = item.pages[p];
      if (place.offset == -1) continue;
      table.pages()[p] =
          page_of(left.first(static_cast<std::size_t>(place.bytes)), index.root, place);
      left = left.subspan(static_cast<std::size_t>(place.bytes));
    }
  }
  for (const Journal::Change& change : parse_journal(index.journal).changes) {
    if (change.var < 0 || static_cast<std::size_t>(change.var) >= tables.size()) continue;
    Entry& entry = tables[static_cast<std::size_t>(change.var)].set(change.id);
    entry = change.entry;
    entry.birth = index.root.generation;
  }
  return tables;
}

void check_records(Count numrecs, const Schema& schema) {
  for (const Variable& var : schema.vars) {
    Count bytes = 0;
    if (var.chunking || !var.is_record) continue;
    if (!multiply_fits(numrecs, schema.recsize, bytes) || !add_fits(bytes, var.begin, bytes))
      damaged("variable " + var.name + " cannot have " + std::to_string(numrecs) + " records");
  }
}

void tell(std::vector<ChunkTable>& tables, Count numrecs, Schema& schema) {
  schema.numrecs = numrecs;
  for (std::size_t v = 0; v < tables.size(); ++v) {
    if (!schema.vars[v].chunking) continue;
    Chunking& chunking = *schema.vars[v].chunking;
    // The position of records bounds their number in a classic header; these have no position.
    Count bytes = 0;
    if (schema.vars[v].is_record && !multiply_fits(numrecs, schema.vars[v].inner_bytes(), bytes))
      tables[v].fault = "it cannot have " + std::to_string(numrecs) + " records";
    if (!tables[v].shape.empty()) chunking.shape = tables[v].shape;
    chunking.reason = tables[v].reason;
  }
}

}  // namespace forebay::chunked
