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
#include "dataset/dataset.h"

namespace forebay {

// Before a file is opened or created, ranks combine what they know of it in one reduction. It
// replaces a broadcast of rank 0's `mode`.

using OpeningFacts = std::array<std::int64_t, 6>;

/// Local. Returns what this rank knows. `path` may be null. `makes`: a file will be created there.
OpeningFacts look_before_opening(bool is_root, const char* path, int mode, bool makes);
/// Collective, after a collective step; `facts` are the maxima over all ranks. If a closed member
/// of that name waits, it is completed with its bundle. Errc::eperm: it waits in a bundle of other
/// ranks. Errc::einval: the file would be created anew while it is open in a bundle. Returns rank
/// 0's mode. If such a file waits, the call ends in a collective step after which nothing fails;
/// otherwise it has none.
int agree_before_opening(const Comm& comm, const char* path, const OpeningFacts& facts);
/// Returns whether a closed member of that name waits.
inline bool any_waits(const OpeningFacts& found) { return found[1] != 0 || found[2] != 0; }
/// Collective, after agree_before_opening(). If an open member of that name belongs to a bundle of
/// the same ranks, its waiting writes are written before any operation of this opening that may see
/// them.
void follow_member(Dataset& dataset, const OpeningFacts& found);
/// Collective. Does both look_before_opening() and agree_before_opening().
int meet_before_opening(const Comm& comm, const char* path, int mode, bool makes);

/// Adds a file to the bundle that its method names, if it names one.
class BundleEntrance {
 public:
  BundleEntrance();
  ~BundleEntrance();
  /// Serves as PiggybackFacts (dataset/dataset.h). After it join() usually needs no collective step
  /// of its own.
  std::span<std::int64_t> say(Dataset& dataset);
  /// Collective. Ends in a collective step, or follows one.
  void join(Dataset& dataset);
  class Intent;

 private:
  std::unique_ptr<Intent> meant_;
};

/// Collective. Adds a file for which say() was not called.
inline void join_bundle(Dataset& dataset) { BundleEntrance().join(dataset); }

/// Collective. These close or abort a file, whether it is a member or not.
void close_file(std::unique_ptr<Dataset> dataset);
void abort_file(std::unique_ptr<Dataset> dataset);

/// Local. Returns whether this process has a bundle. Any thread may call.
bool any_bundles();

/// Local. Deletes a file. If it is closed and waits, nothing is written to it any more.
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
