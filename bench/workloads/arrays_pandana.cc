#include "workloads/arrays_pandana.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "workloads/values.h"

namespace forebay::bench {
namespace {

// Variables of each group: 108 in all.
constexpr std::array kColumns{6, 9, 7, 5, 8, 7, 10, 4, 7, 8, 6, 9, 7, 5, 10};
constexpr std::size_t kGroups = kColumns.size();
constexpr double kDecades = 3;

// Every table begins with the first five; the others take turns after them.
enum Kind { ByRun, Subrun, Cycle, Event, Subevent, Measurement, Count, Energy };
constexpr int kIndexes = Subevent + 1;

Kind kind_of(int column) {
  return static_cast<Kind>(column < kIndexes ? column : kIndexes + (column - kIndexes) % 3);
}

Element type_of(int kind) {
  if (kind == Energy) return Element::Double;
  return kind == Measurement ? Element::Float : Element::Int;
}

// Lengths relative to the longest; groups of all lengths stand side by side.
double relative_length(std::size_t group) {
  const std::size_t place = group * 4 % kGroups;
  return std::pow(10.0, -kDecades * static_cast<double>(place) / (kGroups - 1));
}

// Eight entries hold two events, cut at one of three places.
struct Entry {
  std::uint64_t event;
  std::uint64_t subevent;
};
Entry entry_at(std::uint64_t index) {
  const std::uint64_t pair = index / 8;
  const std::uint64_t in_pair = index % 8;
  const std::uint64_t cut = 3 + mixed_bits(pair) % 3;
  return in_pair < cut ? Entry{2 * pair, in_pair} : Entry{2 * pair + 1, in_pair - cut};
}

template <typename T>
T value_of(int kind, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t key = seed * 0x100000001B3u + index;
  const std::uint64_t run = 10000 + index / 50000;
  const std::uint64_t subrun = index / 2000 % 64;
  switch (kind) {
    case ByRun:
      return static_cast<T>(run);
    case Subrun:
      return static_cast<T>(subrun);
    case Cycle:
      return static_cast<T>(seed);
    case Event:
      return static_cast<T>(entry_at(index).event);
    case Subevent:
      return static_cast<T>(entry_at(index).subevent);
    case Measurement:
      return static_cast<T>(10 * mixed_unit(key) * mixed_unit(key + (std::uint64_t{1} << 40)));
    case Count:
      return static_cast<T>(mixed_bits(key) % 16);
    default:  // of few entries is the energy known
      return mixed_bits(key) % 4 == 0 ? static_cast<T>(0.125 * (mixed_bits(key) >> 20)) : T{0};
  }
}

}  // namespace

PandanaPattern::PandanaPattern(const PandanaOptions& options, int ranks) : options_(options) {
  double bytes_of_one = 0;  // of all variables, for one event in the longest group
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (int c = 0; c < kColumns[g]; ++c) {
      const Kind kind = kind_of(c);
      columns_.push_back({g, kind});
      bytes_of_one += relative_length(g) * static_cast<double>(size_of(type_of(kind)));
    }
  }
  const double longest = static_cast<double>(options_.bytes) / bytes_of_one;
  std::vector<MPI_Offset> lengths;
  for (std::size_t g = 0; g < kGroups; ++g) {
    lengths.push_back(std::max<MPI_Offset>(1, std::llround(longest * relative_length(g))));
    std::vector<double> sums{0};
    for (int r = 0; r < ranks; ++r) {
      sums.push_back(sums.back() + 0.5 + mixed_unit(g * 65536 + static_cast<std::uint64_t>(r)));
    }
    std::vector<MPI_Offset>& cuts = cuts_.emplace_back();
    for (double sum : sums) {
      cuts.push_back(
          static_cast<MPI_Offset>(static_cast<double>(lengths[g]) * (sum / sums.back())));
    }
    cuts.back() = lengths[g];
  }
  int in_group = 0;
  for (std::size_t v = 0; v < columns_.size(); ++v) {
    const auto [g, kind] = columns_[v];
    in_group = v > 0 && columns_[v - 1].group == g ? in_group + 1 : 0;
    char name[32];
    std::snprintf(name, sizeof name, "g%02zu_v%02d", g, in_group);
    const auto width = static_cast<MPI_Offset>(size_of(type_of(kind)));
    const auto chunk = std::clamp<MPI_Offset>(options_.chunk_bytes / width, 1, lengths[g]);
    variables_.push_back({name, type_of(kind), {lengths[g]}, {chunk}});
  }
}

nlohmann::json PandanaPattern::parameters() const {
  std::vector<MPI_Offset> lengths;
  for (const auto& cuts : cuts_) lengths.push_back(cuts.back());
  return {{"bytes", options_.bytes},
          {"variables", variables_.size()},
          {"lengths", lengths},
          {"chunk_bytes", options_.chunk_bytes},
          {"data", "made-up event tables"}};
}

Box PandanaPattern::block(std::size_t variable, int rank) const {
  const auto& cuts = cuts_[columns_[variable].group];
  const MPI_Offset first = cuts[static_cast<std::size_t>(rank)];
  return {{first}, {cuts[static_cast<std::size_t>(rank) + 1] - first}};
}

void PandanaPattern::fill(std::size_t variable, const Box& box, std::byte* out) const {
  const int kind = columns_[variable].kind;
  const auto rows = [&](auto* data) {
    using T = std::remove_pointer_t<decltype(data)>;
    const auto first = static_cast<std::uint64_t>(box.start[0]);
    const auto count = static_cast<std::uint64_t>(box.count[0]);
    for (std::uint64_t k = 0; k < count; ++k) data[k] = value_of<T>(kind, variable, first + k);
  };
  switch (variables_[variable].type) {
    case Element::Int:
      return rows(reinterpret_cast<int*>(out));
    case Element::Float:
      return rows(reinterpret_cast<float*>(out));
    case Element::Double:
      return rows(reinterpret_cast<double*>(out));
  }
}

}  // namespace forebay::bench
