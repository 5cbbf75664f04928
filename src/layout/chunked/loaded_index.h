// The chunk index as it is stored, read with all that a root leads to (docs/formats.md): by rank 0
// for all (ChunkStore), and by who reads a file alone (files/file_chunks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "array/schema.h"
#include "base/types.h"
#include "format/chunk_index.h"

namespace forebay::chunked {

/// Which state of a file to open.
enum class OpenState { newest, synced };

/// A root that can be read, with all that it leads to.
struct LoadedIndex {
  Root root;
  int slot = 0;
  std::uint32_t last_generation = 0;  ///< of any root of the file; the next one counts on from it
  bool is_newest = true;              ///< no root is newer, nor a damaged one that may have been
  Directory directory;                ///< as the journal leaves it
  std::vector<std::byte> pages;       ///< stored bytes of the directory's pages, one after another
  std::vector<std::byte> journal;     ///< stored bytes
};

/// Reads `bytes` at `offset` of the file, or throws.
using ReadBytes = std::function<std::vector<std::byte>(Offset offset, Count bytes)>;

/// Local. The newest root (or the newest synced one) and what it names. A root that a crash tore
/// counts as never written; a root that is whole and names what is damaged is an error, not a
/// reason to show an older state. Errc::enotnc.
LoadedIndex read_index(const ReadBytes& read, Offset root, Offset file_size, OpenState state);

/// The tables of a loaded index, one for each variable. A variable of which header and index tell
/// different things gets a fault.
std::vector<ChunkTable> tables_of(const LoadedIndex& index, const Schema& schema);

/// Errc::enotnc where variables beside chunked ones cannot have as many records as the index says.
void check_records(Count numrecs, const Schema& schema);

/// What the index knows better than the header, which other readers need: the shapes of chunks and
/// why, and the number of records, of which a crash may leave an older or a newer one there.
/// A variable that cannot have so many gets a fault.
void tell(std::vector<ChunkTable>& tables, Count numrecs, Schema& schema);

}  // namespace forebay::chunked
