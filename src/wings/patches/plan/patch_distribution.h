// Which rank transforms and encodes which patch (Fan et al. 2021, §IV-A).
//
// The problem: the program's own partition of the domain gives each rank parts of patches. One rank
// transforms a patch and receives the parts of all others. Everybody waits for the rank with most
// patches. So each of N ranks has a target for M patches, which spreads the remainder evenly:
//
//     target(r) = ⌊(r+1)·M/N⌋ − ⌊r·M/N⌋;
//
// and as few bytes as possible should move.
//
// Fan et al. leave a patch that one rank holds alone with it, and distribute the others one after
// another, on every rank, with the counts of all ranks. That is not balanced if a rank holds more
// patches alone than its target, and no rank of a million should know all patches. Here each patch
// has a home, a rank found by hashing its number. All holders of a part send its size to the home.
// Then, in rounds,
//
//     each patch without an owner proposes, from its home, to the rank that holds most of it and
//         that the home does not know to be full; the lowest one of several;
//     each rank accepts the proposals of which it holds most bytes, up to its target, for good, and
//         says whether it is full.
//
// After most_rounds rounds, or when no patch has a rank left to propose to, the rest is assigned.
// Patches without an owner are laid end to end, home after home, and so is the room that ranks have
// below their targets. A patch goes to the rank with room at the same place. Both sequences are
// equally long, since the targets sum to M. Each part of these places has a broker, a rank that
// learns who has room and who has patches there, and answers the homes. So no rank needs the list
// of all ranks.
//
// For every input, each rank ends with its target, ⌊M/N⌋ or ⌈M/N⌉ patches. Patches without any
// parts do not count. The result only depends on which parts ranks hold.
//
// Work and memory of a rank are proportional to its parts and those at its home: O(M/N) for a few
// parts per patch.
//
// The steps are as follows; "→" sends notes to their ranks, and all ranks take all steps:
//
//     tell → hear                          sum look() over ranks for begin()
//     at most most_rounds times, while the sum of proposing() is not 0:
//         propose → judge → hear
//     exclusive scan of room() and left()
//     lay_out → match → hear
//     decide → the verdicts, to all holders of a part and the owner of the patch
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "patches/plan/plan_message.h"

namespace forebay {

/// The part of a patch that a rank holds. The caller numbers the patches of all variables, records
/// and components, from 0, in any way that is equal on all ranks.
struct PatchPart {
  Count patch = 0;
  Count bytes = 0;  ///< above 0
};

/// The part that the asked rank holds; `at` is the home's own index of the patch.
struct PatchProposal {
  Count patch = 0, bytes = 0, at = 0;
};

struct PatchAnswer {
  Count at = 0;
  std::int32_t taken = 0, full = 0;  ///< yes or no
};

/// Consecutive places of the final assignment where a rank has room, or a home has patches.
struct DealtPlaces {
  Count first = 0, count = 0;
};

/// The rank that has room at these places.
struct DealtRoom {
  Count first = 0, count = 0;
  std::int64_t owner = 0;
};

/// The result for a patch. Goes to each rank that has a part of it, and to its owner.
struct PatchVerdict {
  Count patch = 0;
  Count bytes = 0;  ///< the sum over all parts; overlaps count twice
  std::int32_t owner = 0;
  std::int32_t parts = 0;  ///< how many ranks have a part
};

class PatchDistribution {
 public:
  static constexpr int most_rounds = 8;

  /// The state of one rank. All functions throw Errc::einternal for impossible arguments (here: no
  /// such rank), and nothing else.
  PatchDistribution(Rank rank, int ranks);

  /// `mine` may repeat a patch. In all outputs, notes to one rank follow each other.
  void tell(std::span<const PatchPart> mine, Notes<PatchPart>& out) const;
  /// At the home; may be called several times.
  void hear(std::span<const PlanMessage<PatchPart>> in);
  /// The number of patches with their home here. No hear(PatchPart) may follow.
  Count look();

  /// `patches` is the sum over all homes.
  void begin(Count patches);
  Count target() const { return target_; }

  /// How many patches at this home have a rank to propose to.
  Count proposing() const;
  void propose(Notes<PatchProposal>& out) const;
  /// Takes all proposals of a round at once.
  void judge(std::span<const PlanMessage<PatchProposal>> in, Notes<PatchAnswer>& out);
  void hear(std::span<const PlanMessage<PatchAnswer>> in);

  Count room() const { return target_ - taken_; }  ///< patches that this rank still gets
  Count left() const;                              ///< patches at this home without an owner
  /// `room_before` and `left_before` are sums over lower ranks, `all_left` over all ranks.
  void lay_out(Count room_before, Count left_before, Count all_left, Notes<DealtPlaces>& rooms,
               Notes<DealtPlaces>& patches);
  /// At the brokers; takes all notes at once.
  static void match(std::span<const PlanMessage<DealtPlaces>> rooms,
                    std::span<const PlanMessage<DealtPlaces>> patches, Notes<DealtRoom>& out);
  void hear(std::span<const PlanMessage<DealtRoom>> in);

  /// Call it once all patches have owners.
  void decide(Notes<PatchVerdict>& out) const;

 private:
  struct Told {
    Count patch, bytes;
    Rank rank;
  };
  struct Holder {
    Count bytes;
    Rank rank;
  };
  struct AtHome {
    Count patch;
    std::size_t first;   // of its holders; they end at the next patch's first
    std::uint32_t next;  // index of the holder it proposes to next
    Rank owner;
  };

  std::span<const Holder> holders_of(std::size_t at) const;
  bool proposes(std::size_t at) const;

  Rank rank_;
  int ranks_;
  Count target_ = 0, taken_ = 0;
  std::vector<Told> told_;
  // The patches of this home by number, each with its holders by decreasing bytes.
  std::vector<AtHome> patches_;
  std::vector<Holder> holders_;
  std::vector<Rank> full_;  // the full ranks that this home knows, sorted
  Count left_before_ = 0;
};

/// The home of a patch among `ranks` ranks.
Rank home_of_patch(Count patch, int ranks);

/// The target of a rank, as above.
Count patch_target(Rank rank, int ranks, Count patches);

}  // namespace forebay
