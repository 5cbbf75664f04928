// Makes each flush of a log file one atomic step, whichever process is killed at whatever time.
//
// Between two flushes HDF5 overwrites its metadata in the file piece by piece. The invariant: at
// any instant the file can be restored to its state at the last completed flush. Therefore
//
//     before   bytes of that file (below `end`, its end at that time) are appended to FILE.undo
//              before they are overwritten; each range once per flush on each rank
//     commit   once all ranks have finished writing, FILE.undo is truncated to zero: from that
//              instant on the new file is valid
//     open     the contents of FILE.undo are written back, the newest first: if several ranks saved
//              the same range one after the other, the oldest bytes remain. Appending keeps this
//              order.
//
// Processes of a job hold a lock on FILE.undo, so that nothing is written back while one of them
// lives and might still write. If the file system has no locks, a list of this process's own files
// at least refuses a second opening in the same program.
//
// The old file does not use the bytes behind `end`. This protects against killed processes only: no
// sync to the disk comes before a range is overwritten.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "comm/comm.h"
#include "hdf5/format/log_undo.h"
#include "storage/file.h"

namespace forebay {

class UndoFile {
 public:
  /// Collective. Creates an empty undo file. `end`: the end of the file that is valid now; 0: none
  /// is yet. System errors.
  UndoFile(const Comm& comm, const std::string& path, const logged::Witness& witness, Offset end);
  ~UndoFile();
  UndoFile(const UndoFile&) = delete;
  UndoFile& operator=(const UndoFile&) = delete;

  /// Local. Must be called before [place, place + bytes) is written. On a system error nothing may
  /// be written there. Does not fail for lack of memory.
  void save(Offset place, Count bytes);
  /// Local. Everything that is not in the file yet will be written now, for the next commit().
  void begin() { failed_.reset(); }
  /// Local. A write has failed since begin(): the file's contents must not be committed.
  void fail(Error&& error) { failed_ = std::move(error); }
  /// Local. The same, and the write will not be repeated: nothing is committed any more.
  void lose(Error&& error) {
    if (!lost_) lost_ = std::move(error);
  }
  /// Collective. The file's contents are valid from now on, and end at `end`. Throws on all ranks
  /// if a write failed since begin(); then the old file stays valid. If the step itself fails,
  /// either file is valid, until a later commit() succeeds.
  void commit(Offset end);
  /// Collective. The same, and removes the undo file.
  void close(Offset end);

  Offset end() const { return end_; }
  /// False, equally on all ranks, if the folder does not allow the undo file, or a rank cannot read
  /// the file: flushes are not atomic then.
  bool active() const { return active_; }
  /// Returns whether this is the only rank, so that no other one waits for it.
  bool alone() const { return comm_.size() == 1; }

 private:
  bool make();
  void leave();
  void open();
  void append(Offset from, Offset to);
  void empty();

  Comm comm_;
  std::string path_;
  logged::Witness witness_;
  Offset end_;
  Report report_;
  File file_;  // for reading the old bytes
  std::map<Offset, Offset> saved_;
  bool any_ = false;             // something was saved, even if `saved_` lacks it
  std::vector<std::byte> room_;  // memory for one record
  int undo_ = -1;
  std::optional<Error> failed_, lost_;
  bool active_ = true;
  std::pair<std::uint64_t, std::uint64_t> id_{};  // device and inode of the file
};

/// Returns the path of a file's undo file: beside the file itself, not beside a link to it.
std::string undo_path(const std::string& path);

/// Local. Writes back the undo file of `path`, if there is one that belongs to this file and its
/// job has ended. Returns whether it did. Does nothing to files that this process writes.
/// Errc::eperm if a process of the job still lives: after a short wait if there are bytes to write
/// back, or if the file is opened for writing. System errors, also if the file cannot be written.
bool put_back(const std::string& path, bool writing);

}  // namespace forebay
