#include "patches/plan/balanced_files.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/error.h"

namespace forebay {
namespace {

__extension__ typedef unsigned __int128 UnsignedWide;

void require_balanced(bool holds, const char* what) {
  if (!holds) throw Error(Errc::einternal, std::string("balanced files: ") + what);
}

}  // namespace

Count file_of(Count before, Count bytes, Count total, Count files) {
  if (total == 0) return 0;
  const UnsignedWide twice_middle =
      UnsignedWide(before) + UnsignedWide(before) + UnsignedWide(bytes);
  const UnsignedWide file =
      twice_middle * UnsignedWide(files) / (UnsignedWide(total) + UnsignedWide(total));
  // Only a patch without bytes at the very end exceeds files - 1.
  return std::min(static_cast<Count>(file), files - 1);
}

Rank home_of_position(Count position, Count positions, int ranks) {
  return static_cast<Rank>(UnsignedWide(position) * UnsignedWide(ranks) / UnsignedWide(positions));
}

BalancedFiles::BalancedFiles(int ranks, Count positions, Count files)
    : ranks_(ranks), positions_(positions), files_(files) {
  require_balanced(ranks >= 1 && positions >= 0 && files >= 1, "nothing to balance");
}

void BalancedFiles::tell(std::span<const PatchSize> mine, Notes<PatchSize>& out) const {
  std::vector<PatchSize> sorted(mine.begin(), mine.end());
  std::sort(sorted.begin(), sorted.end(), [](const PatchSize& a, const PatchSize& b) {
    return std::tie(a.position, a.bytes) < std::tie(b.position, b.bytes);
  });
  for (std::size_t i = 0; i < sorted.size();) {
    PatchSize sum{sorted[i].position, 0};
    for (; i < sorted.size() && sorted[i].position == sum.position; ++i) {
      require_balanced(sorted[i].bytes >= 0 && add_fits(sum.bytes, sorted[i].bytes, sum.bytes),
                       "a size that cannot be");
    }
    require_balanced(sum.position >= 0 && sum.position < positions_, "a position outside");
    out.push_back({home_of_position(sum.position, positions_, ranks_), sum});
  }
}

void BalancedFiles::hear(std::span<const PlanMessage<PatchSize>> in) {
  told_.reserve(told_.size() + in.size());
  for (const auto& [from, size] : in) {
    require_balanced(add_fits(bytes_, size.bytes, bytes_), "more bytes than can be counted");
    told_.push_back({size, from});
  }
}

void BalancedFiles::answer(Count before, Count total, Notes<PatchFile>& out) {
  require_balanced(total - before >= bytes_, "more bytes than there are");
  std::sort(told_.begin(), told_.end(), [](const Told& a, const Told& b) {
    return std::tie(a.size.position, a.rank) < std::tie(b.size.position, b.rank);
  });
  const std::size_t from = out.size();
  for (std::size_t i = 0; i < told_.size();) {
    const Count position = told_[i].size.position;
    Count bytes = 0;
    std::size_t end = i;
    for (; end < told_.size() && told_[end].size.position == position; ++end)
      bytes += told_[end].size.bytes;
    const Count file = file_of(before, bytes, total, files_);
    for (; i < end; ++i) out.push_back({told_[i].rank, {position, file}});
    before += bytes;
  }
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
                   [](const auto& a, const auto& b) { return a.peer < b.peer; });
}

}  // namespace forebay
