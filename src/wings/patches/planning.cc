#include "patches/planning.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "comm/exchange.h"
#include "comm/message_bytes.h"

namespace forebay::patches {
namespace {

/// One for each rank that there are notes for; empties `out`.
template <typename T>
std::vector<Message> emptied(Notes<T>& out) {
  auto messages = messages_of(
      std::span<const PlanMessage<T>>(out), [](const PlanMessage<T>& note) { return note.peer; },
      [](const PlanMessage<T>& note) { return note.what; });
  out.clear();
  return messages;
}

/// Right behind a meeting: nothing of what could fail before it is left to be told.
template <typename T>
Notes<T> exchanged(const Comm& comm, std::span<const Message> messages) {
  Notes<T> in;
  sparse_exchange(comm, messages, [&](Rank from, std::span<const std::byte> bytes) {
    for (const T& what : all_of<T>(bytes)) in.push_back({from, what});
  });
  return in;
}

template <typename T>
Notes<T> carried(const Comm& comm, Notes<T>& out) {
  const auto messages = emptied(out);
  comm.meet();
  return exchanged<T>(comm, messages);
}

void let_patches_propose(const Comm& comm, PatchDistribution& plan) {
  for (int round = 0; round < PatchDistribution::most_rounds; ++round) {
    Notes<PatchProposal> proposals;
    plan.propose(proposals);
    const auto messages = emptied(proposals);
    if (comm.all_reduce(plan.proposing(), Reduce::sum) == 0) break;
    Notes<PatchAnswer> answers;
    plan.judge(exchanged<PatchProposal>(comm, messages), answers);
    plan.hear(carried(comm, answers));
  }
}

void deal_the_rest(const Comm& comm, PatchDistribution& plan) {
  std::array<std::int64_t, 2> before{plan.room(), plan.left()}, all{};
  comm.exclusive_scan(before, all);
  if (all[1] == 0) return;
  Notes<DealtPlaces> rooms, patches;
  plan.lay_out(before[0], before[1], all[1], rooms, patches);
  const auto room_at = carried(comm, rooms);
  const auto patches_at = carried(comm, patches);
  Notes<DealtRoom> dealt;
  PatchDistribution::match(room_at, patches_at, dealt);
  plan.hear(carried(comm, dealt));
}

}  // namespace

std::vector<PatchVerdict> distribute_patches(const Comm& comm, std::span<const PatchPart> mine) {
  PatchDistribution plan(comm.rank(), comm.size());
  Notes<PatchPart> parts;
  plan.tell(mine, parts);
  plan.hear(carried(comm, parts));
  plan.begin(comm.all_reduce(plan.look(), Reduce::sum));
  let_patches_propose(comm, plan);
  deal_the_rest(comm, plan);
  Notes<PatchVerdict> out;
  plan.decide(out);
  const auto in = carried(comm, out);
  std::vector<PatchVerdict> verdicts;
  verdicts.reserve(in.size());
  for (const auto& note : in) verdicts.push_back(note.what);
  std::sort(verdicts.begin(), verdicts.end(),
            [](const PatchVerdict& a, const PatchVerdict& b) { return a.patch < b.patch; });
  return verdicts;
}

std::vector<PatchFile> balance_files(const Comm& comm, std::span<const PatchSize> mine,
                                     Count positions, Count files) {
  BalancedFiles plan(comm.size(), positions, files);
  Notes<PatchSize> sizes;
  plan.tell(mine, sizes);
  plan.hear(carried(comm, sizes));
  std::int64_t before = plan.bytes(), total = 0;
  comm.exclusive_scan(std::span(&before, 1), std::span(&total, 1));
  Notes<PatchFile> answers;
  plan.answer(before, total, answers);
  std::vector<PatchFile> found;
  found.reserve(mine.size());
  for (const auto& note : carried(comm, answers)) found.push_back(note.what);
  std::sort(found.begin(), found.end(),
            [](const PatchFile& a, const PatchFile& b) { return a.position < b.position; });
  return found;
}

}  // namespace forebay::patches
