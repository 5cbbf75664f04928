// The writer of the log layout (Hou 2023, §6.2.2). Each rank appends what it writes, in its own
// order, to one block of data for each flush. A block of metadata says what was written where.
//
//     write      data → pending data, selection → pending section       local
//     flush      blocks are allotted, every rank writes its part         collective
//
// A thread may write the data (log/write_behind.h). Then metadata waits until that has landed.
//
// No rank waits for another, or moves data to it. The caller decides what holds the blocks
// (datasets of an HDF5 file, subfiles).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "array/pattern.h"
#include "base/byte_file.h"
#include "base/report.h"
#include "comm/comm.h"
#include "hdf5/log/section_builder.h"
#include "hdf5/log/tails.h"
#include "hdf5/log/write_behind.h"
#include "layout/pending_data.h"

namespace forebay::logged {

enum class TailRecord : std::uint32_t;

/// Allots space in the file.
class BlockSpace {
 public:
  enum class Use { data, metadata, index };
  virtual ~BlockSpace() = default;
  /// Collective over all ranks, with equal arguments. Returns the position of a new contiguous
  /// block.
  virtual Offset allot(Use use, Count bytes) = 0;
};

/// A subfile, and the ranks that share it.
struct Subfile {
  Comm ranks;
  std::uint32_t number = 0;  ///< like Entry::file: from 1
  std::shared_ptr<ByteFile> file;
  Offset end = 0;  ///< where the next block begins; equal on `ranks`
};

struct WriterOptions {
  Count buffer_limit = 64 << 20;  ///< bytes of data that a rank holds in memory
  std::uint64_t first_epoch = 1;  ///< higher than all epochs in the file
};

/// A block of metadata that one flush wrote.
struct MetadataBlock {
  Offset place = 0;
  Count bytes = 0;
};

/// Returns the next epoch. Errc::erange if there is none.
std::uint64_t epoch_after(std::uint64_t last);

/// For how long bytes that are lent stay unchanged. until_landed: until the batch of the call has
/// landed, or the call fails; that call must hand its data to the thread.
enum class Lent { never, in_call, until_landed, until_flush };

class LogWriter {
 public:
  /// `file`, `space` and `report` must outlive the writer. With `subfile`, data goes there;
  /// metadata always goes into `file`. `tails` shows pending writes to other ranks; may be null.
  LogWriter(const Comm& comm, ByteFile& file, BlockSpace& space, std::optional<Subfile> subfile,
            const WriterOptions& options, PendingData::MakeFile make_temporary, Tails* tails,
            Report& report);

  /// Local. Call before the writes of one call of the program, which is `collective` or not. Orders
  /// these writes after all that were complete before.
  void begin(bool collective);
  /// Local. Call after these writes. They are complete then, and visible to other ranks. Not for
  /// bytes that were lent for a single call.
  void publish();

  /// Local. Writes the bytes of the selected elements, in row-major order. Copies them, unless they
  /// are `lent` for longer than never. `filter_mask` is set for filtered bytes, and means the same
  /// as Entry::filter_mask.
  void write(std::uint64_t dataset, const Placed& selection, std::span<const std::byte> bytes,
             bool lent, std::optional<std::uint32_t> filter_mask = {});
  /// The same, but the caller fills the memory: reserve, fill, commit, without other calls between.
  std::span<std::byte> reserve(Count bytes);
  void commit(std::uint64_t dataset, const Placed& selection);

  /// Collective. Cuts a dataset to `extents`, none larger than before. Elements outside are
  /// deleted.
  void cut(std::uint64_t dataset, std::span<const Count> extents);

  /// Local. Says how long bytes are lent from now on. Those that are lent for a call must be
  /// flushed, or kept, before it ends. With `behind`, this rank's thread may write what the call
  /// flushes; bytes lent for the call are then copied, while memory allows it.
  void lend(Lent lent, bool behind = false) { lends_ = lent, behind_call_ = behind; }
  /// Local. Copies bytes that were lent for a call, after a flush of data that failed. Copies them
  /// to the temporary file if memory is short. If that fails too, all pending data is lost, and
  /// reading it throws Errc::enomem.
  void keep_lent();
  /// Local. Moves data to a temporary file if there is more than the limit, with what the thread
  /// has.
  void make_room();
  Count held() const { return data_.held(); }

  /// Collective. Writes all ranks' pending data to the file, then the metadata. Returns nothing if
  /// no rank had written. If it throws (on every rank), pending writes stay pending.
  std::optional<MetadataBlock> flush();
  /// Collective. Writes data only, and frees its memory. The metadata stays pending. With `behind`,
  /// the thread of a rank whose call lend() allowed it may write later. Throws on all ranks what an
  /// earlier write of a thread failed with, if it fails again.
  void flush_data(bool behind = false);
  /// Local. Returns when the thread has nothing left to write. Throws if it failed, and fails
  /// again.
  void settle() { behind_.settle(); }
  /// Returns what the last call handed to the thread, if anything.
  std::shared_ptr<WriteBehind::Progress> handed() const { return handed_; }
  WriteBehind& write_behind() { return behind_; }

  /// Returns this rank's pending writes, in order. Their data can be read before the flush.
  std::span<const Entry> pending() const { return section_.pending(); }
  const Pattern& pattern_of(const Entry& entry) const { return section_.pattern_of(entry); }
  /// Reads data of pending()[n]. Waits for the thread. Errors are those of reading, and of
  /// settle().
  void read_pending(std::size_t n, Offset skip, std::span<std::byte> into);

 private:
  /// Where the data of entries is that are published.
  enum class At { memory, thread, file };
  void move_to_file();
  void add(std::uint64_t dataset, const Placed& selection, Offset position,
           std::span<const std::byte> bytes, std::optional<std::uint32_t> filter_mask);
  void append_tail(TailRecord kind, std::span<const std::byte> payload);
  void publish_entries(At where);
  void publish_handed(std::size_t entries);
  void publish_landed(const WriteBehind::Batch& batch);
  bool has_room(Count bytes) const;
  bool can_go_behind();
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
  std::size_t placed_ = 0;  // pending entries whose data has a place in the file
  std::size_t published_ = 0, published_patterns_ = 0;
  std::uint64_t epoch_;
  std::uint32_t turn_ = 0;
  Lent lends_ = Lent::never;
  bool behind_call_ = false, writes_in_call_ = false;
  Count lent_ = 0;  // pending bytes that are lent until they have landed
  WriteBehind behind_;
  std::shared_ptr<WriteBehind::Progress> handed_;
  Offset reserved_ = 0;
  std::span<std::byte> room_;
};

}  // namespace forebay::logged
