// The log layout, writing (D6 §6.2.2): each rank appends what it writes, in its own order, to one
// block of data a flush; what was written where goes into a block of metadata.
//
//     write      data → pending data, selection → pending section       local
//     flush      blocks are allotted, every rank writes its part         collective
//
// Nobody waits for, or moves data to, another rank. What holds the blocks (datasets of an HDF5
// file, subfiles) is the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "base/byte_file.h"
#include "base/report.h"
#include "comm/comm.h"
#include "layout/logged/section_builder.h"
#include "layout/logged/tails.h"
#include "layout/pending_data.h"

namespace forebay::logged {

/// Gives out space in the file.
class BlockSpace {
 public:
  enum class Use { data, metadata, index };
  virtual ~BlockSpace() = default;
  /// Collective over all ranks, with equal arguments: a new contiguous block, and its position in
  /// the file.
  virtual Offset allot(Use use, Count bytes) = 0;
};

/// A subfile and the ranks that share it.
struct Subfile {
  Comm ranks;
  std::uint32_t number = 0;  ///< as Entry::file: from 1
  std::shared_ptr<ByteFile> file;
  Offset end = 0;  ///< where the next block begins; equal on `ranks`
};

struct WriterOptions {
  Count buffer_limit = 64 << 20;  ///< bytes of data that a rank holds in memory
  bool copies = true;             ///< false: the program leaves its buffers alone until a flush
  std::uint64_t first_epoch = 1;  ///< above all that the file holds
};

/// A block of metadata that a flush wrote.
struct MetadataBlock {
  Offset place = 0;
  Count bytes = 0;
};

class LogWriter {
 public:
  /// `file`, `space` and `report` outlive the writer. `subfile`: data goes there; metadata always
  /// goes into `file`.
  /// `tails`: where others look for what is pending; null where there are no others.
  LogWriter(const Comm& comm, ByteFile& file, BlockSpace& space, std::optional<Subfile> subfile,
            const WriterOptions& options, PendingData::MakeFile make_temporary, Tails* tails,
            Report& report);

  /// Local. Before writes of one call of the program, which all ranks make together if
  /// `collective`: orders them after all that were complete before.
  void begin(bool collective);
  /// Local. After them: they are complete, and other ranks find them. Not for bytes that were lent
  /// to a single call.
  void publish();

  /// Local. Bytes of the selected elements, one after another; row-major. They are copied, unless
  /// `lent` and either options.copies is false or lend(true) was called. `filter_mask`: they went
  /// through filters, as Entry::filter_mask has it.
  void write(std::uint64_t dataset, const Placed& selection, std::span<const std::byte> bytes,
             bool lent, std::optional<std::uint32_t> filter_mask = {});
  /// The same where the caller fills the memory: reserve, fill, commit. Nothing comes between.
  std::span<std::byte> reserve(Count bytes);
  void commit(std::uint64_t dataset, const Placed& selection);

  /// Collective. The dataset has these extents from now on, and in none of its dimensions more than
  /// before: elements outside are gone.
  void cut(std::uint64_t dataset, std::span<const Count> extents);

  /// Local. From now on lent bytes are not copied: the caller flushes data before they change.
  void lend(bool lent) { lends_ = lent; }
  /// Local. After a flush of data that failed: lent bytes are copied, unless the program promised
  /// to leave them alone; to the temporary file where there is no memory. When that fails, too, all
  /// that is pending is lost: what asks for it throws Errc::enomem.
  void keep_lent();
  /// Local. Moves data to a temporary file where more is held than the limit.
  void make_room();
  Count held() const { return data_.held(); }
  bool empty() const { return section_.entries() == 0; }

  /// Collective. All that any rank wrote is in the file when this returns, data before metadata.
  /// Nothing if no rank had written. When it throws (on every rank), what was pending still is.
  std::optional<MetadataBlock> flush();
  /// Collective. Only data; frees memory. The metadata stays pending.
  void flush_data();

  /// The epoch that the next write gets.
  std::uint64_t epoch() const { return epoch_; }
  const Savings& savings() const { return savings_; }  ///< of what was flushed, this rank's

  /// This rank's pending writes, in order, whose data can be read before the flush.
  std::span<const Entry> pending() const { return section_.pending(); }
  const Pattern& pattern_of(const Entry& entry) const { return section_.pattern_of(entry); }
  /// Data of pending()[n]. Errc as reading has it.
  void read_pending(std::size_t n, Offset skip, std::span<std::byte> into) const;

 private:
  void move_to_file();
  void add(std::uint64_t dataset, const Placed& selection, Offset position,
           std::span<const std::byte> bytes, std::optional<std::uint32_t> filter_mask);
  /// `placed`: their data is in the file already.
  void publish_entries(bool placed);
  Offset my_place(const Comm& ranks, Count mine, Count& total) const;

  Comm comm_;
  ByteFile& file_;
  BlockSpace& space_;
  std::optional<Subfile> subfile_;
  WriterOptions options_;
  Report& report_;
  Tails* tails_;
  PendingData data_;
  SectionBuilder section_;
  std::size_t placed_ = 0;  // pending entries whose data is in the file
  std::size_t published_ = 0, published_patterns_ = 0;
  std::uint64_t epoch_;
  std::uint32_t turn_ = 0;
  bool lends_ = false;
  Savings savings_;
  Offset reserved_ = 0;
  std::span<std::byte> room_;
};

}  // namespace forebay::logged
