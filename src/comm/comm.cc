#include "comm/comm.h"

#include <cstdlib>
#include <exception>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "comm/test_delay.h"

namespace forebay {

namespace {

/// Around a collective call: what comes before it and what comes after it may both be late.
class Meeting {
 public:
  explicit Meeting(Rank rank) : rank_(rank) { test_delay(rank); }
  ~Meeting() { test_delay(rank_); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  Rank rank_;
};

}  // namespace

Comm::Comm(std::shared_ptr<Backend> backend)
    : backend_(std::move(backend)), rank_(backend_->rank()), size_(backend_->size()) {}

void Comm::barrier() const {
  if (size_ == 1) return;
  const Meeting meeting(rank_);
  backend_->barrier();
}

void Comm::broadcast(void* data, std::size_t bytes, Rank root) const {
  if (size_ == 1) return;
  const Meeting meeting(rank_);
  backend_->broadcast(data, bytes, root);
}

void Comm::all_reduce(std::span<std::int64_t> values, Reduce op) const {
  if (size_ == 1) return;
  const Meeting meeting(rank_);
  backend_->all_reduce(values, op);
}

std::int64_t Comm::all_reduce(std::int64_t value, Reduce op) const {
  all_reduce(std::span<std::int64_t>(&value, 1), op);
  return value;
}

void Comm::all_reduce_or(std::span<std::uint64_t> bits) const {
  all_reduce(std::span(reinterpret_cast<std::int64_t*>(bits.data()), bits.size()), Reduce::bit_or);
}

void Comm::reduce_seconds(std::span<double> min, std::span<double> max,
                          std::span<double> sum) const {
  if (size_ == 1) return;
  backend_->all_reduce(min, Reduce::min);
  backend_->all_reduce(max, Reduce::max);
  backend_->all_reduce(sum, Reduce::sum);
}

void Comm::all_reduce_stats(std::span<std::int64_t> min, std::span<std::int64_t> max,
                            std::span<std::int64_t> sum) const {
  all_reduce(min, Reduce::min);
  all_reduce(max, Reduce::max);
  all_reduce(sum, Reduce::sum);
}

std::vector<std::int64_t> Comm::all_gather(std::int64_t value) const {
  if (size_ == 1) return {value};
  std::vector<std::int64_t> all;
  agree_on_error(*this, attempt_to([&] { all.resize(static_cast<std::size_t>(size_)); }));
  const Meeting meeting(rank_);
  backend_->all_gather(value, all);
  return all;
}

std::vector<std::byte> Comm::all_gather_bytes(std::span<const std::byte> mine,
                                              std::vector<std::int64_t>& sizes) const {
  sizes = all_gather(static_cast<std::int64_t>(mine.size()));
  return all_gather_known(mine, sizes);
}

std::vector<std::byte> Comm::all_gather_known(std::span<const std::byte> mine,
                                              std::span<const std::int64_t> sizes) const {
  if (size_ == 1) return {mine.begin(), mine.end()};
  std::size_t total = 0;
  for (const std::int64_t size : sizes) total += static_cast<std::size_t>(size);
  std::vector<std::byte> all;
  agree_on_error(*this, attempt_to([&] { all.resize(total); }));
  const Meeting meeting(rank_);
  backend_->all_gather(mine, sizes, all);
  return all;
}

Comm Comm::split_node(int ranks_per_node) const {
  if (size_ == 1) return *this;
  const Meeting meeting(rank_);
  // Nodes may differ in it.
  std::shared_ptr<Backend> node;
  agree_on_error(*this, attempt_to([&] { node = backend_->split_node(ranks_per_node); }));
  return Comm(std::move(node));
}

void Comm::end_job() const {
  if (backend_) backend_->end_job();
  std::abort();
}

void sparse_exchange(const Comm& comm, std::span<const Message> outgoing, const Receive& receive) {
  std::exception_ptr failure;
  const auto deliver = [&](Rank from, std::span<const std::byte> bytes) {
    test_delay(comm.rank());
    try {
      receive(from, bytes);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  for (const Message& m : outgoing) {
    if (m.to == comm.rank()) deliver(m.to, m.bytes);
  }
  if (comm.size() > 1) {
    const Meeting meeting(comm.rank());
    try {
      comm.backend()->exchange(outgoing, deliver);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace forebay
