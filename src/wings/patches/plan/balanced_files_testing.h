// Data for tests and simulations of balanced files: fields whose sizes resemble those of Fan et al.
// 2021, all ranks of balanced_files.h in one process, and other rules to compare with. Only tests
// and bench/limits/patch_scale.cc use this.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "patches/plan/balanced_files.h"
#include "patches/plan/morton.h"
#include "patches/plan/plan_mailbox.h"

namespace forebay {

/// A sum of waves with random directions and phases. Their lengths are 1 to 1/32 of the unit;
/// `falls` is the exponent of the wave number in their amplitudes. Mean 0, variance 1.
class RandomWaves {
 public:
  RandomWaves(unsigned seed, int waves, double falls) {
    std::mt19937 random(seed);
    const auto draw = [&] { return static_cast<double>(random()) / 4294967296.0; };
    double variance = 0;
    for (int i = 0; i < waves; ++i) {
      const double k = std::exp2(5 * draw()), z = 2 * draw() - 1, angle = turn * draw();
      const double flat = std::sqrt(1 - z * z);
      Wave w{{k * flat * std::cos(angle), k * flat * std::sin(angle), k * z},
             turn * draw(),
             std::pow(k, falls)};
      variance += w.height * w.height / 2;
      waves_.push_back(w);
    }
    for (Wave& w : waves_) w.height /= std::sqrt(variance);
  }
  double at(const std::array<double, 3>& x) const {
    double sum = 0;
    for (const Wave& w : waves_)
      sum += w.height * std::cos(turn * (w.k[0] * x[0] + w.k[1] * x[1] + w.k[2] * x[2]) + w.phase);
    return sum;
  }

