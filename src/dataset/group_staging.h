// Where steps of process groups wait with stage burst: a log of each rank on fast storage, in
// files of its own or of its node, and
// beside the BP4 directory the control file that tells of them (docs/burst.md).
#pragma once

#include <memory>
#include <string>

#include "base/report.h"
#include "comm/comm.h"
#include "layout/process_group/step_log.h"
#include "method/method.h"
#include "stage/burst/staging_control.h"

namespace forebay {

class GroupStaging {
 public:
  /// Collective. Makes the logs, and the control file of the directory `path`, which is there:
  /// from here on a crash leaves them to be replayed. Errors as StagingControl::create() has them,
  /// and the system's.
  GroupStaging(const Comm& comm, const std::string& path, const Method& method, Report& report);

  /// Local, once. This rank's; this object outlives it.
  std::unique_ptr<process_group::StepLog> take_log() { return std::move(log_); }

  /// Collective. All is in the file: logs, unless they are to be kept, and control file go. Without
  /// it they stay.
  void end();

 private:
  bool makes_files() const { return node_.is_root(); }
  void make_log(const Method& method, Report& report);

  const Comm& comm_;
  Comm node_;  // of those that share files; this rank alone where none do
  bool keeps_ = false;
  StagingInfo info_;
  std::string stem_;
  Report log_report_;  // what is read and written of logs is not of the file
  std::unique_ptr<process_group::StepLog> log_;
  std::unique_ptr<StagingControl> control_;  // on rank 0
};

}  // namespace forebay
