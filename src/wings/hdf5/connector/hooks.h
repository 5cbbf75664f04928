// The interface between the log layer and the connector.
//
// The connector passes every call to the connector below unless the file is a log file.
// make_file_hooks() decides this once, when the file is created or opened. Its result is kept as
// long as anything in the file is open, and is asked first:
//
// There are two kinds of hooks: those of a log file (logged_hooks.h), and those of an ordinary file
// whose datasets are written together (chunked_hooks.h).
//
//   file      one FileHooks per open file, for any number of handles: opening the same file again
//             (also H5Freopen) gives the same one if the connector below can tell (H5Fget_fileno)
//   dataset   FileHooks::create_dataset / open_dataset give a LoggedDataset for each handle of a
//             dataset that the log holds; a dataset without one passes through
//
// A file without hooks (nullptr from make_file_hooks) costs one test of a pointer per call.
//
// In a log file (FileHooks::hides) the connector itself hides every link of the root group and
// every attribute whose name begins with `reserved_prefix`. The hooks work below that and see them.
//
// Rules for hooks:
//  - They throw forebay::Error, or UnderFailed after a failed call below. The connector puts code,
//    message and advice onto HDF5's error stack and returns the failure value.
//  - They run inside a call of the application and under the library's lock. The call is collective
//    or not as HDF5's manual says (creating, opening and closing files, creating objects,
//    H5Dset_extent, flush: collective in a file opened with MPI-IO).
//  - They use objects of the connector below through H5VL* functions (under.h). Functions of the
//    ordinary interface are fine for what belongs to no file: H5P, H5S, H5T, H5Z, H5E. Each such
//    function clears the error stack, so save it first after a failure (ErrorStackSaver).
//  - Identifiers that they receive (types, spaces, property lists) belong to the caller; copy them
//    to keep them. Identifiers that they return belong to the receiver.
//  - Their operations are complete when they return, except those of begin_write().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm/comm.h"
#include "hdf5/connector/under.h"
#include "hdf5/log/write_behind.h"
#include "method/method.h"

namespace forebay::vol {

/// Names with this prefix belong to Forebay in every log file.
inline constexpr std::string_view reserved_prefix = "_forebay_";

/// Returns whether a link or an attribute of that name belongs to Forebay.
inline bool is_reserved(std::string_view name) noexcept {
  return name.starts_with(reserved_prefix);
}

/// A file that was just created or opened below.
struct OpenedFile {
  UnderObject file;      ///< open, of type H5I_FILE; valid until the hooks' last before_close
  std::string name;      ///< as the application gave it
  std::string path;      ///< absolute, because the program may change its folder
  unsigned flags = 0;    ///< H5F_ACC_*, as given to H5Fcreate or H5Fopen
  bool created = false;  ///< false: opened
  hid_t fcpl = H5I_INVALID_HID;  ///< created files only; belongs to the caller
  hid_t fapl = H5I_INVALID_HID;  ///< the application's, with this connector; belongs to the caller
  std::string hints = {};        ///< "hints={...}" of the connector's string, without the braces
  HintMap mpi_hints = {};        ///< from the program's communicator info
  std::optional<Count> buffer = {};   ///< as the access list says (list_properties.h)
  Comm comm = {};                     ///< the ranks that opened it; one process without MPI-IO
  bool mpi_io = false;                ///< it uses HDF5's MPI-IO driver
  std::optional<Method> method = {};  ///< result of method_for_new(); created native files only
};

/// Collective. Returns the method that hints and settings choose for a file that is about to be
/// created; `file` is not set yet. Errc::enotsupport: HDF5 files cannot have the layout. Defined by
/// the log layer.
Method method_for_new(const OpenedFile& opened);

/// Collective. Reports settings that had no effect on a new file without a log.
void report_ordinary(const OpenedFile& opened);

class FileHooks;

/// Decides whether a file is a log file. nullptr: it is not, and everything passes through.
/// Collective over the ranks that opened the file; it may fail on some ranks only. Defined by the
/// log layer (logged_file.cc).
std::unique_ptr<FileHooks> make_file_hooks(const OpenedFile& opened);

/// Returns the log of the file that contains `object`, if the program has not opened that file by
/// this connector. It shows what was flushed, for reading. If the program has the same file open in
/// another way (for an external link HDF5 opens it again with MPI-IO), it is that file's log.
/// nullptr: there is no log. Independent. Defined by the log layer (logged_reached.cc).
std::unique_ptr<FileHooks> reached_log(const UnderObject& object);

/// Returns whether a dataset is in the log of its file. Defined by the log layer (logged_file.cc).
bool is_logged(const UnderObject& dataset, hid_t dxpl);

/// A dataset that is being created. All identifiers belong to the caller.
struct DatasetCreation {
  UnderObject at;                     ///< the location, below
  const H5VL_loc_params_t* location;  ///< to be used with `at`
  const char* name;                   ///< nullptr for H5Dcreate_anon
  hid_t lcpl, type, space, dcpl, dapl, dxpl;
};

class LoggedDataset;

/// The result of FileHooks::create_dataset.
struct CreatedDataset {
  OwnedUnder under;  ///< empty: the log does not take it; create it below as asked
  std::unique_ptr<LoggedDataset> logged;  ///< nullptr: it passes through
};

/// One dataset of an H5Dwrite(_multi) or H5Dread(_multi). Spaces may be H5S_ALL; `memory_space` may
/// be H5S_BLOCK or H5S_PLIST, as in HDF5's manual.
template <class Buffer>
struct DatasetTransfer {
  LoggedDataset* dataset;
  hid_t memory_type, memory_space, file_space;
  Buffer buffer;
};
using DatasetWrite = DatasetTransfer<const void*>;
using DatasetRead = DatasetTransfer<void*>;

/// An H5Ocopy that the connector below has done. Locations are below; the copied object is `name`
/// from the location on.
struct ObjectCopy {
  UnderObject source;
  const H5VL_loc_params_t* source_location;
  const char* source_name;
  UnderObject destination;
  const H5VL_loc_params_t* destination_location;
  const char* destination_name;
  hid_t ocpypl, lcpl, dxpl;
  FileHooks* source_hooks;       ///< nullptr: an ordinary file
  FileHooks* destination_hooks;  ///< may be the same as source_hooks; nullptr: an ordinary file
};

/// When FileHooks::before_close is called.
enum class Closing {
  handle,  ///< one of several file handles is closed
  file,    ///< the last file handle is closed, objects stay open (H5F_CLOSE_WEAK): after this call
           ///< the log in the file must be complete
  last,    ///< nothing of the file stays open, because nothing was, or because HDF5 closes it
           ///< (H5F_CLOSE_STRONG): the hooks are destroyed after the close
};

/// The log layer's part of one open file.
class FileHooks {
 public:
  virtual ~FileHooks() = default;

