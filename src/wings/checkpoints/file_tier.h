// One rank's checkpoints in one directory: a data file, whose free space is used again, and the
// journal that says where each state is (checkpoints/format/checkpoint.h).
//
// A state is written before its entry in the journal. Its space is free once the journal says that
// the state was dropped. So a kill at any instant leaves the earlier states intact. The journal
// grows with each change, and is rewritten once less than half of it is needed: for n states that
// come and go, O(n) bytes are written. Several threads may call at the same time.
//
// A power failure may undo what the device has not stored. So if a sync has completed a state, its
// space is retired when it is dropped: it is free once the device knows that the state was dropped.
//
// The files stay usable if their folder is renamed while they are open.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/raw_bytes.h"
#include "base/report.h"
#include "checkpoints/coding_threads.h"
#include "checkpoints/format/checkpoint.h"
#include "plan/file_space.h"
#include "storage/file.h"

namespace forebay::checkpoint {

class FileTier;

/// Reads small parts of a state that follow one another with one read.
class ReadWindow {
 public:
  explicit ReadWindow(const Record& record)
      : next_(record.place), end_(record.place + record.bytes), part_place_(record.place) {}
  /// Returns the place of a part in the file. The part after the last one asked for is found in
  /// O(1).
  Offset place_of(const Record& record, std::size_t part);
  /// Returns `size` stored bytes at `place` in the file, valid until the next call. Returns nothing
  /// for so many bytes that a read of their own is better.
  std::span<const std::byte> at(FileTier& file, Offset place, Count size);

 private:
  Offset begin_ = 0, next_, end_;  ///< begin of bytes_; end of the last part; end of the state
  RawBytes bytes_;
  std::size_t part_ = 0;
  Offset part_place_;
};

class FileTier {
 public:
  static constexpr Count no_limit = std::numeric_limits<Count>::max();

  /// Local. Opens PREFIX.data and PREFIX.journal, and cuts off a torn tail of the journal. The tier
  /// owns them until it is closed: Errc::eperm if any program has them open already. Errc::einval
  /// if they belong to another number of ranks, Errc::ebadlog if they are not a journal of this
  /// machine's byte order.
  FileTier(const std::string& prefix, Rank rank, int ranks, Count limit);

  /// Returns whether there was no journal at the opening, or not even a whole header.
  bool is_new() const { return is_new_; }
  void begin();  ///< makes the journal if it is new; must come before any change
  std::uint64_t session() const { return header_.session; }  ///< of the journal; 0: there is none
  /// Moves out the records that the journal had at the opening, by serial. Valid once.
  std::map<std::uint64_t, Record> take_records() { return std::move(records_); }
  /// Describes the damage in words. Other states are intact.
  const std::vector<std::string>& damage() const { return damage_; }
  const std::string& path() const { return data_->path(); }

  Count used() const;  ///< bytes of states
  Count limit() const { return limit_; }
  Count journal_bytes() const;  ///< written to the journal in total, rewrites included
  /// Returns the free bytes, as far as is known. After a failed write the tier counts as full, and
  /// only dropped states give space, until a write shows that there is more. add() tries such a
  /// write nonetheless.
  Count room() const;
  /// Takes a place for the state that the next add() writes. Returns false if the limit does not
  /// allow the state and `leaves` bytes more.
  bool reserve(Record& record, Count leaves = 0);
  /// Writes a state, whose parts are in memory, to its place and notes it in the journal. Uncoded
  /// values get their checksums on the way. If it `replaces_synced`, its values are on the device
  /// before the journal names them. Throws as ByteFile::write_at; the place is free again then.
  void add(Record& record, std::span<const iovec> parts, Team& team, bool replaces_synced = false);
  /// The same for a state at `place` in another file. Only a small buffer of it is in memory at a
  /// time.
  void add(const Record& record, FileTier& from, Offset place);
  void read(Offset place, std::span<std::byte> into);  ///< Errc::ebadlog if the file is too short
  /// `synced`: a sync may have completed the state, so its space is retired. What replaces the
  /// state is on the device already.
  void drop(std::uint64_t serial, bool synced);
  bool has_retired() const;  ///< whether sync() would free space
  void sync();               ///< all is on the device; frees retired space
  void close();
  void remove() noexcept;

 private:
  void read_journal();
  void let_go();
  void keep_those_that_are_there();
  void keep(const Record& record, bool replaces_synced, const std::function<void()>& write);
  void write(Record& record, std::span<const iovec> parts, Team& team);
  void copy(const Record& record, FileTier& from, Offset place);
  using Bytes = std::vector<std::byte>;
  Bytes printed(const Entry& entry) const;
  void append(const Bytes& entry);
  void shorten();
  void give_back(Offset place, Count bytes);
  /// A state in the file.
  struct Live {
    Offset place = 0;
    Count bytes = 0;
    Bytes entry;  ///< of the journal
  };
  void note(const Record& record, Bytes entry);
  void forget(std::uint64_t serial);
  void retire(std::uint64_t serial);
  std::string place_of_files();

  mutable std::mutex mutex_;  // guards space and journal
  Report report_;
  std::string prefix_;
  Header header_;
  Count limit_;
  Descriptor lock_;  // on the data file
  std::unique_ptr<File> data_, journal_;
  PathSync path_sync_;
  FileSpace space_;
  Count used_ = 0;             // bytes of states, without retired ones
  Count full_at_ = no_limit;   // bytes of states when a write failed
  Offset end_ = header_bytes;  ///< of the journal
  std::map<std::uint64_t, Live> live_;
  Count live_bytes_ = 0;                        ///< bytes of their entries
  std::multimap<std::uint64_t, Live> retired_;  ///< without entries
  Count retired_bytes_ = 0;
  Count journal_bytes_ = 0;  ///< written
  std::map<std::uint64_t, Record> records_;
  std::vector<std::string> damage_;
  bool is_new_ = true, begun_ = false;
};

/// Returns all bytes of a journal, as an entry may have any length. Errc::enomem if memory does not
/// suffice.
std::vector<std::byte> bytes_of_journal(File& journal);

}  // namespace forebay::checkpoint
