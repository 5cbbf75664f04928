// The log layout, reading: finds the entries that hold what is asked for, and puts their values
// together, later writes over earlier ones.
//
// The paper reads all metadata and walks through all entries for each read (D6 §6.2.4). Here
// entries are looked up in a tree (log/lookup.h), which the file keeps (format/log_index.h);
// metadata that no index covers is read section by section. Patterns are read where an entry is
// needed, and kept.
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
#include "format/log_index.h"
#include "layout/logged/log_writer.h"
#include "layout/logged/lookup.h"
#include "layout/logged/tail_reader.h"
#include "layout/packed_pattern.h"

namespace forebay::logged {

/// Values that went through a dataset's filters, back as they were. `stored`: as they are in the
/// file; `values`: of the size that they had.
using Unfilter = std::function<void(std::span<const std::byte> stored, std::uint32_t filter_mask,
                                    std::span<std::byte> values)>;

/// What a read needs to know of a dataset.
struct DatasetShape {
  std::uint64_t id = 0;
  std::uint32_t ndims = 1;
  Count element_size = 1;
  std::span<const std::byte> fill;  ///< one element: where an array was cut and grew again
  const Unfilter* unfilter = nullptr;
};

class LogReader {
 public:
  /// A subfile by its number, from 0; throws what opening it throws.
  using OpenSubfile = std::function<std::shared_ptr<ByteFile>(std::uint32_t)>;

  /// `file` and `report` outlive the reader. `memory_limit`: bytes for lookups and patterns
  /// together.
  LogReader(ByteFile& file, OpenSubfile open_subfile, Count memory_limit, Report& report);

  /// The index that the file keeps. Errc::ebadlog for a damaged one: the caller may go on without.
  void set_index(Offset place, Count bytes);
  /// The same, of an index that is in memory as a whole: it must stay as it is for as long as the
  /// reader, or until the next call.
  void set_index(Offset place, std::span<const std::byte> index);
  /// A block of metadata, in the order of flushes. Those that an index covers are told too, and
  /// those that a killed job did not finish, as empty.
  void add_block(const MetadataBlock& block);
  /// Takes the memory for the next of these.
  void expect_block();

  /// Overwrites the elements of `out`, which lie in the order of `wanted`, with what was written to
  /// them; others stay as they are. Errc::ebadlog for damage, naming what; Errc::etrunc where a
  /// file ends early; what opening a subfile throws. `writer`: its pending entries, and those that
  /// other ranks have shown, are later than all flushed ones; may be null. Returns whether any
  /// entry may meet what is wanted.
  bool read(const DatasetShape& dataset, const Placed& wanted, std::span<std::byte> out,
            const LogWriter* writer);

  /// Where other ranks show their pending entries; they outlive the reader.
  void set_tails(Tails& tails);
  /// Bytes of data that entries of the dataset hold; of filtered ones as stored.
  Count stored_bytes(std::uint64_t dataset, std::uint32_t ndims);
  /// The lookup of a dataset; built when first asked for. Valid until the next call of any member.
  const Lookup& lookup(std::uint64_t dataset, std::uint32_t ndims);
  const Lookup& complete_lookup(std::uint64_t dataset, std::uint32_t ndims);
  /// Calls `use` with the sections of blocks [from, to) whose running number is `phase` modulo
  /// `step`, one in memory at a time.
  void for_each_section(std::size_t from, std::size_t to, std::size_t step, std::size_t phase,
                        const std::function<void(const Section&)>& use);
  /// How many sections the table of a block names. Errc::ebadlog, etrunc.
  std::size_t sections_of(std::size_t block) { return table_of(blocks_[block]).sections.size(); }
  /// The bounds of an entry; null for what has none.
  std::optional<Bounds> bounds(const Section& section, const Entry& entry);
  /// What the index keeps of a dataset, or an empty lookup. `ndims` 0: as the index says.
  /// Errc::ebadlog.
  Lookup from_index(std::uint64_t dataset, std::uint32_t ndims);
  std::shared_ptr<const Pattern> pattern(const PatternRef& ref);

  const IndexDirectory& directory() const { return directory_; }
  const std::vector<MetadataBlock>& blocks() const { return blocks_; }
  /// The highest epoch in the file. Reads the tables of blocks that the index does not cover.
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
  /// Reads bytes of an entry's data.
  using Fetch = std::function<void(Offset skip, std::span<std::byte> into)>;
  static constexpr Count quick_direct_bytes = 16 << 10, slow_direct_bytes = 64 << 10;
  Count direct_bytes(const Entry& entry) const;
  /// Where an entry's data comes from.
  struct Source {
    Fetch fetch;
    std::span<const std::byte> here = {};  ///< all of it, where it has been read; else empty
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
  /// An entry of the file on its way to the caller.
  struct Stored {
    const Entry* entry;
    std::shared_ptr<const Pattern> pattern;
    bool whole;                       ///< all of its data is wanted, and that is little
    std::span<const std::byte> data;  ///< where it has been read with others'
  };
  void read_neighbours(std::span<Stored> batch);
  bool read_pending(const DatasetShape& dataset, const Placed& wanted, const Bounds& bounds,
                    std::span<std::byte> out, const LogWriter& writer);
  void copy_shared(std::span<const Shared> shared, Count element_size, std::span<std::byte> out,
                   const Entry& entry, const Source& source);

  ByteFile& file_;
  OpenSubfile open_subfile_;
  Count memory_limit_;
  Report& report_;
  std::vector<MetadataBlock> blocks_;
  Offset index_place_ = -1;
  std::span<const std::byte> index_;  // the whole, where it is in memory
  IndexDirectory directory_;
  std::map<std::uint64_t, Lookup> lookups_;
  std::optional<std::pair<Offset, Table>> last_table_;  // of the block there
  std::vector<std::byte> section_;                      // in use, and where it is in the file
  Offset section_place_ = 0;
  // Blocks beyond the index are read once for all datasets while they are few, then for one at a
  // time.
  Count fresh_bytes_ = 0;
  bool all_at_once_ = true;
  std::size_t covered_ = 0;
  std::map<std::uint64_t, std::size_t> covered_by_;
  Count lookup_memory_ = 0;
  PatternPacker packer_;
  std::unordered_map<Offset, Kept> patterns_;
  std::list<Offset> recent_;  // places of patterns, the last used first
  Count pattern_memory_ = 0;
  std::map<std::uint32_t, std::shared_ptr<ByteFile>> subfiles_;
  std::vector<std::byte> buffer_, neighbours_;
  std::optional<TailReader> others_;
};

}  // namespace forebay::logged
