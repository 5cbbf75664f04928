// One open log file: the hooks that the connector asks first.
#pragma once

#include <map>
#include <memory>

#include "base/opener.h"
#include "hdf5/connector/hooks.h"
#include "hdf5/connector/logged_dataset.h"
#include "hdf5/connector/logged_store.h"
#include "hdf5/log/logged_file.h"
#include "hdf5/log/undo_file.h"

namespace forebay::vol {

class LoggedHooks : public FileHooks {
 public:
  /// Collective. `method` was chosen for this file. `store` is its log: open, or still to be made
  /// in a new file.
  LoggedHooks(const OpenedFile& opened, const Method& method, LogStore store);

  CreatedDataset create_dataset(const DatasetCreation& creation) override;
  std::unique_ptr<LoggedDataset> open_dataset(const UnderObject& dataset, hid_t dxpl) override;
  void write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) override;
  std::shared_ptr<logged::WriteBehind::Progress> begin_write(const UnderObject& at,
                                                             std::span<const DatasetWrite> writes,
                                                             hid_t dxpl) override;
  void read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) override;
  void flush(const UnderObject& at, H5F_scope_t scope) override;
  void flush_with_parent() override;
  void before_close(const UnderObject& at, Closing closing) override;
  void refuse_swmr(const UnderObject& at) override;
  void before_mount(const UnderObject& at) override;
  void object_copied(const ObjectCopy& copy) override;

  LoggedFile& file() { return *file_; }
  std::uint64_t session() const { return store_.session(); }
  /// Errc::eperm: the file cannot be written, or belongs to the parent process.
  void check_writable() const;
  /// Collective. When it returns, all data of all ranks is in the file.
  void flush();
  /// Flushes through `at`, which is certainly open.
  void flush_from(const UnderObject& at) {
    store_.move_to(at);
    flush();
  }
  /// Returns a number that no other dataset of the file has; equal on all ranks.
  std::uint64_t new_id() { return next_id_++; }
  std::shared_ptr<DatasetState> adopt(StoredDataset stored, hid_t type);

 private:
  void start_undo(const OpenedFile& opened);
  void finish();
  void report();
  /// Collective. HDF5 flushes the file; then the flush is committed (watched_driver.h).
  void flush_below(const UnderObject& at, H5F_scope_t scope);
  logged::Lent lent_by(hid_t dxpl, bool collective, bool until_landed);
  void append(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl,
              bool until_landed);
  void agree_on_room(bool collective);
  void read_together(std::span<const DatasetRead> reads, hid_t dxpl);

  Comm comm_;
  bool mpi_io_;  // HDF5's MPI-IO driver is used
  Method method_;
  std::string path_;
  bool writable_;
  bool created_;
  bool reached_;  // reached by a link; not opened by the program
  Opener opener_;
  LogStore store_;
  std::unique_ptr<LoggedFile> file_;
  std::shared_ptr<UndoFile> undo_;  // null if HDF5's writes are not watched
  std::map<std::uint64_t, std::weak_ptr<DatasetState>> datasets_;
  std::uint64_t next_id_ = 0;
  // Collective writes until ranks check together whether a buffer is full.
  Count writes_to_check_ = 0;
  Count largest_ = 0;     // bytes of this rank's largest collective write since then
  bool through_ = false;  // collective writes go straight to the file
  bool behind_ = false;   // in this call, for this rank's thread
  bool report_due_ = false;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

/// One handle of a logged dataset.
class LoggedHandle : public LoggedDataset {
 public:
  LoggedHandle(LoggedHooks& hooks, std::shared_ptr<DatasetState> state, const UnderObject& under)
      : hooks_(hooks), state_(std::move(state)), under_(under) {}

  bool get(H5VL_dataset_get_args_t& args, hid_t dxpl) override;
  bool specific(H5VL_dataset_specific_args_t& args, hid_t dxpl) override;
  bool optional(H5VL_optional_args_t& args, hid_t dxpl) override;

  DatasetState& state() { return *state_; }

 private:
  void set_extent(const hsize_t* size, hid_t dxpl);
  Count stored_bytes();
  Count storage_size();

  LoggedHooks& hooks_;
  std::shared_ptr<DatasetState> state_;
  UnderObject under_;
};

}  // namespace forebay::vol
