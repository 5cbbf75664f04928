#include "layout/process_group/step_index.h"

#include "base/error.h"
#include "format/bp_write.h"

namespace forebay::process_group {

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