 private:
  static constexpr double turn = 2 * std::numbers::pi;
  struct Wave {
    std::array<double, 3> k;
    double phase, height;
  };
  std::vector<Wave> waves_;
};

/// The position of a patch, in units of the domain's first length.
using PatchPlace = std::array<double, 3>;

/// The sizes of all patches of a three-dimensional grid in Morton order. They are proportional to
/// `relative(place)` of their middles, and their sum is exactly `total`.
inline std::vector<Count> sizes_like(const std::vector<Count>& grid, Count total,
                                     const std::function<double(const PatchPlace&)>& relative) {
  const MortonOrder order(grid);
  std::vector<double> up_to;
  std::array<Count, 3> at{};
  double sum = 0;
  for (Count n = 0; n < order.cells(); ++n) {
    order.position_of(n, at);
    PatchPlace place{};
    for (std::size_t d = 0; d < 3; ++d)
      place[d] = (static_cast<double>(at[d]) + 0.5) / static_cast<double>(grid[0]);
    sum += relative(place);
    up_to.push_back(sum);
  }
  std::vector<Count> sizes;
  Count before = 0;
  for (const double s : up_to) {
    const Count here = std::llround(s / sum * static_cast<double>(total));
    sizes.push_back(here - before);
    before = here;
  }
  return sizes;
}

/// A lifted flame's jet in the middle of the second dimension. It burns in two sheets on both
/// sides, at a tenth of the first length. Eddies wrinkle them by as much as their own size, up to a
/// twentieth. Patches within some `thickness` (in edges of a patch) of a sheet are large. All
/// others are smooth, and a twentieth as large.
inline std::vector<Count> flame_sizes(const std::vector<Count>& grid, Count total,
                                      double thickness = 1.5, unsigned seed = 1) {
  const RandomWaves above(seed, 32, -1), below(seed + 1, 32, -1);
  const auto edge = 1 / static_cast<double>(grid[0]);
  const double middle = static_cast<double>(grid[1]) / static_cast<double>(grid[0]) / 2;
  return sizes_like(grid, total, [&](const PatchPlace& x) {
    const PatchPlace along{x[0], 0, x[2]};
    const auto sheet = [&](double place) {
      const double away = (x[1] - place) / (thickness * edge);
      return std::exp(-away * away);
    };
    return 0.05 + sheet(middle + 0.1 + 0.05 * above.at(along)) +
           sheet(middle - 0.1 - 0.05 * below.at(along));
  });
}

/// Isotropic turbulence: sizes are similar everywhere and vary by a sixth. The energy falls as
/// k^−5/3 (k^−11/3 per volume of wave numbers).
inline std::vector<Count> turbulence_sizes(const std::vector<Count>& grid, Count total,
                                           unsigned seed = 1) {
  const RandomWaves eddies(seed, 32, -1.0 / 3);
  return sizes_like(grid, total, [&](const PatchPlace& x) { return std::exp(eddies.at(x) / 6); });
}

/// Runs all ranks of balanced_files.h; owner_of(n) is the rank of patch n, of sizes[n] bytes.
/// Returns the file of each patch.
template <typename OwnerOf>
std::vector<Count> balance(std::span<const Count> sizes, Count files, int ranks, OwnerOf&& owner_of,
                           bool backwards = false) {
  const auto positions = std::ssize(sizes);
  std::vector<std::vector<PatchSize>> mine(static_cast<std::size_t>(ranks));
  for (Count n = 0; n < positions; ++n)
    mine[static_cast<std::size_t>(owner_of(n))].push_back({n, sizes[static_cast<std::size_t>(n)]});
  std::vector<BalancedFiles> all(static_cast<std::size_t>(ranks),
                                 BalancedFiles(ranks, positions, files));
  PlanMailbox<PatchSize> told(ranks, backwards);
  Notes<PatchSize> telling;
  for (Rank r = 0; r < ranks; ++r) {
    all[static_cast<std::size_t>(r)].tell(mine[static_cast<std::size_t>(r)], telling);
    told.send(r, telling);
  }
  told.deliver([&](Rank r, auto in) { all[static_cast<std::size_t>(r)].hear(in); });
  Count total = 0;
  for (const BalancedFiles& rank : all) total += rank.bytes();
  PlanMailbox<PatchFile> answers(ranks, backwards);
  Notes<PatchFile> answering;
  Count before = 0;
  for (Rank r = 0; r < ranks; ++r) {
    BalancedFiles& rank = all[static_cast<std::size_t>(r)];
    const Count bytes = rank.bytes();
    rank.answer(before, total, answering);
    answers.send(r, answering);
    before += bytes;
  }
  std::vector<Count> result(sizes.size(), -1);
  answers.deliver([&](Rank, auto in) {
    for (const auto& note : in)
      result[static_cast<std::size_t>(note.what.position)] = note.what.file;
  });
  return result;
}

/// The file of each patch by its middle, if all sizes are known.
inline std::vector<Count> by_middles(std::span<const Count> sizes, Count files) {
  const Count total = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  std::vector<Count> result;
  Count before = 0;
  for (const Count size : sizes) {
    result.push_back(file_of(before, size, total, files));
    before += size;
  }
  return result;
}

/// Fan et al. 2021, §IV-C.2: a file is full when its bytes exceed the bytes that were left for it
/// and all later files, divided by the number of these files.
inline std::vector<Count> by_running_average(std::span<const Count> sizes, Count files) {
  Count rest = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  std::vector<Count> result;
  Count file = 0, running = 0;
  for (const Count size : sizes) {
    result.push_back(file);
    running += size;
    if (file == files - 1 || running * (files - file) <= rest) continue;
    rest -= running;
    running = 0;
    ++file;
  }
  return result;
}

/// The unbalanced rule of Fan et al. 2021, §V-B: equally many patches in each file.
inline std::vector<Count> by_equal_counts(std::span<const Count> sizes, Count files) {
  std::vector<Count> result;
  for (Count n = 0; n < std::ssize(sizes); ++n) result.push_back(n * files / std::ssize(sizes));
  return result;
}

/// Bytes of the largest file if the order is cut into runs optimally.
inline Count least_largest_file(std::span<const Count> sizes, Count files) {
  Count low = *std::max_element(sizes.begin(), sizes.end());
  Count high = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  while (low < high) {
    const Count most = low + (high - low) / 2;
    Count needed = 1, running = 0;
    for (const Count size : sizes) {
      if (running + size > most) {
        ++needed;
        running = 0;
      }
      running += size;
    }
    if (needed <= files) {
      high = most;
    } else {
      low = most + 1;
    }
  }
  return low;
}

inline std::vector<Count> file_sizes(std::span<const Count> sizes, std::span<const Count> file,
                                     Count files) {
  std::vector<Count> bytes(static_cast<std::size_t>(files), 0);
  for (std::size_t n = 0; n < sizes.size(); ++n)
    bytes[static_cast<std::size_t>(file[n])] += sizes[n];
  return bytes;
}

/// The size of the largest file over the mean.
inline double imbalance(std::span<const Count> sizes, std::span<const Count> file, Count files) {
  const auto bytes = file_sizes(sizes, file, files);
  const auto all = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), Count{0}));
  return static_cast<double>(*std::max_element(bytes.begin(), bytes.end())) *
         static_cast<double>(files) / all;
}

}  // namespace forebay
