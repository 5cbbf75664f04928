#pragma once

// The least that the E3SM workload could take: the header, written by the library that is linked
// with, without data, and each rank's bytes, appended to one file beside it as they lie in memory.
// After each record, or once at the end, as the workload waits. Reading is each rank's own bytes.
// With `pass` each number of all starts and counts is read once before, in the order of requests:
// who is given them cannot know without that whether they are those of the request before.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/workload_e3sm.h"

namespace forebay::bench {

class PosixFile;

class E3smFloor final : public E3smWorkload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smFloor(const E3smOptions& options, const Team& team, bool pass);

  nlohmann::json parameters() const override;
  std::vector<std::string> files(const std::string& path) const override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;

 private:
  /// What a rank appends at a time, and where.
  struct Stretch {
    std::span<std::byte> data;
    std::int64_t offset = 0;
  };

  template <typename F>
  void move(int ncid, PosixFile& file, Phases& phases, F&& one);

  void look_at_pieces();

  bool pass_;  ///< a write looks at all starts and counts that it would have given
  std::uint64_t seen_ = 0;
  std::vector<Stretch> stretches_;
};

}  // namespace forebay::bench
