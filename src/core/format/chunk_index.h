// The chunk index records where the chunks of all chunked variables are (Hou 2023, §5.2.2). It is
// changed so that a crash leaves the old or the new state. docs/formats.md has the grammar.
//
//     root slot  → directory → pages → chunks
//                → journal → chunks
//
// A page holds the entries of 512 consecutive chunks of one variable, in row-major order of the
// chunk grid. Records vary slowest, so a new record only appends. The directory lists the pages of
// all variables. None of this is changed in place. A publication writes changed pages and a new
// directory to free space, and then one root slot that refers to them, within a disk sector. There
// are three slots, so that the last published and the last synced state both stay.
//
// If pages and directory are large compared with a change, the publication appends a record of the
// changes to the journal instead. Its root then includes this record. The state is that of the
// directory and the pages, with the records applied in their order.
//
// All numbers are big-endian. Offsets are relative to `Root::shift`. When a growing header moves
// all that follows it, only the root changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/type.h"
#include "base/types.h"
#include "format/file_boxes.h"
#include "store/slots.h"

namespace forebay::chunked {

constexpr Count chunks_per_page = 512;
constexpr Count entry_bytes = 32;
constexpr Count ref_bytes = 24;  ///< of a reference to a page, in a directory
using store::slots, store::slot_bytes;
/// There are two copies, so that one damaged byte does not lose the root. One copy stays whole even
/// if a growing header has moved the slot across two sectors.
constexpr store::SlotForm root_form{2, 96};

constexpr Offset first_in_data_file = 4096;  ///< after its front (format/data_file_front.h)

inline bool lies_within(Offset offset, Count bytes, Offset end) {
  return offset >= 0 && bytes >= 0 && bytes <= end && offset <= end - bytes;
}

/// The place of one chunk and how to verify it. Only offsets in the file of the index are shifted.
struct Entry {
  Offset offset = -1;         ///< -1: never written; its elements are the fill value
  Count bytes = 0;            ///< stored bytes
  std::uint64_t hash = 0;     ///< xxh3-64 of the stored bytes
  std::uint32_t skipped = 0;  ///< stages of the pipeline that were not applied
  std::uint32_t file = 0;     ///< 0: the file of the index; else data file `file - 1` beside it
  std::uint32_t birth = 0;    ///< in memory only: the generation that it was published in

  bool present() const { return offset >= 0; }
};

/// Returns whether a chunk may lie where its entry says: after the front of a data file if chunks
/// lie apart, else in the file of the index from `heap` on. Space elsewhere is never released.
inline bool may_lie(const Entry& entry, bool apart, Offset heap) {
  return apart == (entry.file != 0) && entry.offset >= (apart ? first_in_data_file : heap);
}

/// A stored block of the index.
struct BlockRef {
  Offset offset = -1;  ///< -1: none; no chunk of this page was ever written
  Count bytes = 0;
  std::uint64_t hash = 0;
};

struct Page {
  std::vector<Entry> entries;  ///< of the first chunks; later ones are absent
  BlockRef place;              ///< where it is stored; may be older than `entries`
  std::uint32_t birth = 0;     ///< generation of `place`
  bool dirty = false;
};

/// The chunks of one variable, by chunk id. Memory grows with pages in use, not with the grid.
///
/// A table that nobody changes may read its pages on demand. Then get() and for_each() fail as the
/// reading does, and a reference from get() is valid until the next call of either.
class ChunkTable {
 public:
  std::vector<Count> shape;  ///< of a chunk; empty until chosen. The header's copy may lag behind.
  std::string reason;        ///< why this shape
  std::string fault;         ///< why the variable cannot be used; empty if it can
  FileBoxes boxes;           ///< around all present entries in data files

  /// Returns the entry; an absent one for ids that were never set.
  const Entry& get(Count id) const;
  /// Returns the entry to be changed, and marks its page dirty.
  Entry& set(Count id);
  /// Returns an upper bound of the stored bytes of all pages and of the references to them.
  Count bytes() const;
  /// Returns the same for the page of one chunk and the references to all pages. set(id) changes it
  /// by the same amount as bytes().
  Count bytes_around(Count id) const;
  /// Returns a page that is stored; null if no chunk of it was ever written.
  using ReadPage = std::function<std::unique_ptr<Page>(std::size_t page)>;
  /// The table has so many pages, and `read` reads those that it is asked for.
  void read_on_demand(std::size_t pages, ReadPage read) {
    pages_.resize(pages);
    read_ = std::move(read);
  }
  /// Forgets a page, which is read again when it is asked for.
  void forget(std::size_t page) { pages_[page].reset(); }
  std::vector<std::unique_ptr<Page>>& pages() { return pages_; }
  const std::vector<std::unique_ptr<Page>>& pages() const { return pages_; }

