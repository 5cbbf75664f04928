// An ordinary HDF5 file whose datasets the ranks write together (layout=chunked, compact=close).
// Collective writes wait, those to all datasets, until all ranks write them in one operation
// (chunked_file.h). HDF5 reads, and does all else.
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "hdf5/connector/chunked_file.h"
#include "hdf5/connector/chunked_queue.h"
#include "hdf5/connector/file_memory.h"
#include "hdf5/connector/hooks.h"

namespace forebay::vol {

/// Returns why HDF5 itself writes a file that was opened in this way; empty: ranks do.
std::string why_not_by_ranks(const OpenedFile& opened);

class ChunkedHooks : public FileHooks {
 public:
  /// Collective. If HDF5 itself writes the file, new datasets get the codec all the same.
  ChunkedHooks(const OpenedFile& opened, const Method& method);
  ~ChunkedHooks() override;

  bool hides() const override { return false; }
  CreatedDataset create_dataset(const DatasetCreation& creation) override;
  std::unique_ptr<LoggedDataset> open_dataset(const UnderObject& dataset, hid_t dxpl) override;
  void write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) override;
  void read(const UnderObject& at, std::span<const DatasetRead> reads, hid_t dxpl) override;
  void flush(const UnderObject& at, H5F_scope_t scope) override;
  void flush_with_parent() override;
  void before_close(const UnderObject& at, Closing closing) override;
  void before_mount(const UnderObject& at) override;
  void before_objects_change(const UnderObject& at) override;
  void object_copied(const ObjectCopy& /*copy*/) override {}
  void set_atomic(bool atomic) override { atomic_ = atomic; }

  /// Collective. What waits reaches the file. After an error it waits for the next attempt. `at` is
  /// any open object of the file.
  void write_waiting(const UnderObject& at);
  /// Local. Errc::eperm if writes to the dataset wait, which a call that not all ranks make cannot
  /// see.
  void refuse_while_waiting(const ChunkedDataset& dataset, const char* what) const;

 private:
  std::shared_ptr<ChunkedDataset> adopt(const UnderObject& dataset, const std::string& name);
  std::shared_ptr<ChunkedDataset> find(const UnderObject& at, const ChunkedQueue::Written& written);
  // Writing (chunked_writes.cc).
  struct Part;
  struct Call;
  void write_together(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl);
  void write_alone(std::span<const DatasetWrite> writes, hid_t dxpl);
  Call resolve(std::span<const DatasetWrite> writes);
  void write_in_place(std::span<Part> parts);
  void enqueue(Part& part, bool collective);
  void carry_out(const UnderObject& at, bool any_independent);
  void drop();
  void report();

  Comm comm_;
  Method method_;
  std::string name_, path_;
  std::string by_hdf5_;  // why HDF5 writes the file; empty: ranks do
  Report report_;
  std::unique_ptr<ChunkedFile> file_;
  ChunkedQueue queue_;
  FileMemory beyond_limit_;  // data of independent writes
  std::map<std::vector<std::byte>, std::shared_ptr<ChunkedDataset>> datasets_;
  std::map<std::vector<std::byte>, OwnedUnder> held_;  // datasets to which writes wait
  std::optional<Error> lost_;    // this rank does not know of a collective call
  std::optional<Error> untold_;  // of this rank, which the others have not heard of
  OwnedUnder root_;              // while the file may be out of reach, because it is mounted
  bool atomic_ = false;          // nothing waits
  bool has_noted_copies_ = false;
  int failed_closings_ = 0;
  std::int64_t flushes_ = 0, groups_ = 0, in_place_ = 0, encoded_here_ = 0;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

/// One handle of a dataset that ranks write.
class ChunkedHandle : public LoggedDataset {
 public:
  ChunkedHandle(ChunkedHooks& hooks, std::shared_ptr<ChunkedDataset> dataset,
                const UnderObject& under)
      : hooks_(hooks), dataset_(std::move(dataset)), under_(under) {}

  bool get(H5VL_dataset_get_args_t& /*args*/, hid_t /*dxpl*/) override { return false; }
  bool specific(H5VL_dataset_specific_args_t& args, hid_t dxpl) override;
  bool optional(H5VL_optional_args_t& args, hid_t dxpl) override;

  static ChunkedHandle& of(LoggedDataset* dataset) { return static_cast<ChunkedHandle&>(*dataset); }
  const std::shared_ptr<ChunkedDataset>& dataset() const { return dataset_; }
  const UnderObject& under() const { return under_; }

 private:
  ChunkedHooks& hooks_;
  std::shared_ptr<ChunkedDataset> dataset_;
  UnderObject under_;
};

}  // namespace forebay::vol
