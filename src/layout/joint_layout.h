// A layout that carries out writes to several files as one operation, for whoever writes files
// together (bundle/bundle.h).
#pragma once

#include <span>

#include "array/request.h"
#include "base/report.h"
#include "comm/comm.h"

namespace forebay {

class JointLayout {
 public:
  struct Share {
    JointLayout* layout;        ///< of one file; all are of the same kind
    std::span<Request> writes;  ///< of this rank
    bool last = false;          ///< none follow: see ApartPart::publish_last
  };
  virtual ~JointLayout() = default;
  /// Collective over `comm`, which has the ranks of all files in their order. Carries out all
  /// writes and publishes what they make, and as many records as the files' schemas have, in one
  /// operation. Where that fails all ranks throw, each file has what was published before, or all
  /// of this, and writes may be carried out again, by each file itself. But where a rank fails once
  /// all have agreed on what is published, the files that were being published have to be opened
  /// again.
  virtual void write_all(const Comm& comm, std::span<const Share> shares, Report& report) = 0;
};

}  // namespace forebay
