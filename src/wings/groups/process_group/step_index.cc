#include "groups/process_group/step_index.h"

#include <algorithm>

#include "base/error.h"

namespace forebay::process_group {

namespace {

/// Prints all heads of a step's index. Returns the place of each in the file, and its begin in
/// `heads`.
std::vector<std::pair<Offset, std::size_t>> print_heads(const StepIndex& step,
                                                        const Catalogue& known, bp::Form form,
                                                        bp::Bytes& heads) {
  std::vector<std::pair<Offset, std::size_t>> places;
  const auto next = [&](Offset at) { places.emplace_back(at, heads.size()); };
  const bp::StepRecord& record = step.plan.record;
  const auto length = [](Offset from, Offset to, Count head) { return to - from - head; };
  next(record.groups);
  bp::append_groups_head(heads, static_cast<std::uint64_t>(step.groups.entries),
                         length(record.groups, record.variables, bp::groups_head_bytes));
  next(record.variables);
  bp::append_elements_head(heads, step.plan.variables,
                           length(record.variables, record.attributes, bp::elements_head_bytes));
  for (std::size_t i = 0; i < step.first_attribute; ++i) {
    if (step.plan.heads[i] == IndexPlan::none) continue;
    next(step.plan.heads[i]);
    const std::size_t name = step.names[i];
    bp::append_variable_head(heads, known[name].variable, static_cast<std::uint32_t>(name),
                             static_cast<std::uint64_t>(step.of_names[i].entries),
                             step.of_names[i].bytes, form);
  }
  next(record.attributes);
  bp::append_elements_head(heads, step.plan.attributes,
                           length(record.attributes, record.end, bp::elements_head_bytes));
  return places;
}

}  // namespace

IndexPieces pieces_of(const StepIndex& step, const Catalogue& known, bp::Form form, bool with_heads,
                      bp::Bytes groups, std::span<const std::byte> blocks,
                      std::span<const std::byte> attributes) {
  IndexPieces own{{}, std::move(groups), {}};
  if (with_heads) {
    const auto places = print_heads(step, known, form, own.heads);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t from = places[i].second;
      const std::size_t to = i + 1 < places.size() ? places[i + 1].second : own.heads.size();
      own.pieces.push_back({places[i].first, std::span(own.heads).subspan(from, to - from)});
    }
  }
  const RankSums& sums = step.sums;
  const Count before = step.groups.earlier + sums.before[RankSums::groups] * step.group_bytes;
  own.pieces.push_back({step.plan.record.groups + bp::groups_head_bytes + before, own.groups});
  for (std::size_t i = 0; i < step.names.size(); ++i) {
    const std::size_t slot = RankSums::of_name(i);
    const auto bytes = static_cast<std::size_t>(sums.mine[slot]);
    if (bytes == 0) continue;
    auto& rest = i < step.first_attribute ? blocks : attributes;
    own.pieces.push_back(
        {step.plan.entries[i] + step.of_names[i].earlier + sums.before[slot], rest.first(bytes)});
    rest = rest.subspan(bytes);
  }
  std::ranges::sort(own.pieces, {}, &FilePiece::at);
  return own;
}

IndexPlan plan_index(Offset begin, Count group_bytes, std::span<const NameSums> names,
                     std::size_t first_attribute) {
  IndexPlan plan;
  plan.heads.assign(names.size(), IndexPlan::none);
  plan.entries.assign(names.size(), IndexPlan::none);
  Offset at = begin;
  const auto pass = [&](Count bytes) {
    if (!add_fits(at, bytes, at)) {
      throw Error(Errc::eintoverflow, "the index of the steps has more than 2^63 bytes",
                  "write fewer blocks, or another file");
    }
  };
  const auto pass_names = [&](std::size_t from, std::size_t to, std::uint32_t& present) {
    pass(bp::elements_head_bytes);
    for (std::size_t n = from; n < to; ++n) {
      if (names[n].entries == 0) continue;
      ++present;
      plan.heads[n] = at;
      pass(names[n].head_bytes);
      plan.entries[n] = at;
      pass(names[n].bytes);
    }
  };
  plan.record.groups = at;
  pass(bp::groups_head_bytes);
  pass(group_bytes);
  plan.record.variables = at;
  pass_names(0, first_attribute, plan.variables);
  plan.record.attributes = at;
  pass_names(first_attribute, names.size(), plan.attributes);
  plan.record.end = at;
  return plan;
}

}  // namespace forebay::process_group
