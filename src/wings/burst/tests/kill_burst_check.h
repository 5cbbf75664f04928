// Which of the requests of kill_burst_model.h a file holds.
#pragma once

#include <string>
#include <vector>

#include "kill_burst_model.h"

namespace kill_burst {

// All values of a file.
struct Contents {
  MPI_Offset records = 0;
  std::array<std::vector<int>, variables> values;

  MPI_Offset rows(int var) const {
    const MPI_Offset rows = infos[static_cast<size_t>(var)].rows;
    return rows > 0 ? rows : records;
  }
  void save(const std::string& path) const;
  static Contents load(const std::string& path);
};

class Check {
 public:
  Check(const Contents& found, const Contents& base, std::uint64_t seed, int cycle, int writers)
      : found_(found), base_(base), seed_(seed), cycle_(cycle), writers_(writers) {}

  // False, with lines on standard output, where the file is not as it may be. `log`: what the ranks
  // noted. `acked`: see kill_burst.cc.
  bool run(const std::string& log, bool acked);

 private:
  // How far an owner's requests came: the last one begun, the last one that must be there.
  struct Progress {
    int begun = 0, returned = 0, synced = 0;
  };
  enum class Seen : char { nothing, there, missing };

  void read_logs(const std::string& log);
  void check_owner(int owner, bool acked);
  void see(int owner, const Request& request, bool may_be_partial, std::vector<Seen>& seen);
  void judge(int owner, const std::vector<Request>& requests, const std::vector<Seen>& seen,
             bool acked);
  void check_others();
  void fail(const std::string& what);

  const Contents& found_;
  Contents base_;
  std::uint64_t seed_;
  int cycle_, writers_;
  std::vector<Progress> progress_;  // by owner
  std::array<std::vector<char>, variables> explained_;
  MPI_Offset least_records_ = 0, most_records_ = 0;
  bool amid_flush_ = false;  // when the job ended
  int failures_ = 0;
};

}  // namespace kill_burst
