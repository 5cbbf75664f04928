// Holds steps of process groups with stage burst. Each rank has a log on fast storage, in its own
// files or its node's. A control file beside the BP4 directory lists the logs (docs/burst.md).
#pragma once

#include <memory>
#include <string>

#include "base/report.h"
#include "comm/comm.h"
#include "groups/process_group/step_log.h"
#include "method/method.h"
#include "store/staging_control.h"

namespace forebay {

class GroupStaging {
 public:
  /// Collective. Makes the logs, and the control file of the existing directory `path`. From now on
  /// the logs survive a crash and can be replayed. Throws the errors of StagingControl::create(),
  /// and system errors.
  GroupStaging(const Comm& comm, const std::string& path, const Method& method, Report& report);

  /// Local, once. Returns this rank's log. This object must outlive it.
  std::unique_ptr<process_group::StepLog> take_log() { return std::move(log_); }

  /// Collective. Waits until the control file is on its device. Without it a power failure might
  /// leave a damaged one, with which nobody could open the file.
  void sync();

  /// Collective. Says that all steps are in the file: the control file is removed, and so are the
  /// logs unless they are to be kept. Without this call they stay.
  void end();

 private:
  bool makes_files() const { return node_.is_root(); }
  void make_log(const Method& method, Report& report);

  const Comm& comm_;
  Comm node_;  // ranks that share files; only this rank if none do
  bool keeps_ = false;
  StagingInfo info_;
  std::string stem_;
  Report log_report_;  // I/O of logs does not count as the file's
  std::unique_ptr<process_group::StepLog> log_;
  std::unique_ptr<StagingControl> control_;  // on rank 0
};

}  // namespace forebay
