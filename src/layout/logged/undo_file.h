// Flushes of a log file in one step, whatever is killed when.
//
// Between two flushes the file's own metadata (HDF5's, in HDF5's places) is overwritten piece by
// piece. What must hold: at any instant the file can be brought back to what it was at the last
// flush that was completed. Therefore
//
//     before   bytes of that file (before `end`, its end then) are overwritten, they are appended
//              to FILE.undo; each range once a flush on each rank
//     commit   all ranks are done writing, then FILE.undo is cut to nothing: that is the instant
//              at which the new file holds
//     open     what FILE.undo holds is put back, the newest first: of a range that several ranks
//              have saved, one after the other, the oldest bytes stay. Appending keeps that order.
//
// Processes of a job hold a lock on FILE.undo, so that nothing is put back while one of them lives:
// it might still write. Where the file system has no locks, a list of this process's own files
// keeps at least a second opening in the same program away.
//
// What lies behind `end` is nothing to the old file. Process kills are what this is about: nothing
// waits for the disk before a range is overwritten.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "comm/comm.h"
#include "format/log_undo.h"
#include "storage/file.h"

namespace forebay {

class UndoFile {
 public:
  /// Collective. Makes the undo file, empty. `end`: that of the file which holds now; 0: none does
  /// yet. Errc as the system's.
  UndoFile(const Comm& comm, const std::string& path, const logged::Witness& witness, Offset end);
  ~UndoFile();
  UndoFile(const UndoFile&) = delete;
  UndoFile& operator=(const UndoFile&) = delete;

  /// Local. To be called before [place, place + bytes) is written. Errc as the system's; then
  /// nothing may be written there. Succeeds without memory.
  void save(Offset place, Count bytes);
  /// Local. All that is not in the file yet is about to be written, for the next commit().
  void begin() { failed_.reset(); }
  /// Local. A write has failed since: what is in the file is not to hold.
  void fail(Error&& error) { failed_ = std::move(error); }
  /// Local. The same, and the write will not be tried again: nothing new is to hold any more.
  void lose(Error&& error) {
    if (!lost_) lost_ = std::move(error);
  }
  /// Collective. What is in the file holds from now on, and ends at `end`. Throws on all ranks if
  /// a write failed since begin(); then the old file holds.
  void commit(Offset end);
  /// Collective. The same, and there is nothing to put back any more.
  void close(Offset end);

  Offset end() const { return end_; }
  /// False, on all ranks, where the folder does not take the undo file, or a rank cannot read the
  /// file: flushes are not one step.
  bool active() const { return active_; }
  /// Whether nobody waits for this rank.
  bool alone() const { return comm_.size() == 1; }

 private:
  bool make();
  void leave();
  void open();
  void append(Offset from, Offset to);

  Comm comm_;
  std::string path_;
  logged::Witness witness_;
  Offset end_;
  Report report_;
  File file_;  // to read what was
  std::map<Offset, Offset> saved_;
  bool any_ = false;             // something was saved, noted or not
  std::vector<std::byte> room_;  // for one record
  int undo_ = -1;
  std::optional<Error> failed_, lost_;
  bool active_ = true;
  std::pair<std::uint64_t, std::uint64_t> id_{};  // of the file: device and inode
};

/// The path of a file's undo file: beside the file itself, not beside a link to it.
std::string undo_path(const std::string& path);

/// Local. Puts back what the undo file of `path` holds, if there is one, of this file, whose job is
/// over. Returns whether it did; nothing is done to files that this process writes. Errc::eperm
/// where a process of the job still lives: after a moment if there is something to put back, or the
/// file is opened for writing. Errc as the system's, also where the file cannot be written.
bool put_back(const std::string& path, bool writing);

}  // namespace forebay
