// What the benchmarks of groups share: ranks, errors, and ways that take turns.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

inline int rank = 0, ranks = 1;

[[noreturn]] inline void failed(const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline std::string name_of(int variable) { return "v" + std::to_string(variable); }

struct Way {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;  ///< of each round that counts
};

/// Collective. Seconds of the slowest rank.
inline double timed(const std::function<void()>& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  f();
  double mine = MPI_Wtime() - begin, longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

/// Collective. Rounds, and one before them that does not count, in which ways take turns.
/// `before(way)` and `after(way, counts)` are not timed.
template <typename Before, typename After>
void take_turns(std::vector<Way>& ways, int rounds, Before&& before, After&& after) {
  for (int round = -1; round < rounds; ++round)
    for (std::size_t w = 0; w < ways.size(); ++w) {
      Way& way = ways[(w + static_cast<std::size_t>(round + 1)) % ways.size()];
      before(way);
      const double seconds = timed(way.run);
      if (round >= 0) way.seconds.push_back(seconds);
      after(way, round >= 0);
    }
}

inline double median(std::vector<double> some) {
  std::sort(some.begin(), some.end());
  const std::size_t n = some.size();
  return n % 2 == 1 ? some[n / 2] : (some[n / 2 - 1] + some[n / 2]) / 2;
}
