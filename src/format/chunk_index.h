// The chunk index: where the chunks of all chunked variables are (D5 §5.2.2, changed so that a
// crash leaves the old or the new state; docs/formats.md has the grammar).
//
//     root slot  → directory → pages → chunks
//                → journal → chunks
//
// A page holds the entries of 512 chunks of one variable that follow each other in row-major order
// of the chunk grid (records slowest, so that a new record only appends). The directory lists the
// pages of all variables. Nothing of this is ever changed in place: a publication writes changed
// pages and a new directory to free space, and then one root slot, within a disk sector, that names
// them. There are three slots, so that the last published and the last synced state both stay.
//
// Where pages and directory are large beside what a publication changes, it appends a record of the
// changes to the journal instead, and its root names so many more bytes of it: the state is that of
// the directory and the pages, changed by the records in their order.
//
// All numbers are big-endian. Offsets are relative to `Root::shift`: when a growing header moves
// all that follows it, only the root changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/type.h"
#include "base/types.h"

namespace forebay::chunked {

constexpr Count chunks_per_page = 512;
constexpr Count entry_bytes = 32;
constexpr Count ref_bytes = 24;     ///< of a page, in a directory
constexpr Count slot_stride = 512;  ///< a slot fills no more than one sector of a disk
constexpr int slots = 3;
constexpr Count root_bytes = 64;          ///< of a root without a journal
constexpr Count journal_root_bytes = 96;  ///< of one with a journal
/// Two copies of the root, so that one damaged byte does not lose it.
constexpr Count slot_copies = 2, copy_stride = 256, slot_bytes = copy_stride + journal_root_bytes;

constexpr Offset first_in_data_file = 4096;  ///< behind its front (format/decomposed.h)

inline bool lies_within(Offset offset, Count bytes, Offset end) {
  return offset >= 0 && bytes >= 0 && bytes <= end && offset <= end - bytes;
}

/// Where one chunk is and how to check it. Only offsets in the file of the index are shifted.
struct Entry {
  Offset offset = -1;         ///< -1: never written; its elements are the fill value
  Count bytes = 0;            ///< stored bytes
  std::uint64_t hash = 0;     ///< xxh3-64 of the stored bytes
  std::uint32_t skipped = 0;  ///< stages of the pipeline that were not applied
  std::uint32_t file = 0;     ///< 0: the file of the index; else data file `file - 1` beside it
  std::uint32_t birth = 0;    ///< in memory only: generation of the publication that it came with

  bool present() const { return offset >= 0; }
};

/// Whether a chunk may lie where its entry says: behind the front of a data file, where chunks lie
/// apart, else in the file of the index from `heap` on. What lies elsewhere is nobody's to release.
inline bool may_lie(const Entry& entry, bool apart, Offset heap) {
  return apart == (entry.file != 0) && entry.offset >= (apart ? first_in_data_file : heap);
}

/// A stored block of the index.
struct BlockRef {
  Offset offset = -1;  ///< -1: there is none; no chunk of this page was ever written
  Count bytes = 0;
  std::uint64_t hash = 0;
};

struct Page {
  std::vector<Entry> entries;  ///< of the first chunks; those behind are absent
  BlockRef place;              ///< where it is stored; may be older than `entries`
  std::uint32_t birth = 0;     ///< generation that `place` came with
  bool dirty = false;
};

/// The chunks of one variable, by chunk id. Memory grows with pages in use, not with the grid.
class ChunkTable {
 public:
  std::vector<Count> shape;  ///< of a chunk; empty until chosen. The header's copy may lag behind.
  std::string reason;        ///< why this shape
  std::string fault;         ///< why the variable cannot be used; empty if it can

  /// The entry; an absent one for ids beyond what was ever set.
  const Entry& get(Count id) const;
  /// For changing; makes the page dirty.
  Entry& set(Count id);
  /// Stored bytes of all pages and of what names them, at most.
  Count bytes() const;
  /// The same of the one page that a chunk's entry is in, and of what names all pages: differs by
  /// what set(id) makes bytes() differ by.
  Count bytes_around(Count id) const;
  std::vector<std::unique_ptr<Page>>& pages() { return pages_; }
  const std::vector<std::unique_ptr<Page>>& pages() const { return pages_; }

  /// Calls f(id, entry) for each chunk that is present, by increasing id.
  template <typename F>
  void for_each(F&& f) const {
    for (std::size_t p = 0; p < pages_.size(); ++p) {
      if (!pages_[p]) continue;
      for (std::size_t i = 0; i < pages_[p]->entries.size(); ++i) {
        const Entry& e = pages_[p]->entries[i];
        if (e.present()) f(static_cast<Count>(p) * chunks_per_page + static_cast<Count>(i), e);
      }
    }
  }

 private:
  std::vector<std::unique_ptr<Page>> pages_;
};

struct Root {
  std::uint32_t generation = 0;  ///< counts publications; 0: none
  bool synced = false;           ///< a sync that followed it has completed
  Offset shift = 0;              ///< what all offsets of the index count from
  BlockRef directory;
  BlockRef journal;  ///< its records so far; offset -1: none
};

/// slot_bytes.
std::vector<std::byte> print_root(const Root& root);
/// The first copy that is whole; nothing for a slot that was never written, or only in part.
/// Errc::enotnc for a version that this build does not know.
std::optional<Root> parse_root(std::span<const std::byte> slot);

/// Stored bytes of a page of entries, all of them. `page` is not larger than page_bytes.
constexpr Count page_bytes = chunks_per_page * entry_bytes;
/// Trailing absent entries are left out.
Count printed_bytes(const Page& page);
std::vector<std::byte> print_page(const Page& page);
/// Errc::enotnc when the bytes are not whole entries, or an entry is impossible in any file.
void parse_page(std::span<const std::byte> bytes, Page& page);

struct Directory {
  Offset end = 0;     ///< one past the last byte in use
  Count numrecs = 0;  ///< records of the file in this state
  struct Item {
    VarId var = 0;
    /// What the header says of the variable too; where they differ the file is damaged.
    Type type = Type::none;
    std::vector<Count> lengths;  ///< of its dimensions; 0: records
    std::string codec;
    std::vector<Count> shape;
    std::string reason;
    std::vector<BlockRef> pages;
  };
  std::vector<Item> items;
};

std::vector<std::byte> print_directory(const Directory& directory);
/// `file_end`: bytes of the file, relative to the shift.
/// Errc::enotnc with the reason for anything that cannot be; allocates no more than a small
/// multiple of bytes.size().
Directory parse_directory(std::span<const std::byte> bytes, Offset file_end);

/// What publications changed since the directory and its pages were written.
struct Journal {
  Offset end = 0;                      ///< as in the directory
  Count numrecs = 0;                   ///< as in the directory
  std::vector<Directory::Item> items;  ///< without pages; in place of those of the directory
  struct Change {
    VarId var = 0;
    Count id = 0;  ///< of the chunk
    Entry entry;
  };
  std::vector<Change> changes;  ///< in their order
};

/// One record.
std::vector<std::byte> print_journal(const Journal& record);
Count printed_bytes(const Journal& record);
/// All records, one after another: the last one's end and number of records, all items and changes.
/// Errc::enotnc as parse_directory.
Journal parse_journal(std::span<const std::byte> bytes);
/// Makes the directory tell what the journal does, but for the entries: items have their shapes,
/// and pages (absent ones) up to the last chunk. Errc::enotnc for chunks of a variable that neither
/// knows, and when all pages with those chunks would be larger than the file; that bounds memory.
void apply(const Journal& journal, Directory& directory, Offset file_end);

}  // namespace forebay::chunked
