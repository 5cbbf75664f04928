#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "comm/backend_mpi.h"
#include "comm/mpi.h"
#include "comm/topology.h"
#include "comm/yield_or_sleep.h"

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

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(Errc::empi,
              std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

namespace {

void add_meetings(void* from, void* to, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<Meeting*>(to)[i].add(static_cast<const Meeting*>(from)[i]);
}

}  // namespace

MpiBackend::MpiBackend(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  counts_.resize(static_cast<std::size_t>(size_));
  places_.resize(static_cast<std::size_t>(size_));
  static_assert(sizeof(Meeting) % sizeof(std::int64_t) == 0);
  check_mpi(MPI_Type_contiguous(sizeof(Meeting) / sizeof(std::int64_t), MPI_INT64_T, &meeting_),
            "MPI_Type_contiguous");
  check_mpi(MPI_Type_commit(&meeting_), "MPI_Type_commit");
  check_mpi(MPI_Op_create(add_meetings, 1, &add_), "MPI_Op_create");
}

// MPI owns what outlives MPI_Finalize; freeing it then is an error.
MpiBackend::~MpiBackend() {
  if (comm_ == MPI_COMM_NULL || !mpi_is_usable()) return;
  if (add_ != MPI_OP_NULL) MPI_Op_free(&add_);
  if (meeting_ != MPI_DATATYPE_NULL) MPI_Type_free(&meeting_);
  MPI_Comm_free(&comm_);
}

namespace {

/// An attribute of the program's communicator. Its files share what is found out, and use its
/// duplicates one after another.
struct Kept {
  std::shared_ptr<Topologies> topologies = std::make_shared<Topologies>();
  std::vector<std::shared_ptr<MpiBackend>> duplicates;  // the same on all ranks
  static constexpr std::size_t most = 16;
  MeetingPlace* place = nullptr;  // of one of the topologies; all ranks have it

  /// Local. Other ranks may not have it yet, if another of their threads uses a file.
  MeetingPlace* found_place() const { return Topology::between_files(*topologies); }
};

int forget(MPI_Comm, int, void* kept, void*) {
  delete static_cast<Kept*>(kept);
  return MPI_SUCCESS;
}

Kept& kept_of(MPI_Comm comm) {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr),
              "MPI_Comm_create_keyval");
    return made;
  }();
  Kept* found = nullptr;
  int there = 0;
  check_mpi(MPI_Comm_get_attr(comm, key, static_cast<void*>(&found), &there), "MPI_Comm_get_attr");
  if (there) return *found;
  auto made = std::make_unique<Kept>();
  made->duplicates.reserve(Kept::most);
  check_mpi(MPI_Comm_set_attr(comm, key, made.get()), "MPI_Comm_set_attr");
  return *made.release();
}

/// Returns a hash of the library's version: ranks of different versions may act differently.
int version_hash() {
  const char* const pretended = std::getenv("FOREBAY_TEST_VERSION");
  const std::string_view version = pretended ? pretended : FOREBAY_VERSION;
  return static_cast<int>(hash_of(std::as_bytes(std::span(version))) >> 40);
}

// Collective over `comm`: succeeds on all its ranks or on none. `comm` is a duplicate of `parent`.
std::shared_ptr<MpiBackend> made_everywhere(MPI_Comm comm, MPI_Comm parent = MPI_COMM_NULL) {
  std::shared_ptr<MpiBackend> made;
  Kept* kept = nullptr;
  const auto failed = attempt_to([&] {
    made = std::make_shared<MpiBackend>(comm);
    if (parent == MPI_COMM_NULL) return;
    kept = &kept_of(parent);
    made->kept_topologies = kept->topologies;
  });
  const int version = version_hash();
  std::array<int, 3> most{failed ? 1 : 0, version, -version};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 3, MPI_INT, MPI_MAX, comm);
  const bool alike = most[1] == -most[2];
  if (most[0] == 0 && alike) {
    if (kept && kept->duplicates.size() < Kept::most) kept->duplicates.push_back(made);
    return made;
  }
  if (!made) MPI_Comm_free(&comm);
  if (alike) throw Error(Errc::enomem);
  throw Error(Errc::emultidefine,
              "ranks have loaded different versions of Forebay, here " FOREBAY_VERSION,
              "let all nodes find the same library");
}

