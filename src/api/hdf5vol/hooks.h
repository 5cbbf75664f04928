// Where the log layer attaches to the connector.
//
// The connector passes every call to the connector below unless the file is a log file. Whether it
// is one, make_file_hooks() decides once, when the file is created or opened. What that returns is
// kept with the file for as long as anything in it is open, and is asked first:
//
//   file      one FileHooks per open file, however many handles: opening the same file again (also
//             H5Freopen) gives the same one where the connector below can tell (H5Fget_fileno)
//   dataset   FileHooks::create_dataset / open_dataset give a LoggedDataset for each handle of a
//             dataset that the log holds; a dataset without one passes through
//
// A file without hooks (nullptr from make_file_hooks) costs one test of a pointer per call.
//
// In a file with hooks the connector hides, by itself: every link of the root group and every
// attribute whose name begins with `reserved_prefix`. The hooks work below that and see them.
//
// Rules for hooks:
//  - They throw forebay::Error; the connector puts code, message and advice onto HDF5's error stack
//    and returns the failure value. No other exception is needed.
//  - They run inside a call of the application and under the library's lock. The application's
//    call is collective or not as HDF5's manual says of it (creating, opening and closing files,
//    creating objects, H5Dset_extent, flush: collective in a file opened with MPI-IO).
//  - Objects of the connector below are used through H5VL* functions (under.h). Functions of the
//    ordinary interface are fine for what belongs to no file: H5P, H5S, H5T, H5Z, H5E. Each such
//    function clears the error stack: save it first on the way out of a failure (ErrorStackSaver).
//  - Identifiers that are handed in (types, spaces, property lists) belong to the caller; copy them
//    to keep them. Identifiers that are handed out belong to the receiver.
//  - Operations of hooks are complete when they return: no asynchronous request is made for them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/hdf5vol/under.h"
#include "comm/comm.h"
#include "method/method.h"

namespace forebay::vol {

/// Names that begin so belong to Forebay in every log file.
inline constexpr std::string_view reserved_prefix = "_forebay_";

/// True when a link or an attribute of that name belongs to Forebay.
inline bool is_reserved(std::string_view name) noexcept {
  return name.starts_with(reserved_prefix);
}

/// A file that was just created or opened below.
struct OpenedFile {
  UnderObject file;      ///< open, of type H5I_FILE; valid until the hooks' last before_close
  std::string name;      ///< as the application gave it
  unsigned flags = 0;    ///< H5F_ACC_*, as given to H5Fcreate or H5Fopen
  bool created = false;  ///< false: opened
  hid_t fcpl = H5I_INVALID_HID;  ///< created files only; the caller's
  hid_t fapl = H5I_INVALID_HID;  ///< the application's, with this connector in it; the caller's
  std::string hints = {};        ///< "hints={...}" of the connector's string, without the braces
  HintMap mpi_hints = {};        ///< that the program gave with its communicator
  Comm comm = {};                ///< of the ranks that opened it; this process alone without MPI-IO
  bool mpi_io = false;           ///< with HDF5's MPI-IO driver
  std::optional<Method> method = {};  ///< method_for_new() of it; created files of HDF5's own only
};

/// Collective. What hints and settings choose for a file that is about to be created; its `file` is
/// not there yet. Errc::enotsupport: a layout that HDF5 files cannot have. Defined by the log
/// layer.
Method method_for_new(const OpenedFile& opened);

class FileHooks;

/// Decides whether a file is a log file. nullptr: it is not, and everything passes through.
/// Collective over the ranks that opened the file; may fail on some only.
/// Defined by the log layer (logged_file.cc).
std::unique_ptr<FileHooks> make_file_hooks(const OpenedFile& opened);

/// Whether a dataset is in the log of its file. Defined by the log layer (logged_file.cc).
bool is_logged(const UnderObject& dataset, hid_t dxpl);

/// A dataset that is being created. All identifiers are the caller's.
struct DatasetCreation {
  UnderObject at;                     ///< the location, below
  const H5VL_loc_params_t* location;  ///< to use with `at`
  const char* name;                   ///< nullptr for H5Dcreate_anon
  hid_t lcpl, type, space, dcpl, dapl, dxpl;
};

class LoggedDataset;

/// What FileHooks::create_dataset made.
struct CreatedDataset {
  OwnedUnder under;                       ///< empty: not mine, create it below as it was asked for
  std::unique_ptr<LoggedDataset> logged;  ///< nullptr: it passes through
};

/// One dataset of an H5Dwrite or H5Dwrite_multi. Spaces may be H5S_ALL; `memory_space` H5S_BLOCK or
/// H5S_PLIST as HDF5's manual says.
struct DatasetWrite {
  LoggedDataset* dataset;
  hid_t memory_type, memory_space, file_space;
  const void* buffer;
};

/// One dataset of an H5Dread or H5Dread_multi.
struct DatasetRead {
  LoggedDataset* dataset;
  hid_t memory_type, memory_space, file_space;
  void* buffer;
};

/// An H5Ocopy that the connector below has done. Locations are below; what was copied lies at
/// `name` from the location on.
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
  handle,  ///< one of several file handles goes
  file,    ///< the last file handle goes, objects stay open (H5F_CLOSE_WEAK; or STRONG, which
           ///< closes them now): the log must be complete in the file after this call
  last,    ///< nothing of the file stays open: the hooks are destroyed after the close
};

