// What the HDF5 library holds for Forebay: wrapped objects, their file, and wrapped requests.
//
//   Object      one handle of an object of the connector below, and the open file that it is in
//   FileState   one open file, shared by its handles, its objects and its wrap contexts
//   Request     a request of the connector below for an operation that is not done yet
//
// All run under the library's lock, one call at a time, so that counts are plain numbers.
#pragma once

#include <hdf5.h>
// hdf5.h first
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/hdf5vol/errors.h"
#include "api/hdf5vol/hidden_links.h"
#include "api/hdf5vol/hooks.h"
#include "api/hdf5vol/virtual_sources.h"

namespace forebay::vol {

class FileState;
struct Object;

/// What H5VL_wrap_class_t passes around: the file, and the wrap context of the connector below.
struct WrapContext {
  FileState* file;
  void* under;
};

/// An owner of a FileState: the state goes with its last owner.
class FileRef {
 public:
  explicit FileRef(FileState* file) noexcept;
  FileRef(const FileRef& other) noexcept : FileRef(other.file_) {}
  FileRef(FileRef&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  FileRef& operator=(const FileRef&) = delete;
  ~FileRef();
  FileState* operator->() const noexcept { return file_; }
  FileState& operator*() const noexcept { return *file_; }

 private:
  FileState* file_;
};

/// One open file.
class FileState {
 public:
  /// The state of the file that `under_file` is a handle of: that of its other handles where
  /// there are any (same number, same connector), or a new one. `connector` stays the caller's.
  static FileRef of(void* under_file, hid_t connector);
  /// The state of the file that `object`, reached from `from`, lies in: another one behind an
  /// external link and in a mounted file. With a native connector below; else `from`.
  static FileRef of_object(const UnderObject& object, const FileRef& from);
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;

  hid_t connector() const noexcept { return connector_; }
  /// Whether the connector below wraps objects itself; the native one does not.
  bool under_wraps() const noexcept { return under_wraps_; }
  /// Whether the program opened the file itself, so that a log in it was found; false where only
  /// objects of it were reached from another file.
  bool looked_into() const noexcept { return looked_into_; }
  unsigned long number() const noexcept { return number_; }

  /// The log layer's part; nullptr in an ordinary file.
  FileHooks* hooks() const noexcept { return hooks_.get(); }
  void attach(std::unique_ptr<FileHooks> hooks, void* under_file);
  /// Hidden links of the root group; only of a file with hooks.
  HiddenLinks& hidden_links() const noexcept { return *hidden_links_; }
  /// To be called when links of the file may have changed.
  void links_changed() noexcept {
    if (hidden_links_) hidden_links_->forget();
  }

  /// The program mounts this file in another one.
  void note_mount(const FileState& parent) noexcept { parent_ = &parent; }
  /// Before a flush of this file that takes mounted ones along.
  void flush_mounted();

  /// A wrap context of an object of this file, and its end.
  WrapContext* get_wrap_context(void* under_object);
  static void free_wrap_context(WrapContext* context) noexcept;

  /// HDF5 wraps a file for itself once it is open, on all ranks or with the file lost on some: the
  /// room for that is there before the ranks agree that it is open.
  void make_room_for_wrapping();
  Object* wrap_for_library(void* under_file);

  /// H5Iget_file_id asks for the file of an object and then has it wrapped: notes what it was
  /// given.
  void note_handed_out(void* under_file) noexcept { handed_out_ = under_file; }
  /// Whether that is the file that is now to be wrapped, a handle for the program then.
  bool take_handed_out(void* under_file) noexcept {
    return std::exchange(handed_out_, nullptr) == under_file;
  }

  /// What closing `object` means for the file.
  Closing closing(const Object& object) const noexcept;

 private:
  friend class FileRef;
  friend struct Object;
  FileState(hid_t connector, bool under_wraps, bool numbered, unsigned long number);
  ~FileState();
  static FileState* find(hid_t connector, unsigned long number) noexcept;

  hid_t connector_;
  bool under_wraps_;
  bool numbered_;
  bool looked_into_ = false;
  void* handed_out_ = nullptr;
  void* room_ = nullptr;  ///< for one Object
  /// The last one that it was mounted in, while that is open; unmounting is not noticed.
  const FileState* parent_ = nullptr;
  bool flushes_mounted_ = false;
  unsigned long number_;
  std::size_t owners_ = 0;                    // objects, wrap contexts, requests
  std::size_t open_ = 0;                      // objects, file handles included
  std::size_t handles_ = 0;                   // file handles
  WrapContext plain_context_{this, nullptr};  // the one of every object when nothing below wraps
  std::unique_ptr<FileHooks> hooks_;
  std::unique_ptr<HiddenLinks> hidden_links_;
};

inline FileRef::FileRef(FileState* file) noexcept : file_(file) { ++file_->owners_; }
inline FileRef::~FileRef() {
  if (file_ && --file_->owners_ == 0) delete file_;
}

/// One handle of an object. Made for each object that the connector below opens or that the library
/// hands out, destroyed when the connector below has closed it.
struct Object {
  Object(void* under_object, const FileRef& in_file, H5I_type_t object_type,
         bool is_handle = true) noexcept
      : under(under_object), type(object_type), file(in_file), counted(is_handle) {
    if (!counted) return;
    ++file->open_;
    if (type == H5I_FILE) ++file->handles_;
  }
  ~Object() {
    if (!counted) return;
    --file->open_;
    if (type == H5I_FILE) --file->handles_;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  hid_t connector() const noexcept { return file->connector(); }
  FileHooks* hooks() const noexcept { return file->hooks(); }
  UnderObject below() const noexcept { return {under, connector(), type}; }

  void* under;
  H5I_type_t type;
  FileRef file;
  /// False for what the native connector keeps within an open file, which says nothing of whether
  /// the program has it open.
  const bool counted;
  std::unique_ptr<LoggedDataset> logged;    ///< of a dataset that the log holds
  bool out_of_reach = false;                ///< in the log of a file that is not open
  bool failed_to_close = false;             ///< by the connector below
  std::optional<bool> is_virtual;           ///< of another dataset that was used
  std::unique_ptr<VirtualSources> sources;  ///< if it is
};

inline Object& object_of(void* pointer) noexcept { return *static_cast<Object*>(pointer); }

/// A request of the connector below. Lives until the library frees it.
struct Request {
  void* under;
  FileRef file;
};

/// Wraps the request that a call below left in `*req`, if any.
inline void wrap_request(void** req, const FileRef& file) {
  if (req && *req) *req = new Request{*req, file};
}

/// Wraps what a call below opened. A dataset of a log file becomes a logged one where the log holds
/// it. Closes `under` when that throws. nullptr for nullptr.
Object* wrap(void* under, const FileRef& file, H5I_type_t type, hid_t dxpl);

/// Runs a call below on `object`, which the call may destroy (refresh does), and wraps its request.
/// `call` gets the object below, its connector, and where to leave a request: nowhere in a log
/// file, whose operations are complete when they return.
template <class Call>
auto pass(Object& object, void** req, Call&& call) {
  const FileRef file = object.file;
  void** request = file->hooks() ? nullptr : req;
  auto result = call(object.under, file->connector(), request);
  wrap_request(request, file);
  return result;
}

/// The same for a call that opens an object.
template <class Call>
void* pass_open(Object& at, H5I_type_t type, hid_t dxpl, void** req, Call&& call) {
  void* under = pass(at, req, call);
  return under ? wrap(under, at.file, type, dxpl) : nullptr;
}

}  // namespace forebay::vol
