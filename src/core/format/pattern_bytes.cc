#include "format/pattern_bytes.h"

#include <algorithm>

#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {

std::uint32_t check_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(hash_of(bytes));
}

std::vector<std::byte> print_pattern(const Pattern& pattern) {
  Printer out;
  out.number(pattern.inner.size());
  for (const Count extent : pattern.inner) out.count(extent);
  out.number(pattern.outer.size());
  for (const Steps& steps : pattern.outer) {
    out.count(steps.start);
    out.count(steps.count);
    out.count(steps.stride);
  }
  // Offsets come first, as gaps, then lengths. Each list varies less than both mixed.
  out.number(pattern.runs.size());
  Offset end = 0;
  for (const PatternRun& run : pattern.runs) {
    out.count(run.offset - end);
    end = run.end();
  }
  const Count length = pattern.runs[0].length;
  const bool equal = std::all_of(pattern.runs.begin(), pattern.runs.end(),
                                 [&](const PatternRun& run) { return run.length == length; });
  out.number(equal ? 1 : 0);
  if (equal)
    out.count(length);
  else
    for (const PatternRun& run : pattern.runs) out.count(run.length);
  return std::move(out.bytes());
}

Pattern parse_pattern(std::span<const std::byte> bytes) {
  Parser in(bytes);
  Pattern pattern;
  pattern.inner.resize(in.items(1));
  for (Count& extent : pattern.inner) extent = in.count();
  pattern.outer.resize(in.items(3));
  for (Steps& steps : pattern.outer) {
    steps.start = in.count();
    steps.count = in.count();
    steps.stride = in.count();
  }
  pattern.runs.resize(in.items(1));
  for (PatternRun& run : pattern.runs) run.offset = in.count();  // a gap, for now
  const std::uint64_t equal = in.number();
  if (equal > 1) damaged("a pattern's lengths");
  const Count common = equal == 1 ? in.count() : 0;
  Offset end = 0;
  Count position = 0;
  for (PatternRun& run : pattern.runs) {
    run.length = equal == 1 ? common : in.count();
    run.position = position;
    if (!add_fits(end, run.offset, run.offset) || !add_fits(run.offset, run.length, end) ||
        !add_fits(position, run.length, position))
      damaged("a pattern's runs");
  }
  if (in.left() != 0) damaged("a pattern is longer than it says");
  if (const auto fault = fault_of(pattern)) damaged("a pattern has " + *fault);
  return pattern;
}

}  // namespace forebay::logged
