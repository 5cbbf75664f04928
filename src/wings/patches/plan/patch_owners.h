// All ranks of patch_distribution.h in one process, for tests, trials, and cases in which each rank
// knows the parts of all others.
#pragma once

#include <cstddef>
#include <vector>

#include "patches/plan/patch_distribution.h"
#include "patches/plan/plan_mailbox.h"

namespace forebay {

/// The owner of each patch, and the costs.
struct PatchOwners {
  std::vector<Rank> owners;  ///< of each patch; -1 if nobody has a part of it
  int rounds = 0;
  Count dealt = 0;     ///< patches that no rank accepted
  Count notes = 0;     ///< of all kinds
  Count messages = 0;  ///< notes of one kind between two ranks in one step are one message
};

/// Runs all ranks of patch_distribution.h. `parts_of(rank, parts)` fills in the parts that a rank
/// has of patches 0 to `patches` − 1.
template <typename Parts>
PatchOwners distribute(int ranks, Count patches, Parts&& parts_of, bool backwards = false) {
  PatchOwners result;
  result.owners.assign(static_cast<std::size_t>(patches), -1);
  std::vector<PatchDistribution> all;
  all.reserve(static_cast<std::size_t>(ranks));
  for (Rank r = 0; r < ranks; ++r) all.emplace_back(r, ranks);
  const auto of = [&](Rank r) -> PatchDistribution& { return all[static_cast<std::size_t>(r)]; };
  const auto count = [&](const auto& post) {
    result.notes += post.notes();
    result.messages += post.messages();
  };
  // Runs step `give` of all ranks, then `take` on those with notes, in batches of ranks so that
  // notes take little memory.
  const auto in_batches = [&]<typename T>(T, auto&& give, auto&& take) {
    constexpr Rank batch = 1 << 16;
    for (Rank first = 0; first < ranks; first += batch) {
      PlanMailbox<T> post(ranks, backwards);
      Notes<T> out;
      for (Rank r = first; r < ranks && r - first < batch; ++r) {
        give(r, out);
        post.send(r, out);
      }
      count(post);
      post.deliver(take);
    }
  };

  std::vector<PatchPart> parts;
  in_batches(
      PatchPart{},
      [&](Rank r, auto& out) {
        parts_of(r, parts);
        of(r).tell(parts, out);
      },
      [&](Rank r, auto in) { of(r).hear(in); });
  Count told = 0;
  for (auto& rank : all) told += rank.look();
  for (auto& rank : all) rank.begin(told);

  const auto proposing = [&] {
    Count n = 0;
    for (const auto& rank : all) n += rank.proposing();
    return n;
  };
  for (; result.rounds < PatchDistribution::most_rounds && proposing() > 0; ++result.rounds) {
    PlanMailbox<PatchProposal> proposals(ranks, backwards);
    PlanMailbox<PatchAnswer> answers(ranks, backwards);
    Notes<PatchProposal> proposed;
    Notes<PatchAnswer> answered;
    for (Rank r = 0; r < ranks; ++r) {
      of(r).propose(proposed);
      proposals.send(r, proposed);
    }
    count(proposals);
    proposals.deliver([&](Rank r, auto in) {
      of(r).judge(in, answered);
      answers.send(r, answered);
    });
    count(answers);
    answers.deliver([&](Rank r, auto in) { of(r).hear(in); });
  }

  for (const auto& rank : all) result.dealt += rank.left();
  PlanMailbox<DealtPlaces> rooms(ranks, backwards), wanted(ranks, backwards);
  Notes<DealtPlaces> out_rooms, out_wanted;
  Count room_before = 0, left_before = 0;
  for (Rank r = 0; r < ranks; ++r) {
    of(r).lay_out(room_before, left_before, result.dealt, out_rooms, out_wanted);
    rooms.send(r, out_rooms);
    wanted.send(r, out_wanted);
    room_before += of(r).room();
    left_before += of(r).left();
  }
  count(rooms);
  count(wanted);
  std::vector<Notes<DealtPlaces>> rooms_at(all.size()), wanted_at(all.size());
  rooms.deliver([&](Rank r, auto in) { rooms_at[std::size_t(r)].assign(in.begin(), in.end()); });
  wanted.deliver([&](Rank r, auto in) { wanted_at[std::size_t(r)].assign(in.begin(), in.end()); });
  PlanMailbox<DealtRoom> dealt(ranks, backwards);
  Notes<DealtRoom> out_dealt;
  for (Rank r = 0; r < ranks; ++r) {
    PatchDistribution::match(rooms_at[std::size_t(r)], wanted_at[std::size_t(r)], out_dealt);
    dealt.send(r, out_dealt);
  }
  count(dealt);
  dealt.deliver([&](Rank r, auto in) { of(r).hear(in); });

  in_batches(
      PatchVerdict{}, [&](Rank r, auto& out) { of(r).decide(out); },
      [&](Rank r, auto in) {
        for (const auto& note : in)
          if (note.what.owner == r) result.owners[static_cast<std::size_t>(note.what.patch)] = r;
      });
  return result;
}

}  // namespace forebay
