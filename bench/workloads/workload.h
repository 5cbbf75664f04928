#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/phases.h"

namespace forebay::bench {

/// Fills the memory that a read is to overwrite: bytes that no pattern has.
inline constexpr int kStale = 0xA5;
/// The buffers of a workload begin at multiples of it.
inline constexpr std::size_t kAlign = 8;

/// What a workload moves. Totals are over all ranks.
struct Amounts {
  std::int64_t bytes = 0;           ///< external bytes of variable data that one operation moves
  std::int64_t pieces = 0;          ///< contiguous pieces that the requests name
  std::int64_t requests = 0;        ///< calls that post or perform a data request
  std::int64_t own_data_bytes = 0;  ///< application buffers of the fullest rank
};

/// One pattern of requests. The runner calls, for each sample,
///     prepare_write, write (timed), and/or prepare_read, read (timed), verify.
/// Everything a real code has at hand before it opens the file (decomposition, buffers, values)
/// belongs to the constructor or to prepare_*; the timed calls go from open to close.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::string name() const = 0;
  /// Options in force, for the report.
  virtual nlohmann::json parameters() const = 0;
  virtual Amounts amounts() const = 0;
  /// False for workloads without a read half.
  virtual bool has_read() const { return true; }
  /// The files that write(`path`) makes.
  virtual std::vector<std::string> files(const std::string& path) const { return {path}; }

  virtual void prepare_write() {}
  /// Collective. Creates `path`, writes, closes, and marks phases.
  virtual void write(const std::string& path, MPI_Info info, Phases& phases) = 0;

  virtual void prepare_read() {}
  /// Collective. Opens `path`, which write() made, reads, closes, and marks phases.
  virtual void read(const std::string& path, MPI_Info info, Phases& phases) = 0;
  /// Number of values of this rank that differ from what was written. Not timed.
  virtual std::int64_t verify() = 0;
};

/// Ranks of a communicator; `comm` is not owned.
struct Team {
  explicit Team(MPI_Comm c) : comm(c) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  MPI_Comm comm;
  int rank = 0;
  int size = 1;

  std::int64_t sum(std::int64_t value) const { return reduce(value, MPI_SUM); }
  std::int64_t max(std::int64_t value) const { return reduce(value, MPI_MAX); }

 private:
  std::int64_t reduce(std::int64_t value, MPI_Op op) const {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, op, comm);
    return value;
  }
};

}  // namespace forebay::bench
