#pragma once

// What the system alone needs for the same number of bytes, without a library: the limits that
// other workloads are compared with.
//
//     append     each rank pwrites (preads) one contiguous block of the file
//     limit      rank 0 does all of it
//     log-limit  each rank writes its part to a file of its own, from its begin to its end: what a
//                log per process costs at least
//     exchange-limit  all ranks send each other equal shares of what they have, in one
//                MPI_Alltoall, and each pwrites (preads) one block: what two phases cost at least,
//                where every byte changes hands
//
// All go in calls of 8 MiB on one buffer that holds the rank's data.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "workloads/workload.h"

namespace forebay::bench {

struct PosixOptions {
  enum class Way { Append, OneProcess, OwnFiles, Exchange };
  Way way = Way::Append;
  std::int64_t bytes = 32 << 20;  ///< of all ranks
};

class PosixWorkload final : public Workload {
 public:
  PosixWorkload(const PosixOptions& options, const Team& team);

  std::string name() const override;
  nlohmann::json parameters() const override { return {{"bytes", options_.bytes}}; }
  Amounts amounts() const override { return amounts_; }
  std::vector<std::string> files(const std::string& path) const override;

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  std::span<std::byte> data();
  void exchange();
  std::string own_file(const std::string& path, int rank) const;

  PosixOptions options_;
  Team team_;
  std::int64_t offset_ = 0;  // of this rank's part in the whole
  std::int64_t length_ = 0;
  std::unique_ptr<std::uint64_t[]> buffer_;
  std::unique_ptr<std::byte[]> received_;  // Exchange
  Amounts amounts_;
};

}  // namespace forebay::bench
