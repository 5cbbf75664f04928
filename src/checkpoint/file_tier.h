// One rank's checkpoints in one directory: a data file, whose space is used again, and the journal
// that tells what is where (format/checkpoint.h).
//
// A state is written before the journal tells of it, and its space is free once the journal says
// that it was dropped: whoever is killed between leaves what was there before. Threads may call at
// a time.
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
#include "checkpoint/team.h"
#include "format/checkpoint.h"
#include "plan/file_space.h"
#include "storage/file.h"

namespace forebay::checkpoint {

class FileTier;

/// Small parts of a state that are read one after another come with one read.
class ReadWindow {
 public:
  explicit ReadWindow(const Record& record)
      : next_(record.place), end_(record.place + record.bytes), part_place_(record.place) {}
  /// Of a part of the record, in the file. One behind another is found at once.
  Offset place_of(const Record& record, std::size_t part);
  /// `size` stored bytes at `place` in the file, valid until the next call; empty where there are
  /// so many that they are better read by themselves.
  std::span<const std::byte> at(FileTier& file, Offset place, Count size);

 private:
  Offset begin_ = 0, next_, end_;  ///< of bytes_; where the last part ended; of the state
  RawBytes bytes_;
  std::size_t part_ = 0;
  Offset part_place_;
};

class FileTier {
 public:
  static constexpr Count no_limit = std::numeric_limits<Count>::max();

  /// Local. Opens PREFIX.data and PREFIX.journal. A torn tail of the journal is cut. They are this
  /// tier's until it is closed: Errc::eperm where they are open already, in whatever program.
  /// Errc::einval where they are those of another number of ranks, Errc::ebadlog where they are no
  /// journal of this machine's.
  FileTier(const std::string& prefix, Rank rank, int ranks, Count limit);

  /// Whether there was no journal when it was opened, or not even its header.
  bool is_new() const { return is_new_; }
  void begin();  ///< makes a journal where it is new; before anything else
  /// What the journal told when it was opened, by serial.
  const std::map<std::uint64_t, Record>& records() const { return live_; }
  /// What is damaged, in words; other states are as they were.
  const std::vector<std::string>& damage() const { return damage_; }
  const std::string& path() const { return data_->path(); }

  Count used() const;  ///< bytes of states
  Count limit() const { return limit_; }
  /// Bytes that it takes more, as far as is known: once a write has failed it is full as it is, and
  /// has no more room than what leaves it. Until a write shows that there is more, which add()
  /// tries nonetheless.
  Count room() const;
  /// Takes a place for a state that add() is called with next. False where the limit leaves no room
  /// for it and `leaves` bytes more.
  bool reserve(Record& record, Count leaves = 0);
  /// Writes a state, whose parts are in memory, to its place and notes it. Values as they are get
  /// their checksums on the way. Throws as ByteFile::write_at: the place is free again then.
  void add(Record& record, std::span<const iovec> parts, Team& team);
  /// The same with one that is at `place` in another file, of which little is in memory at a time.
  void add(const Record& record, FileTier& from, Offset place);
  void read(Offset place, std::span<std::byte> into);  ///< Errc::ebadlog where the file ends
  void drop(std::uint64_t serial);
  void sync();
  void close();
  void remove() noexcept;

 private:
  void read_journal();
  void let_go();
  void keep_those_that_are_there();
  void keep(const Record& record, const std::function<void()>& write);
  void write(Record& record, std::span<const iovec> parts, Team& team);
  void copy(const Record& record, FileTier& from, Offset place);
  void append(const Entry& entry);
  void shorten();
  void give_back(const Record& record);

  mutable std::mutex mutex_;  // of space and journal
  Report report_;
  std::string prefix_;
  Header header_;
  Count limit_;
  Descriptor lock_;  // of the data file
  std::unique_ptr<File> data_, journal_;
  FileSpace space_;
  Count used_ = 0;
  Count full_at_ = no_limit;   // bytes of states that a write has failed beyond
  Offset end_ = header_bytes;  ///< of the journal
  std::map<std::uint64_t, Record> live_;
  std::vector<std::string> damage_;
  bool is_new_ = true;
};

/// All bytes of a journal, as entries may have any length. Errc::enomem where there are more than
/// memory has room for.
std::vector<std::byte> bytes_of_journal(File& journal);

}  // namespace forebay::checkpoint
