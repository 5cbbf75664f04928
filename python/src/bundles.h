// The bundles of the wing, or what stands in its place in a build without it.
#pragma once

#if FOREBAY_PYTHON_BUNDLES
#include "bundles/open_bundles.h"
#else

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "dataset/dataset.h"
#include "dataset/file_sharing.h"

namespace forebay {

[[noreturn]] inline void refuse_bundle() {
  throw Error(Errc::enotbuilt, "this build has no bundles",
              "configure Forebay with bundles in -DFOREBAY_WINGS");
}

inline void meet_before_opening(const Comm&, const char*, int, bool) {}
inline bool any_bundles() { return false; }
inline bool is_bundled(const Dataset&) { return false; }
inline void join_bundle(Dataset& dataset) { sharing_by_none.enter()->join(dataset, {}); }
inline void close_file(std::unique_ptr<Dataset> dataset) { dataset->close(); }
inline void abort_file(std::unique_ptr<Dataset> dataset) { dataset->abort(); }
inline int open_bundle(const Comm&, const std::string&, const HintMap&) { refuse_bundle(); }
inline void add_to_bundle(int, Dataset&) { refuse_bundle(); }
inline void flush_bundle(int) { refuse_bundle(); }
inline void sync_bundle(int) { refuse_bundle(); }
inline std::string bundle_plan(int) { refuse_bundle(); }
inline std::string close_bundle(int, const std::function<std::unique_ptr<Dataset>(const Dataset&)>&,
                                std::span<int>) {
  refuse_bundle();
}

}  // namespace forebay
#endif
