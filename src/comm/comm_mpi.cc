#include <climits>
#include <vector>

#include "base/error.h"
#include "comm/mpi.h"

namespace forebay {

namespace {

bool mpi_is_usable() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

MPI_Op op_of(Reduce op) {
  switch (op) {
    case Reduce::min:
      return MPI_MIN;
    case Reduce::max:
      return MPI_MAX;
    case Reduce::sum:
      return MPI_SUM;
    default:
      return MPI_BOR;
  }
}

int checked_int(std::size_t n) {
  if (n > static_cast<std::size_t>(INT_MAX))
    throw Error(Errc::eintoverflow, "a collective of more than 2^31 items");
  return static_cast<int>(n);
}

Comm wrap(MPI_Comm comm) {
  auto handle = std::make_shared<Comm::Handle>();
  handle->comm = comm;
  handle->owned = true;
  return Comm(std::move(handle));
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(Errc::empi,
              std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

// A communicator that outlives MPI_Finalize belongs to MPI; freeing it then is an error.
Comm::Handle::~Handle() {
  if (owned && comm != MPI_COMM_NULL && mpi_is_usable()) MPI_Comm_free(&comm);
}

Comm::Comm() = default;

Comm::Comm(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {
  MPI_Comm_rank(handle_->comm, &rank_);
  MPI_Comm_size(handle_->comm, &size_);
}

Comm make_comm(MPI_Comm comm) {
  if (!mpi_is_usable()) throw Error(Errc::empi, "MPI is not initialised", "call MPI_Init first");
  if (comm == MPI_COMM_NULL) throw Error(Errc::einval, "the communicator is MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter) throw Error(Errc::einval, "an intercommunicator cannot open a file");
  MPI_Comm copy;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return wrap(copy);
}

MPI_Comm mpi_comm(const Comm& comm) { return comm.handle() ? comm.handle()->comm : MPI_COMM_SELF; }

void Comm::barrier() const {
  if (size_ > 1) check_mpi(MPI_Barrier(mpi_comm(*this)), "MPI_Barrier");
}

void Comm::broadcast(void* data, std::size_t bytes, Rank root) const {
  if (size_ == 1) return;
  constexpr std::size_t step = std::size_t{1} << 30;
  auto* p = static_cast<std::byte*>(data);
  for (std::size_t done = 0; done < bytes; done += step) {
    const int n = static_cast<int>(std::min(step, bytes - done));
    check_mpi(MPI_Bcast(p + done, n, MPI_BYTE, root, mpi_comm(*this)), "MPI_Bcast");
  }
}

void Comm::all_reduce(std::span<std::int64_t> values, Reduce op) const {
  if (size_ == 1) return;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), checked_int(values.size()), MPI_INT64_T,
                          op_of(op), mpi_comm(*this)),
            "MPI_Allreduce");
}

std::int64_t Comm::all_reduce(std::int64_t value, Reduce op) const {
  all_reduce(std::span<std::int64_t>(&value, 1), op);
  return value;
}

void Comm::all_reduce_or(std::span<std::uint64_t> bits) const {
  if (size_ == 1) return;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, bits.data(), checked_int(bits.size()), MPI_UINT64_T,
                          MPI_BOR, mpi_comm(*this)),
            "MPI_Allreduce");
}

void Comm::reduce_seconds(std::span<double> min, std::span<double> max,
                          std::span<double> sum) const {
  if (size_ == 1) return;
  auto reduce = [&](std::span<double> v, MPI_Op op) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, v.data(), checked_int(v.size()), MPI_DOUBLE, op,
                            mpi_comm(*this)),
              "MPI_Allreduce");
  };
  reduce(min, MPI_MIN);
  reduce(max, MPI_MAX);
  reduce(sum, MPI_SUM);
}

void Comm::all_reduce_stats(std::span<std::int64_t> min, std::span<std::int64_t> max,
                            std::span<std::int64_t> sum) const {
  all_reduce(min, Reduce::min);
  all_reduce(max, Reduce::max);
  all_reduce(sum, Reduce::sum);
}

std::vector<std::int64_t> Comm::all_gather(std::int64_t value) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size_), value);
  if (size_ > 1) {
    check_mpi(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, mpi_comm(*this)),
              "MPI_Allgather");
  }
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
  std::vector<int> counts(sizes.size()), places(sizes.size());
  std::int64_t total = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    counts[r] = static_cast<int>(std::min<std::int64_t>(sizes[r], INT_MAX));
    places[r] = static_cast<int>(std::min<std::int64_t>(total, INT_MAX));
    total += sizes[r];
  }
  std::vector<std::byte> all(static_cast<std::size_t>(total));
  if (total <= INT_MAX) {
    check_mpi(MPI_Allgatherv(mine.data(), counts[static_cast<std::size_t>(rank_)], MPI_BYTE,
                             all.data(), counts.data(), places.data(), MPI_BYTE, mpi_comm(*this)),
              "MPI_Allgatherv");
    return all;
  }
  std::byte* at = all.data();
  for (std::size_t r = 0; r < sizes.size(); at += sizes[r++]) {
    if (static_cast<int>(r) == rank_) std::copy(mine.begin(), mine.end(), at);
    broadcast(at, static_cast<std::size_t>(sizes[r]), static_cast<Rank>(r));
  }
  return all;
}

Comm Comm::split_node(int ranks_per_node) const {
  if (size_ == 1) return *this;
  MPI_Comm node;
  if (ranks_per_node > 0) {
    check_mpi(MPI_Comm_split(mpi_comm(*this), rank_ / ranks_per_node, rank_, &node),
              "MPI_Comm_split");
  } else {
    check_mpi(
        MPI_Comm_split_type(mpi_comm(*this), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  }
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  return wrap(node);
}

}  // namespace forebay
