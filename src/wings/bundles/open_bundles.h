// The bundles of this process for front ends: by name, for files whose method names a bundle, and
// by number. They are written at the latest when MPI_Finalize begins or the process ends.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bundles/bundle.h"
#include "comm/comm.h"
#include "dataset/file_sharing.h"

namespace forebay {

// These are what a front end reaches by file_sharing() (dataset/file_sharing.h, which says more).

OpeningFacts look_before_opening(bool is_root, const char* path, int mode, bool makes);
AgreedOpening agree_before_opening(const Comm& comm, const char* path, const OpeningFacts& facts);
/// Collective. Does both.
void meet_before_opening(const Comm& comm, const char* path, int mode, bool makes);

/// Adds a file to the bundle that its method names, if it names one.
class BundleEntrance final : public Entrance {
 public:
  BundleEntrance();
  ~BundleEntrance() override;
  std::span<std::int64_t> say(Dataset& file) override;
  /// If an open member of that name belongs to a bundle of the same ranks, its waiting writes are
  /// written before any operation of this opening that may see them.
  void join(Dataset& file, const OpeningFacts& found) override;
  void join(Dataset& file);  ///< collective: the file alone
  class Intent;

 private:
  std::unique_ptr<Intent> meant_;
};

/// Collective. Adds a file for which say() was not called.
inline void join_bundle(Dataset& dataset) { BundleEntrance().join(dataset); }

void close_file(std::unique_ptr<Dataset> dataset);
void abort_file(std::unique_ptr<Dataset> dataset);

/// Local. Returns whether the file is a member of a bundle.
bool is_bundled(const Dataset& dataset);
/// Local. Returns whether this process has a bundle. Any thread may call.
bool any_bundles();

void delete_waiting(const std::string& path);

// By number. Errc::ebadid: there is no such bundle. All but bundle_plan are collective.

/// Rank 0's hints count. Errc::einval: the name is taken.
int open_bundle(const Comm& comm, const std::string& name, const HintMap& hints);
/// Errc::einval: the file belongs to other ranks, or is a member already.
void add_to_bundle(int number, Dataset& dataset);
/// Completes all queued requests of all open members. Throws the first error.
void wait_for_bundle(int number);
void flush_bundle(int number);
void sync_bundle(int number);
/// Writes the bundle, closes all members, and forgets it. `take` hands over an open member.
/// `statuses` may be empty, or gets the code of each file in the order in which they were added.
/// Returns the text of bundle_plan().
std::string close_bundle(int number,
                         const std::function<std::unique_ptr<Dataset>(const Dataset&)>& take,
                         std::span<int> statuses);
/// Returns JSON about the last time that it was written.
std::string bundle_plan(int number);
/// Returns how many files were added by number.
std::size_t added_to_bundle(int number);

}  // namespace forebay