  /// Returns whether the file is a log file, in which reserved names are hidden.
  virtual bool hides() const { return true; }

  /// Creates the dataset below, or leaves it to the connector. Collective as H5Dcreate is.
  virtual CreatedDataset create_dataset(const DatasetCreation& creation) = 0;

  /// The dataset is open below: by name, token or index, by H5Oopen, or as a location that an
  /// iteration gives to the application. Returns nullptr if it passes through. Independent.
  virtual std::unique_ptr<LoggedDataset> open_dataset(const UnderObject& dataset, hid_t dxpl) = 0;

  /// Writes the logged datasets of one H5Dwrite(_multi) in the given order. `dxpl` says whether the
  /// call is collective. The list is empty if a rank only takes part. `at` is one of the datasets.
  virtual void write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) = 0;

  /// Reads the logged datasets of one H5Dread(_multi) in the same way.
  virtual void read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) = 0;

  /// Flushes the whole file, below too, whatever the program flushes (H5Fflush, H5Gflush, H5Oflush
  /// …). `at` is the object that it named.
  virtual void flush(const UnderObject& at, H5F_scope_t scope) = 0;

  /// A file in which this one is mounted is about to be flushed below, and this one with it. Data
  /// that HDF5 does not know of must be written first. Collective as H5Fflush is. The default does
  /// nothing.
  virtual void flush_with_parent() {}

  /// Called before `at` (the last file handle, or the last object of the file) is closed below.
  /// After Closing::file and Closing::last no object of the connector below may be held open: it
  /// would make an H5Fclose of a file opened with MPI-IO fail. If the close below fails, the file
  /// stays open and before_close is called again. Collective as H5Fclose is.
  virtual void before_close(const UnderObject& at, Closing closing) = 0;

  /// H5Fstart_swmr_write. Throws if HDF5 would allow it, because a log cannot.
  virtual void refuse_swmr(const UnderObject& at) { (void)at; }

  /// H5Fset_mpi_atomicity: each write is seen by reads that follow it. Collective. The default does
  /// nothing.
  virtual void set_atomic(bool atomic) { (void)atomic; }

  /// The file, of which `at` is a handle, is about to be mounted in another file. Its handles lead
  /// there until it is unmounted. Collective as H5Fmount is.
  virtual void before_mount(const UnderObject& at) = 0;

  /// Objects of this file, of which `at` is one, are about to be copied, or removed. Collective as
  /// H5Ocopy is. The default does nothing.
  virtual void before_objects_change(const UnderObject& at) { (void)at; }

  /// An H5Ocopy from or to this log file was done below. A copy between two log files calls only
  /// the destination's hooks.
  virtual void object_copied(const ObjectCopy& copy) = 0;

  /// Does write() for a call with an event set: the program leaves its memory as it is until the
  /// result is known. Returns null if the write is complete. The default completes it.
  virtual std::shared_ptr<logged::WriteBehind::Progress> begin_write(
      const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) {
    write(at, writes, dxpl);
    return nullptr;
  }
};

/// The log layer's part of one handle of a logged dataset. It is destroyed, without a further call,
/// after the dataset was closed below.
class LoggedDataset {
 public:
  virtual ~LoggedDataset() = default;

  /// H5Dget_space, H5Dget_type, H5Dget_create_plist, … Returns true if `args` has the answer, and
  /// then owns what it holds; false: ask below.
  virtual bool get(H5VL_dataset_get_args_t& args, hid_t dxpl) = 0;

  /// H5Dset_extent, H5Dflush, H5Drefresh. Returns true if it is done; false: do it below, too.
  virtual bool specific(H5VL_dataset_specific_args_t& args, hid_t dxpl) = 0;

  /// H5Dget_offset, chunk queries and direct chunk access, … (H5VL_NATIVE_DATASET_*). Returns true
  /// if it is done.
  virtual bool optional(H5VL_optional_args_t& args, hid_t dxpl) = 0;
};

}  // namespace forebay::vol
