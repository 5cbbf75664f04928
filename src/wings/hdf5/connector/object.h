// What the HDF5 library holds for Forebay: wrapped objects, their file, and wrapped requests.
//
//   Object      one handle of an object of the connector below, and the open file that contains it
//   FileState   one open file, shared by its handles, its objects and its wrap contexts
//   Request     an operation that is not done yet: a request of the connector below, or our own
//
// All functions run under the library's lock, one call at a time, so counts are plain numbers.
#pragma once

#include <hdf5.h>
// after hdf5.h
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hdf5/connector/errors.h"
#include "hdf5/connector/hidden_links.h"
#include "hdf5/connector/hooks.h"
#include "hdf5/connector/virtual_sources.h"

namespace forebay::vol {

class FileState;
struct Object;

/// The context of H5VL_wrap_class_t: the file, and the wrap context of the connector below.
struct WrapContext {
  FileState* file;
  void* under;
};

/// A reference to a FileState, which is deleted with its last reference.
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
  /// Returns the state of the file of which `under_file` is a handle. If the file has other handles
  /// (same number, same connector), it is theirs; otherwise it is new. `connector` stays the
  /// caller's.
  static FileRef of(void* under_file, hid_t connector);
  /// Returns the state of the file that contains `object`, which was reached from `from`. With a
  /// native connector it differs from `from` for an external link and for a mounted file. If the
  /// program has not opened that file, the state has the log layer's view of it (reached_log).
  static FileRef of_object(const UnderObject& object, const FileRef& from);
  /// Returns whether any open file has a log.
  static bool any_log() noexcept;
  /// Calls `use` for all files that the program has open, until it returns true.
  static void each_open(const std::function<bool(FileState&)>& use);
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;

  hid_t connector() const noexcept { return connector_; }
  /// Returns whether the connector below wraps objects itself; the native one does not.
  bool under_wraps() const noexcept { return under_wraps_; }
  /// Returns whether the program opened the file itself, so that a log in it was found. False if
  /// objects of it were only reached from another file.
  bool looked_into() const noexcept { return looked_into_; }
  unsigned long number() const noexcept { return number_; }

  /// Returns the log layer's part; nullptr in an ordinary file.
  FileHooks* hooks() const noexcept { return hooks_ ? hooks_.get() : reached_.get(); }
  /// The same if the file is a log file; nullptr in others.
  FileHooks* log() const noexcept {
    FileHooks* const its = hooks();
    return its && its->hides() ? its : nullptr;
  }
  /// Returns one of the program's handles of the file; nullptr if it has none.
  const Object* a_handle() const noexcept { return handles_.empty() ? nullptr : handles_.back(); }
  void attach(std::unique_ptr<FileHooks> hooks, void* under_file);
  /// HDF5 ends: the log stays in memory, with the HDF5 objects that it holds.
  void forget_log() noexcept { hooks_.release(), reached_.release(); }
  /// Returns the hidden links of the root group. Only for a log file.
  HiddenLinks& hidden_links() const noexcept { return *hidden_links_; }
  /// To be called when links of the file may have changed.
  void links_changed() noexcept {
    if (hidden_links_) hidden_links_->forget();
  }

  /// The program mounts this file in another one.
  void note_mount(const FileState& parent) noexcept { parent_ = &parent; }
  /// Flushes mounted files before a flush of this file that includes them.
  void flush_mounted();

  /// These make and free a wrap context of an object of this file.
  WrapContext* get_wrap_context(void* under_object);
  static void free_wrap_context(WrapContext* context) noexcept;

  /// HDF5 wraps a file for itself once it is open. If that failed on some ranks, they would lose
  /// the file. So its memory is allocated before the ranks agree that the file is open.
  void make_room_for_wrapping();
  Object* wrap_for_library(void* under_file);

  /// H5Iget_file_id asks for an object's file and then has it wrapped: notes the file that it got.
  void note_handed_out(void* under_file) noexcept { handed_out_ = under_file; }
  /// Returns whether the file to be wrapped now is that file; then it is a handle for the program.
  bool take_handed_out(void* under_file) noexcept {
    return std::exchange(handed_out_, nullptr) == under_file;
  }

