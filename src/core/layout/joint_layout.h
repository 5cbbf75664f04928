// A layout that carries out writes to several files as one operation, for files that are written
// together (stage/shared_stage.h).
#pragma once

#include <span>

#include "array/request.h"
#include "base/report.h"
#include "comm/comm.h"

namespace forebay {

class JointLayout {
 public:
  struct Share {
    JointLayout* layout;        ///< of one file; all layouts are of the same kind
    std::span<Request> writes;  ///< of this rank
    bool last = false;          ///< it is the last write: see ApartPart::publish_last
  };
  virtual ~JointLayout() = default;
  /// Collective over `comm`, which has the ranks of all files in their order. Carries out all
  /// writes, and publishes them and the numbers of records in the files' schemas, in one operation.
  /// If that fails, all ranks throw. Each file then has its previous state or the complete new one,
  /// and each file may carry out its writes again. But if a rank fails after all have agreed on
  /// what is published, the files that were being published must be opened again.
  virtual void write_all(const Comm& comm, std::span<const Share> shares, Report& report) = 0;
};

}  // namespace forebay