/// What a rank contributes and receives when a communicator is made.
struct Told {
  std::span<std::int64_t> maxima;
  std::int64_t code;     // the worst of any rank
  bool is_told = false;  // all have the others' values
};

// Collective. Returns a duplicate that no rank's file uses any more, or null. Making one takes
// several reductions by messages, and so does finding out who shares a node. This takes one, in
// shared memory once files of the communicator have left a meeting place and all ranks know that.
// Duplicates with a failed reduction are dropped: messages may still be under way there.
std::shared_ptr<MpiBackend> unused_duplicate(MPI_Comm comm, Told& told) {
  Kept* kept = nullptr;
  if (attempt_to([&] { kept = &kept_of(comm); }) || kept->duplicates.empty()) return nullptr;
  auto& all = kept->duplicates;
  const auto bit = [](std::size_t i) { return std::int64_t{1} << i; };
  constexpr std::size_t failed = Kept::most, no_place = 2 * Kept::most;  // bits; from 0: in use
  std::int64_t any = kept->found_place() ? 0 : bit(no_place);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].use_count() != 1)
      any |= bit(i);
    else if (all[i]->has_failed)
      any |= bit(failed + i);
  }
  Meeting meeting;
  meeting.code = told.code;
  meeting.kind = Meeting::kind_of(Reduce::bit_or, most_maxima + 1, most_maxima);
  std::copy(told.maxima.begin(), told.maxima.end(), meeting.values);
  meeting.values[most_maxima] = any;
  MpiBackend& first = *all.front();
  kept->place ? kept->place->meet(meeting, first) : first.meet_over(comm, meeting);
  told.is_told = true;
  told.code = meeting.code;
  if (told.code != 0) return nullptr;
  std::copy_n(meeting.values, told.maxima.size(), told.maxima.begin());
  any = meeting.values[most_maxima];
  if ((any & bit(no_place)) == 0) kept->place = kept->found_place();
  std::shared_ptr<MpiBackend> again;
  for (std::size_t i = all.size(); i-- > 0;) {
    if ((any & bit(i)) != 0) continue;
    if ((any & bit(failed + i)) == 0)
      again = all[i];
    else
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return again;
}

}  // namespace

Comm make_comm(MPI_Comm comm) {
  return make_comm(comm, {}, [](bool) {});
}

Comm make_comm(MPI_Comm comm, std::span<std::int64_t> maxima,
               const std::function<void(bool is_root)>& tell) {
  if (!mpi_is_usable()) throw Error(Errc::empi, "MPI is not initialised", "call MPI_Init first");
  if (comm == MPI_COMM_NULL) throw Error(Errc::einval, "the communicator is MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter) throw Error(Errc::einval, "an intercommunicator cannot open a file");
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto failed = attempt_to([&] { tell(rank == 0); });
  Told told{maxima, failed ? to_int(failed->code()) : 0};
  std::shared_ptr<MpiBackend> backend = unused_duplicate(comm, told);
  const bool all_began = !told.is_told || told.code == 0;
  if (!backend && all_began) {
    MPI_Comm copy;
    check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
    backend = made_everywhere(copy, comm);
  }
  if (failed && !all_began) throw *failed;
  if (!all_began) throw error_of_others(told.code, "another rank failed as it began");
  Comm made(std::move(backend));
  if (!told.is_told) agree_on_error(made, failed, maxima, Reduce::max);
  return made;
}

Comm adopt_comm(MPI_Comm own) { return Comm(made_everywhere(own)); }

MPI_Comm mpi_comm(const Comm& comm) {
  if (comm.backend() == nullptr) return MPI_COMM_SELF;
  const auto* mpi = dynamic_cast<const MpiBackend*>(comm.backend());
  if (mpi == nullptr) throw Error(Errc::empi, "these ranks are threads of one process");
  return mpi->comm();
}

void MpiBackend::meet_over(MPI_Comm comm, Meeting& meeting) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &meeting, 1, meeting_, add_, comm), "MPI_Allreduce");
}

