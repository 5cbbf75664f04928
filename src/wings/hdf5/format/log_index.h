// The index of a log file. For each dataset it has the entries, in write order, and boxes around
// them in the order of a tree (hdf5/log/lookup.h). docs/formats.md has the grammar.
//
//     index    header | directory | the list of dataset 1 | the list of dataset 2 | …
//
// The index covers the metadata blocks up to a number. If a job was killed before it closed the
// file, there are later blocks, which are read one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hdf5/format/log_section.h"

namespace forebay::logged {

/// The entries of one dataset.
struct EntryList {
  std::uint32_t ndims = 1;
  bool by_box = false;           ///< boxes have ndims dimensions; else one, of flattened elements
  std::vector<Count> inner;      ///< if not by_box: the extents that elements were flattened by
  std::vector<Entry> entries;    ///< in write order; Entry::pattern is not used
  std::vector<PatternRef> refs;  ///< of the entries' patterns
  std::vector<std::uint32_t> order;  ///< numbers of the entries of Kind::write, in the tree's order
  std::vector<Count> boxes;          ///< for each of `order`: low and high of every dimension

  std::size_t box_dims() const { return by_box ? ndims : 1; }
};

std::vector<std::byte> print_list(const EntryList& list);
EntryList parse_list(std::span<const std::byte> bytes);  ///< Errc::ebadlog

struct IndexPlace {
  std::uint64_t dataset = 0;
  Offset place = 0;  ///< of its list, relative to the beginning of the index
  Count bytes = 0;
  std::uint64_t hash = 0;  ///< xxh3-64 of the list's bytes
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

}  // namespace forebay::logged
