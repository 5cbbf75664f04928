#include "layout/lossy_report.h"

#include <array>
#include <vector>

#include "base/attempt.h"

namespace forebay {

void LossyReport::note(VarId var, std::uint32_t skipped, EncodedChunk::Bound bound) {
  const auto mask = skipped & (keeps_apart | stood_in);
  if (mask == 0 && bound == EncodedChunk::Bound::unknown) return;
  Counts& its = of_[var];
  its.apart += (mask & keeps_apart) != 0;
  its.exact += (mask & stood_in) != 0;
  its.finer += bound == EncodedChunk::Bound::finer;
  its.coarser += bound == EncodedChunk::Bound::coarser;
}

void LossyReport::gather(const Comm& comm, std::size_t variables) {
  // A rank without memory for the sum must not leave the others waiting in it; the report then has
  // no counts.
  std::vector<std::int64_t> all;
  const auto failed = attempt_to([&] { all.resize(4 * variables); });
  std::array<std::int64_t, 2> met{!of_.empty(), failed.has_value()};
  comm.all_reduce(met, Reduce::max);
  if (met[0] == 0 || met[1] != 0) return;
  for (const auto& [var, its] : of_) {
    std::int64_t* const to = all.data() + 4 * static_cast<std::size_t>(var);
    to[0] = its.apart, to[1] = its.exact, to[2] = its.finer, to[3] = its.coarser;
  }
  comm.all_reduce(all, Reduce::sum);
  of_.clear();
  if (!comm.is_root()) return;
  attempt_to([&] {
    for (std::size_t v = 0; v < variables; ++v) {
      const std::int64_t* const its = all.data() + 4 * v;
      if ((its[0] | its[1] | its[2] | its[3]) != 0)
        of_[static_cast<VarId>(v)] = {its[0], its[1], its[2], its[3]};
    }
  });
}

std::string LossyReport::text(const std::string& piece,
                              const std::function<std::string(VarId)>& name_of) const {
  constexpr std::size_t most = 20;
  std::string text;
  const auto pieces = [&](Count n) {
    return std::to_string(n) + " " + piece + (n == 1 ? "" : "s");
  };
  std::size_t told = 0;
  for (const auto& [var, its] : of_) {
    std::string line;
    if (its.coarser > its.finer)
      line += "; warning: its bound is larger than what most values are apart, in " +
              pieces(its.coarser) + ": is it too large, or do values that no attribute calls " +
              "missing (missing_value, valid_range) count?";
    if (its.apart > 0) line += "; missing values are kept apart in " + pieces(its.apart);
    if (its.exact > 0)
      line += "; " + pieces(its.exact) + " could not keep the bound: shuffle,zstd:3 took over";
    if (line.empty()) continue;
    if (told++ < most) text += "; " + name_of(var) + ": " + line.substr(2);
  }
  if (told > most) text += "; likewise " + std::to_string(told - most) + " other variables";
  return text;
}

}  // namespace forebay
