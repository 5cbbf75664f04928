// What waits of several datasets, written in one operation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "dataset/dataset.h"
#include "plan/bundle.h"
#include "plan/bundle_windows.h"
#include "storage/write_queue.h"
#include "transport/merged_files.h"

namespace forebay {

struct BundleOptions;
struct FileSeconds;

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
  std::vector<std::int64_t> codes;  ///< of each file; 0: it is all there, and visible
  std::int64_t latency = 0;
  double seconds = 0;
  std::vector<FileSeconds> times;  ///< of each file
};

/// Collective. Throws on all ranks or on none.
JointFacts agree_on_facts(const Comm& comm, std::span<Dataset* const> files,
                          std::span<const std::unique_ptr<ExtentStream>> streams);

/// One operation, in two steps: values go to their files, or to a queue, and what makes them
/// visible behind that.
class JointWrite {
 public:
  /// Collective. `latency`: of a write, as far as it is known (ByteFile::least_latency). `queue`,
  /// which outlives it: where values go; may be null. Throws on all ranks or on none.
  JointWrite(const Comm& comm, std::vector<Dataset*> files,
             std::vector<std::unique_ptr<ExtentStream>> streams, JointFacts facts, BundlePlan plan,
             const BundleOptions& options, std::int64_t latency, WriteQueue* queue, Report& report);
  ~JointWrite() = default;  ///< what waits in the queue is dropped
  JointWrite(const JointWrite&) = delete;
  JointWrite& operator=(const JointWrite&) = delete;

  std::span<Dataset* const> files() const { return files_; }
  const JointFacts& facts() const { return facts_; }
  /// Ranks wrote the same bytes, in one file or another. Known to all.
  bool overlapped() const { return overlapped_; }
  /// Local. That came to this rank.
  std::int64_t messages_in() const { return messages_in_; }
  /// Collective, once; waits for the queue. No error of a file's: that one is not done. Throws on
  /// all ranks or on none.
  JointOutcome finish();
  /// Local, behind finish(). What went wrong with a file here, if it did.
  const std::optional<Error>& failure(std::size_t file) const { return merged_->failure(file); }

 private:
  Comm comm_;
  std::vector<Dataset*> files_;
  JointFacts facts_;
  BundlePlan plan_;
  std::chrono::steady_clock::time_point began_;
  bool slow_ = false, overlapped_ = false;
  std::int64_t messages_in_ = 0;
  std::unique_ptr<BundleWindows> windows_;
  std::shared_ptr<MergedFile> merged_;
};

}  // namespace forebay
