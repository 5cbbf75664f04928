// How the bytes of steps are written to their files, and when an ended step becomes visible: at
// once (direct), by a thread while the program continues (queue), or later from a log on fast
// storage.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/byte_file.h"
#include "base/error.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/step_log.h"
#include "layout/list_stream.h"
#include "storage/write_queue.h"

namespace forebay::process_group {

class StepSink {
 public:
  /// Makes an object that writes many small pieces of all ranks to a file; collective.
  using MakeIo = std::function<std::unique_ptr<ExtentIo>(std::shared_ptr<ByteFile>)>;

  StepSink(const Comm& comm, BpFiles& files, Report& report)
      : comm_(comm), files_(files), report_(report) {}
  virtual ~StepSink() = default;
  StepSink(const StepSink&) = delete;
  StepSink& operator=(const StepSink&) = delete;

  /// Returns whether a group may be written before the other ranks know of it.
  virtual bool may_pass() const { return false; }
  virtual void write_index_by(const MakeIo& /*make*/) {}
  /// Sets how groups are written that a step ends with: by the object that `make` returns for this
  /// rank's data file, collectively over the ranks that share it. Errc::enotsupport: this sink
  /// writes them later.
  virtual void write_groups_by(const MakeIo& make);

  // ---- A step, in this order

  /// Collective, before anything else of the end of a step.
  virtual void begin_end() {}
  /// Collective, before the pieces of the end of a step.
  virtual void begin_writes() {}
  /// Local. Writes ascending pieces of the current step. Their memory may be reused on return.
  virtual void write(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces);
  /// Local. The same for the pieces that a step ends with, but their memory must stay valid until
  /// end_writes() returns.
  virtual void write_last(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) {
    write(file, of, pieces);
  }
  /// Collective. Announces the number of names and bytes of the step's index.
  virtual void begin_index(std::int64_t /*names*/, Count /*bytes*/) {}
  /// Local. Writes pieces of the index. Their memory must stay valid until end_writes() returns.
  virtual void write_index(const LoggedPiece& of, std::span<const FilePiece> pieces) {
    write_last(files_.metadata(), of, pieces);
  }
  /// Collective. Ends the writes of all ranks. `failed` is an error of this rank.
  virtual void end_writes(const std::optional<Error>& failed);
  /// Collective, after all ranks have ended their writes. The step is visible from now on, or once
  /// a later finish() has returned.
  virtual void show(const bp::StepRecord& record) { files_.show({&record, 1}); }
  /// Collective. Replaces the rest of this order, and drops the step.
  virtual void give_up() {}

  /// Collective. Writes waiting steps to the file.
  virtual void finish() {}
  /// Collective, after finish(), once the file is on its device. Waits until a log that dropped
  /// steps is on its device, too.
  virtual void synced() {}
  /// Collective. Calls finish(), a second time if it fails. Then drops a step that cannot be
  /// written, and returns the error.
  virtual std::optional<Error> close();

 protected:
  Comm comm_;
  BpFiles& files_;
  Report& report_;
};

/// Writes at once.
class DirectSink final : public StepSink {
 public:
  using StepSink::StepSink;
  /// Groups that a transport writes reach the file with all other ranks' groups.
  bool may_pass() const override { return !make_groups_io_; }
  void write_index_by(const MakeIo& make) override { make_io_ = make; }
  void write_groups_by(const MakeIo& make) override { make_groups_io_ = make; }
  void begin_writes() override;
  void write_last(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) override;
  void begin_index(std::int64_t names, Count bytes) override;
  void write_index(const LoggedPiece& of, std::span<const FilePiece> pieces) override;
  void end_writes(const std::optional<Error>& failed) override;
  std::optional<Error> close() override;

 private:
  std::optional<Error> write_groups(const std::optional<Error>& failed);

  MakeIo make_groups_io_;
  std::unique_ptr<ExtentIo> groups_io_;
  std::optional<ListStream> groups_;  // this rank's pieces of the data file
  MakeIo make_io_;
  std::unique_ptr<ExtentIo> index_io_;
  bool together_ = false;             // make_io_ writes the index of this step
  std::optional<ListStream> stream_;  // this rank's pieces of the index
};

/// Copies the pieces that a step ends with to a queue, which a thread writes. A step becomes
/// visible when the next one ends.
class QueueSink final : public StepSink {
 public:
  QueueSink(const Comm& comm, BpFiles& files, Report& report, Count memory)
      : StepSink(comm, files, report), queue_(memory, report) {}
  ~QueueSink() override;
  void begin_end() override { finish(); }
  void write_last(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) override;
  void show(const bp::StepRecord& record) override { held_ = record; }
  void give_up() override;
  void finish() override;
  std::optional<Error> close() override;

 private:
  void drop_all();

  WriteQueue queue_;
  std::optional<bp::StepRecord> held_;  // of the waiting step; on all ranks, root's is used
};

/// Keeps all pieces in a log until the log is full.
class LogSink final : public StepSink {
 public:
  LogSink(const Comm& comm, BpFiles& files, Report& report, std::unique_ptr<StepLog> log)
      : StepSink(comm, files, report), log_(std::move(log)) {}
  void begin_end() override;
  void write(File& file, const LoggedPiece& of, std::span<const FilePiece> pieces) override;
  void show(const bp::StepRecord& record) override;
  void give_up() override { log_->forget_step(); }
  void finish() override;
  void synced() override;
  std::optional<Error> close() override;

 private:
  void show_logged(const bp::StepRecord& record);
  void empty();

  std::unique_ptr<StepLog> log_;
  std::vector<bp::StepRecord> held_;  // of waiting steps; on all ranks, root's are used
  // The logs' devices may lack the logs, or still have dropped steps; equal on all ranks.
  bool unsynced_ = true;
};

}  // namespace forebay::process_group
