// What waits of several datasets, written in one operation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "dataset/dataset.h"
#include "plan/bundle.h"
#include "plan/bundle_windows.h"

namespace forebay {

struct BundleOptions;

/// What ranks agree on before anything moves.
struct JointFacts {
  std::vector<BundleWindows::Range> ranges;  ///< of each file
  std::vector<std::int64_t> bytes;           ///< of all ranks
  std::vector<std::int64_t> numrecs;
  std::int64_t pieces = 0;
  bool several = false;  ///< operations of one file: who wins where they overlap has to be seen
};

/// What became of it; the same on all ranks.
struct JointOutcome {
  std::vector<bool> done;   ///< of each file: it is all there, and visible
  bool overlapped = false;  ///< ranks wrote the same bytes, in one file or another: nothing is told
  std::int64_t latency = 0;
  double seconds = 0;
};

/// Collective. Throws on all ranks or on none.
JointFacts agree_on_facts(const Comm& comm, std::span<Dataset* const> files,
                          std::span<const std::unique_ptr<ExtentStream>> streams);

/// Collective, and no error of a file's: that one is not done. `latency`: of a write, as far as it
/// is known (ByteFile::least_latency). Throws on all ranks or on none.
JointOutcome write_jointly(const Comm& comm, std::span<Dataset* const> files,
                           std::vector<std::unique_ptr<ExtentStream>> streams,
                           const JointFacts& facts, const BundlePlan& plan,
                           const BundleOptions& options, std::int64_t latency, Report& report);

}  // namespace forebay