void MpiBackend::broadcast(void* data, std::size_t bytes, Rank root) {
  constexpr std::size_t step = std::size_t{1} << 30;
  auto* p = static_cast<std::byte*>(data);
  for (std::size_t done = 0; done < bytes; done += step) {
    const int n = static_cast<int>(std::min(step, bytes - done));
    check_mpi(MPI_Bcast(p + done, n, MPI_BYTE, root, comm_), "MPI_Bcast");
  }
}

void MpiBackend::all_reduce(std::span<std::int64_t> values, Reduce op) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), checked_int(values.size()), MPI_INT64_T,
                          op_of(op), comm_),
            "MPI_Allreduce");
}

void MpiBackend::all_reduce(std::span<double> values, Reduce op) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), checked_int(values.size()), MPI_DOUBLE,
                          op_of(op), comm_),
            "MPI_Allreduce");
}

void MpiBackend::exclusive_scan(std::span<std::int64_t> values) {
  check_mpi(MPI_Exscan(MPI_IN_PLACE, values.data(), checked_int(values.size()), MPI_INT64_T,
                       MPI_SUM, comm_),
            "MPI_Exscan");
  // The standard leaves the first rank's result undefined.
  if (rank_ == 0) std::fill(values.begin(), values.end(), 0);
}

void MpiBackend::all_gather(std::int64_t value, std::span<std::int64_t> all) {
  check_mpi(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm_),
            "MPI_Allgather");
}

void MpiBackend::all_gather(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                            std::span<std::byte> all) {
  if (all.size() <= static_cast<std::size_t>(INT_MAX)) {
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      counts_[r] = static_cast<int>(sizes[r]);
      places_[r] = r == 0 ? 0 : places_[r - 1] + counts_[r - 1];
    }
    check_mpi(MPI_Allgatherv(mine.data(), counts_[static_cast<std::size_t>(rank_)], MPI_BYTE,
                             all.data(), counts_.data(), places_.data(), MPI_BYTE, comm_),
              "MPI_Allgatherv");
    return;
  }
  std::byte* at = all.data();
  for (std::size_t r = 0; r < sizes.size(); at += sizes[r++]) {
    if (static_cast<int>(r) == rank_) std::copy(mine.begin(), mine.end(), at);
    broadcast(at, static_cast<std::size_t>(sizes[r]), static_cast<Rank>(r));
  }
}

std::shared_ptr<Comm::Backend> MpiBackend::split_node(int ranks_per_node) {
  MPI_Comm node;
  if (ranks_per_node > 0) {
    check_mpi(MPI_Comm_split(comm_, rank_ / ranks_per_node, rank_, &node), "MPI_Comm_split");
  } else {
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
  }
  return made_everywhere(node);
}

std::shared_ptr<Comm::Backend> MpiBackend::split_leaders(bool leads) {
  MPI_Comm leaders;
  check_mpi(MPI_Comm_split(comm_, leads ? 0 : MPI_UNDEFINED, rank_, &leaders), "MPI_Comm_split");
  return leaders == MPI_COMM_NULL ? nullptr : made_everywhere(leaders);
}

std::function<bool()> MpiBackend::come() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (!mpi_is_usable() || MPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return [] { return false; };
  return [request]() mutable {
    int there = 0;
    return MPI_Test(&request, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && there != 0;
  };
}

void MpiBackend::end_job() { MPI_Abort(comm_, 1); }

}  // namespace forebay
