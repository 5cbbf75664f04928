// The reader of the log layout. It finds the entries that hold the requested elements, and combines
// their values: later writes replace earlier ones.
//
// The paper's reader walks through all entries for each read (Hou 2023, §6.2.4). Here entries are
// found in pages of an index that the file keeps (hdf5/log/index_pages.h). Metadata that no index
// covers is read section by section, and looked up in a tree (hdf5/log/lookup.h). Patterns are read
// when needed, and cached.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "array/pattern.h"
#include "base/byte_file.h"
#include "base/report.h"
#include "hdf5/format/log_index.h"
#include "hdf5/log/index_pages.h"
#include "hdf5/log/log_writer.h"
#include "hdf5/log/lookup.h"
#include "hdf5/log/tail_reader.h"
#include "layout/packed_pattern.h"

namespace forebay::logged {

/// Undoes a dataset's filters. `stored` are the bytes in the file. `values` has the size of the
/// values before filtering.
using Unfilter = std::function<void(std::span<const std::byte> stored, std::uint32_t filter_mask,
                                    std::span<std::byte> values)>;

/// What a read needs to know about a dataset.
struct DatasetShape {
  std::uint64_t id = 0;
  std::uint32_t ndims = 1;
  Count element_size = 1;
  std::span<const std::byte> fill;  ///< one element, for where an array was cut and grew again
  const Unfilter* unfilter = nullptr;
};

class LogReader {
 public:
  /// Opens a subfile by its number, from 0. Throws what opening throws.
  using OpenSubfile = std::function<std::shared_ptr<ByteFile>(std::uint32_t)>;

  /// `file` and `report` must outlive the reader. `memory_limit` is the bytes of lookups and
  /// patterns.
  LogReader(ByteFile& file, OpenSubfile open_subfile, Count memory_limit, Report& report);

  /// Sets the index that the file keeps. Errc::ebadlog if damaged; the caller may go on without it.
  void set_index(Offset place, Count bytes);
  /// The same for an index in memory. It must stay unchanged until the next call, or the reader's
  /// end.
  void set_index(Offset place, std::span<const std::byte> index);
  /// Adds a block of metadata, in the order of flushes. Blocks that an index covers are added too,
  /// and so are blocks that a killed job did not finish, as empty ones.
  void add_block(const MetadataBlock& block);
  /// Allocates memory for the next add_block(), so that it cannot fail.
  void expect_block();

  /// Overwrites the elements of `out`, which are in the order of `wanted`, with the written values.
  /// Elements never written stay unchanged. `writer` may be null. If it is given, its pending
  /// entries and those that other ranks have shown count as later than all flushed ones. Returns
  /// whether any entry may meet `wanted`. `indexed` are the entries that the index has for this
  /// read, if they were looked up before. Errc::ebadlog for damage, with its place; Errc::etrunc if
  /// a file ends early; and what opening a subfile throws.
  bool read(const DatasetShape& dataset, const Placed& wanted, std::span<std::byte> out,
            LogWriter* writer, std::vector<NumberedEntry>* indexed = nullptr);

  /// Sets where other ranks show their pending entries. `tails` must outlive the reader.
  void set_tails(Tails& tails);
  /// Returns the bytes of data that entries of the dataset hold; of filtered data as stored.
  Count stored_bytes(std::uint64_t dataset, std::uint32_t ndims);
  /// Returns the entries of the file, in write order, that may have elements within the bounds.
  std::vector<NumberedEntry> find(std::uint64_t dataset, std::uint32_t ndims, const Bounds& wanted);
  /// Returns the pages of the index, which read() looks into.
  IndexPages& pages() { return index_; }
  /// Returns the head of a dataset's list in the index; null if there is none.
  std::shared_ptr<const ListHead> head(std::uint64_t dataset, std::uint32_t ndims);
  /// Calls `use` for each section of the blocks [from, to) whose running number is `phase` modulo
  /// `step`. One section is in memory at a time.
  void for_each_section(std::size_t from, std::size_t to, std::size_t step, std::size_t phase,
                        const std::function<void(const Section&)>& use);
  /// Returns the number of sections in the table of a block. Errc::ebadlog, etrunc.
  std::size_t sections_of(std::size_t block) { return table_of(blocks_[block]).sections.size(); }
  /// Returns the bounds of an entry; null if it has none.
  std::optional<Bounds> bounds(const Section& section, const Entry& entry);
  /// Returns the entries that the index has for a dataset, or an empty lookup. `ndims` 0 takes the
  /// number of dimensions from the index. Errc::ebadlog.
  Lookup from_index(std::uint64_t dataset, std::uint32_t ndims);
  std::shared_ptr<const Pattern> pattern(const PatternRef& ref);

