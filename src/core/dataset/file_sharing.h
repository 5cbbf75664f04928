// What a front end calls where it opens, closes and deletes files, for a wing whose stages several
// files share. A wing registers itself by one object at the beginning of a line of its own file:
//
//     extern const SharingEntry name_sharing{look, agree, ...};
//
// Without one, these functions do what a file by itself needs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/comm.h"
#include "dataset/dataset.h"

namespace forebay {

/// Before a file is opened or created, ranks combine what they know of it in one reduction, by
/// maxima. It replaces a broadcast of rank 0's mode.
using OpeningFacts = std::array<std::int64_t, 6>;

/// What all ranks know after that.
struct AgreedOpening {
  int mode = 0;         ///< rank 0's
  bool waited = false;  ///< a file of that name waited; then the ranks have just synchronised
};

/// The way of a file that is opened or created into a stage that others share.
class Entrance {
 public:
  virtual ~Entrance() = default;
  /// Serves as PiggybackFacts (dataset/opening.h). After it join() usually needs no collective step
  /// of its own.
  virtual std::span<std::int64_t> say(Dataset& /*file*/) { return {}; }
  /// Collective, once the file is open. Ends in a collective step, or follows one. Here: makes a
  /// file at once that a thread was to make.
  virtual void join(Dataset& file, const OpeningFacts& found);
};

struct SharingEntry {
  /// Local; it needs no memory. Returns what this rank knows. `path` may be null. `makes`: a file
  /// will be created there.
  OpeningFacts (*look)(bool is_root, const char* path, int mode, bool makes);
  /// Collective, after a collective step; `facts` are the maxima over all ranks. If a file of that
  /// name is closed and waits, it is completed with its others. Errc::eperm: they are other ranks'.
  /// Errc::einval: the file would be created anew while it is open and shares a stage. If such a
  /// file waits, the call ends in a collective step after which nothing fails; otherwise it has
  /// none.
  AgreedOpening (*agree)(const Comm& comm, const char* path, const OpeningFacts& facts);
  std::unique_ptr<Entrance> (*enter)();
  /// Collective. These close or abort a file, whether it shares its stage or not.
  void (*close)(std::unique_ptr<Dataset> file);
  void (*abort)(std::unique_ptr<Dataset> file);
  /// Local. Deletes a file. If it is closed and waits, nothing is written to it any more.
  void (*remove)(const std::string& path);
};

/// Each file by itself.
extern const SharingEntry sharing_by_none;

/// The entry of a wing; without one, sharing_by_none.
const SharingEntry& file_sharing();

/// Generated.
std::span<const SharingEntry* const> built_in_sharings();

}  // namespace forebay
