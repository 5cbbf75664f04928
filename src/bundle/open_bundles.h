// Bundles of this process as front ends have them: by name, for files whose method says so, and by
// number. Until MPI_Finalize begins, or the process ends, what waits is in them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bundle/bundle.h"
#include "comm/comm.h"
#include "dataset/dataset.h"

namespace forebay {

// Before a file is opened or created ranks tell each other what they know of it, in place of a
// broadcast of rank 0's `mode`.

using OpeningFacts = std::array<std::int64_t, 6>;

/// Local. What a rank knows. `path` may be null. `makes`: a file is made anew there.
OpeningFacts look_before_opening(bool is_root, const char* path, int mode, bool makes);
/// Collective, behind a meeting; `facts` are the maxima over all ranks. A closed member of that
/// name that waits is completed, with its bundle. Errc::eperm where it waits in a bundle of other
/// ranks, Errc::einval where a file would be made anew that is open in a bundle. Returns rank 0's
/// mode. Ends in a meeting, behind which nothing fails, or where no such file waits has none at
/// all.
int agree_before_opening(const Comm& comm, const char* path, const OpeningFacts& facts);
/// Whether a closed member of that name waits.
inline bool any_waits(const OpeningFacts& found) { return found[1] != 0 || found[2] != 0; }
/// Collective, behind agree_before_opening(). What a member of that name that is open as well has
/// waiting is written ahead of whatever this opening may see it by, if its ranks are the bundle's.
void follow_member(Dataset& dataset, const OpeningFacts& found);
/// Collective. Both.
int meet_before_opening(const Comm& comm, const char* path, int mode, bool makes);

/// How a file comes to be a member of the bundle that its method names, if it names one.
class BundleEntrance {
 public:
  BundleEntrance();
  ~BundleEntrance();
  /// As Beside has it (dataset/dataset.h): then join() has no meeting of its own, as a rule.
  std::span<std::int64_t> say(Dataset& dataset);
  /// Collective, ends in a meeting, or comes behind one.
  void join(Dataset& dataset);
  class Meant;

 private:
  std::unique_ptr<Meant> meant_;
};

/// Collective. The same of a file that nobody has asked about before.
inline void join_bundle(Dataset& dataset) { BundleEntrance().join(dataset); }

/// Collective: closes a file, or aborts it, member or not.
void close_file(std::unique_ptr<Dataset> dataset);
void abort_file(std::unique_ptr<Dataset> dataset);

/// Local. Whether this process has a bundle; may be asked by any thread.
bool any_bundles();

/// Local. Deletes a file; where it waits, closed, nothing is written to it any more.
void delete_waiting(const std::string& path);

// By number. Errc::ebadid for one that there is not. All are collective but bundle_plan.

/// Rank 0's hints count. Errc::einval for a name that is taken.
int open_bundle(const Comm& comm, const std::string& name, const HintMap& hints);
/// Errc::einval for a file of other ranks, and for one that is a member.
void add_to_bundle(int number, Dataset& dataset);
/// Completes all queued requests of all open members; throws the first error of all.
void wait_for_bundle(int number);
void flush_bundle(int number);
void sync_bundle(int number);
/// Writes the bundle, closes all members, and forgets it. `take` hands over an open one. `statuses`
/// may be empty, or gets the code of each file in the order in which they were added. Returns what
/// bundle_plan() would.
std::string close_bundle(int number,
                         const std::function<std::unique_ptr<Dataset>(const Dataset&)>& take,
                         std::span<int> statuses);
/// Of the last time that it was written, as JSON.
std::string bundle_plan(int number);
/// How many files have been added to it by number.
std::size_t added_to_bundle(int number);

}  // namespace forebay