  const IndexDirectory& directory() const { return index_.directory(); }
  const std::vector<MetadataBlock>& blocks() const { return blocks_; }
  /// Returns the highest epoch in the file. Reads the tables of blocks without an index.
  std::uint64_t last_epoch();
  ByteFile& file_of(const Entry& entry);

 private:
  struct Kept {
    std::shared_ptr<const Pattern> pattern;
    std::list<Offset>::iterator use;
    Count memory;
  };

  std::vector<std::byte> bytes(ByteFile& file, Offset place, Count n);
  [[noreturn]] void ends_early(const Entry& entry);
  template <typename Length>
  std::vector<std::byte> beginning(Offset place, Count all, Count least, const Length& length_of);
  Table table_of(const MetadataBlock& block);
  std::vector<std::byte> packed_pattern(const PatternRef& ref);
  void extend(std::size_t from, std::optional<std::uint64_t> only);
  void forget_lookups();
  std::vector<NumberedEntry> find_indexed(std::uint64_t dataset, std::uint32_t ndims,
                                          const Bounds& wanted);
  void add_fresh(std::uint64_t dataset, std::uint32_t ndims, const Bounds& wanted,
                 std::vector<NumberedEntry>& found);
  const Lookup* fresh_lookup(std::uint64_t dataset, std::uint32_t ndims);
  const Lookup* complete_lookup(std::uint64_t dataset, std::uint32_t ndims);
  /// Reads bytes of an entry's data.
  using Fetch = std::function<void(Offset skip, std::span<std::byte> into)>;
  static constexpr Count quick_direct_bytes = 16 << 10, slow_direct_bytes = 64 << 10;
  Count direct_bytes(const Entry& entry) const;
  /// Where an entry's data comes from.
  struct Source {
    Fetch fetch;
    std::span<const std::byte> here = {};  ///< all of the data, if it has been read; else empty
    Count direct_bytes = slow_direct_bytes;
  };
  void apply(const DatasetShape& dataset, const Entry& entry, const Pattern* pattern,
             const Placed& wanted, std::span<std::byte> out, const Source& source);
  void read_plain(const DatasetShape& dataset, const Entry& entry, const Pattern& pattern,
                  const Placed& wanted, std::span<std::byte> out, const Source& source);
  void read_filtered(const DatasetShape& dataset, const Entry& entry, const Pattern& pattern,
                     const Placed& wanted, std::span<std::byte> out, const Source& source);
  struct Pending {
    Entry entry;
    const Pattern* pattern;
    Fetch fetch;
  };
  void fetch_stored(const Entry& entry, Offset skip, std::span<std::byte> into);
  /// An entry of the file that is being read.
  struct Stored {
    const Entry* entry;
    std::shared_ptr<const Pattern> pattern;
    bool whole;                       ///< all of its data is wanted, and it is small
    std::span<const std::byte> data;  ///< its bytes, if they were read together with others'
  };
  void read_neighbours(std::span<Stored> batch);
  bool read_pending(const DatasetShape& dataset, const Placed& wanted, const Bounds& bounds,
                    std::span<std::byte> out, LogWriter& writer);
  void copy_shared(std::span<const Shared> shared, Count element_size, std::span<std::byte> out,
                   const Entry& entry, const Source& source);

  ByteFile& file_;
  OpenSubfile open_subfile_;
  Count memory_limit_;
  Report& report_;
  std::vector<MetadataBlock> blocks_;
  IndexPages index_;
  std::map<std::uint64_t, Lookup> lookups_;             // of blocks that the index does not cover
  std::optional<std::pair<Offset, Table>> last_table_;  // with its block's place
  std::vector<std::byte> section_;                      // the one in use, and its place below
  Offset section_place_ = 0;
  // Blocks that no index covers are read once for all datasets while they are few; later for one
  // dataset.
  Count fresh_bytes_ = 0;
  bool all_at_once_ = true;
  std::size_t covered_ = 0;
  std::map<std::uint64_t, std::size_t> covered_by_;
  Count lookup_memory_ = 0;
  PatternPacker packer_;
  std::unordered_map<Offset, Kept> patterns_;
  std::list<Offset> recent_;  // places of patterns, most recently used first
  Count pattern_memory_ = 0;
  std::map<std::uint32_t, std::shared_ptr<ByteFile>> subfiles_;
  std::vector<std::byte> buffer_, neighbours_;
  std::optional<TailReader> others_;
};

}  // namespace forebay::logged
