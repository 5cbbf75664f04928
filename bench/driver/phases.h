#pragma once

#include <mpi.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace forebay::bench {

/// Stop watch of one timed region on one rank, cut into named phases. A phase that is marked again
/// adds to its earlier time.
class Phases {
 public:
  /// Begins the region after a barrier over `comm`, so that all ranks begin together. With `apart`
  /// there is one at the end of each phase, too: then no rank is in a phase while another one is in
  /// the next, and where ranks share cores the wait for a core counts in the phase that needs it.
  /// All ranks are killed at the end of the phase `die_after`. Collective.
  void start(MPI_Comm comm, bool apart = false, const std::string& die_after = {}) {
    phases_.clear();
    comm_ = apart || !die_after.empty() ? comm : MPI_COMM_NULL;
    die_after_ = die_after;
    MPI_Barrier(comm);
    begin_ = last_ = MPI_Wtime();
  }

  /// Ends the phase `name`: what passed since the last mark, or since start(), belongs to it.
  /// Collective if phases are kept apart.
  void mark(const char* name) {
    if (comm_ != MPI_COMM_NULL) MPI_Barrier(comm_);
    if (name == die_after_) std::raise(SIGKILL);
    const double now = MPI_Wtime();
    for (auto& [known, seconds] : phases_) {
      if (known == name) {
        seconds += now - last_;
        last_ = now;
        return;
      }
    }
    phases_.emplace_back(name, now - last_);
    last_ = now;
  }

  /// What passed since the last mark counts nowhere. Local.
  void leave_out() {
    const double now = MPI_Wtime();
    begin_ += now - last_;
    last_ = now;
  }

  /// Reports a further number of seconds as `name`, which belongs to no phase.
  void note(const char* name, double seconds) { phases_.emplace_back(name, seconds); }

  /// Seconds from start() to the last mark, on this rank.
  double total() const { return last_ - begin_; }

  const std::vector<std::pair<std::string, double>>& all() const { return phases_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;  // not null: phases are kept apart
  std::string die_after_;
  double begin_ = 0;
  double last_ = 0;
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace forebay::bench