  /// Calls f(id, entry) for each chunk that is present, by increasing id.
  template <typename F>
  void for_each(F&& f) const {
    for (std::size_t p = 0; p < pages_.size(); ++p) {
      const Page* const page = page_at(p);
      if (page == nullptr) continue;
      for (std::size_t i = 0; i < page->entries.size(); ++i) {
        const Entry& e = page->entries[i];
        if (e.present()) f(static_cast<Count>(p) * chunks_per_page + static_cast<Count>(i), e);
      }
    }
  }

 private:
  const Page* page_at(std::size_t p) const {
    if (!pages_[p] && read_) pages_[p] = read_(p);
    return pages_[p].get();
  }

  mutable std::vector<std::unique_ptr<Page>> pages_;
  ReadPage read_;
};

struct Root {
  std::uint32_t generation = 0;  ///< counts publications; 0: none
  bool synced = false;           ///< a sync that followed it has completed
  Offset shift = 0;              ///< all offsets of the index count from here
  BlockRef directory;
  BlockRef journal;  ///< its records so far; offset -1: none

  std::uint64_t number() const { return generation; }
};

/// Returns slot_bytes bytes.
std::vector<std::byte> print_root(const Root& root);
/// Parses the first whole copy. Returns nothing for a slot that was never, or only partly, written.
/// Errc::enotnc for a version that this build does not know.
std::optional<Root> parse_root(std::span<const std::byte> slot);

/// The stored bytes of a full page of entries.
constexpr Count page_bytes = chunks_per_page * entry_bytes;
/// The printed form of a page omits trailing absent entries.
Count printed_bytes(const Page& page);
std::vector<std::byte> print_page(const Page& page);
/// Errc::enotnc if the bytes are not whole entries, or an entry is impossible in any file.
void parse_page(std::span<const std::byte> bytes, Page& page);

struct Directory {
  Offset end = 0;     ///< one past the last byte in use
  Count numrecs = 0;  ///< records of the file in this state
  struct Item {
    VarId var = 0;
    /// `type`, `lengths` and `codec` equal those of the header; if not, the file is damaged.
    Type type = Type::none;
    std::vector<Count> lengths;  ///< of its dimensions; 0: records
    std::string codec;
    std::vector<Count> shape;
    std::string reason;
    std::vector<BlockRef> pages;
    std::map<std::uint32_t, ChunkBox> boxes;  ///< by data file, as in entries
  };
  std::vector<Item> items;
};

std::vector<std::byte> print_directory(const Directory& directory);
/// `file_end`: bytes of the file, relative to the shift. Errc::enotnc with the reason for anything
/// impossible. Allocates no more than a small multiple of bytes.size().
Directory parse_directory(std::span<const std::byte> bytes, Offset file_end);

/// The changes of publications since the directory and its pages were written.
struct Journal {
  Offset end = 0;     ///< as in the directory
  Count numrecs = 0;  ///< as in the directory
  std::vector<Directory::Item>
      items;  ///< without pages and boxes; they replace items of the directory
  struct Change {
    VarId var = 0;
    Count id = 0;  ///< of the chunk
    Entry entry;
  };
  std::vector<Change> changes;  ///< in their order
};

/// Prints one record.
std::vector<std::byte> print_journal(const Journal& record);
Count printed_bytes(const Journal& record);
/// Parses all records, one after another. Returns the end and number of records of the last one,
/// with all items and changes. Errc::enotnc as in parse_directory.
Journal parse_journal(std::span<const std::byte> bytes);
/// Applies the journal to the directory, except for the entries and boxes: items get their shapes,
/// and pages (absent ones) up to the last chunk. Errc::enotnc for chunks of a variable that neither
/// has. Also if all pages with those chunks would be larger than the file; this bounds memory.
void apply(const Journal& journal, Directory& directory, Offset file_end);

}  // namespace forebay::chunked
