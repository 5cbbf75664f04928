// Writes what fuzzing of the log layout begins with: fuzz_logged_seeds DIRECTORY
#include <array>
#include <string>
#include <vector>

#include "hdf5/format/log_index.h"
#include "hdf5/format/log_subfile.h"
#include "hdf5/log/logged_store_text.h"
#include "hdf5/log/lookup.h"
#include "hdf5/log/section_builder.h"
#include "seeds.h"

namespace {

using forebay::Count;
namespace logged = forebay::logged;
using Bytes = std::vector<std::byte>;

const std::vector<Count> extents = {100, 20, 1000};

/// Boxes, columns of a decomposition, and runs in no order of dimensions.
std::vector<forebay::Placed> selections() {
  return {forebay::box_pattern(
              extents, std::array<forebay::Steps, 3>{{{7, 1, 1}, {0, 20, 1}, {10, 300, 2}}}),
          forebay::box_pattern(
              extents, std::array<forebay::Steps, 3>{{{0, 50, 2}, {3, 4, 1}, {0, 1000, 1}}}),
          forebay::runs_pattern(extents, std::array<forebay::Run, 3>{{{3, 2}, {9, 1}, {500, 40}}}),
          forebay::runs_pattern(extents, std::array<forebay::Run, 2>{{{19990, 30}, {40000, 1}}})};
}

/// A section with every kind of entry, and a lookup with the same.
struct Log {
  logged::SectionBuilder builder{3, 1 << 20};
  logged::Lookup lookup{3};

  Log() {
    logged::Entry entry;
    entry.dataset = 77, entry.epoch = 3;
    for (int round = 0; round < 10; ++round)
      for (const forebay::Placed& placed : selections()) {
        entry.base = placed.base + round;
        entry.stored = 4 * placed.pattern.elements();
        entry.file = static_cast<std::uint32_t>(round % 2);
        entry.filtered = round % 3 == 0;
        builder.add(entry, &placed.pattern);
        const auto bounds = forebay::bounds_of(placed.pattern, entry.base);
        lookup.add(entry, {}, &bounds);
        entry.data += entry.stored;
      }
    entry = {};
    entry.dataset = 77, entry.epoch = 4, entry.kind = logged::Kind::extent;
    const auto cut = forebay::box_pattern(
        extents, std::array<forebay::Steps, 3>{{{0, 50, 1}, {0, 20, 1}, {0, 1000, 1}}});
    builder.add(entry, &cut.pattern);
    lookup.add(entry, {}, nullptr);
    entry.kind = logged::Kind::cleared;
    builder.add(entry, nullptr);
    lookup.build();
  }
};

}  // namespace

int main(int argc, char** argv) {
  Seeds seeds(argc, argv);
  int n = 0;
  for (const forebay::Placed& placed : selections()) {
    seeds.save("pattern-" + std::to_string(n), {0, 1}, logged::print_pattern(placed.pattern));
    seeds.save("packed-" + std::to_string(n++), {1, 1},
               logged::PatternPacker().pack(placed.pattern));
  }
  Log log;
  const Bytes section = log.builder.print(), list = logged::print_list(log.lookup.list());
  seeds.save("section", {2, 1}, section);
  seeds.save("table", {3, 1}, logged::print_table({9, {{64, 400}, {464, 300}}}));
  seeds.save("list", {4, 1}, list);
  logged::Lookup rows(1);
  const forebay::Bounds first{{2}, {9}, 2, 9, {}};
  rows.add({}, {}, &first);
  rows.build();
  seeds.save("list-of-rows", {4, 1}, logged::print_list(rows.list()));
  logged::IndexDirectory directory;
  directory.blocks = 4, directory.epoch = 9, directory.entries = 41;
  directory.places = {{77, 200, 3000, 90, 5}, {78, 3200, 40, 30, 6}};
  seeds.save("directory", {5, 1}, logged::print_directory(directory));
  seeds.save("subfile", {6, 1}, logged::print_subfile_front({4711, 2}));
  seeds.save("dataset", {7, 1},
             logged::print_stored_dataset({7, {3, 4}, {UINT64_MAX, 4}, Bytes(20)}));
  return seeds.status();
}
