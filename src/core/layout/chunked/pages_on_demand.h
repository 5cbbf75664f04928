// The entries of chunks of a file that is open for reading only. A rank reads the pages of the
// index that it needs, when it first needs them, and holds a bounded number of them. So an index of
// any size costs a rank its directory, 24 bytes for 512 chunks, and what its journal changes.
//
// Another program may write the file meanwhile, and use the space of a page again that it has
// written anew. Then the rank takes the present directory, as if it had opened the file now.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "array/schema.h"
#include "base/types.h"
#include "format/chunk_index.h"
#include "layout/chunked/loaded_index.h"

namespace forebay::chunked {

class PagesOnDemand {
 public:
  static constexpr std::size_t usual_most = 512;  ///< 10 MiB

  /// An index without pages, and the size of its file.
  struct Loaded {
    LoadedIndex index;
    Offset file_size;
  };
  using LoadAgain = std::function<Loaded()>;

  /// This rank may call `read` and `again` at any time. At most `most` pages, and at least one, are
  /// held.
  PagesOnDemand(Loaded loaded, ReadBytes read, LoadAgain again, std::size_t most = usual_most);

  /// Returns the tables of the index, which read their pages by this object. They must become
  /// `tables`, and stay there.
  std::vector<ChunkTable> make_tables(const Schema& schema, std::vector<ChunkTable>& tables);

 private:
  void take(Loaded loaded);
  std::unique_ptr<Page> load(VarId var, std::size_t page);
  std::unique_ptr<Page> read_now(VarId var, std::size_t page) const;
  bool is_renewed();

  Loaded loaded_;
  std::map<VarId, const Directory::Item*> items_;
  std::map<std::pair<VarId, Count>, Entry> changes_;  // of the journal, by variable and chunk
  ReadBytes read_;
  LoadAgain again_;
  std::size_t most_;
  std::vector<ChunkTable>* tables_ = nullptr;
  std::deque<std::pair<VarId, std::size_t>> held_;  // pages, the oldest first
};

}  // namespace forebay::chunked
