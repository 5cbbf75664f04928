// A container whose files may be written together with others by a shared stage
// (stage/shared_stage.h). Such a file can be made by a thread, its definitions can wait, and one
// rank can make its values visible.
#pragma once

#include <string>

#include "container/container.h"
#include "storage/file_identity.h"

namespace forebay {

class ByteFile;

class JointContainer : public Container {
 public:
  JointContainer* joint() override { return this; }

  // -- making

  /// Local; the same on all ranks. Returns whether a thread is still making the file. Then only the
  /// rank that has the thread may open the file.
  virtual bool is_being_made() const = 0;
  /// Local. Waits for the thread, if this rank has it, and throws the errors of create(). Returns
  /// the identity of the file on rank 0, and an empty one on other ranks.
  virtual FileIdentity wait_until_made() = 0;
  virtual void made(const FileIdentity& file) = 0;  ///< local, on all ranks, after that
  virtual void finish_making() = 0;                 ///< collective: both, if a thread makes it

  // -- what waits

  /// Local. Returns the one file that all values go to. The layout knows the place of each value
  /// (Layout::extents_of), and the transport moves bytes of any file. Else null, on all ranks.
  virtual ByteFile* values_file() = 0;
  /// Local, for this node. Returns whether ranks need a collective step of this file, even if they
  /// take part in one of another file.
  virtual bool has_weak_caches() const = 0;
  /// Local; the same on all ranks. From here on the definitions of a new file are written together
  /// with what makes its values visible. Until then the file has no bytes.
  virtual void put_off_definitions(bool put_off) = 0;
  /// Local; the same on all ranks. Returns whether definitions wait. publish() writes them.
  virtual bool definitions_wait() const = 0;
  /// Local, on one rank. Does the work of publish() and fill_up(). All ranks have agreed on the
  /// number of records.
  virtual void publish_alone() = 0;
  virtual void published() = 0;  ///< local, on all ranks, after publish_alone()
  /// Collective. Does what the file still needs when it has been published for the last time.
  virtual void publish_closed() {}
  /// Local; the same on all ranks. The file has been renamed to `path`.
  virtual void moved(const std::string& path) = 0;
};

}  // namespace forebay
