// Which rank gets which patch to transform and encode (H §IV-A).
//
// The problem: ranks hold parts of patches as the program's own division of the domain leaves them.
// A patch is transformed by one rank, which gets the parts of all others. Everybody waits for the
// rank with most patches, so each is to have its target, equally many as all others but for one:
//
//     target(r) = ⌊(r+1)·M/N⌋ − ⌊r·M/N⌋ of M patches on N ranks,
//
// which spreads the remainder evenly; and as few bytes as can be are to move.
//
// H leaves patches that one rank holds alone where they are, and goes through the others one after
// another, on every rank, with the counts of all ranks. Where a rank holds more patches alone than
// its target is, that is not balanced; and no rank of a million should know all patches. Here a
// patch has a home, a rank by a hash of its number, to which all that hold a part of it tell how
// much. Then, in rounds,
//
//     each patch without an owner proposes, from its home, to the rank that holds most of it, of
//         those that are not known there to be full; the lowest of several;
//     each rank takes of what is proposed to it what it holds most bytes of, up to its target, for
//         good, and says whether it is full.
//
// After most_rounds rounds, or when no patch has anybody left to propose to, what is left is dealt
// out: patches without an owner are laid end to end, home after home, and so is the room that ranks
// have below their targets; the patch at a place goes to the rank whose room is at it. Both are
// equally long, since the targets sum to M. For each part of these places a rank (a broker) is told
// who has room and who has patches there, and tells homes what they ask: nobody needs the list of
// all ranks.
//
// What holds for every input: each rank ends with its target, ⌊M/N⌋ or ⌈M/N⌉ patches. Patches that
// nobody holds a part of do not count. The outcome depends on what ranks hold alone.
//
// What a rank does and keeps is proportional to the parts that it has, and those at its home:
// O(M/N) where parts are a few a patch.
//
// How to drive it, where "→" carries notes to their ranks; all ranks take all steps:
//
//     tell → hear                          sum look() over ranks for begin()
//     at most most_rounds times, while the sum of proposing() is not 0:
//         propose → judge → hear
//     exclusive scan of room() and left()
//     lay_out → match → hear
//     decide → the verdicts, for whoever holds a part or owns the patch
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "plan/note.h"

namespace forebay {

/// What a rank has of a patch. Patches of all variables, records and components are numbered by
/// the caller, in any way that is the same on all ranks, from 0 on.
struct PatchPart {
  Count patch = 0;
  Count bytes = 0;  ///< above 0
};

/// The part of who is asked; `at` is the home's own name for the patch.
struct PatchProposal {
  Count patch = 0, bytes = 0, at = 0;
};

struct PatchAnswer {
  Count at = 0;
  std::int32_t taken = 0, full = 0;  ///< yes or no
};

/// Consecutive places of the deal, where a rank has room, or a home has patches.
struct DealtPlaces {
  Count first = 0, count = 0;
};

/// Who has room at these places.
struct DealtRoom {
  Count first = 0, count = 0;
  std::int64_t owner = 0;
};

/// Sent to each rank that has a part of the patch, and to its owner.
struct PatchVerdict {
  Count patch = 0;
  Count bytes = 0;  ///< the sum of all parts; those that overlap count twice
  std::int32_t owner = 0;
  std::int32_t parts = 0;  ///< how many ranks have one
};

class PatchDistribution {
 public:
  static constexpr int most_rounds = 8;

  /// One rank's part in it. Errc::einternal where there is no such rank; all functions throw that
  /// for what cannot be, and only that.
  PatchDistribution(Rank rank, int ranks);

  /// A patch may stand in it several times. Notes to one rank follow each other, here and below.
  void tell(std::span<const PatchPart> mine, Notes<PatchPart>& out) const;
  /// At homes; may be called several times.
  void hear(std::span<const Note<PatchPart>> in);
  /// How many patches are at home here. Nothing is heard behind it.
  Count look();

  /// `patches`: of all homes.
  void begin(Count patches);
  Count target() const { return target_; }

  /// How many patches at home here have somebody to propose to.
  Count proposing() const;
  void propose(Notes<PatchProposal>& out) const;
  /// All proposals of a round at once.
  void judge(std::span<const Note<PatchProposal>> in, Notes<PatchAnswer>& out);
  void hear(std::span<const Note<PatchAnswer>> in);

  Count room() const { return target_ - taken_; }  ///< patches that this rank is to get yet
  Count left() const;                              ///< patches at home here without an owner
  /// `room_before`, `left_before`: sums over lower ranks; `all_left`: over all ranks.
  void lay_out(Count room_before, Count left_before, Count all_left, Notes<DealtPlaces>& rooms,
               Notes<DealtPlaces>& patches);
  /// At brokers; all notes at once.
  static void match(std::span<const Note<DealtPlaces>> rooms,
                    std::span<const Note<DealtPlaces>> patches, Notes<DealtRoom>& out);
  void hear(std::span<const Note<DealtRoom>> in);

  /// Once all patches have owners.
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
    std::size_t first;   // of its holders, who are up to the next patch's first
    std::uint32_t next;  // of them, whom it proposes to
    Rank owner;
  };

  std::span<const Holder> holders_of(std::size_t at) const;
  bool proposes(std::size_t at) const;

  Rank rank_;
  int ranks_;
  Count target_ = 0, taken_ = 0;
  std::vector<Told> told_;
  // This home's patches by number; of each, its holders by decreasing bytes.
  std::vector<AtHome> patches_;
  std::vector<Holder> holders_;
  std::vector<Rank> full_;  // those that this home knows of, sorted
  Count left_before_ = 0;
};

/// Of `ranks`.
Rank home_of_patch(Count patch, int ranks);

/// The target of a rank, as above.
Count patch_target(Rank rank, int ranks, Count patches);

}  // namespace forebay