  /// Closing the last handle closes everything that is open in the file (H5F_CLOSE_STRONG).
  void close_strongly() noexcept { closes_all_ = true; }
  void note_mpi_io() noexcept { mpi_io_ = true; }
  bool has_mpi_io() const noexcept { return mpi_io_; }
  /// Returns what closing `object` means for the file.
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
  bool looked_into_ = false, closes_all_ = false, mpi_io_ = false;
  void* handed_out_ = nullptr;
  void* room_ = nullptr;  ///< for one Object
  /// The last file in which it was mounted, while that is open. Unmounting is not noticed.
  const FileState* parent_ = nullptr;
  bool flushes_mounted_ = false;
  unsigned long number_;
  std::size_t owners_ = 0;                    // objects, wrap contexts, requests
  std::size_t open_ = 0;                      // objects, including file handles
  std::vector<const Object*> handles_;        // file handles
  WrapContext plain_context_{this, nullptr};  // used for all objects if nothing below wraps
  // reached_ is for objects reached before, or without, the program's own opening of the file.
  std::unique_ptr<FileHooks> hooks_, reached_;
  std::unique_ptr<HiddenLinks> hidden_links_;
};

inline FileRef::FileRef(FileState* file) noexcept : file_(file) { ++file_->owners_; }
inline FileRef::~FileRef() {
  if (file_ && --file_->owners_ == 0) delete file_;
}

/// What the library's callbacks get. H5VL_wrap_class_t also gets requests.
struct Handle {
  void* under;      ///< of the connector below; null for a request of our own
  H5I_type_t type;  ///< H5I_EVENTSET for a request
};

/// One handle of an object. It is made for each object that the connector below opens or that the
/// library hands out, and destroyed when the connector below has closed it.
struct Object : Handle {
  Object(void* under_object, const FileRef& in_file, H5I_type_t object_type, bool is_handle = true)
      : Handle{under_object, object_type}, file(in_file), counted(is_handle) {
    if (!counted) return;
    ++file->open_;
    if (type == H5I_FILE) file->handles_.push_back(this);
  }
  ~Object() {
    if (!counted) return;
    --file->open_;
    if (type == H5I_FILE) std::erase(file->handles_, this);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  hid_t connector() const noexcept { return file->connector(); }
  FileHooks* hooks() const noexcept { return file->hooks(); }
  FileHooks* log() const noexcept { return file->log(); }
  UnderObject below() const noexcept { return {under, connector(), type}; }

  FileRef file;
  /// False for objects that the native connector keeps within an open file. They do not show
  /// whether the program has the file open.
  const bool counted;
  std::unique_ptr<LoggedDataset> logged;    ///< for a logged dataset
  bool failed_to_close = false;             ///< by the connector below
  std::optional<bool> is_virtual;           ///< for another dataset, once used
  std::unique_ptr<VirtualSources> sources;  ///< if it is virtual
};

inline Object& object_of(void* pointer) noexcept { return *static_cast<Object*>(pointer); }

/// A request. It lives until the library frees it, which may be after its file was closed.
struct Request : Handle {
  std::optional<FileRef> file;                           ///< of a request of the connector below
  std::shared_ptr<logged::WriteBehind::Progress> write;  ///< or a write to a log

  /// Whether HDF5 was told that such a write failed. Then the event set takes no further request.
  /// HDF5 finds that out, and loses the request, only after the write was handed over.
  static inline bool failure_told = false;
};

/// Wraps the request that a call below left in `*req`, if any.
inline void wrap_request(void** req, const FileRef& file) {
  if (req && *req) *req = new Request{{*req, H5I_EVENTSET}, file, {}};
}

/// Wraps what a call below opened. A dataset in the log becomes a logged one. Closes `under` if it
/// throws. Returns nullptr for nullptr.
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

/// Does the same for a call that opens an object.
template <class Call>
void* pass_open(Object& at, H5I_type_t type, hid_t dxpl, void** req, Call&& call) {
  void* under = pass(at, req, call);
  return under ? wrap(under, at.file, type, dxpl) : nullptr;
}

}  // namespace forebay::vol
