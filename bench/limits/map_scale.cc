#include "limits/map_scale.h"

#include <chrono>
#include <memory>

#include "base/memory_file_testing.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "decomposed/inverse_maker.h"
#include "decomposed/selected.h"
#include "layout/packed_pattern.h"

namespace forebay::bench {
namespace {

using namespace decomposed;

/// Ranks [first, last), whose leader this is.
void make_group(int first, int last, Count columns, Count levels,
                const std::vector<std::vector<Count>>& of_ranks, MapScale& sum) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto file = std::make_shared<MemoryFile>("data", disk);
  DataFileWriter writer(file, Front{1, 0});
  writer.create();
  logged::PatternPacker packer;
  Count values = 0;
  for (const Count rows : {Count{1}, levels}) {
    const std::vector<Count> inner =
        rows == 1 ? std::vector{columns} : std::vector{levels, columns};
    std::vector<DataFileWriter::MapMember> members;
    std::vector<std::vector<std::byte>> packed;
    Count elements = 0;
    for (int rank = first; rank < last; ++rank) {
      std::vector<Run> runs;
      for (Count row = 0; row < rows; ++row)
        for (const Count c : of_ranks[static_cast<std::size_t>(rank - first)])
          runs.push_back({row * columns + c, 1});
      const auto what = make_selected(factored(inner, runs), {});
      members.push_back({static_cast<std::uint32_t>(rank), what->key, what->elements});
      packed.push_back(packer.pack(what->pattern));
      sum.runs += std::ssize(what->pattern.runs);
      elements += what->elements;
    }
    const std::uint32_t map = writer.number_of(members);
    for (std::size_t m = 0; m < members.size(); ++m)
      writer.give(members[m].pattern, std::move(packed[m]));
    const Count bytes = elements * 4;
    const auto var = static_cast<VarId>(rows == 1 ? 0 : 1);
    writer.add({var, 0, 0, map, writer.allocate(bytes), bytes, {}});
    values += bytes;
  }
  writer.write(1);
  writer.committed();
  InverseSizes sizes;
  sizes.few_runs = sizes.few_bytes = 0;
  run_as_threads(1, [&](const Comm& comm) {
    together(comm, [&] { sum.inverses += make_inverses(comm, *file, sizes, &writer); });
  });
  writer.write(2);
  writer.committed();
  sum.bytes += writer.end() - values;
}

}  // namespace

MapScale make_maps(int ranks, int groups, Count columns, Count levels,
                   const std::function<std::vector<Count>(int rank)>& columns_of) {
  using Clock = std::chrono::steady_clock;
  MapScale sum;
  const auto bound = [&](int group) {
    return static_cast<int>(static_cast<Count>(ranks) * group / groups);
  };
  for (int group = 0; group < groups; ++group) {
    std::vector<std::vector<Count>> of_ranks;
    for (int rank = bound(group); rank < bound(group + 1); ++rank)
      of_ranks.push_back(columns_of(rank));
    const auto start = Clock::now();
    make_group(bound(group), bound(group + 1), columns, levels, of_ranks, sum);
    sum.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  return sum;
}

}  // namespace forebay::bench
