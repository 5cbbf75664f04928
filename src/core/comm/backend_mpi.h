// The backend whose ranks are MPI processes.
#pragma once

#include <mpi.h>

#include <vector>

#include "comm/backend.h"

namespace forebay {

class MpiBackend : public Comm::Backend {
 public:
  /// Takes ownership of `comm`. It is freed with the last Comm that uses it.
  explicit MpiBackend(MPI_Comm comm);
  ~MpiBackend() override;
  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void meet(Meeting& meeting) override { meet_over(comm_, meeting); }
  /// Does the same over another communicator.
  void meet_over(MPI_Comm comm, Meeting& meeting) const;
  void broadcast(void* data, std::size_t bytes, Rank root) override;
  void all_reduce(std::span<std::int64_t> values, Reduce op) override;
  void all_reduce(std::span<double> values, Reduce op) override;
  void exclusive_scan(std::span<std::int64_t> values) override;
  void all_gather(std::int64_t value, std::span<std::int64_t> all) override;
  void all_gather(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                  std::span<std::byte> all) override;
  std::shared_ptr<Comm::Backend> split_node(int ranks_per_node) override;
  std::shared_ptr<Comm::Backend> split_leaders(bool leads) override;
  void exchange(std::span<const Message> outgoing, const Receive& receive) override;
  void post(Letter& letter) override;
  bool look_after(std::span<Letter> letters, std::span<Arrival> arrivals) override;
  bool has_mail() override;
  bool fetch(int tag, Arrival& arrival) override;
  std::function<bool()> come() override;
  void end_job() override;

 private:
  void must(int code, const char* call);
  MPI_Comm comm_;
  MPI_Datatype meeting_ = MPI_DATATYPE_NULL;
  MPI_Op add_ = MPI_OP_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<int> counts_, places_;  // for all_gather, which must not fail on one rank for memory
  // The tag of the next exchange. Each exchange on this communicator takes one number, the same on
  // all ranks. So its messages have a tag of their own among all that can be under way. (Ranks are
  // at most one exchange apart: none ends before all have begun.)
  int tag_ = 0;
};

}  // namespace forebay
