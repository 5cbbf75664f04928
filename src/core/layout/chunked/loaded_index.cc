#include "layout/chunked/loaded_index.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace forebay::chunked {
namespace {

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Errc::enotnc, "chunk index damaged: " + what,
              "variables that are not chunked can be read with any netCDF reader; "
              "chunk_state=synced opens the last synced state, if there is one");
}

std::vector<std::byte> checked_block(const ReadBytes& read, const BlockRef& ref, Offset shift,
                                     const char* what) {
  auto bytes = read(ref.offset + shift, ref.bytes);
  if (static_cast<Count>(bytes.size()) != ref.bytes || hash_of(bytes) != ref.hash)
    damaged(std::string("wrong checksum of ") + what);
  return bytes;
}

bool lies_within(const BlockRef& ref, Offset end) {
  return chunked::lies_within(ref.offset, ref.bytes, end);
}

LoadedIndex read_below(const ReadBytes& read, const Root& root, int slot, Offset file_size) {
  LoadedIndex index;
  index.root = root;
  index.slot = slot;
  if (root.shift > file_size) damaged("it begins behind the end of the file");
  const Offset end = file_size - root.shift;
  if (!lies_within(root.directory, end)) damaged("its directory lies outside the file");
  index.directory =
      parse_directory(checked_block(read, root.directory, root.shift, "its directory"), end);
  for (const Directory::Item& item : index.directory.items) {
    for (const BlockRef& ref : item.pages) {
      if (ref.offset == -1) continue;
      const auto bytes = checked_block(read, ref, root.shift, "a page");
      index.pages.insert(index.pages.end(), bytes.begin(), bytes.end());
    }
  }
  if (const BlockRef& j = root.journal; j.offset != -1) {
    if (!lies_within(j, end)) damaged("its journal lies outside the file");
    index.journal = checked_block(read, j, root.shift, "its journal");
    apply(parse_journal(index.journal), index.directory, end);
  }
  return index;
}

}  // namespace

LoadedIndex read_index(const ReadBytes& read, Offset root, Offset file_size, OpenState state) {
  if (root < 0 || root > file_size - slots * slot_bytes) damaged("its root lies outside the file");
  const auto roots = store::read_slots<Root>(read(root, slots * slot_bytes), parse_root);
  // A torn write leaves one of its copies whole.
  if (roots.damaged >= 0 && state == OpenState::newest)
    damaged("both copies of root " + std::to_string(roots.damaged) +
            ", which may name the newest state");
  const int slot = roots.newest_of(state);
  if (slot < 0)
    damaged(state == OpenState::synced ? "no state of it was ever synced" : "it has no valid root");
  LoadedIndex index = read_below(read, roots.at(slot), slot, file_size);
  index.last_generation = static_cast<std::uint32_t>(roots.last());
  index.damaged = roots.damaged;
  return index;
}

std::vector<ChunkTable> tables_of(const LoadedIndex& index, const Schema& schema) {
  std::vector<ChunkTable> tables(schema.vars.size());
  std::span<const std::byte> left(index.pages);
  for (const Directory::Item& item : index.directory.items) {
    if (item.var < 0 || static_cast<std::size_t>(item.var) >= tables.size())
      damaged("it tells of a variable that does not exist");
    ChunkTable& table = tables[static_cast<std::size_t>(item.var)];
    table.shape = item.shape;
    table.reason = item.reason;
    const Variable& var = schema.vars[static_cast<std::size_t>(item.var)];
    if (!var.chunking || var.type != item.type || var.shape != item.lengths ||
        var.chunking->codec != item.codec) {
      table.fault = "the header tells of another type, shape or codec than the chunk index";
    }
    table.pages().resize(item.pages.size());
    for (std::size_t p = 0; p < item.pages.size(); ++p) {
      const BlockRef& ref = item.pages[p];
      if (ref.offset == -1) continue;
      auto page = std::make_unique<Page>();
      parse_page(left.first(static_cast<std::size_t>(ref.bytes)), *page);
      left = left.subspan(static_cast<std::size_t>(ref.bytes));
      page->place = ref;
      page->birth = index.root.generation;
      for (Entry& e : page->entries) e.birth = index.root.generation;
      table.pages()[p] = std::move(page);
    }
  }
  for (const Journal::Change& change : parse_journal(index.journal).changes) {
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
