// The index of a log file. For each dataset it has the entries, with boxes around them, in the
// order of a tree (hdf5/log/lookup.h). docs/formats.md has the grammar.
//
//     index    header | directory | the list of dataset 1 | the list of dataset
//     2 | … list     head | page | page | …
//
// A page has a few hundred writes that lie close together in the array. The head has the bounds of
// each page, and its checksum. So a read takes the head, and the pages that may have what it wants.
//
// The index covers the metadata blocks up to a number. If a job was killed before it closed the
// file, there are later blocks, which are read one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hdf5/format/log_section.h"

namespace forebay::logged {

/// What the boxes of a dataset's entries are.
struct ListShape {
  std::uint32_t ndims = 1;
  bool by_box = false;       ///< boxes have ndims dimensions; else one, of flattened elements
  std::vector<Count> inner;  ///< if not by_box: the extents that elements were flattened by

  std::size_t box_dims() const { return by_box ? ndims : 1; }
  std::size_t box_numbers() const { return 2 * box_dims(); }
};

/// The entries of one dataset.
struct EntryList : ListShape {
  std::vector<Entry> entries;        ///< in write order; Entry::pattern is not used
  std::vector<PatternRef> refs;      ///< of the entries' patterns
  std::vector<std::uint32_t> order;  ///< numbers of the entries of Kind::write, in the tree's order
  std::vector<Count> boxes;          ///< for each of `order`: low and high of every dimension
};

/// An entry, and its number in write order.
struct NumberedEntry {
  std::uint32_t number = 0;
  Entry entry;
  PatternRef ref;
};

/// The head of a list. Pages are all of the same length, but for the last one.
struct ListHead : ListShape {
  std::uint32_t writes = 0;
  std::uint32_t page_writes = 1;  ///< of a page
  Count stored = 0;               ///< sum over all entries
  std::vector<NumberedEntry> cuts;
  std::vector<Count> bounds;          ///< for each page: low and high of every dimension
  std::vector<std::uint64_t> hashes;  ///< of each page
  Count bytes = 0;                    ///< of the head

  std::size_t entries() const { return writes + cuts.size(); }
  std::size_t record_bytes() const;
  Count page_bytes(std::size_t page) const;
  /// Returns where a page begins, from the beginning of the list.
  Offset page_place(std::size_t page) const;
  Count memory() const;
};

std::vector<std::byte> print_list(const EntryList& list);
// Parsing throws Errc::ebadlog. The checksum of a head is in the directory, that of a page in the
// head.
EntryList parse_list(std::span<const std::byte> bytes);
/// Parses the head of a list that has `list` bytes. `beginning` has all of the head.
ListHead parse_head(std::span<const std::byte> beginning, Count list);
/// Calls `use` for the records of a page whose boxes meet `box`.
void find_in_page(const ListHead& head, std::span<const std::byte> page, const Count* box,
                  const std::function<void(std::span<const std::byte> record)>& use);
/// Parses one record, without its box.
NumberedEntry parse_record(const ListHead& head, std::span<const std::byte> record);

/// Returns whether two boxes have elements in common.
inline bool boxes_meet(const Count* a, const Count* b, std::size_t dims) {
  for (std::size_t d = 0; d < dims; ++d)
    if (a[2 * d] >= b[2 * d + 1] || a[2 * d + 1] <= b[2 * d]) return false;
  return true;
}

struct IndexPlace {
  std::uint64_t dataset = 0;
  Offset place = 0;  ///< of its list, relative to the beginning of the index
  Count bytes = 0;
  Count head = 0;          ///< bytes of the list's head
  std::uint64_t hash = 0;  ///< xxh3-64 of the head
};

struct IndexDirectory {
  std::uint64_t blocks = 0;        ///< metadata blocks that the index covers
  std::uint64_t epoch = 0;         ///< the highest among them
  Savings savings;                 ///< sum over them
  std::uint64_t entries = 0;       ///< in all lists
  std::vector<IndexPlace> places;  ///< by dataset
};

/// Returns the size of what print_directory makes.
Count directory_bytes(std::size_t datasets);
std::vector<std::byte> print_directory(const IndexDirectory& directory);
constexpr Count index_front_bytes = 24;
/// Returns the directory's size, from its first index_front_bytes. `index` is the index's size.
Count directory_bytes_of(std::span<const std::byte> front, Count index);
IndexDirectory parse_directory(std::span<const std::byte> bytes, Count index);
/// Returns whether an index was written by a build before the first release, whose lists had no
/// pages. Its file is read without it.
bool is_without_pages(std::span<const std::byte> front);

}  // namespace forebay::logged
