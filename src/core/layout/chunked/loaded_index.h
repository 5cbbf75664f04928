// The stored chunk index, read with everything that a root refers to (docs/formats.md). Rank 0
// reads it for all ranks (ChunkStore), or a single process for itself (file_chunks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/types.h"
#include "format/chunk_index.h"

namespace forebay::chunked {

using store::OpenState;

/// A readable root, with everything that it refers to.
struct LoadedIndex {
  Root root;
  int slot = 0;
  std::uint32_t last_generation = 0;  ///< highest of the file's roots; the next is higher
  int damaged = -1;                   ///< a slot whose root is damaged; -1: none
  Directory directory;                ///< after replaying the journal, also in boxes
  std::vector<std::byte> pages;       ///< stored bytes of the directory's pages, one after another;
                                      ///< none if they are left
  std::vector<std::byte> journal;     ///< stored bytes

  /// Returns whether no root is newer, and no damaged one may be.
  bool is_newest() const { return root.generation == last_generation && damaged < 0; }
};

/// Reads `bytes` at `offset` of the file, or throws.
using ReadBytes = std::function<std::vector<std::byte>(Offset offset, Count bytes)>;

/// Local. Reads the newest root (or the newest synced one) and what it refers to. A root is stored
/// twice, and one whole copy is enough; two damaged ones are an error. A complete root that refers
/// to damaged data is an error; no older state is then used. Errc::enotnc. `leaves_pages`: pages
/// are not read.
LoadedIndex read_index(const ReadBytes& read, Offset root, Offset file_size, OpenState state,
                       bool leaves_pages = false);

/// Local. Reads one page, which has a place. Errc::enotnc if it is damaged.
std::unique_ptr<Page> read_page(const ReadBytes& read, const Root& root, const BlockRef& place,
                                Offset file_size);

/// Local. The boxes of a variable's data files, by its item. Without a grid if the item has no
/// shape.
FileBoxes boxes_of(const Directory::Item& item);

/// Damage below a root: of the directory with its journal, or of a page.
struct IndexFault {
  const Directory::Item* item = nullptr;  ///< of the variable whose page it is; null: the directory
  std::size_t page = 0;
  std::string problem;  ///< follows the name of what is damaged: ": it lies outside the file"
};

/// Local. Reads what a root refers to, as far as it is undamaged, and calls tell() for each fault;
/// damaged pages are then absent. Returns nothing if the directory cannot be read. A variable that
/// is not chunked in `schema` is a fault of the directory.
std::optional<LoadedIndex> read_undamaged(const ReadBytes& read, const Root& root, Offset file_size,
                                          const Schema& schema,
                                          const std::function<void(const IndexFault&)>& tell);

/// The tables of a loaded index, one for each variable. A variable gets a fault if header and index
/// contradict each other.
std::vector<ChunkTable> tables_of(const LoadedIndex& index, const Schema& schema);
/// The same, without pages and entries.
std::vector<ChunkTable> tables_without_pages(const LoadedIndex& index, const Schema& schema);

/// Calls f(offset, bytes, file) for each block of the index and each chunk. `file` is as in
/// entries.
template <typename F>
void each_place(const LoadedIndex& index, const std::vector<ChunkTable>& tables, F&& f) {
  const auto block = [&](const BlockRef& ref) {
    if (ref.offset >= 0) f(ref.offset, ref.bytes, 0);
  };
  block(index.root.directory);
  block(index.root.journal);
  for (const ChunkTable& table : tables) {
    for (const auto& page : table.pages())
      if (page) block(page->place);
    table.for_each([&](Count, const Entry& e) { f(e.offset, e.bytes, e.file); });
  }
}

/// Errc::enotnc if variables other than chunked ones cannot have as many records as the index
/// states.
void check_records(Count numrecs, const Schema& schema);

/// Updates the schema for other readers from the index: the shapes of chunks with their reasons,
/// and the number of records, which may be older or newer in the header after a crash. A variable
/// that cannot have so many records gets a fault.
void tell(std::vector<ChunkTable>& tables, Count numrecs, Schema& schema);

}  // namespace forebay::chunked
