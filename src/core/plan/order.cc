#include "plan/order.h"

namespace forebay {

std::vector<std::uint32_t> group_requests(std::vector<RequestRange>& ranges) {
  auto before = [](const RequestRange& a, const RequestRange& b) {
    return a.first != b.first ? a.first < b.first : a.index < b.index;
  };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before))
    std::sort(ranges.begin(), ranges.end(), before);
  std::vector<std::uint32_t> ends;
  Offset reach = 0;
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    if (i > 0 && ranges[i].first >= reach) ends.push_back(i);
    reach = i > 0 && ranges[i].first < reach ? std::max(reach, ranges[i].last) : ranges[i].last;
  }
  if (!ranges.empty()) ends.push_back(static_cast<std::uint32_t>(ranges.size()));
  return ends;
}

}  // namespace forebay
