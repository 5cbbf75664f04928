// The isolated shuffle: how the scheme `ips` brings windows to the ranks that write them (Wang et
// al. 2014, §IV.C).
//
// A file has a group of A of all n ranks. What ranks have of a window takes two steps:
//
//     shuffle      a rank j outside the group sends it to member j mod A. So a member hears from
//                  about n / A ranks, whatever the number of windows, and not from all
//     aggregation  each other member sends what it has then to the group's first rank, the root.
//                  The root writes the window
//
// A rank sends one message for each window in a step, and none if it has no bytes of it. So a
// window takes n − A messages, then A − 1. predict() (bundles/plan/bundle_plan.h) counts the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/extent.h"
#include "base/report.h"
#include "bundles/plan/bundle_plan.h"
#include "comm/comm.h"
#include "plan/bundle_windows.h"
#include "transport/merged_files.h"

namespace forebay {

struct IsolatedOptions {
  Count buffer_limit = 0;    ///< bytes of windows that a rank may hold, beyond one window
  Count hole_threshold = 0;  ///< holes up to this many bytes are bridged
  bool slow = false;         ///< calls take long: threads write several windows at a time
};

/// Messages that came to a rank for one file, and bytes of values in them.
struct IsolatedTraffic {
  std::int64_t messages = 0, bytes = 0;                          ///< of the shuffle
  std::int64_t aggregation_messages = 0, aggregation_bytes = 0;  ///< of the aggregation
};

struct IsolatedOutcome {
  bool overlapped = false;               ///< several ranks wrote the same bytes; equal on all ranks
  std::vector<IsolatedTraffic> traffic;  ///< of each file, to this rank
};

/// Collective. Writes the extents of all ranks. `file` shows the files of `plan` as one, by
/// `windows`, and keeps their errors. Works in rounds, so that memory is bounded. Throws on all
/// ranks or on none.
IsolatedOutcome write_isolated(const Comm& comm, ExtentStream& extents, const BundlePlan& plan,
                               const BundleWindows& windows, MergedFile& file,
                               const IsolatedOptions& options, Report& report);

}  // namespace forebay