/// The log layer's part of one open log file.
class FileHooks {
 public:
  virtual ~FileHooks() = default;

  /// The dataset is about to be created. Collective as H5Dcreate is.
  virtual CreatedDataset create_dataset(const DatasetCreation& creation) = 0;

  /// The dataset is open below: by name, token or index, by H5Oopen, or as the location that an
  /// iteration hands to the application. nullptr: it passes through. Independent.
  virtual std::unique_ptr<LoggedDataset> open_dataset(const UnderObject& dataset, hid_t dxpl) = 0;

  /// Writes the logged datasets of one H5Dwrite(_multi), in the order given; `dxpl` says collective
  /// or independent; none where a rank only takes part. `at`: one of them.
  virtual void write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) = 0;

  /// The same for those of one H5Dread(_multi).
  virtual void read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) = 0;

  /// Flushes the whole file, below too, whatever was asked for: H5Fflush, H5Gflush, H5Oflush …
  /// `at` is what was named.
  virtual void flush(const UnderObject& at, H5F_scope_t scope) = 0;

  /// A file in which this one is mounted is about to be flushed below, this one with it: what HDF5
  /// does not know of goes first. Collective as H5Fflush is. The default does nothing.
  virtual void flush_with_parent() {}

  /// Before `at` (the last file handle, or the last object of the file) is closed below. After
  /// Closing::file and Closing::last no object of the connector below may stay held: an open one
  /// would fail an H5Fclose of a file opened with MPI-IO. When the close below fails, the file
  /// stays open and before_close comes again. Collective as H5Fclose is.
  virtual void before_close(const UnderObject& at, Closing closing) = 0;

  /// The file, of which `at` is a handle, is about to be mounted in another one: its handles lead
  /// there until it is unmounted. Collective as H5Fmount is.
  virtual void before_mount(const UnderObject& at) = 0;

  /// An H5Ocopy from or to this file was done below. Of a copy between two log files only the
  /// destination's hooks are called.
  virtual void object_copied(const ObjectCopy& copy) = 0;

  /// Before a link is deleted or moved, so that a log may note it. The default does nothing.
  virtual void before_unlink(const UnderObject& at, const H5VL_loc_params_t& location) {
    (void)at;
    (void)location;
  }
};

/// The log layer's part of one handle of a dataset that the log holds. It is destroyed, without
/// further call, after the dataset was closed below.
class LoggedDataset {
 public:
  virtual ~LoggedDataset() = default;

  /// H5Dget_space, H5Dget_type, H5Dget_create_plist, … True: answered into `args`, which then owns
  /// what it holds. False: ask below.
  virtual bool get(H5VL_dataset_get_args_t& args, hid_t dxpl) = 0;

  /// H5Dset_extent, H5Dflush, H5Drefresh. True: done. False: do it below too.
  virtual bool specific(H5VL_dataset_specific_args_t& args, hid_t dxpl) = 0;

  /// H5Dget_offset, chunk queries and direct chunk access, … (H5VL_NATIVE_DATASET_*). True: done.
  virtual bool optional(H5VL_optional_args_t& args, hid_t dxpl) = 0;

  /// Before the dataset is closed below; objects held below on its behalf are let go of.
  virtual void before_close(hid_t dxpl) = 0;
};

}  // namespace forebay::vol
