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
// What lies behind `end` is nothing to the old file. Process kills are what this is about: nothing
// waits for the disk before a range is overwritten.
#pragma once

#include <map>
#include <string>

#include "base/report.h"
#include "comm/comm.h"
#include "format/log_undo.h"
#include "transport/file.h"

namespace forebay {

class UndoFile {
 public:
  /// Local. Opens the file, to read. `end`: that of the file which holds now; 0: none does yet.
  UndoFile(const Comm& comm, const std::string& path, const logged::Witness& witness, Offset end,
           Report& report);
  ~UndoFile();
  UndoFile(const UndoFile&) = delete;
  UndoFile& operator=(const UndoFile&) = delete;

  /// Local. To be called before [place, place + bytes) is written. Errc as the system's; then
  /// nothing may be written there.
  void save(Offset place, Count bytes);
  /// Local. All that is not in the file yet is about to be written, for the next commit().
  void begin() { failed_ = false; }
  /// Local. A write has failed since: what is in the file is not to hold.
  void fail() { failed_ = true; }
  /// Collective. What is in the file holds from now on, and ends at `end`. Throws on all ranks if
  /// a write failed since begin(); then the old file holds.
  void commit(Offset end);
  /// Collective. The same, and there is nothing to put back any more.
  void close(Offset end);

  Offset end() const { return end_; }
  /// False where the folder does not take the undo file, or the file cannot be read: flushes are
  /// not one step.
  bool active() const { return active_; }

 private:
  bool open();
  void append(Offset from, Offset to);

  Comm comm_;
  std::string path_;
  logged::Witness witness_;
  Offset end_;
  File file_;  // to read what was
  std::map<Offset, Offset> saved_;
  int undo_ = -1;
  bool active_ = true, failed_ = false;
};

/// The path of a file's undo file.
std::string undo_path(const std::string& path);

/// Local. Puts back what the undo file of `path` holds, if there is one, of this file, whose job is
/// over. Returns whether it did. Errc as the system's, also where the file cannot be written.
bool put_back(const std::string& path);

}  // namespace forebay
