// Writes what waits in several datasets in one operation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bundles/isolated_write.h"
#include "bundles/plan/bundle_plan.h"
#include "comm/comm.h"
#include "dataset/stage_member.h"
#include "plan/bundle_windows.h"
#include "storage/write_queue.h"
#include "transport/merged_files.h"

namespace forebay {

struct BundleOptions;
struct FileSeconds;

/// Facts on which ranks agree before any data moves.
struct JointFacts {
  std::vector<BundleWindows::Range> ranges;  ///< for each file
  std::vector<std::int64_t> bytes;           ///< for each file, over all ranks
  std::vector<std::int64_t> numrecs;
  std::int64_t pieces = 0;
  bool several = false;  ///< some file has several operations: overlaps must be detected
};

/// The outcome of a joint write, the same on all ranks.
struct JointOutcome {
  std::vector<std::int64_t> codes;  ///< for each file; 0: all is written and visible
  std::int64_t latency = 0;
  double seconds = 0;
  std::vector<FileSeconds> times;  ///< for each file
};

/// Collective. Throws on all ranks or on none.
JointFacts agree_on_facts(const Comm& comm, std::span<StageMember* const> files,
                          std::span<const std::unique_ptr<ExtentStream>> streams);

/// One operation in two steps: values go to their files or to a queue; then they are made visible.
class JointWrite {
 public:
  /// Collective. `latency` is the known latency of a write (ByteFile::least_latency). Values go to
  /// `queue`, which must outlive this object; null: to the files. Throws on all ranks or on none.
  JointWrite(const Comm& comm, std::vector<StageMember*> files,
             std::vector<std::unique_ptr<ExtentStream>> streams, JointFacts facts, BundlePlan plan,
             const BundleOptions& options, std::int64_t latency, WriteQueue* queue, Report& report);
  ~JointWrite() = default;  ///< drops what waits in the queue
  JointWrite(const JointWrite&) = delete;
  JointWrite& operator=(const JointWrite&) = delete;

  std::span<StageMember* const> files() const { return files_; }
  const JointFacts& facts() const { return facts_; }
  /// Returns, the same on all ranks, whether ranks wrote the same bytes of a file.
  bool overlapped() const { return overlapped_; }
  /// Local. Returns the number of messages that this rank received.
  std::int64_t messages_in() const { return messages_in_; }
  /// Local. Returns what came to this rank for each file in an isolated shuffle; empty for other
  /// schemes.
  std::span<const IsolatedTraffic> traffic() const { return traffic_; }
  /// Collective, once. Waits for the queue and makes values visible, except in files with errors.
  /// Throws on all ranks or on none.
  JointOutcome finish();
  /// Local, after finish(). Returns what went wrong with a file on this rank.
  const std::optional<Error>& failure(std::size_t file) const { return merged_->failure(file); }

 private:
  Comm comm_;
  std::vector<StageMember*> files_;
  JointFacts facts_;
  BundlePlan plan_;
  std::chrono::steady_clock::time_point began_;
  bool slow_ = false, overlapped_ = false;
  std::int64_t messages_in_ = 0;
  std::vector<IsolatedTraffic> traffic_;
  std::unique_ptr<BundleWindows> windows_;
  std::shared_ptr<MergedFile> merged_;
};

}  // namespace forebay
